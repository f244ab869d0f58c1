/* A step whose batch runs in parts. Gradients of the parts add up in the arena, in order. Where
 * texts are compared with each other (gradient caching, Gao et al., 2021): the vectors of all parts
 * first, forward only; then the losses over all vectors, and the gradient of these; then every part
 * again, with the same dropout, its gradient starting from that of its vectors and its own losses.
 * Where a batch is in shards (shards.c), a rank does this with the parts of its own. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* ---- programs ---- */

static void output_losses(const trainer *t, const training_program *b, gb_tape *tape)
{
    for (uint32_t l = 0; l < trainer_loss_count(t->task); l++)
        gb_tape_output(tape, b->losses[l]);
}

/* Forward and gradient of a part. */
static bool microbatch_build(trainer *t, training_program *b, gb_builder *builder,
                             gb_status *status)
{
    gb_tape *tape = builder->tape;
    t->task->build(t->task->self, builder, &b->bucket, b->losses);
    if (!gb_tape_ok(tape, status))
        return false;
    output_losses(t, b, tape);
    b->forward_nodes = gb_tape_node_count(tape);
    gb_add_to_gradients(tape);
    if (builder->vectors != GB_NO_TENSOR) {
        gb_tensor_info info = *gb_tape_tensor(tape, builder->vectors);
        b->gradient = gb_tape_input(tape, "gradient of vectors", GB_F32, info.rows, info.cols);
        if (b->losses[0] == GB_NO_TENSOR)
            return gb_backward_from(tape, builder->vectors, b->gradient, status);
        gb_initial_gradient(tape, builder->vectors, b->gradient);
    }
    return trainer_scale_backward(t, b, tape, status);
}

static bool vectors_build(trainer *t, training_program *b, gb_builder *builder, gb_status *status)
{
    builder->recompute = false; /* nothing is kept for a gradient */
    t->task->build(t->task->self, builder, &b->bucket, b->losses);
    b->vectors = builder->vectors;
    gb_tape_output(builder->tape, b->vectors);
    return gb_tape_prune(builder->tape, status);
}

static bool compare_build(trainer *t, training_program *b, gb_builder *builder, uint32_t width,
                          gb_status *status)
{
    gb_tape *tape = builder->tape;
    uint32_t rows = b->bucket.texts * t->task->microbatch.vectors;
    b->vectors = gb_tape_input(tape, "vectors", GB_F32, rows, width);
    if (b->vectors != GB_NO_TENSOR)
        gb_tape_info(tape, b->vectors)->needs_grad = true;
    t->task->microbatch.compare(t->task->self, builder, b->vectors, b->losses);
    if (!gb_tape_ok(tape, status))
        return false;
    output_losses(t, b, tape);
    if (!trainer_scale_backward(t, b, tape, status))
        return false;
    b->gradient = gb_tape_tensor(tape, b->vectors)->grad;
    gb_tape_output(tape, b->gradient);
    return gb_tape_ok(tape, status);
}

bool trainer_microbatches_build(trainer *t, training_program *b, gb_builder *builder,
                                uint32_t width, gb_status *status)
{
    for (int l = 0; l < GB_MAX_LOSSES; l++)
        b->losses[l] = GB_NO_TENSOR;
    b->vectors = b->gradient = builder->vectors = GB_NO_TENSOR;
    return b->kind == PROGRAM_MICROBATCH ? microbatch_build(t, b, builder, status)
           : b->kind == PROGRAM_VECTORS  ? vectors_build(t, b, builder, status)
                                         : compare_build(t, b, builder, width, status);
}

/* ---- runs ---- */

/* The parts of the drawn batch. */
typedef struct microbatch_list {
    uint32_t texts;      /* of the batch */
    uint32_t most;       /* of a part */
    uint32_t count;      /* parts, t->cuts */
    uint32_t first, end; /* those that this rank runs */
    gb_bucket bucket;    /* of the largest program that a part needs: all use it */
    uint32_t width;      /* of a vector */
    uint32_t row_size;   /* floats from vector to vector */
} microbatch_list;

