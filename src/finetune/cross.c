/* The task of cross-encoders: each query in one sequence with its positive and with each of its
 * negatives. A query and its passages are together in one micro-batch, for their scores alone are
 * compared with each other. */
#include <gabbro/finetune.h>

#include <stdlib.h>

typedef struct cross {
    gb_cross_params params;     /* settings */
    const gb_training_set *set; /* queries, positives, negatives */
    const gb_tokens *tokens;    /* texts */
    gb_special_ids specials;    /* ids around texts */
    const gb_bert *bert;        /* model */
    const gb_pair_head *head;   /* and its head */
    gb_epochs order;            /* of the queries */
    gb_batch batch;             /* pairs, those of a query together, its positive first */
    gb_batch part;              /* a copy of some of them */
    gb_batch now;               /* those that run; the arrays are of one of both */
    gb_selected_rows read;      /* their first rows */
    uint32_t *pool;             /* scratch: a shuffled pool, then what is drawn of it */
    size_t pool_capacity;
} cross;

const char *const gb_cross_losses[] = {
    [GB_CROSS_SOFTMAX] = "softmax", [GB_CROSS_BINARY] = "binary", NULL};

static uint32_t pairs_per_query(const cross *c)
{
    return 1 + c->params.negatives;
}

/* ---- batches ---- */

static bool add_pair(cross *c, uint32_t query, uint32_t passage, gb_status *status)
{
    const gb_cross_params *p = &c->params;
    return gb_batch_add_pair(&c->batch, &c->specials,
                             gb_token_text_of(c->tokens->queries, query, p->max_query_length),
                             gb_token_text_of(c->tokens->passages, passage, p->max_passage_length),
                             p->max_length, status);
}

static bool add_query(cross *c, const gb_training_query *q, uint32_t epoch, gb_status *status)
{
    uint32_t count = c->params.negatives;
    uint32_t positive = c->set->passages[q->positive_first + epoch % q->positive_count];
    if (!add_pair(c, q->query, positive, status) ||
        !gb_grow(&c->pool, &c->pool_capacity, q->negative_count + count + 1, sizeof *c->pool,
                 status))
        return false;
    uint32_t *drawn = c->pool + q->negative_count;
    bool ok = gb_training_negatives(c->set, q, c->params.seed, epoch, count,
                                    (uint32_t)gb_row_file_count(c->tokens->passages), c->pool,
                                    drawn, status);
    for (uint32_t n = 0; ok && n < count; n++)
        ok = add_pair(c, q->query, drawn[n], status);
    return ok;
}

static void size(const void *self, uint32_t first, uint32_t queries, gb_bucket *bucket)
{
    const cross *c = self;
    const uint32_t *starts = c->batch.starts + (size_t)first * pairs_per_query(c);
    bucket->size[0] = gb_bucket_rows(starts[queries * pairs_per_query(c)] - starts[0]);
}

/* These pairs run. */
static bool set_now(cross *c, const gb_batch *pairs, gb_status *status)
{
    c->now = *pairs;
    return gb_selected_rows_list(&c->read, pairs->starts, pairs->count, NULL, 0, status);
}

static bool sample(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    cross *c = self;
    gb_batch_reset(&c->batch);
    for (uint32_t i = 0; i < c->params.batch; i++) {
        uint32_t at = gb_epochs_at(&c->order, (uint64_t)step * c->params.batch + i);
        if (!add_query(c, &c->set->queries[at], c->order.epoch, status))
            return false;
    }
    size(c, 0, c->params.batch, bucket);
    return set_now(c, &c->batch, status);
}

static uint32_t count(const void *self)
{
    return ((const cross *)self)->params.batch;
}

static bool take(void *self, uint32_t first, uint32_t queries, gb_status *status)
{
    cross *c = self;
    uint32_t each = pairs_per_query(c);
    return gb_batch_slice(&c->batch, first * each, queries * each, &c->part, status) &&
           set_now(c, &c->part, status);
}

/* ---- softmax over the passages of a query ---- */

/* Which of the scores of a program's pairs are of which query. */
typedef struct softmax_inputs {
    const cross *c;    /* of whom */
    uint32_t queries;  /* that the program has */
    gb_tensor ones;    /* f32 [queries, 1]: gives the scores of all pairs to each query */
    gb_tensor exclude; /* u32 [queries, words]: pairs of other queries */
    gb_tensor labels;  /* u32 [queries, 1] */
    gb_tensor weights; /* f32 [queries, 1] */
} softmax_inputs;

static void exclude_others(const softmax_inputs *in, uint32_t query, uint32_t words,
                           uint32_t *exclude)
{
    uint32_t each = pairs_per_query(in->c), first = query * each;
    for (uint32_t w = 0; w < words; w++)
        exclude[w] = UINT32_MAX;
    for (uint32_t p = first; p < first + each; p++)
        exclude[p / 32] &= ~(1u << p % 32);
}

static bool fill_softmax(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const softmax_inputs *in = record;
    uint32_t each = pairs_per_query(in->c), there = in->c->now.count / each;
    uint32_t words = (in->queries * each + 31) / 32;
    float *ones = gb_executable_input(exec, in->ones, status);
    uint32_t *exclude = ones ? gb_executable_input(exec, in->exclude, status) : NULL;
    uint32_t *labels = exclude ? gb_executable_input(exec, in->labels, status) : NULL;
    float *weights = labels ? gb_executable_input(exec, in->weights, status) : NULL;
    for (uint32_t q = 0; weights && q < in->queries; q++) {
        ones[(size_t)q * 4] = 1;
        exclude_others(in, q, words, exclude + (size_t)q * words);
        labels[q] = q < there ? q * each : GB_NO_ROW;
        weights[(size_t)q * 4] = 1.0f / (float)in->c->params.batch;
    }
    return weights != NULL;
}

