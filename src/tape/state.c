/* Parameters, gradients and moments on the device. */
#include "exec.h"

#include <gabbro/tape.h>
#include <stdlib.h>

static uint64_t arena_bytes(const gb_params *params, gb_arena_id arena)
{
    return gb_params_arena_floats(params, arena) * sizeof(float);
}

/* An arena is one buffer, however many parameters it has. */
static bool fits_buffer(const gb_device_caps *caps, uint64_t bytes, const char *name,
                        gb_status *status)
{
    const double mib = 1 << 20;
    return bytes <= caps->max_buffer_bytes ||
           gb_fail(
               status, GB_MEMORY, name,
               "take a smaller model, or a smaller form of the weights where there is --weights",
               "%.1f MiB, which have to lie in one buffer; %s allows %.1f MiB", (double)bytes / mib,
               caps->name, (double)caps->max_buffer_bytes / mib);
}

gb_state *gb_state_create(gb_device *device, const gb_params *params, bool training,
                          gb_status *status)
{
    static const char *const names[] = {"parameters", "gradients", "first moments",
                                        "second moments"};
    gb_state *state = gb_alloc(1, sizeof *state, status);
    if (!state)
        return NULL;
    state->device = device;
    state->params = params;
    state->buffer_bytes =
        gb_device_get_caps(device)->max_buffer_bytes / GB_ALIGNMENT * GB_ALIGNMENT;
    bool ok = true;
    for (int a = 0; ok && a < (training ? GB_ARENA_COUNT : 1); a++) {
        uint64_t bytes = arena_bytes(params, (gb_arena_id)a);
        ok = fits_buffer(gb_device_get_caps(device), bytes, names[a], status) &&
             (state->arenas[a] = gb_buffer_create(device, GB_BUFFER_DEVICE, bytes ? bytes : 256,
                                                  names[a], status));
        /* Gradient rows that no kernel writes must read as zero. */
        ok = ok && gb_state_clear(state, (gb_arena_id)a, status);
    }
    if (!ok) {
        gb_state_destroy(state);
        return NULL;
    }
    return state;
}

static void free_activations(gb_state *state)
{
    for (uint32_t b = 0; b < state->activation_count; b++)
        gb_buffer_destroy(state->activations[b]);
    free(state->activations);
    state->activations = NULL;
    state->activation_count = 0;
    state->activation_bytes = 0;
}

static bool record_poison(gb_state *state, gb_status *status)
{
    gb_item *items = gb_alloc(state->activation_count, sizeof *items, status);
    if (!items)
        return false;
    for (uint32_t b = 0; b < state->activation_count; b++) {
        uint64_t start = b * state->buffer_bytes, left = state->activation_bytes - start;
        items[b] = (gb_item){.kind = GB_ITEM_FILL, .label = "poison", .fill = UINT32_MAX};
        items[b].bind[0] = (gb_binding){state->activations[b], 0,
                                        left < state->buffer_bytes ? left : state->buffer_bytes};
    }
    state->poison = gb_program_create(state->device, items, state->activation_count, status);
    free(items);
    return state->poison != NULL;
}

bool tape_grow_activations(gb_state *state, uint64_t bytes, gb_status *status)
{
    uint64_t size = state->buffer_bytes;
    uint32_t count = (uint32_t)(bytes / size + (bytes % size != 0));
    gb_program_destroy(state->poison);
    state->poison = NULL;
    free_activations(state);
    state->activations = gb_alloc(count, sizeof *state->activations, status);
    bool ok = state->activations != NULL;
    for (uint32_t b = 0; ok && b < count; b++) {
        uint64_t left = bytes - b * size;
        state->activations[b] = gb_buffer_create(state->device, GB_BUFFER_DEVICE,
                                                 left < size ? left : size, "activations", status);
        state->activation_count = b + 1;
        ok = state->activations[b] != NULL;
    }
    state->activation_bytes = ok ? bytes : 0;
    if (ok && gb_device_config(state->device)->poison)
        ok = record_poison(state, status);
    if (!ok)
        free_activations(state);
    return ok;
}

void gb_state_destroy(gb_state *state)
{
    if (!state)
        return;
    gb_program_destroy(state->poison);
    free_activations(state);
    for (int a = 0; a < GB_ARENA_COUNT; a++) {
        gb_program_destroy(state->clear[a]);
        gb_buffer_destroy(state->arenas[a]);
    }
    free(state);
}

bool gb_state_write(gb_state *state, gb_arena_id arena, const float *values, gb_status *status)
{
    return gb_upload(state->device, state->arenas[arena], 0, values,
                     arena_bytes(state->params, arena), status);
}

bool gb_state_write_part(gb_state *state, uint64_t first, uint64_t count, const void *values,
                         gb_status *status)
{
    return gb_upload(state->device, state->arenas[GB_ARENA_PARAMS], first * sizeof(float), values,
                     count * sizeof(float), status);
}

bool gb_state_read(gb_state *state, gb_arena_id arena, float *values, gb_status *status)
{
    return gb_download(state->device, state->arenas[arena], 0, values,
                       arena_bytes(state->params, arena), status);
}

bool gb_state_clear(gb_state *state, gb_arena_id arena, gb_status *status)
{
    uint64_t bytes = arena_bytes(state->params, arena);
    gb_item item = {.kind = GB_ITEM_FILL,
                    .barrier_before = true,
                    .label = "clear",
                    .bind = {{state->arenas[arena], 0, bytes}}};
    if (!bytes)
        return true;
    if (!state->clear[arena] &&
        !(state->clear[arena] = gb_program_create(state->device, &item, 1, status)))
        return false;
    return gb_program_submit(state->clear[arena], status) != 0;
}
