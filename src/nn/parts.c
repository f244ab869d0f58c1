/* A step whose batch runs in parts. Gradients of the parts add up in the arena, in order. Where
 * texts are compared with each other (gradient caching, Gao et al., 2021): the vectors of all parts
 * first, forward only; then the losses over all vectors, and the gradient of these; then every part
 * again, with the same dropout, its gradient starting from that of its vectors and its own losses.
 */
#include "train.h"

#include <stdlib.h>
#include <string.h>

/* ---- programs ---- */

static void output_losses(const trainer *t, bucket *b)
{
    for (uint32_t l = 0; l < train_loss_count(t->task); l++)
        gb_tape_output(b->tape, b->losses[l]);
}

/* Forward and gradient of a part. */
static bool part_build(trainer *t, bucket *b, gb_net *net, gb_status *status)
{
    t->task->build(t->task->self, net, &b->shape, b->graph, b->losses);
    if (!gb_tape_ok(b->tape, status))
        return false;
    output_losses(t, b);
    gb_add_to_gradients(b->tape);
    if (net->vectors != GB_NO_TENSOR) {
        gb_tensor_info info = *gb_tape_tensor(b->tape, net->vectors);
        b->gradient = gb_tape_input(b->tape, "gradient of vectors", GB_F32, info.rows, info.cols);
        if (b->losses[0] == GB_NO_TENSOR)
            return gb_backward_from(b->tape, net->vectors, b->gradient, status);
        gb_start_gradient(b->tape, net->vectors, b->gradient);
    }
    return gb_backward(b->tape, b->losses[0], status);
}

static bool vectors_build(trainer *t, bucket *b, gb_net *net, gb_status *status)
{
    net->recompute = false; /* nothing is kept for a gradient */
    t->task->build(t->task->self, net, &b->shape, b->graph, b->losses);
    b->vectors = net->vectors;
    gb_tape_output(b->tape, b->vectors);
    return gb_tape_prune(b->tape, status);
}

static bool compare_build(trainer *t, bucket *b, gb_net *net, uint32_t width, gb_status *status)
{
    uint32_t rows = b->shape.texts * t->task->cut.vectors;
    b->vectors = gb_tape_input(b->tape, "vectors", GB_F32, rows, width);
    if (b->vectors != GB_NO_TENSOR)
        gb_tape_info(b->tape, b->vectors)->needs_grad = true;
    t->task->cut.compare(t->task->self, net, b->vectors, b->graph, b->losses);
    if (!gb_tape_ok(b->tape, status))
        return false;
    output_losses(t, b);
    if (!gb_backward(b->tape, b->losses[0], status))
        return false;
    b->gradient = gb_tape_tensor(b->tape, b->vectors)->grad;
    gb_tape_output(b->tape, b->gradient);
    return gb_tape_ok(b->tape, status);
}

bool parts_build(trainer *t, bucket *b, gb_net *net, uint32_t width, gb_status *status)
{
    for (int l = 0; l < GB_MAX_LOSSES; l++)
        b->losses[l] = GB_NO_TENSOR;
    b->vectors = b->gradient = net->vectors = GB_NO_TENSOR;
    net->part = true;
    return b->kind == BUCKET_PART      ? part_build(t, b, net, status)
           : b->kind == BUCKET_VECTORS ? vectors_build(t, b, net, status)
                                       : compare_build(t, b, net, width, status);
}

/* ---- runs ---- */

/* The parts of the drawn batch. */
typedef struct part_list {
    uint32_t texts;    /* of the batch */
    uint32_t most;     /* of a part */
    gb_shape shape;    /* of the largest program that a part needs: all use it */
    uint32_t width;    /* of a vector */
    uint32_t row_size; /* floats from vector to vector */
} part_list;

static uint32_t texts_of(const part_list *list, uint32_t first)
{
    uint32_t left = list->texts - first;
    return left < list->most ? left : list->most;
}

/* One shape for all parts of the batch, so that few programs are recorded; a function of the batch
 * alone, so that a resumed run has the same ones. */
static bool find_shape(const trainer *t, part_list *list, gb_status *status)
{
    for (uint32_t first = 0; first < list->texts; first += list->most) {
        gb_shape shape = {0};
        if (!t->task->cut.select(t->task->self, first, texts_of(list, first), &shape, status))
            return false;
        for (int i = 0; i < GB_SHAPE_SIZES; i++)
            if (shape.size[i] > list->shape.size[i])
                list->shape.size[i] = shape.size[i];
    }
    list->shape.texts = list->most;
    return true;
}

