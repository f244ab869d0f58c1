/* The batch of a step: queries, their positives, negatives drawn for them, and what a teacher
 * thinks of these. */
#include "private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LOOKED_AT = 1000 }; /* batches in which collisions are counted */

uint32_t finetune_max_length(const gb_finetune_params *params)
{
    uint32_t query = params->max_query_length, passage = params->max_passage_length;
    return query > passage ? query : passage;
}

/* ---- rows ---- */

/* The i-th query of a step, and in which epoch it is visited. */
static const gb_training_query *visit(finetune_drawer *d, uint32_t step, uint32_t i,
                                      uint32_t *epoch)
{
    const gb_training_query *queries = d->data.set->queries;
    uint32_t batch = d->batch.queries;
    uint64_t index = (uint64_t)step * batch + i;
    if (d->data.distinct) {
        const finetune_distinct *x = &d->distinct;
        *epoch = x->epoch;
        return &queries[x->order[(size_t)(step - x->first) * batch + i]];
    }
    *epoch = (uint32_t)(index / d->data.set->count);
    return &queries[d->data.topics ? finetune_topics_at(&d->topics, index)
                                   : gb_epochs_at(&d->order, index)];
}

bool finetune_draw_random(finetune_drawer *d, const gb_training_query *q, uint64_t stream,
                          uint32_t epoch, uint32_t count, uint32_t *rows, gb_status *status)
{
    const gb_training_query without_pool = {.query = q->query,
                                            .positive_first = q->positive_first,
                                            .positive_count = q->positive_count};
    return gb_training_negatives(d->data.set, &without_pool, d->params->seed ^ stream, epoch, count,
                                 (uint32_t)gb_row_file_count(d->data.tokens->passages), d->pool,
                                 rows, status);
}

bool finetune_draw_passages(finetune_drawer *d, const gb_training_query *q, uint32_t epoch,
                            uint32_t *rows, gb_status *status)
{
    const gb_training_set *set = d->data.set;
    uint32_t count = d->params->negatives - d->params->random;
    /* Another stream than that of those that fill a pool up, else they would be the same. */
    uint64_t stream =
        d->params->margin_bins ? FINETUNE_RANDOM_SEED ^ FINETUNE_MARGIN_SEED : FINETUNE_RANDOM_SEED;
    if (!gb_grow(&d->pool, &d->pool_capacity, q->negative_count + 1, sizeof *d->pool, status))
        return false;
    rows[0] = set->passages[q->positive_first + epoch % q->positive_count];
    if (d->data.fixed) /* the others are found once the query has a vector */
        return true;
    return (d->params->margin_bins
                ? finetune_draw_balanced(d, q, epoch, count, rows, status)
                : gb_training_negatives(set, q, d->params->seed, epoch, count,
                                        (uint32_t)gb_row_file_count(d->data.tokens->passages),
                                        d->pool, rows + 1, status)) &&
           (!d->params->random ||
            finetune_draw_random(d, q, stream, epoch, d->params->random, rows + 1 + count, status));
}

/* Puts the queries of equal texts into rings: they are few, and passages many. */
static void find_alike(finetune_drawer *d)
{
    const gb_training_batch *b = &d->batch;
    const uint64_t *texts = d->data.copies->queries;
    for (uint32_t q = 0; q < b->queries; q++) {
        uint32_t last = q;
        while (last-- > 0 && texts[b->rows[last]] != texts[b->rows[q]])
            ;
        d->alike[q] = last == UINT32_MAX ? q : d->alike[last];
        if (last != UINT32_MAX)
            d->alike[last] = q;
    }
}

static bool draw_rows(finetune_drawer *d, uint32_t step, gb_status *status)
{
    gb_training_batch *b = &d->batch;
    uint32_t epoch;
    bool ok = !d->data.distinct || finetune_distinct_go(d, step, status);
    for (uint32_t i = 0; ok && i < b->queries; i++) {
        const gb_training_query *q = visit(d, step, i, &epoch);
        b->rows[i] = q->query;
        d->drawn[i] = q;
        ok = finetune_draw_passages(d, q, epoch, b->rows + b->queries + (size_t)i * b->per_query,
                                    status);
    }
    if (ok && d->data.copies)
        find_alike(d);
    return ok;
}

