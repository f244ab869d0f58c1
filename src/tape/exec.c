/* A tape on a Vulkan device: planned, recorded once, replayed. */
#include "exec.h"

#include <stdlib.h>
#include <string.h>

#define SLOTS 2 /* the host prepares one run while the device works on the other */

/* An output and its place in the output block. */
typedef struct output_place {
    gb_tensor tensor; /* which */
    uint64_t offset;  /* bytes in the block */
    uint64_t bytes;   /* extent */
} output_place;

/* What gb_executable_build made. */
typedef struct owned_parts {
    gb_params *params; /* or NULL, as the others */
    gb_state *state;   /* its parameters on the device */
    gb_tape *tape;     /* its operations */
} owned_parts;

struct gb_executable {
    gb_state *state;            /* parameters */
    gb_tape *tape;              /* operations */
    owned_parts owned;          /* of them, and of the parameters' list */
    gb_executable *next;        /* of the state's programs */
    gb_plan plan;               /* sizes of the blocks */
    gb_buffer *inputs;          /* input block on the device */
    gb_buffer *upload[SLOTS];   /* input blocks on the host */
    gb_buffer *download[SLOTS]; /* output blocks on the host */
    gb_program *up[SLOTS];      /* host inputs -> device inputs */
    gb_program *main;           /* the tape */
    gb_program *down[SLOTS];    /* outputs -> host */
    output_place *outputs;      /* outputs */
    size_t output_count;        /* how many */
    uint64_t output_bytes;      /* of the output block */
    uint64_t tickets[SLOTS];    /* last submission that used the slot */
    uint32_t slot;              /* slot of the next run */
    double flops;               /* of one run */
};

gb_target gb_target_of(const gb_device *device)
{
    const gb_device_caps *caps = gb_device_get_caps(device);
    return (gb_target){.profile = caps->profile,
                       .max_groups = caps->max_grid[0],
                       .max_invocations = caps->max_workgroup,
                       .max_shared_bytes = caps->max_shared_bytes,
                       .max_texel_bytes =
                           caps->profile == GB_PROFILE_CPU && !(caps->quirks & GB_QUIRK_NO_TEXELS)
                               ? caps->max_texel_bytes
                               : 0,
                       .avoid = caps->quirks,
                       .tiles = caps->tiles,
                       .matrix = gb_matrix_of(caps, caps->precision)};
}

static gb_binding binding_of(const gb_executable *exec, gb_tensor tensor)
{
    tensor_place place = tape_place_of(exec->tape, tensor);
    if (!place.bytes)
        return (gb_binding){0};
    const gb_state *state = exec->state;
    if (place.space == SPACE_TEMP)
        return (gb_binding){state->activations[place.start / state->buffer_bytes],
                            place.start % state->buffer_bytes, place.bytes};
    if (place.space == SPACE_INPUT)
        return (gb_binding){exec->inputs, place.start, place.bytes};
    const arena_piece *piece =
        tape_piece_at(state, (gb_arena_id)(place.space - SPACE_ARENA0), place.start);
    return (gb_binding){piece->buffer, place.start - piece->start, place.bytes};
}

/* The same for a kernel. Temps were looked at when the program was planned, parameters and inputs
 * were not. */
static bool bind(const gb_executable *exec, gb_tensor tensor, gb_binding *binding,
                 gb_status *status)
{
    const double mib = 1 << 20;
    const gb_device_caps *caps = gb_device_get_caps(exec->state->device);
    *binding = binding_of(exec, tensor);
    return binding->size <= caps->max_binding_bytes ||
           gb_fail(status, GB_MEMORY, exec->tape->name,
                   "use a model with a smaller vocabulary, or a device with larger bindings "
                   "(gabbro doctor says what it has)",
                   "\"%s\" takes %.1f MiB, and %s sees at most %.1f MiB at once",
                   exec->tape->tensors[tensor].name, (double)binding->size / mib, caps->name,
                   (double)caps->max_binding_bytes / mib);
}

/* For tests: listed shaders only write ones. */
static bool corrupted(const char *list, const char *shader)
{
    size_t length;
    for (const char *word; list && (word = gb_next_word(&list, ',', &length));)
        if (length == strlen(shader) && !strncmp(word, shader, length))
            return true;
    return false;
}

