/* A batch in gradient_shards: runs of its texts whose gradients are made one by one, each from
 * zero, and summed on the host in their order. Ranks have whole shards, so that the same bits come
 * out however many ranks there are. What ranks exchange in a step: the vectors of texts that are
 * compared, the losses of parts, and the sum of gradients, which travels from rank to rank, each
 * adding its shards, and then to all. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

bool trainer_shards_prepare(trainer *t, gb_status *status)
{
    shard_sums *sums = &t->sums;
    uint32_t ranks = gb_ranks_count(t->params->ranks), gradient_shards = t->params->gradient_shards,
             first, own;
    if (ranks > 1 && !t->task->microbatch.count)
        return gb_fail(status, GB_USAGE, t->params->label, "train it with one rank",
                       "its batch cannot be cut into parts");
    if (ranks > (gradient_shards ? gradient_shards : 1))
        return gb_fail(
            status, GB_USAGE, t->params->label,
            "--gradient-shards of at least the number of ranks; it is part of the artifact's key",
            "%u ranks cannot divide %u gradient shards", ranks, gradient_shards);
    if (!gradient_shards)
        return true;
    gb_ranks_range(gb_ranks_rank(t->params->ranks), ranks, gradient_shards, &first, &own);
    sums->capacity = gb_ranks_rank(t->params->ranks) || own == 1 ? own : 2;
    return (sums->terms = gb_alloc(sums->capacity, sizeof *sums->terms, status)) &&
           (sums->microbatch_end = gb_alloc(ranks, sizeof *sums->microbatch_end, status)) &&
           (sums->text_end = gb_alloc(ranks, sizeof *sums->text_end, status)) &&
           (sums->ends = gb_alloc(ranks, sizeof *sums->ends, status));
}

void trainer_shards_free(trainer *t)
{
    for (uint32_t i = 0; t->sums.terms && i < t->sums.capacity; i++)
        free(t->sums.terms[i]);
    free(t->sums.terms);
    free(t->sums.microbatch_end);
    free(t->sums.text_end);
    free(t->sums.ends);
    t->sums = (shard_sums){0};
}

void trainer_shards_end(trainer *t, uint32_t share, uint32_t text_end, uint32_t microbatch_end)
{
    uint32_t ranks = gb_ranks_count(t->params->ranks), first, own;
    for (uint32_t r = 0; t->params->gradient_shards && r < ranks; r++) {
        gb_ranks_range(r, ranks, t->params->gradient_shards, &first, &own);
        if (share < first || share >= first + own)
            continue;
        t->sums.text_end[r] = text_end;
        t->sums.microbatch_end[r] = microbatch_end;
    }
}

/* Pieces of an array that end at `end` elements of `size` bytes. */
static bool gather(trainer *t, void *all, const uint32_t *end, size_t size, gb_status *status)
{
    double start_s = gb_now_s();
    for (uint32_t r = 0; r < gb_ranks_count(t->params->ranks); r++)
        t->sums.ends[r] = end[r] * size;
    bool ok = gb_ranks_gather(t->params->ranks, all, t->sums.ends, status);
    t->ranks_s += gb_now_s() - start_s;
    return ok;
}

bool trainer_shards_vectors(trainer *t, size_t text_bytes, gb_status *status)
{
    return !t->params->ranks || gather(t, t->vectors, t->sums.text_end, text_bytes, status);
}

bool trainer_shards_add(trainer *t, gb_status *status)
{
    shard_sums *sums = &t->sums;
    uint64_t floats = gb_params_arena_floats(t->params->params, GB_ARENA_GRADS);
    if (t->params->gradient_shards < 2)
        return true;
    uint32_t at = sums->count++;
    if (!sums->terms[at] && !(sums->terms[at] = gb_alloc(floats, sizeof(float), status)))
        return false;
    if (!gb_state_read(t->state, GB_ARENA_GRADS, sums->terms[at], status))
        return false;
    if (gb_ranks_rank(t->params->ranks) || !at)
        return true;
    sums->count = 1; /* the sum begins on rank 0: nothing has to be kept */
    return gb_ranks_sum(NULL, sums->terms, 2, sums->terms[0], floats, status);
}

/* Losses of all parts, in their order. */
static bool add_losses(trainer *t, uint32_t step, uint32_t parts, gb_status *status)
{
    if (!trainer_collect(t, status) ||
        !gather(t, t->cuts, t->sums.microbatch_end, sizeof *t->cuts, status))
        return false;
    for (uint32_t p = 0; p < parts; p++)
        for (int l = 0; l < GB_MAX_LOSSES; l++)
            t->log[step][l] += t->cuts[p].losses[l];
    return true;
}

bool trainer_shards_sum(trainer *t, uint32_t step, uint32_t parts, gb_status *status)
{
    shard_sums *sums = &t->sums;
    uint64_t floats = gb_params_arena_floats(t->params->params, GB_ARENA_GRADS);
    if (t->params->ranks && !add_losses(t, step, parts, status))
        return false;
    if (t->params->gradient_shards < 2)
        return true;
    /* A batch of fewer texts than shards may leave a rank without any. */
    if (!sums->terms[0] && !(sums->terms[0] = gb_alloc(floats, sizeof(float), status)))
        return false;
    double start_s = gb_now_s();
    bool ok =
        gb_ranks_sum(t->params->ranks, sums->terms, sums->count, sums->terms[0], floats, status) &&
        gb_state_write(t->state, GB_ARENA_GRADS, sums->terms[0], status);
    sums->count = 0;
    t->ranks_s += gb_now_s() - start_s;
    return ok;
}

bool trainer_shards_stop(trainer *t, bool *stop, gb_status *status)
{
    *stop = gb_interrupted();
    return gb_ranks_any(t->params->ranks, stop, status);
}

bool trainer_shards_resume(trainer *t, uint32_t *next_step, gb_status *status)
{
    static const gb_arena_id kept[] = {GB_ARENA_PARAMS, GB_ARENA_MOMENT1, GB_ARENA_MOMENT2};
    gb_ranks *ranks = t->params->ranks;
    const gb_params *params = t->params->params;
    if (!ranks)
        return true;
    if (!gb_ranks_broadcast(ranks, next_step, sizeof *next_step, status))
        return false;
    if (!*next_step)
        return true;
    float *values = gb_alloc(gb_params_floats(params), sizeof *values, status);
    bool ok = values && gb_ranks_broadcast(ranks, t->log, *next_step * sizeof *t->log, status) &&
              gb_ranks_broadcast(ranks, &t->scale, sizeof t->scale, status);
    for (size_t i = 0; ok && i < sizeof kept / sizeof *kept; i++) {
        size_t bytes = gb_params_arena_floats(params, kept[i]) * sizeof *values;
        ok = (gb_ranks_rank(ranks) || gb_state_read(t->state, kept[i], values, status)) &&
             gb_ranks_broadcast(ranks, values, bytes, status) &&
             (!gb_ranks_rank(ranks) || gb_state_write(t->state, kept[i], values, status));
    }
    free(values);
    return ok;
}

bool trainer_shards_agree(trainer *t, const float *values, gb_status *status)
{
    char hash[GB_HASH_SIZE];
    if (!t->params->ranks)
        return true;
    gb_hash_bytes(values, gb_params_floats(t->params->params) * sizeof *values, hash);
    return gb_ranks_agree(t->params->ranks, "the trained model", hash, status);
}