/* Logits of all pairs [pairs, 1] as [queries, pairs], of which a query counts its own. */
static gb_tensor softmax_loss(const cross *c, gb_builder *builder, gb_tensor scores,
                              uint32_t queries)
{
    gb_tape *tape = builder->tape;
    uint32_t words = (queries * pairs_per_query(c) + 31) / 32;
    const softmax_inputs in = {.c = c,
                               .queries = queries,
                               .ones = gb_tape_input(tape, "ones", GB_F32, queries, 1),
                               .exclude = gb_tape_input(tape, "others", GB_U32, queries, words),
                               .labels = gb_tape_input(tape, "targets", GB_U32, queries, 1),
                               .weights = gb_tape_input(tape, "weights", GB_F32, queries, 1)};
    gb_tape_fill_by(tape, fill_softmax, &in, sizeof in);
    gb_tensor logits = gb_matmul(tape, GB_NT, in.ones, scores);
    return gb_softmax_loss(tape, logits, in.labels, in.weights, in.exclude);
}

/* ---- a yes or no for each pair ---- */

typedef struct binary_inputs {
    const cross *c;    /* of whom */
    uint32_t pairs;    /* that the program has */
    gb_tensor second;  /* f32 [1, 2]: 0 1, puts a score behind a 0 */
    gb_tensor labels;  /* u32 [pairs, 1] */
    gb_tensor weights; /* f32 [pairs, 1] */
} binary_inputs;

static bool fill_binary(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const binary_inputs *in = record;
    uint32_t each = pairs_per_query(in->c);
    float *second = gb_executable_input(exec, in->second, status);
    uint32_t *labels = second ? gb_executable_input(exec, in->labels, status) : NULL;
    float *weights = labels ? gb_executable_input(exec, in->weights, status) : NULL;
    if (!weights)
        return false;
    second[0] = 0;
    second[1] = 1;
    for (uint32_t p = 0; p < in->pairs; p++) {
        labels[p] = p < in->c->now.count ? p % each == 0 : GB_NO_ROW;
        weights[(size_t)p * 4] = 1.0f / (float)(in->c->params.batch * each);
    }
    return true;
}

/* The softmax over 0 and a logit is the sigmoid of the logit. */
static gb_tensor binary_loss(const cross *c, gb_builder *builder, gb_tensor scores, uint32_t pairs)
{
    gb_tape *tape = builder->tape;
    const binary_inputs in = {.c = c,
                              .pairs = pairs,
                              .second = gb_tape_input(tape, "0 1", GB_F32, 1, 2),
                              .labels = gb_tape_input(tape, "targets", GB_U32, pairs, 1),
                              .weights = gb_tape_input(tape, "weights", GB_F32, pairs, 1)};
    gb_tape_fill_by(tape, fill_binary, &in, sizeof in);
    gb_tensor logits = gb_matmul(tape, GB_NN, scores, in.second);
    return gb_softmax_loss(tape, logits, in.labels, in.weights, GB_NO_TENSOR);
}

/* ---- the program ---- */

static void build(void *self, gb_builder *builder, const gb_bucket *bucket,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    cross *c = self;
    uint32_t queries = bucket->texts ? bucket->texts : c->params.batch;
    uint32_t pairs = queries * pairs_per_query(c);
    gb_batch_inputs in = gb_batch_declare(builder, &c->bert->config, bucket->size[0], pairs,
                                          &c->now, c->params.seed);
    gb_batch_pairs_declare(builder, &c->bert->config, &in, &c->now);
    gb_selected_rows_declare(builder, &in, pairs, &c->now, &c->read);
    bool binary = c->params.loss == GB_CROSS_BINARY;
    gb_tensor scores = gb_pair_scores(builder, c->bert, c->head, &in, binary);
    losses[0] =
        binary ? binary_loss(c, builder, scores, pairs) : softmax_loss(c, builder, scores, queries);
}

void *gb_cross_create(const gb_cross_params *params, const gb_training_set *set,
                      const gb_tokens *tokens, const gb_vocab *vocab, const gb_bert *bert,
                      const gb_pair_head *head, gb_task *task, gb_status *status)
{
    cross *c = gb_alloc(1, sizeof *c, status);
    if (!c)
        return NULL;
    c->params = *params;
    c->set = set;
    c->tokens = tokens;
    c->specials = gb_vocab_specials(vocab);
    c->bert = bert;
    c->head = head;
    if (!gb_epochs_make(&c->order, set->count, params->seed, 1, status)) {
        gb_cross_destroy(c);
        return NULL;
    }
    *task = (gb_task){.self = c,
                      .loss_names = {gb_cross_losses[params->loss]},
                      .sample = sample,
                      .build = build,
                      .microbatch = {.count = count, .size = size, .select = take}};
    return c;
}

void gb_cross_destroy(void *self)
{
    cross *c = self;
    if (!c)
        return;
    gb_batch_free(&c->batch);
    gb_batch_free(&c->part);
    gb_selected_rows_free(&c->read);
    gb_epochs_free(&c->order);
    free(c->pool);
    free(c);
}