static void corrupt(gb_item *item, const gb_kernel *kernel)
{
    for (int b = 0; b < GB_KERNEL_BINDINGS; b++)
        if ((kernel->access[b] & GB_WRITE) && item->bind[b].buffer) {
            *item = (gb_item){.kind = GB_ITEM_FILL,
                              .barrier_before = item->barrier_before,
                              .label = "spoiled",
                              .bind = {item->bind[b]},
                              .fill = gb_float_bits(1)};
            return;
        }
}

static bool record_main(gb_executable *exec, const gb_emitter *emitter, gb_status *status)
{
    gb_device *device = exec->state->device;
    gb_item *items = gb_alloc(emitter->count, sizeof *items, status);
    if (!items)
        return false;
    bool ok = true;
    for (size_t k = 0; ok && k < emitter->count; k++) {
        const gb_kernel *kernel = &emitter->kernels[k];
        gb_item *item = &items[k];
        item->kind = GB_ITEM_DISPATCH;
        item->barrier_before = kernel->barrier;
        item->label = kernel->label;
        char shader[64];
        snprintf(shader, sizeof shader, "%s%s", kernel->shader, kernel->texels ? "_texel" : "");
        item->pipeline = gb_pipeline_get(device, shader, kernel->spec, kernel->spec_count, status);
        item->texels = kernel->texels;
        ok = item->pipeline != NULL;
        for (int b = 0; ok && b < GB_KERNEL_BINDINGS; b++)
            if (kernel->access[b])
                ok = bind(exec, kernel->bind[b], &item->bind[b], status);
        memcpy(item->push, kernel->push, sizeof(uint32_t) * kernel->push_count);
        item->push_bytes = kernel->push_count * 4;
        memcpy(item->grid, kernel->grid, sizeof item->grid);
        item->flops = kernel->flops;
        item->bytes = kernel->bytes;
        exec->flops += kernel->flops;
        if (ok && corrupted(gb_device_config(device)->corrupt, shader))
            corrupt(item, kernel);
    }
    exec->main = ok ? gb_program_create(device, items, emitter->count, status) : NULL;
    free(items);
    return exec->main != NULL;
}

static bool record_up(gb_executable *exec, uint32_t slot, gb_status *status)
{
    if (!exec->plan.input_bytes)
        return true;
    gb_item up = {.kind = GB_ITEM_COPY,
                  .label = "upload inputs",
                  .bytes = 2.0 * (double)exec->plan.input_bytes};
    up.bind[0] = (gb_binding){exec->upload[slot], 0, exec->plan.input_bytes};
    up.bind[1] = (gb_binding){exec->inputs, 0, exec->plan.input_bytes};
    exec->up[slot] = gb_program_create(exec->state->device, &up, 1, status);
    return exec->up[slot] != NULL;
}

static bool record_down(gb_executable *exec, uint32_t slot, gb_status *status)
{
    gb_device *device = exec->state->device;
    if (!exec->output_count)
        return true;
    gb_item *items = gb_alloc(exec->output_count, sizeof *items, status);
    if (!items)
        return false;
    for (size_t i = 0; i < exec->output_count; i++) {
        const output_place *place = &exec->outputs[i];
        items[i] = (gb_item){
            .kind = GB_ITEM_COPY, .label = "download outputs", .bytes = 2.0 * (double)place->bytes};
        items[i].bind[0] = binding_of(exec, place->tensor);
        items[i].bind[1] = (gb_binding){exec->download[slot], place->offset, place->bytes};
    }
    exec->down[slot] = gb_program_create(device, items, exec->output_count, status);
    free(items);
    return exec->down[slot] != NULL;
}

static bool place_outputs(gb_executable *exec, gb_status *status)
{
    uint64_t offset = 0;
    for (uint32_t t = 0; t < exec->tape->tensor_count; t++) {
        const gb_tensor_info *info = &exec->tape->tensors[t];
        if (info->role != GB_ROLE_OUTPUT || !info->placed)
            continue;
        exec->outputs = exec->outputs
                            ? exec->outputs
                            : gb_alloc(exec->tape->tensor_count, sizeof(output_place), status);
        if (!exec->outputs)
            return false;
        uint64_t bytes = tape_tensor_bytes(info);
        exec->outputs[exec->output_count++] = (output_place){(gb_tensor)t, offset, bytes};
        offset += (bytes + GB_ALIGNMENT - 1) / GB_ALIGNMENT * GB_ALIGNMENT;
    }
    exec->output_bytes = offset;
    return true;
}

