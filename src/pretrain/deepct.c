/* DeepCT (Z. Dai and J. Callan, 2019): a weight for each word of a passage, which learns the share
 * of the passage's training queries that have the word. Words are compared as BM25 compares them:
 * their stems, without stop words. A word of several pieces has the label, and the weight, of its
 * first. */
#include "common.h"

#include <stdlib.h>
#include <string.h>

/* Its settings. */
typedef struct deepct_settings {
    uint32_t queries; /* of the training split; 0: all */
} deepct_settings;

static const deepct_settings defaults = {0};
static const gb_option options[] = {
    {"train-queries", GB_OPTION_U32, GB_FIELD(deepct_settings, queries), 0, NULL,
     "training queries to learn from, chosen by --seed as in finetune; 0: all"},
    {0}};

typedef struct deepct {
    gb_pretrain_params params; /* settings */
    deepct_settings own;       /* and its own */
    gb_pretrain_data data;     /* texts */
    const gb_bert *bert;       /* model */
    uint32_t weight, bias;     /* of the weights: [1, H], [1, 1] */
    gb_qrels qrels;            /* relevant ones of the training split, by passage */
    uint32_t *firsts;          /* [passages + 1] first judgement of each passage that has any */
    uint32_t passages;         /* how many have */
    gb_epochs order;           /* of them */
    gb_analyzer *analyzer;     /* of words */
    gb_map *terms;             /* of the queries of a passage -> number */
    uint32_t *counts;          /* [terms] queries that have it */
    uint32_t *last;            /* [terms] last of them, from 1 */
    size_t count_capacity;     /* allocated */
    size_t last_capacity;      /* likewise */
    uint32_t term_count;       /* terms of the passage's queries */
    uint32_t query;            /* the one at hand, from 1 */
    uint32_t found;            /* term of the word at hand, or GB_MAP_NONE */
    uint32_t *starts;          /* [max_length] of words */
    int32_t *labels;           /* [max_length] bits of floats, or GB_IGNORE */
    gb_text word;              /* scratch */
    batch_texts texts;         /* of the step */
    gb_status *status;         /* of the call at hand */
} deepct;

/* ---- labels ---- */

static bool take_query_term(void *ctx, const char *bytes, size_t length)
{
    deepct *d = ctx;
    uint32_t term = gb_map_get(d->terms, bytes, length);
    if (term == GB_MAP_NONE) {
        term = d->term_count;
        if (!gb_grow(&d->counts, &d->count_capacity, term + 1, sizeof *d->counts, d->status) ||
            !gb_grow(&d->last, &d->last_capacity, term + 1, sizeof *d->last, d->status) ||
            !gb_map_set(d->terms, bytes, length, term, d->status))
            return false;
        d->counts[term] = d->last[term] = 0;
        d->term_count++;
    }
    d->counts[term] += d->last[term] != d->query;
    d->last[term] = d->query;
    return true;
}

/* Terms of all queries of a passage. */
static bool read_queries(deepct *d, uint32_t passage, gb_status *status)
{
    gb_map_destroy(d->terms);
    d->terms = gb_map_create(status);
    d->term_count = 0;
    bool ok = d->terms != NULL;
    for (uint32_t i = d->firsts[passage]; ok && i < d->firsts[passage + 1]; i++) {
        size_t length;
        const char *text =
            gb_row_file_row(d->data.collection->queries, d->qrels.rows[i].query, &length);
        d->query = i - d->firsts[passage] + 1;
        ok = gb_analyze(d->analyzer, text, length, take_query_term, d, status);
    }
    return ok;
}

static bool take_word_term(void *ctx, const char *bytes, size_t length)
{
    deepct *d = ctx;
    if (d->found == GB_MAP_NONE)
        d->found = gb_map_get(d->terms, bytes, length);
    return true;
}