/* Shares are runs of texts, parts runs of a share. */
static bool split_batch(trainer *t, microbatch_list *list, gb_status *status)
{
    uint32_t gradient_shards = t->params->gradient_shards ? t->params->gradient_shards : 1;
    uint32_t first, texts, rank = gb_ranks_rank(t->params->ranks);
    gb_ranks_range(0, gradient_shards, list->texts, &first, &texts);
    list->most =
        t->params->micro_batch && t->params->micro_batch < texts ? t->params->micro_batch : texts;
    for (uint32_t k = 0; k < gradient_shards; k++) {
        gb_ranks_range(k, gradient_shards, list->texts, &first, &texts);
        for (uint32_t at = first; at < first + texts; at += list->most) {
            if (!gb_grow(&t->cuts, &t->cut_capacity, list->count + 1, sizeof *t->cuts, status))
                return false;
            uint32_t left = first + texts - at;
            t->cuts[list->count++] = (microbatch_range){at, left < list->most ? left : list->most,
                                                        .begins = at == first};
        }
        trainer_shards_end(t, k, first + texts, list->count);
    }
    list->first = rank ? t->sums.microbatch_end[rank - 1] : 0;
    list->end = t->sums.microbatch_end ? t->sums.microbatch_end[rank] : list->count;
    uint32_t parts = list->end - list->first;
    t->parts = parts > t->parts ? parts : t->parts;
    return true;
}

/* One shape for all parts of the batch, so that few programs are recorded; a function of the batch
 * alone, so that a resumed run, and every rank, has the same ones. */
static void find_bucket(const trainer *t, microbatch_list *list)
{
    for (uint32_t p = 0; p < list->count; p++) {
        gb_bucket bucket = {0};
        t->task->microbatch.size(t->task->self, t->cuts[p].first, t->cuts[p].count, &bucket);
        for (int i = 0; i < GB_BUCKET_SIZES; i++)
            if (bucket.size[i] > list->bucket.size[i])
                list->bucket.size[i] = bucket.size[i];
    }
    list->bucket.texts = list->most;
}

bool trainer_microbatches_bucket(trainer *t, uint32_t texts, gb_bucket *bucket, gb_status *status)
{
    microbatch_list list = {.texts = texts};
    if (!split_batch(t, &list, status))
        return false;
    find_bucket(t, &list);
    *bucket = list.bucket;
    return true;
}

static bool fill_microbatch(const trainer *t, const training_program *b,
                            const microbatch_range *part, uint32_t step, gb_status *status)
{
    return t->task->microbatch.select(t->task->self, part->first, part->count, status) &&
           gb_executable_fill(b->exec, step, status);
}

static bool read_vectors(trainer *t, const microbatch_list *list, training_program *b,
                         uint64_t ticket, const microbatch_range *part, gb_status *status)
{
    const float *vectors = gb_executable_output(b->exec, ticket, b->vectors, status);
    size_t of_text = (size_t)t->task->microbatch.vectors * list->row_size;
    if (vectors)
        memcpy(t->vectors + part->first * of_text, vectors,
               sizeof *vectors * of_text * part->count);
    return vectors != NULL;
}