static bool create_buffers(gb_executable *exec, gb_status *status)
{
    gb_device *device = exec->state->device;
    const gb_plan *plan = &exec->plan;
    exec->inputs = gb_buffer_create(device, GB_BUFFER_DEVICE,
                                    plan->input_bytes ? plan->input_bytes : 256, "inputs", status);
    if (!exec->inputs)
        return false;
    for (int s = 0; s < SLOTS; s++) {
        uint64_t bytes = plan->input_bytes ? plan->input_bytes : GB_ALIGNMENT;
        exec->upload[s] =
            gb_buffer_create(device, GB_BUFFER_UPLOAD, bytes, "input staging", status);
        if (!exec->upload[s])
            return false;
        memset(gb_buffer_map(exec->upload[s]), 0, bytes);
        if (exec->output_bytes) {
            exec->download[s] = gb_buffer_create(device, GB_BUFFER_DOWNLOAD, exec->output_bytes,
                                                 "output staging", status);
            if (!exec->download[s])
                return false;
        }
    }
    return true;
}

/* What refers to the activations: they are about to move. Waits for its last run. */
static void forget(gb_executable *exec)
{
    gb_program_destroy(exec->main);
    exec->main = NULL;
    for (int s = 0; s < SLOTS; s++) {
        gb_program_destroy(exec->down[s]);
        exec->down[s] = NULL;
    }
}

/* Activations of that size at least. A larger last buffer takes the place of the one before, so
 * that all programs together take what the largest of them does; the others are recorded again when
 * they run.
 */
static bool grow_activations(gb_state *state, uint64_t bytes, gb_status *status)
{
    bytes = bytes ? bytes : GB_ALIGNMENT;
    if (state->activation_bytes >= bytes)
        return true;
    for (gb_executable *e = state->execs; e; e = e->next)
        forget(e);
    return tape_grow_activations(state, bytes, status);
}

/* Everything that refers to the activations. */
static bool record(gb_executable *exec, gb_status *status)
{
    const char *barriers = gb_device_config(exec->state->device)->barriers;
    bool full = barriers && !strcmp(barriers, "full");
    gb_emitter emitter = {.target = gb_target_of(exec->state->device)};
    exec->flops = 0;
    bool ok = grow_activations(exec->state, exec->plan.arena_bytes, status) &&
              gb_emit_tape(&emitter, exec->tape, full, status) &&
              record_main(exec, &emitter, status);
    for (uint32_t s = 0; ok && s < SLOTS; s++)
        ok = record_down(exec, s, status);
    free(emitter.kernels);
    if (!ok)
        forget(exec);
    return ok;
}

gb_executable *gb_executable_create(gb_state *state, gb_tape *tape, gb_status *status)
{
    if (!gb_tape_ok(tape, status))
        return NULL;
    gb_executable *exec = gb_alloc(1, sizeof *exec, status);
    if (!exec)
        return NULL;
    exec->state = state;
    exec->tape = tape;
    exec->next = state->execs;
    state->execs = exec;
    const gb_device_caps *caps = gb_device_get_caps(state->device);
    bool ok = gb_plan_memory(tape, GB_ALIGNMENT, state->buffer_bytes, &exec->plan, status) &&
              gb_plan_fits(tape, &exec->plan, caps, status) && place_outputs(exec, status) &&
              create_buffers(exec, status) && record(exec, status);
    for (uint32_t s = 0; ok && s < SLOTS; s++)
        ok = record_up(exec, s, status);
    if (!ok) {
        gb_executable_destroy(exec);
        return NULL;
    }
    return exec;
}

static void owned_free(owned_parts *owned)
{
    gb_tape_destroy(owned->tape);
    gb_state_destroy(owned->state);
    gb_params_destroy(owned->params);
}

void gb_executable_destroy(gb_executable *exec)
{
    if (!exec)
        return;
    gb_executable **link = &exec->state->execs;
    while (*link != exec)
        link = &(*link)->next;
    *link = exec->next;
    forget(exec);
    for (int s = 0; s < SLOTS; s++) {
        gb_program_destroy(exec->up[s]);
        gb_buffer_destroy(exec->upload[s]);
        gb_buffer_destroy(exec->download[s]);
    }
    gb_buffer_destroy(exec->inputs);
    free(exec->outputs);
    owned_free(&exec->owned);
    free(exec);
}

/* ---- a whole program ---- */