/* The share of the queries that have the word of ids [start, end). */
static bool recall_of(deepct *d, const uint32_t *ids, uint32_t start, uint32_t end,
                      uint32_t queries, float *share, gb_status *status)
{
    d->word.length = 0;
    gb_word_text(d->data.vocab, ids, start, end, &d->word);
    d->found = GB_MAP_NONE;
    if (d->word.failed)
        return gb_fail_memory(status, "reading words");
    if (!gb_analyze(d->analyzer, d->word.data, d->word.length, take_word_term, d, status))
        return false;
    *share = d->found == GB_MAP_NONE ? 0 : (float)d->counts[d->found] / (float)queries;
    return true;
}

/* Appends a passage: each word's first piece is labelled. */
static bool add_passage(deepct *d, uint32_t passage, gb_status *status)
{
    text_ids text = pretrain_passage_ids(&d->data, d->qrels.rows[d->firsts[passage]].passage);
    uint32_t most = d->params.max_length > 2 ? d->params.max_length - 2 : 0;
    uint32_t length = text.length < most ? (uint32_t)text.length : most;
    uint32_t queries = d->firsts[passage + 1] - d->firsts[passage];
    uint32_t words = gb_word_starts(d->data.vocab, text.ids, length, d->starts);
    bool ok = read_queries(d, passage, status);
    for (uint32_t i = 0; i < length; i++)
        d->labels[i] = GB_IGNORE;
    for (uint32_t w = 0; ok && w < words; w++) {
        float share = 0;
        ok = recall_of(d, text.ids, d->starts[w], d->starts[w + 1], queries, &share, status);
        if (ok)
            memcpy(&d->labels[d->starts[w]], &share, sizeof share);
    }
    gb_special_ids specials = gb_vocab_specials(d->data.vocab);
    return ok && gb_batch_add(&d->texts.all, &specials, text.ids, d->labels, length,
                              d->params.max_length, status);
}

static bool sample(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    deepct *d = self;
    d->status = status;
    pretrain_batch_texts_reset(&d->texts);
    for (uint32_t i = 0; i < d->params.batch; i++)
        if (!add_passage(d, gb_epochs_at(&d->order, (uint64_t)step * d->params.batch + i), status))
            return false;
    return pretrain_batch_texts_masked(&d->texts, 1, bucket, status);
}

/* ---- parts ---- */

static uint32_t count(const void *self)
{
    return ((const deepct *)self)->params.batch;
}

static void size(const void *self, uint32_t first, uint32_t texts, gb_bucket *bucket)
{
    const deepct *d = self;
    pretrain_batch_texts_size(&d->texts, first, texts, 1, bucket);
}

static bool take(void *self, uint32_t first, uint32_t texts, gb_status *status)
{
    deepct *d = self;
    return pretrain_batch_texts_take(&d->texts, first, texts, status);
}

/* ---- the loss ---- */

typedef struct word_inputs {
    gb_selection words;        /* first pieces */
    gb_tensor shares;          /* f32 [count, 1] their labels times -1; 0 where there is no word */
    gb_tensor factor;          /* f32 [1, 1] one over the words of the whole batch */
    const labelled_rows *from; /* source */
} word_inputs;

static bool fill_words(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const word_inputs *in = record;
    const labelled_rows *from = in->from;
    if (!gb_selection_fill(exec, &in->words, from->rows, from->count, 0, status))
        return false;
    float *shares = gb_executable_input(exec, in->shares, status);
    float *factor = shares ? gb_executable_input(exec, in->factor, status) : NULL;
    for (uint32_t i = 0; factor && i < in->words.count; i++) {
        float share = 0;
        if (i < from->count)
            memcpy(&share, &from->labels[i], sizeof share);
        shares[(size_t)i * 4] = -share;
    }
    if (factor)
        *factor = 1.0f / (float)(from->of ? from->of : from->count ? from->count : 1);
    return factor;
}