/* ---- texts ---- */

static bool add_text(finetune_drawer *d, gb_text_kind kind, uint32_t row, gb_status *status)
{
    size_t length;
    bool query = kind == GB_TEXT_QUERY;
    const gb_tokens *tokens = d->data.tokens;
    const uint32_t *ids = gb_row_file_row(query ? tokens->queries : tokens->passages, row, &length);
    if (d->scoring->add_text)
        return d->scoring->add_text(d->scoring_self, kind, ids, length, &d->batch.tokens, status);
    uint32_t max_length = query ? d->params->max_query_length : d->params->max_passage_length;
    return gb_batch_add(&d->batch.tokens, &d->specials, ids, NULL, length, max_length, status);
}

static bool pack(finetune_drawer *d, gb_status *status)
{
    gb_training_batch *b = &d->batch;
    const uint32_t *passages = b->rows + b->queries;
    uint32_t count = b->queries * b->per_query;
    bool ok = true;
    gb_batch_reset(&b->tokens);
    for (uint32_t i = 0; ok && i < b->queries; i++)
        ok = add_text(d, GB_TEXT_QUERY, b->rows[i], status);
    for (uint32_t i = 0; ok && !d->data.fixed && i < count; i++)
        ok = add_text(d, GB_TEXT_PASSAGE, passages[i], status);
    return ok;
}

/* The passage of a column. */
static uint32_t passage_at(const gb_training_batch *b, uint32_t column)
{
    return b->rows[b->queries + column];
}

/* ---- copies ---- */

bool finetune_is_copy(const finetune_drawer *d, uint32_t query, uint32_t passage)
{
    uint32_t q = query;
    do
        if (gb_text_is_positive(d->data.copies, d->data.set, d->drawn[q], passage))
            return true;
    while ((q = d->alike[q]) != query);
    return false;
}

static void find_copies(finetune_drawer *d)
{
    gb_training_batch *b = &d->batch;
    uint32_t columns = gb_training_batch_columns(b), words = (columns + 31) / 32;
    if (!d->data.copies || d->data.fixed)
        return;
    memset(b->exclude, 0, sizeof *b->exclude * words * b->queries);
    for (uint32_t q = 0; q < b->queries; q++)
        for (uint32_t c = 0; c < columns; c++) {
            bool copy = c != gb_positive_column(b, q) && finetune_is_copy(d, q, passage_at(b, c));
            b->exclude[(size_t)q * words + c / 32] |= (uint32_t)copy << c % 32;
        }
}

/* ---- the teacher ---- */

double finetune_score_of(const gb_run *teacher, const gb_run_list *list, uint32_t passage)
{
    for (uint32_t i = 0; list && i < list->count; i++)
        if (teacher->hits[list->first + i].passage == passage)
            return teacher->hits[list->first + i].score;
    return NAN;
}

static void look_up(finetune_drawer *d, uint32_t q, float *scores)
{
    gb_training_batch *b = &d->batch;
    const gb_run_list *list = gb_run_find(d->data.teacher, b->rows[q]);
    for (uint32_t c = 0; c < gb_training_batch_columns(b); c++)
        scores[c] = (float)finetune_score_of(d->data.teacher, list, passage_at(b, c));
}

static bool ask_teacher(finetune_drawer *d, gb_status *status)
{
    gb_training_batch *b = &d->batch;
    const gb_pair_teacher *teacher = d->data.pair_teacher;
    const uint32_t *passages = b->rows + b->queries;
    uint32_t columns = gb_training_batch_columns(b);
    for (uint32_t q = 0; b->teacher && q < b->queries; q++) {
        float *scores = b->teacher + (size_t)q * columns;
        if (!teacher)
            look_up(d, q, scores);
        else if (!teacher->score(teacher->context, b->rows[q], passages, columns, scores, status))
            return false;
    }
    return true;
}

