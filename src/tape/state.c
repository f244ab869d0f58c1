/* Parameters, gradients and moments on the device. */
#include "exec.h"

#include <gabbro/tape.h>
#include <stdlib.h>

static uint64_t arena_bytes(const gb_params *params, gb_arena_id arena)
{
    return gb_params_arena_floats(params, arena) * sizeof(float);
}

/* ---- arenas ---- */

typedef struct extent {
    uint64_t start, end; /* bytes of a parameter in the arena, with the padding behind it */
} extent;

static int by_start(const void *a_, const void *b_)
{
    const extent *a = a_, *b = b_;
    return (a->start > b->start) - (a->start < b->start);
}

static extent *extents_of(const gb_params *params, gb_arena_id arena, uint32_t *count,
                          gb_status *status)
{
    uint64_t bytes = arena_bytes(params, arena);
    extent *all = gb_alloc((size_t)gb_params_count(params) + 1, sizeof *all, status);
    *count = 0;
    for (uint32_t p = 0; all && p < gb_params_count(params); p++) {
        uint64_t start = gb_params_at(params, p)->offset * sizeof(float);
        if (start < bytes)
            all[(*count)++].start = start;
    }
    if (*count)
        qsort(all, *count, sizeof *all, by_start);
    for (uint32_t i = 0; i < *count; i++)
        all[i].end = i + 1 < *count ? all[i + 1].start : bytes;
    return all;
}

static bool too_large(const gb_device_caps *caps, const char *name, uint64_t bytes,
                      const char *what, gb_status *status)
{
    const double mib = 1 << 20;
    return gb_fail(status, GB_MEMORY, name, "take a smaller model, or a device with larger buffers",
                   "%s takes %.1f MiB, which have to lie in one buffer; %s allows %.1f MiB", what,
                   (double)bytes / mib, caps->name, (double)caps->max_buffer_bytes / mib);
}

/* Where the pieces of an arena begin: as few as the device's limits allow, each at a parameter. */
static bool cut_arena(gb_state *state, gb_arena_id arena, const char *name, bool whole,
                      gb_status *status)
{
    const gb_device_caps *caps = gb_device_get_caps(state->device);
    uint64_t bytes = arena_bytes(state->params, arena), most = state->buffer_bytes;
    uint32_t count, pieces = 1;
    extent *all = extents_of(state->params, arena, &count, status);
    arena_piece *cut = all ? gb_alloc((size_t)count + 1, sizeof *cut, status) : NULL;
    bool ok =
        cut && (bytes <= most || !whole || too_large(caps, name, bytes, "what is trained", status));
    for (uint32_t i = 0; ok && i < count; i++) {
        if (all[i].end - all[i].start > most)
            ok = too_large(caps, name, all[i].end - all[i].start, "a parameter", status);
        if (all[i].end - cut[pieces - 1].start > most)
            cut[pieces++].start = all[i].start;
    }
    for (uint32_t p = 0; ok && p < pieces; p++)
        cut[p].bytes = (p + 1 < pieces ? cut[p + 1].start : bytes) - cut[p].start;
    free(all);
    state->arenas[arena] = cut;
    state->piece_count[arena] = ok ? pieces : 0;
    return ok;
}

static bool make_arena(gb_state *state, gb_arena_id arena, bool training, gb_status *status)
{
    static const char *const names[] = {"parameters", "gradients", "first moments",
                                        "second moments"};
    /* The optimiser's windows go over whole arenas. */
    bool ok = cut_arena(state, arena, names[arena], training, status);
    for (uint32_t p = 0; ok && p < state->piece_count[arena]; p++) {
        arena_piece *piece = &state->arenas[arena][p];
        piece->buffer = gb_buffer_create(state->device, GB_BUFFER_DEVICE,
                                         piece->bytes ? piece->bytes : 256, names[arena], status);
        ok = piece->buffer != NULL;
    }
    /* Gradient rows that no kernel writes must read as zero. */
    return ok && gb_state_clear(state, arena, status);
}

const arena_piece *tape_piece_at(const gb_state *state, gb_arena_id arena, uint64_t start)
{
    const arena_piece *pieces = state->arenas[arena];
    uint32_t piece = state->piece_count[arena] - 1;
    while (piece && pieces[piece].start > start)
        piece--;
    return &pieces[piece];
}

gb_state *gb_state_create(gb_device *device, const gb_params *params, bool training,
                          gb_status *status)
{
    gb_state *state = gb_alloc(1, sizeof *state, status);
    if (!state)
        return NULL;
    state->device = device;
    state->params = params;
    state->buffer_bytes =
        gb_device_get_caps(device)->max_buffer_bytes / GB_ALIGNMENT * GB_ALIGNMENT;
    bool ok = true;
    for (int a = 0; ok && a < (training ? GB_ARENA_COUNT : 1); a++)
        ok = make_arena(state, (gb_arena_id)a, training, status);
    if (!ok) {
        gb_state_destroy(state);
        return NULL;
    }
    return state;
}

/* ---- activations ---- */

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
        for (uint32_t p = 0; p < state->piece_count[a]; p++)
            gb_buffer_destroy(state->arenas[a][p].buffer);
        free(state->arenas[a]);
    }
    free(state);
}

/* ---- values ---- */

/* Calls gb_upload or gb_download for each piece of bytes [start, start + bytes) of an arena. */
static bool transfer(gb_state *state, gb_arena_id arena, uint64_t start, uint64_t bytes,
                     const char *from, char *to, gb_status *status)
{
    bool ok = true;
    for (uint64_t done = 0; ok && done < bytes;) {
        const arena_piece *piece = tape_piece_at(state, arena, start + done);
        uint64_t at = start + done - piece->start, left = piece->bytes - at;
        uint64_t size = bytes - done < left ? bytes - done : left;
        ok = from ? gb_upload(state->device, piece->buffer, at, from + done, size, status)
                  : gb_download(state->device, piece->buffer, at, to + done, size, status);
        done += size;
    }
    return ok;
}

bool gb_state_write(gb_state *state, gb_arena_id arena, const float *values, gb_status *status)
{
    return transfer(state, arena, 0, arena_bytes(state->params, arena), (const char *)values, NULL,
                    status);
}

bool gb_state_write_part(gb_state *state, uint64_t first, uint64_t count, const void *values,
                         gb_status *status)
{
    return transfer(state, GB_ARENA_PARAMS, first * sizeof(float), count * sizeof(float), values,
                    NULL, status);
}

bool gb_state_read(gb_state *state, gb_arena_id arena, float *values, gb_status *status)
{
    return transfer(state, arena, 0, arena_bytes(state->params, arena), NULL, (char *)values,
                    status);
}

static gb_program *record_clear(gb_state *state, gb_arena_id arena, gb_status *status)
{
    uint32_t count = state->piece_count[arena];
    gb_item *items = gb_alloc(count, sizeof *items, status);
    for (uint32_t p = 0; items && p < count; p++) {
        const arena_piece *piece = &state->arenas[arena][p];
        items[p] = (gb_item){.kind = GB_ITEM_FILL,
                             .barrier_before = p == 0,
                             .label = "clear",
                             .bind = {{piece->buffer, 0, piece->bytes}}};
    }
    gb_program *program = items ? gb_program_create(state->device, items, count, status) : NULL;
    free(items);
    return program;
}

bool gb_state_clear(gb_state *state, gb_arena_id arena, gb_status *status)
{
    if (!arena_bytes(state->params, arena))
        return true;
    if (!state->clear[arena] && !(state->clear[arena] = record_clear(state, arena, status)))
        return false;
    return gb_program_submit(state->clear[arena], status) != 0;
}