static bool make_vectors(trainer *t, microbatch_list *list, uint32_t step, gb_status *status)
{
    training_program *b = trainer_program(t, PROGRAM_VECTORS, &list->bucket, 0, status);
    if (!b)
        return false;
    const gb_tensor_info *info = gb_tape_tensor(gb_executable_tape(b->exec), b->vectors);
    list->width = info->cols;
    list->row_size = info->ld;
    size_t of_text = (size_t)t->task->microbatch.vectors * info->ld, floats = list->texts * of_text;
    if (!gb_grow(&t->vectors, &t->vector_capacity, floats, sizeof *t->vectors, status) ||
        !gb_grow(&t->gradients, &t->gradient_capacity, floats, sizeof *t->gradients, status))
        return false;
    uint64_t before = 0;
    for (uint32_t p = list->first; p < list->end; p++) {
        uint64_t ticket;
        if (!fill_microbatch(t, b, &t->cuts[p], step, status) ||
            !gb_executable_run(b->exec, &ticket, status))
            return false;
        t->flops += gb_executable_flops(b->exec);
        /* The vectors before are read while these are made. */
        if (p > list->first && !read_vectors(t, list, b, before, &t->cuts[p - 1], status))
            return false;
        before = ticket;
    }
    return (list->end == list->first ||
            read_vectors(t, list, b, before, &t->cuts[list->end - 1], status)) &&
           trainer_shards_vectors(t, sizeof *t->vectors * of_text, status);
}

static bool compare_vectors(trainer *t, const microbatch_list *list, uint32_t step,
                            gb_status *status)
{
    gb_bucket bucket = {.texts = list->texts};
    training_program *b = trainer_program(t, PROGRAM_COMPARE, &bucket, list->width, status);
    float *vectors = b ? gb_executable_input(b->exec, b->vectors, status) : NULL;
    size_t bytes =
        sizeof *vectors * list->texts * t->task->microbatch.vectors * (size_t)list->row_size;
    if (!vectors)
        return false;
    memcpy(vectors, t->vectors, bytes);
    if (!gb_executable_fill(b->exec, step, status) ||
        !trainer_run(t, b, step, t->log[step], false, status))
        return false;
    const float *gradient = gb_executable_output(b->exec, t->last.ticket, b->gradient, status);
    if (gradient)
        memcpy(t->gradients, gradient, bytes);
    return gradient != NULL;
}

static bool fill_gradient(trainer *t, const microbatch_list *list, const training_program *b,
                          const microbatch_range *part, gb_status *status)
{
    if (b->gradient == GB_NO_TENSOR)
        return true;
    float *gradient = gb_executable_input(b->exec, b->gradient, status);
    size_t of_text = (size_t)t->task->microbatch.vectors * list->row_size, count = part->count;
    if (!gradient)
        return false;
    memcpy(gradient, t->gradients + part->first * of_text, sizeof *gradient * count * of_text);
    memset(gradient + count * of_text, 0, sizeof *gradient * (list->most - count) * of_text);
    return true;
}

/* The parts of this rank: gradients of a share add up in the arena. */
static bool run_microbatches(trainer *t, const microbatch_list *list, uint32_t step,
                             gb_status *status)
{
    training_program *b = trainer_program(t, PROGRAM_MICROBATCH, &list->bucket, 0, status);
    for (uint32_t p = list->first; b && p < list->end; p++) {
        microbatch_range *part = &t->cuts[p];
        if ((part->begins && ((p > list->first && !trainer_shards_add(t, status)) ||
                              !gb_state_clear(t->state, GB_ARENA_GRADS, status))) ||
            !fill_microbatch(t, b, part, step, status) ||
            !fill_gradient(t, list, b, part, status) ||
            !trainer_run(t, b, step, t->params->ranks ? part->losses : t->log[step], false, status))
            return false;
    }
    return b && (list->end == list->first || trainer_shards_add(t, status)) &&
           trainer_shards_sum(t, step, list->count, status);
}

bool trainer_microbatches_run(trainer *t, uint32_t step, uint32_t texts, gb_status *status)
{
    microbatch_list list = {.texts = texts};
    const gb_microbatch *how = &t->task->microbatch;
    memset(t->log[step], 0, sizeof t->log[step]);
    if (!split_batch(t, &list, status))
        return false;
    find_bucket(t, &list);
    return (!how->vectors || (make_vectors(t, &list, step, status) &&
                              (!how->meet || how->meet(t->task->self, t->vectors, list.width,
                                                       list.row_size, status)) &&
                              compare_vectors(t, &list, step, status))) &&
           run_microbatches(t, &list, step, status);
}
