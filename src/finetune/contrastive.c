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
    gb_packed packed;           /* queries, then passages */
    gb_packed part;             /* some of them */
    gb_read_rows read;          /* first rows of what runs now */
    bool in_part;               /* they run now, not the whole batch */
    uint32_t *pool;             /* scratch: a shuffled pool, then what is drawn of it */
    size_t pool_capacity;
} finetune;

typedef struct graph {
    gb_packed_inputs in;                 /* texts */
    gb_pooling_inputs queries, passages; /* their vectors; of a part: queries has all */
    gb_rows_inputs rows[2];              /* of vectors made in parts: queries, passages */
    gb_tensor labels, weights;           /* targets [Q, 1] */
} graph;

static uint32_t longest_text(const finetune *f)
{
    uint32_t query = f->params.longest_query, passage = f->params.longest_passage;
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

static bool add_text(finetune *f, const gb_table *table, uint32_t row, uint32_t longest,
                     gb_status *status)
{
    size_t length;
    const uint32_t *ids = gb_table_row(table, row, &length);
    return gb_packed_add(&f->packed, &f->specials, ids, NULL, length, longest, status);
}

static bool add_passages(finetune *f, const gb_training_query *q, uint32_t epoch, gb_status *status)
{
    const gb_tokens *tokens = f->tokens;
    uint32_t longest = f->params.longest_passage;
    uint32_t positive = f->set->passages[q->positive_first + epoch % q->positive_count];
    uint32_t count = f->params.negatives, room = q->negative_count + count;
    if (!add_text(f, tokens->passages, positive, longest, status) ||
        !gb_grow(&f->pool, &f->pool_capacity, room + 1, sizeof *f->pool, status))
        return false;
    uint32_t *drawn = f->pool + q->negative_count;
    bool ok =
        gb_training_negatives(f->set, q, f->params.seed, epoch, count,
                              (uint32_t)gb_table_count(tokens->passages), f->pool, drawn, status);
    for (uint32_t n = 0; ok && n < count; n++)
        ok = add_text(f, tokens->passages, drawn[n], longest, status);
    return ok;
}

/* Rows, and those that are read of the last states: the first of each text where vectors are made
 * of them. */
static bool size_of(finetune *f, const gb_packed *texts, gb_shape *shape, gb_status *status)
{
    uint32_t rows = shape->size[0] = shape->size[1] = gb_bucket_rows(texts->rows);
    if (f->params.pooling == GB_POOLING_MEAN)
        return true;
    bool ok = gb_read_rows_list(&f->read, texts->starts, texts->count, NULL, 0, status);
    shape->size[1] = gb_read_rows_bucket(&f->read, rows);
    return ok;
}

static gb_packed_inputs declare(const finetune *f, gb_net *net, const gb_shape *shape,
                                uint32_t texts)
{
    gb_packed_inputs in = gb_packed_declare(net, &f->bert->config, shape->size[0], texts);
    gb_read_rows_declare(net, &in, shape->size[1]);
    return in;
}

static bool sample(void *self, uint32_t step, gb_shape *shape, gb_status *status)
{
    finetune *f = self;
    uint64_t first = (uint64_t)step * f->params.batch;
    uint32_t epoch;
    gb_packed_reset(&f->packed);
    for (uint32_t i = 0; i < f->params.batch; i++)
        if (!add_text(f, f->tokens->queries, visit(f, first + i, &epoch)->query,
                      f->params.longest_query, status))
            return false;
    for (uint32_t i = 0; i < f->params.batch; i++) {
        const gb_training_query *q = visit(f, first + i, &epoch);
        if (!add_passages(f, q, epoch, status))
            return false;
    }
    f->in_part = false;
    return size_of(f, &f->packed, shape, status);
}

/* ---- parts: texts, queries and passages alike ---- */

static uint32_t count(const void *self)
{
    const finetune *f = self;
    return f->params.batch * (1 + passages_per_query(f));
}

static bool take_part(void *self, uint32_t first, uint32_t texts, gb_shape *shape,
                      gb_status *status)
{
    finetune *f = self;
    if (!gb_packed_part(&f->packed, first, texts, &f->part, status))
        return false;
    f->in_part = true;
    return size_of(f, &f->part, shape, status);
}

/* ---- the program ---- */

static gb_tensor vectors_of(const finetune *f, gb_net *net, gb_tensor h,
                            const gb_pooling_inputs *in)
{
    return gb_sentence_vectors(net, f->bert, f->params.normalize, gb_pooling_apply(net, h, in));
}

static gb_tensor loss_of(const finetune *f, gb_net *net, const graph *g, gb_tensor queries,
                         gb_tensor passages)
{
    gb_tensor scores = gb_matmul(net->tape, GB_NT, queries, passages);
    if (f->params.temperature > 0 && f->params.temperature != 1)
        scores = gb_scale(net->tape, scores, 1 / f->params.temperature);
    return gb_softmax_loss(net->tape, scores, g->labels, g->weights, GB_NO_TENSOR);
}

static void build_part(const finetune *f, gb_net *net, const gb_shape *shape, graph *g,
                       gb_tensor losses[GB_MAX_LOSSES])
{
    g->in = declare(f, net, shape, shape->texts);
    g->queries =
        gb_pooling_declare(net, f->params.pooling, shape->texts, shape->size[0], longest_text(f));
    gb_tensor h = gb_bert_encode(net, f->bert, &g->in, 0, NULL);
    net->vectors = vectors_of(f, net, h, &g->queries);
    losses[0] = GB_NO_TENSOR;
}

static void compare(void *self, gb_net *net, gb_tensor vectors, void *graph_,
                    gb_tensor losses[GB_MAX_LOSSES])
{
    finetune *f = self;
    graph *g = graph_;
    uint32_t queries = f->params.batch, texts = count(f);
    g->rows[0] = gb_rows_declare(net, queries, texts);
    g->rows[1] = gb_rows_declare(net, texts - queries, texts);
    g->labels = gb_tape_input(net->tape, "targets", GB_U32, queries, 1);
    g->weights = gb_tape_input(net->tape, "query weights", GB_F32, queries, 1);
    gb_tensor p = gb_rows_gather(net, vectors, &g->rows[1]);
    gb_tensor q = gb_rows_gather(net, vectors, &g->rows[0]);
    losses[0] = loss_of(f, net, g, q, p);
}

/* ---- the whole batch ---- */

static void build(void *self, gb_net *net, const gb_shape *shape, void *graph_,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    finetune *f = self;
    graph *g = graph_;
    uint32_t queries = f->params.batch, passages = queries * passages_per_query(f);
    if (shape->texts) {
        build_part(f, net, shape, g, losses);
        return;
    }
    g->in = declare(f, net, shape, queries + passages);
    uint32_t rows = shape->size[0], longest = longest_text(f);
    g->queries = gb_pooling_declare(net, f->params.pooling, queries, rows, longest);
    g->passages = gb_pooling_declare(net, f->params.pooling, passages, rows, longest);
    g->labels = gb_tape_input(net->tape, "targets", GB_U32, queries, 1);
    g->weights = gb_tape_input(net->tape, "query weights", GB_F32, queries, 1);
    gb_tensor h = gb_bert_encode(net, f->bert, &g->in, 0, NULL);
    gb_tensor p = vectors_of(f, net, h, &g->passages);
    gb_tensor q = vectors_of(f, net, h, &g->queries);
    losses[0] = loss_of(f, net, g, q, p);
}

static bool fill_targets(const finetune *f, gb_exec *exec, const graph *g, gb_status *status)
{
    uint32_t queries = f->params.batch, per_query = passages_per_query(f);
    uint32_t *labels = gb_exec_input(exec, g->labels, status);
    float *weights = labels ? gb_exec_input(exec, g->weights, status) : NULL;
    if (!weights)
        return false;
    for (uint32_t i = 0; i < queries; i++) {
        labels[i] = i * per_query;
        weights[(size_t)i * 4] = 1.0f / (float)queries;
    }
    return true;
}

static bool fill_compare(void *self, gb_exec *exec, const void *graph_, gb_status *status)
{
    const finetune *f = self;
    const graph *g = graph_;
    return gb_rows_fill_range(exec, &g->rows[0], 0, status) &&
           gb_rows_fill_range(exec, &g->rows[1], f->params.batch, status) &&
           fill_targets(f, exec, g, status);
}

static bool fill(void *self, gb_exec *exec, const void *graph_, uint32_t step, gb_status *status)
{
    finetune *f = self;
    const graph *g = graph_;
    const gb_packed *texts = f->in_part ? &f->part : &f->packed;
    uint32_t queries = f->params.batch;
    if (!gb_packed_fill(exec, &g->in, texts, &f->bert->config, f->params.seed, step, status) ||
        !gb_read_rows_fill(exec, &g->in, texts, &f->read, status))
        return false;
    if (f->in_part)
        return gb_pooling_fill(exec, &g->queries, texts->starts, texts->count, status);
    return gb_pooling_fill(exec, &g->queries, texts->starts, queries, status) &&
           gb_pooling_fill(exec, &g->passages, texts->starts + queries, texts->count - queries,
                           status) &&
           fill_targets(f, exec, g, status);
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
    *task = (gb_task){.self = f,
                      .loss_names = {"contrastive"},
                      .graph_bytes = sizeof(graph),
                      .sample = sample,
                      .build = build,
                      .fill = fill,
                      .cut = {.count = count,
                              .select = take_part,
                              .vectors = 1,
                              .compare = compare,
                              .fill_compare = fill_compare}};
    return f;
}

void gb_finetune_destroy(void *self)
{
    finetune *f = self;
    if (!f)
        return;
    gb_packed_free(&f->packed);
    gb_packed_free(&f->part);
    gb_read_rows_free(&f->read);
    gb_epochs_free(&f->order);
    free(f->pool);
    free(f);
}