/* Mean over words of (w . h + b - share)^2. */
static void build(void *self, gb_builder *builder, const gb_bucket *bucket,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    deepct *d = self;
    gb_tape *tape = builder->tape;
    gb_batch_inputs in = pretrain_batch_texts_declare(builder, d->bert, bucket,
                                                      pretrain_texts_of(bucket, d->params.batch),
                                                      &d->texts, d->params.seed);
    uint32_t most = bucket->size[BUCKET_LABELLED];
    const word_inputs words = {.words = gb_selection_declare(builder, most, in.rows),
                               .shares = gb_tape_input(tape, "shares", GB_F32, most, 1),
                               .factor = gb_tape_input(tape, "one word", GB_F32, 1, 1),
                               .from = &d->texts.now_labelled};
    gb_tape_fill_by(tape, fill_words, &words, sizeof words);
    gb_tensor h = gb_bert_encode(builder, d->bert, &in, 0, NULL);
    gb_tensor y = gb_linear(tape, h, gb_tape_param(tape, d->weight), gb_tape_param(tape, d->bias),
                            false, GB_NO_TENSOR);
    gb_tensor off = gb_add(tape, gb_selection_gather(builder, y, &words.words), words.shares);
    losses[0] = gb_scale_by(tape, gb_matmul(tape, GB_TN, off, off), words.factor);
}

/* ---- making it ---- */

static int by_passage(const void *a_, const void *b_)
{
    const gb_qrel *a = a_, *b = b_;
    if (a->passage != b->passage)
        return a->passage < b->passage ? -1 : 1;
    return a->query < b->query ? -1 : a->query > b->query;
}

static bool find_passages(deepct *d, gb_status *status)
{
    const gb_collection *c = d->data.collection;
    if (!gb_collection_has_split(c, "train"))
        return gb_fail(status, GB_DATA, c->path, "weights of words are learned from its queries",
                       "the collection has no split \"train\"");
    if (!gb_collection_qrels(c, "train", &d->qrels, status) ||
        !gb_qrels_sample(&d->qrels, d->own.queries, d->params.seed, status))
        return false;
    size_t kept = d->qrels.count;
    if (!kept)
        return gb_fail(status, GB_DATA, c->path, "judge a passage of a training query relevant",
                       "no training query has a relevant passage");
    qsort(d->qrels.rows, kept, sizeof *d->qrels.rows, by_passage);
    if (!(d->firsts = gb_alloc(kept + 1, sizeof *d->firsts, status)))
        return false;
    for (size_t i = 0; i < kept; i++)
        if (!i || d->qrels.rows[i].passage != d->qrels.rows[i - 1].passage)
            d->firsts[d->passages++] = (uint32_t)i;
    d->firsts[d->passages] = (uint32_t)kept;
    return gb_epochs_make(&d->order, d->passages, d->params.seed, 1, status);
}

static void destroy(void *self)
{
    deepct *d = self;
    if (!d)
        return;
    free(d->qrels.rows);
    free(d->firsts);
    gb_epochs_free(&d->order);
    gb_analyzer_destroy(d->analyzer);
    gb_map_destroy(d->terms);
    free(d->counts);
    free(d->last);
    free(d->starts);
    free(d->labels);
    gb_text_free(&d->word);
    pretrain_batch_texts_free(&d->texts);
    free(d);
}

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    deepct *d = gb_alloc(1, sizeof *d, status);
    if (!d)
        return NULL;
    d->params = *params;
    d->own = *(const deepct_settings *)params->own;
    d->data = *data;
    d->bert = bert;
    d->starts = gb_alloc((size_t)params->max_length + 1, sizeof *d->starts, status);
    d->labels = gb_alloc((size_t)params->max_length + 1, sizeof *d->labels, status);
    d->analyzer = d->labels ? gb_analyzer_create(status) : NULL;
    if (!d->starts || !d->analyzer || !find_passages(d, status) ||
        !gb_word_weights_declare(model, &bert->config, &d->weight, &d->bias, status)) {
        destroy(d);
        return NULL;
    }
    *task = (gb_task){.self = d,
                      .loss_names = {"squared error"},
                      .sample = sample,
                      .build = build,
                      .microbatch = {.count = count, .size = size, .select = take}};
    return d;
}

const gb_objective objective_deepct = {
    .name = "deepct",
    .help = "weights of words, the share of a passage's training queries that have them (DeepCT)",
    .options = options,
    .defaults = &defaults,
    .own_bytes = sizeof defaults,
    .no_vector = true,
    .needs = GB_NEEDS_JUDGEMENTS,
    .create = create,
    .destroy = destroy};
