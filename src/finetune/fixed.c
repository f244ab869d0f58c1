/* Queries are compared with passages that stay as they are: what a search with the vectors of this
 * very step finds (ADORE, Zhan et al., "Optimizing dense retrieval model training with hard
 * negatives", SIGIR 2021). */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* ---- the search ---- */

/* The vectors without what lies between them; NULL and status on failure. */
static float *copy_rows(const float *vectors, uint32_t rows, uint32_t width, uint32_t ld,
                        gb_status *status)
{
    float *copy = gb_alloc((size_t)rows * width, sizeof *copy, status);
    for (uint32_t r = 0; copy && r < rows; r++)
        memcpy(copy + (size_t)r * width, vectors + (size_t)r * ld, sizeof *copy * width);
    return copy;
}

static bool is_positive(const finetune_drawer *d, uint32_t q, uint32_t passage)
{
    return finetune_is_positive(d->data.set, d->drawn[q], passage) ||
           (d->data.copies && finetune_is_copy(d, q, passage));
}

/* Behind the positive of a query: what was found and is no positive, in its order. All other
 * columns are left out. */
static void take_found(finetune_drawer *d, uint32_t q, const uint32_t *found)
{
    gb_training_batch *b = &d->batch;
    uint32_t own = gb_positive_column(b, q), columns = gb_training_batch_columns(b), count = 1;
    uint32_t words = (columns + 31) / 32, *bits = b->exclude + (size_t)q * words;
    uint32_t *rows = b->rows + b->queries + own;
    for (uint32_t i = 0; i < b->per_query - 1; i++)
        if (found[i] != UINT32_MAX && !is_positive(d, q, found[i]))
            rows[count++] = found[i];
    for (uint32_t i = count; i < b->per_query; i++)
        rows[i] = rows[0];
    memset(bits, 0xff, sizeof *bits * words);
    for (uint32_t c = own; c < own + count; c++)
        bits[c / 32] &= ~(1u << c % 32);
}

bool finetune_meet(finetune_drawer *d, const float *vectors, uint32_t width, uint32_t ld,
                   gb_status *status)
{
    const gb_training_batch *b = &d->batch;
    uint32_t k = b->per_query - 1;
    float *values = copy_rows(vectors, b->queries, width, ld, status);
    uint32_t *found = values ? gb_alloc((size_t)b->queries * k, sizeof *found, status) : NULL;
    const gb_vectors queries = {.rows = b->queries, .width = width, .values = values};
    bool ok = found && d->data.fixed->search(d->data.fixed->context, &queries, k, found, status);
    for (uint32_t q = 0; ok && q < b->queries; q++)
        take_found(d, q, found + (size_t)q * k);
    free(values);
    free(found);
    return ok;
}

/* ---- the input ---- */

typedef struct passage_input {
    const gb_training_batch *batch; /* its rows */
    const gb_vectors *vectors;      /* of all passages */
    gb_tensor input;                /* [Q P, width] */
    uint32_t ld;                    /* floats from row to row of it */
} passage_input;

static bool fill_passages(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const passage_input *in = record;
    const gb_training_batch *b = in->batch;
    const gb_vectors *all = in->vectors;
    float *to = gb_executable_input(exec, in->input, status);
    for (uint32_t c = 0; to && c < gb_training_batch_columns(b); c++) {
        uint32_t row = b->rows[b->queries + c];
        const float *from = all->values ? all->values + (size_t)row * all->width
                                        : all->read(all->context, row, 1, status);
        if (!from)
            return false;
        memcpy(to + (size_t)c * in->ld, from, sizeof *to * all->width);
    }
    return to;
}

gb_tensor finetune_fixed_vectors(gb_builder *builder, const finetune_drawer *d)
{
    const gb_vectors *all = &d->data.fixed->vectors;
    passage_input in = {.batch = &d->batch, .vectors = all};
    in.input = gb_tape_input(builder->tape, "passages", GB_F32,
                             gb_training_batch_columns(&d->batch), all->width);
    if (in.input != GB_NO_TENSOR)
        in.ld = gb_tape_tensor(builder->tape, in.input)->ld;
    gb_tape_fill_by(builder->tape, fill_passages, &in, sizeof in);
    return in.input;
}