static bool write_state(const gb_executable_params *p, const gb_params *params, const float *values,
                        owned_parts *owned, gb_status *status)
{
    owned->state = gb_state_create(p->device, params, p->training, status);
    return owned->state &&
           (!values || gb_state_write(owned->state, GB_ARENA_PARAMS, values, status));
}

static bool make_state(const gb_executable_params *p, owned_parts *owned, gb_status *status)
{
    if (p->state)
        return true;
    if (!p->declare)
        return write_state(p, p->params, p->values, owned, status);
    owned->params = gb_params_create(status);
    if (!owned->params || !p->declare(p->self, owned->params, status))
        return false;
    gb_params_freeze(owned->params);
    float *values = gb_alloc(gb_params_floats(owned->params), sizeof *values, status);
    if (values && !gb_device_surveys(p->device))
        gb_params_init(owned->params, 1, values);
    bool ok = values && write_state(p, owned->params, values, owned, status);
    free(values);
    return ok;
}

gb_executable *gb_executable_build(const gb_executable_params *p, gb_status *status)
{
    owned_parts owned = {0};
    gb_executable *exec = NULL;
    bool ok = make_state(p, &owned, status);
    gb_state *state = p->state ? p->state : owned.state;
    if (ok)
        owned.tape = gb_tape_create(state->params, p->name, status);
    if (owned.tape && p->build(p->self, owned.tape, status))
        exec = gb_executable_create(state, owned.tape, status);
    if (exec)
        exec->owned = owned;
    else
        owned_free(&owned);
    return exec;
}

const gb_tape *gb_executable_tape(const gb_executable *exec)
{
    return exec->tape;
}

gb_state *gb_executable_state(const gb_executable *exec)
{
    return exec->state;
}

uint64_t gb_executable_arena_bytes(const gb_executable *exec)
{
    return exec->plan.arena_bytes;
}

double gb_executable_flops(const gb_executable *exec)
{
    return exec->flops;
}

void *gb_executable_input(gb_executable *exec, gb_tensor input, gb_status *status)
{
    uint32_t slot = exec->slot;
    if (exec->tickets[slot] && !gb_device_wait(exec->state->device, exec->tickets[slot], status))
        return NULL;
    return (char *)gb_buffer_map(exec->upload[slot]) + exec->tape->tensors[input].offset;
}

bool gb_executable_fill(gb_executable *exec, uint32_t step, gb_status *status)
{
    for (size_t i = 0; i < exec->tape->filler_count; i++) {
        const tape_filler *filler = &exec->tape->fillers[i];
        if (!filler->fill(filler->record, exec, step, status))
            return false;
    }
    return true;
}

bool gb_executable_run(gb_executable *exec, uint64_t *ticket, gb_status *status)
{
    uint32_t slot = exec->slot;
    if (!exec->main && !record(exec, status))
        return false;
    if (exec->state->poison && !gb_program_submit(exec->state->poison, status))
        return false;
    /* The output block of this slot must not be overwritten while an older run still writes it;
     * runs are ordered on the device, so only the host must have been able to read it. */
    if (exec->up[slot] && !gb_program_submit(exec->up[slot], status))
        return false;
    uint64_t value = gb_program_submit(exec->main, status);
    if (value && exec->down[slot])
        value = gb_program_submit(exec->down[slot], status);
    if (!value)
        return false;
    exec->tickets[slot] = value;
    exec->slot = (slot + 1) % SLOTS;
    if (ticket)
        *ticket = value;
    return true;
}

bool gb_executable_submit(gb_executable *exec, uint32_t step, uint64_t *ticket, gb_status *status)
{
    return gb_executable_fill(exec, step, status) && gb_executable_run(exec, ticket, status);
}

bool gb_executable_wait(gb_executable *exec, uint64_t ticket, gb_status *status)
{
    return gb_device_wait(exec->state->device, ticket, status);
}

const void *gb_executable_output(gb_executable *exec, uint64_t ticket, gb_tensor output,
                                 gb_status *status)
{
    if (!gb_device_wait(exec->state->device, ticket, status))
        return NULL;
    for (uint32_t s = 0; s < SLOTS; s++)
        for (size_t i = 0; i < exec->output_count; i++)
            if (exec->tickets[s] == ticket && exec->outputs[i].tensor == output)
                return (const char *)gb_buffer_map(exec->download[s]) + exec->outputs[i].offset;
    gb_fail(status, GB_INTERNAL, exec->tape->tensors[output].name, NULL,
            "not an output of that run, or too old");
    return NULL;
}
