/* The contrastive task: queries and passages in one packed batch through one shared encoder. */
#include <gabbro/finetune.h>

#include <stdlib.h>
#include <string.h>

typedef struct finetune {
    gb_finetune_params params;  /* settings */
    const gb_training_set *set; /* queries, positives, negatives */
    const gb_tokens *tokens;    /* texts */
    gb_special_ids specials;    /* ids around texts */
    const gb_bert *bert;        /* model */
    gb_epochs order;            /* of the queries */
    gb_batch packed;            /* queries, then passages */
    gb_batch part;              /* a copy of some of them */
    gb_batch now;               /* those that run; the arrays are of one of both */
    gb_selected_rows read;      /* their first rows */
    uint32_t *pool;             /* scratch: a shuffled pool, then what is drawn of it */
    size_t pool_capacity;
} finetune;

static uint32_t max_text_length(const finetune *f)
{
    uint32_t query = f->params.max_query_length, passage = f->params.max_passage_length;
    return query > passage ? query : passage;
}

static uint32_t passages_per_query(const finetune *f)
{
    return 1 + f->params.negatives;
}

/* The index-th visit: which query, in which epoch. */
static const gb_training_query *visit(finetune *f, uint64_t index, uint32_t *epoch)
{
    const gb_training_query *query = &f->set->queries[gb_epochs_at(&f->order, index)];
    *epoch = f->order.epoch;
    return query;
}

static bool add_text(finetune *f, const gb_row_file *table, uint32_t row, uint32_t max_length,
                     gb_status *status)
{
    size_t length;
    const uint32_t *ids = gb_row_file_row(table, row, &length);
    return gb_batch_add(&f->packed, &f->specials, ids, NULL, length, max_length, status);
}

static bool add_passages(finetune *f, const gb_training_query *q, uint32_t epoch, gb_status *status)
{
    const gb_tokens *tokens = f->tokens;
    uint32_t max_length = f->params.max_passage_length;
    uint32_t positive = f->set->passages[q->positive_first + epoch % q->positive_count];
    uint32_t count = f->params.negatives, room = q->negative_count + count;
    if (!add_text(f, tokens->passages, positive, max_length, status) ||
        !gb_grow(&f->pool, &f->pool_capacity, room + 1, sizeof *f->pool, status))
        return false;
    uint32_t *drawn = f->pool + q->negative_count;
    bool ok = gb_training_negatives(f->set, q, f->params.seed, epoch, count,
                                    (uint32_t)gb_row_file_count(tokens->passages), f->pool, drawn,
                                    status);
    for (uint32_t n = 0; ok && n < count; n++)
        ok = add_text(f, tokens->passages, drawn[n], max_length, status);
    return ok;
}

/* Rows, and those that are read of the last states: the first of each text where vectors are made
 * of them. */
static void size(const void *self, uint32_t first, uint32_t texts, gb_bucket *bucket)
{
    const finetune *f = self;
    const uint32_t *starts = f->packed.starts + first;
    uint32_t rows = gb_bucket_rows(starts[texts] - starts[0]);
    bucket->size[0] = rows;
    bucket->size[1] = f->params.pooling == GB_POOLING_MEAN
                          ? rows
                          : gb_selected_rows_bucket(starts, texts, NULL, 0, rows);
}

/* These texts run. */
static bool set_now(finetune *f, const gb_batch *texts, gb_status *status)
{
    f->now = *texts;
    return f->params.pooling == GB_POOLING_MEAN ||
           gb_selected_rows_list(&f->read, texts->starts, texts->count, NULL, 0, status);
}

static bool sample(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    finetune *f = self;
    uint64_t first = (uint64_t)step * f->params.batch;
    uint32_t epoch;
    gb_batch_reset(&f->packed);
    for (uint32_t i = 0; i < f->params.batch; i++)
        if (!add_text(f, f->tokens->queries, visit(f, first + i, &epoch)->query,
                      f->params.max_query_length, status))
            return false;
    for (uint32_t i = 0; i < f->params.batch; i++) {
        const gb_training_query *q = visit(f, first + i, &epoch);
        if (!add_passages(f, q, epoch, status))
            return false;
    }
    size(f, 0, f->packed.count, bucket);
    return set_now(f, &f->packed, status);
}

/* ---- parts: texts, queries and passages alike ---- */

static uint32_t count(const void *self)
{
    const finetune *f = self;
    return f->params.batch * (1 + passages_per_query(f));
}

static bool take(void *self, uint32_t first, uint32_t texts, gb_status *status)
{
    finetune *f = self;
    return gb_batch_slice(&f->packed, first, texts, &f->part, status) &&
           set_now(f, &f->part, status);
}

/* ---- the loss ---- */

/* The positives of the queries. */
typedef struct target_inputs {
    uint32_t queries, per_query; /* their number; passages of each, the positive first */
    gb_tensor labels, weights;   /* [queries, 1] */
} target_inputs;