/* ---- both ---- */

bool finetune_draw(finetune_drawer *d, uint32_t step, gb_status *status)
{
    if (!draw_rows(d, step, status) || !pack(d, status))
        return false;
    find_copies(d);
    return ask_teacher(d, status);
}

bool finetune_drawer_make(finetune_drawer *d, gb_status *status)
{
    gb_training_batch *b = &d->batch;
    if (d->params->random > d->params->negatives)
        return gb_fail(status, GB_USAGE, "--random-negatives", "raise --negatives-per-query",
                       "%u of %u negatives of a query cannot be random", d->params->random,
                       d->params->negatives);
    b->queries = d->params->batch;
    b->per_query = 1 + d->params->negatives;
    b->texts = d->data.fixed ? b->queries : b->queries * (1 + b->per_query);
    d->specials = gb_vocab_specials(d->data.vocab);
    size_t scores = (size_t)b->queries * gb_training_batch_columns(b);
    size_t words = (size_t)b->queries * ((gb_training_batch_columns(b) + 31) / 32);
    return (b->rows = gb_alloc((size_t)b->queries * (1 + b->per_query), sizeof *b->rows, status)) &&
           (d->drawn = gb_alloc(b->queries, sizeof *d->drawn, status)) &&
           (d->alike = gb_alloc(b->queries, sizeof *d->alike, status)) &&
           ((!d->data.copies && !d->data.fixed) ||
            (b->exclude = gb_alloc(words, sizeof *b->exclude, status))) &&
           ((!d->data.teacher && !d->data.pair_teacher) ||
            (b->teacher = gb_alloc(scores, sizeof *b->teacher, status))) &&
           (!d->data.topics || finetune_topics_make(&d->topics, d->data.topics, d->data.set->count,
                                                    b->queries, d->params->seed, status)) &&
           (!d->data.distinct || finetune_distinct_make(&d->distinct, d->data.set->count,
                                                        1 + b->per_query, b->queries, status)) &&
           gb_epochs_make(&d->order, d->data.set->count, d->params->seed, 1, status);
}

bool finetune_count_copies(finetune_drawer *d, uint32_t steps, uint64_t *copies, gb_status *status)
{
    const gb_training_batch *b = &d->batch;
    size_t words = (size_t)b->queries * ((gb_training_batch_columns(b) + 31) / 32);
    *copies = 0;
    for (uint32_t step = 0; d->data.copies && !d->data.fixed && step < steps; step++) {
        if (!draw_rows(d, step, status))
            return false;
        find_copies(d);
        for (size_t w = 0; w < words; w++)
            *copies += (uint64_t)__builtin_popcount(b->exclude[w]);
    }
    return true;
}

bool finetune_find_collisions(finetune_drawer *d, uint32_t steps, gb_collisions *found,
                              gb_status *status)
{
    const gb_training_batch *b = &d->batch;
    uint32_t columns = gb_training_batch_columns(b), looked = steps < LOOKED_AT ? steps : LOOKED_AT;
    *found = (gb_collisions){0};
    for (uint32_t i = 0; !d->data.copies && !d->data.fixed && i < looked; i++) {
        if (!draw_rows(d, (uint32_t)((uint64_t)steps * i / looked), status))
            return false;
        for (uint32_t q = 0; q < b->queries; q++)
            for (uint32_t c = 0; c < columns; c++)
                found->positives +=
                    c != gb_positive_column(b, q) &&
                    finetune_is_positive(d->data.set, d->drawn[q], passage_at(b, c));
        found->pairs += (uint64_t)b->queries * (columns - 1);
    }
    return true;
}

void finetune_drawer_free(finetune_drawer *d)
{
    gb_epochs_free(&d->order);
    finetune_topics_free(&d->topics);
    finetune_distinct_free(&d->distinct);
    gb_batch_free(&d->batch.tokens);
    free(d->batch.rows);
    free(d->batch.teacher);
    free(d->batch.exclude);
    free(d->drawn);
    free(d->alike);
    free(d->pool);
}