static bool fill_part(const trainer *t, const part_list *list, const bucket *b, uint32_t first,
                      uint32_t step, gb_status *status)
{
    gb_shape shape = {0};
    return t->task->cut.select(t->task->self, first, texts_of(list, first), &shape, status) &&
           t->task->fill(t->task->self, b->exec, b->graph, step, status);
}

static bool read_vectors(trainer *t, const part_list *list, bucket *b, uint64_t ticket,
                         uint32_t first, gb_status *status)
{
    const float *vectors = gb_exec_output(b->exec, ticket, b->vectors, status);
    size_t of_text = (size_t)t->task->cut.vectors * list->row_size;
    if (vectors)
        memcpy(t->vectors + first * of_text, vectors,
               sizeof *vectors * of_text * texts_of(list, first));
    return vectors != NULL;
}

static bool make_vectors(trainer *t, part_list *list, uint32_t step, gb_status *status)
{
    bucket *b = train_bucket(t, BUCKET_VECTORS, &list->shape, 0, status);
    if (!b)
        return false;
    const gb_tensor_info *info = gb_tape_tensor(b->tape, b->vectors);
    list->width = info->cols;
    list->row_size = info->ld;
    size_t floats = (size_t)list->texts * t->task->cut.vectors * info->ld;
    if (!gb_grow(&t->vectors, &t->vector_capacity, floats, sizeof *t->vectors, status) ||
        !gb_grow(&t->gradients, &t->gradient_capacity, floats, sizeof *t->gradients, status))
        return false;
    uint64_t before = 0;
    for (uint32_t first = 0; first < list->texts; first += list->most) {
        uint64_t ticket;
        if (!fill_part(t, list, b, first, step, status) || !gb_exec_run(b->exec, &ticket, status))
            return false;
        t->flops += gb_exec_flops(b->exec);
        /* The vectors before are read while these are made. */
        if (first && !read_vectors(t, list, b, before, first - list->most, status))
            return false;
        before = ticket;
    }
    return read_vectors(t, list, b, before, (list->texts - 1) / list->most * list->most, status);
}

static bool compare_vectors(trainer *t, const part_list *list, uint32_t step, gb_status *status)
{
    gb_shape shape = {.texts = list->texts};
    bucket *b = train_bucket(t, BUCKET_COMPARE, &shape, list->width, status);
    float *vectors = b ? gb_exec_input(b->exec, b->vectors, status) : NULL;
    size_t bytes = sizeof *vectors * list->texts * t->task->cut.vectors * (size_t)list->row_size;
    if (!vectors)
        return false;
    memcpy(vectors, t->vectors, bytes);
    if (!t->task->cut.fill_compare(t->task->self, b->exec, b->graph, status) ||
        !train_run(t, b, step, status))
        return false;
    const float *gradient = gb_exec_output(b->exec, t->last.ticket, b->gradient, status);
    if (gradient)
        memcpy(t->gradients, gradient, bytes);
    return gradient != NULL;
}

static bool fill_gradient(trainer *t, const part_list *list, const bucket *b, uint32_t first,
                          gb_status *status)
{
    if (b->gradient == GB_NO_TENSOR)
        return true;
    float *gradient = gb_exec_input(b->exec, b->gradient, status);
    size_t of_text = (size_t)t->task->cut.vectors * list->row_size, count = texts_of(list, first);
    if (!gradient)
        return false;
    memcpy(gradient, t->gradients + first * of_text, sizeof *gradient * count * of_text);
    memset(gradient + count * of_text, 0, sizeof *gradient * (list->most - count) * of_text);
    return true;
}

bool parts_run(trainer *t, uint32_t step, uint32_t texts, gb_status *status)
{
    part_list list = {.texts = texts, .most = t->params->micro_batch};
    uint32_t parts = (texts + list.most - 1) / list.most;
    t->parts = parts > t->parts ? parts : t->parts;
    memset(t->log[step], 0, sizeof t->log[step]);
    if (!find_shape(t, &list, status) ||
        (t->task->cut.vectors &&
         (!make_vectors(t, &list, step, status) || !compare_vectors(t, &list, step, status))) ||
        !gb_state_clear(t->state, GB_ARENA_GRADS, status))
        return false;
    bucket *b = train_bucket(t, BUCKET_PART, &list.shape, 0, status);
    for (uint32_t first = 0; b && first < texts; first += list.most)
        if (!fill_part(t, &list, b, first, step, status) ||
            !fill_gradient(t, &list, b, first, status) || !train_run(t, b, step, status))
            return false;
    return b != NULL;
}