static bool fill_targets(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const target_inputs *to = record;
    uint32_t *labels = gb_executable_input(exec, to->labels, status);
    float *weights = labels ? gb_executable_input(exec, to->weights, status) : NULL;
    for (uint32_t i = 0; weights && i < to->queries; i++) {
        labels[i] = i * to->per_query;
        weights[(size_t)i * 4] = 1.0f / (float)to->queries;
    }
    return weights != NULL;
}

static gb_tensor loss_of(const finetune *f, gb_builder *builder, gb_tensor queries,
                         gb_tensor passages)
{
    gb_tape *tape = builder->tape;
    uint32_t count = f->params.batch;
    const target_inputs to = {.queries = count,
                              .per_query = passages_per_query(f),
                              .labels = gb_tape_input(tape, "targets", GB_U32, count, 1),
                              .weights = gb_tape_input(tape, "query weights", GB_F32, count, 1)};
    gb_tape_fill_by(tape, fill_targets, &to, sizeof to);
    gb_tensor scores = gb_matmul(tape, GB_NT, queries, passages);
    if (f->params.temperature > 0 && f->params.temperature != 1)
        scores = gb_scale(tape, scores, 1 / f->params.temperature);
    return gb_softmax_loss(tape, scores, to.labels, to.weights, GB_NO_TENSOR);
}

static void compare(void *self, gb_builder *builder, gb_tensor vectors,
                    gb_tensor losses[GB_MAX_LOSSES])
{
    finetune *f = self;
    uint32_t queries = f->params.batch, texts = count(f);
    gb_selection first = gb_row_range_declare(builder, queries, texts, 0);
    gb_selection rest = gb_row_range_declare(builder, texts - queries, texts, queries);
    gb_tensor p = gb_selection_gather(builder, vectors, &rest),
              q = gb_selection_gather(builder, vectors, &first);
    losses[0] = loss_of(f, builder, q, p);
}

/* ---- the program ---- */

/* Vectors of `texts` texts from `first` on, from the states of all rows. */
static gb_tensor vectors_of(const finetune *f, gb_builder *builder, gb_tensor h, uint32_t rows,
                            uint32_t first, uint32_t texts)
{
    const gb_pooling_params how = {.kind = f->params.pooling,
                                   .texts = texts,
                                   .first = first,
                                   .rows = rows,
                                   .max_length = max_text_length(f)};
    gb_pooling_inputs in = gb_pooling_declare(builder, &how, &f->now);
    return gb_sentence_vectors(builder, f->bert, f->params.normalize,
                               gb_pooling_apply(builder, h, &in));
}

static void build(void *self, gb_builder *builder, const gb_bucket *bucket,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    finetune *f = self;
    uint32_t queries = f->params.batch, texts = bucket->texts ? bucket->texts : count(f);
    gb_batch_inputs in = gb_batch_declare(builder, &f->bert->config, bucket->size[0], texts,
                                          &f->now, f->params.seed);
    if (bucket->size[1] < in.rows)
        gb_selected_rows_declare(builder, &in, bucket->size[1], &f->now, &f->read);
    gb_tensor h = gb_bert_encode(builder, f->bert, &in, 0, NULL);
    losses[0] = GB_NO_TENSOR;
    if (bucket->texts) {
        builder->vectors = vectors_of(f, builder, h, in.rows, 0, texts);
        return;
    }
    gb_tensor p = vectors_of(f, builder, h, in.rows, queries, texts - queries);
    losses[0] = loss_of(f, builder, vectors_of(f, builder, h, in.rows, 0, queries), p);
}

void *gb_finetune_create(const gb_finetune_params *params, const gb_training_set *set,
                         const gb_tokens *tokens, const gb_vocab *vocab, const gb_bert *bert,
                         gb_task *task, gb_status *status)
{
    finetune *f = gb_alloc(1, sizeof *f, status);
    if (!f)
        return NULL;
    f->params = *params;
    f->set = set;
    f->tokens = tokens;
    f->specials = gb_vocab_specials(vocab);
    f->bert = bert;
    if (!gb_epochs_make(&f->order, set->count, params->seed, 1, status)) {
        gb_finetune_destroy(f);
        return NULL;
    }
    *task = (gb_task){
        .self = f,
        .loss_names = {"contrastive"},
        .sample = sample,
        .build = build,
        .microbatch = {
            .count = count, .size = size, .select = take, .vectors = 1, .compare = compare}};
    return f;
}

void gb_finetune_destroy(void *self)
{
    finetune *f = self;
    if (!f)
        return;
    gb_batch_free(&f->packed);
    gb_batch_free(&f->part);
    gb_selected_rows_free(&f->read);
    gb_epochs_free(&f->order);
    free(f->pool);
    free(f);
}
