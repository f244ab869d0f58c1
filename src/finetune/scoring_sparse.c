/* Learned sparse retrieval (SPLADE: T. Formal et al., "SPLADE v2", 2021; SPLADE++: Formal et al.,
 * 2022): a text is a weight for each term of the vocabulary, by the masked-LM head, and a score is
 * an inner product. A regulariser keeps the vectors sparse. With --query-tokens queries are the
 * terms that they have (SPLADE-doc). */
#include "private.h"

#include <gabbro/vk.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What its options set. */
typedef struct sparse_settings {
    double flops_queries, flops_passages; /* factors of the regulariser at their peak */
    double ramp;                          /* share of the steps in which they rise */
    bool query_tokens;                    /* a query has 1 for each of its terms */
} sparse_settings;

#define FIELD(member) GB_FIELD(sparse_settings, member)
static const gb_option options[] = {
    {"flops-queries", GB_OPTION_REAL, FIELD(flops_queries), 0, NULL,
     "factor of the FLOPS regulariser of the queries"},
    {"flops-passages", GB_OPTION_REAL, FIELD(flops_passages), 0, NULL,
     "factor of that of the passages"},
    {"flops-ramp", GB_OPTION_RATIO, FIELD(ramp), 0, NULL,
     "share of the steps in which both factors rise from 0, with the square of the step"},
    {"query-tokens", GB_OPTION_FLAG, FIELD(query_tokens), 0, NULL,
     "a query's vector is 1 at each of its tokens and made without the model (SPLADE-doc)"},
    {0}};
#undef FIELD

static const sparse_settings defaults = {
    .flops_queries = 3e-4, .flops_passages = 1e-4, .ramp = 1. / 3};

typedef struct sparse {
    gb_scoring_context context; /* what it is made of */
    sparse_settings own;        /* settings */
    gb_special_ids specials;    /* which are no terms of a query */
} sparse;

static void *create(const gb_scoring_context *context, gb_params *model, gb_status *status)
{
    (void)model;
    sparse_settings own;
    memcpy(&own, context->own, sizeof own);
    if (own.query_tokens && own.flops_queries != defaults.flops_queries && own.flops_queries > 0) {
        gb_fail(status, GB_USAGE, "--flops-queries", "leave it, or --query-tokens, out",
                "queries that are made without the model are not regularised");
        return NULL;
    }
    sparse *s = gb_alloc(1, sizeof *s, status);
    if (!s)
        return NULL;
    s->context = *context;
    s->own = own;
    s->specials = gb_vocab_specials(context->vocab);
    return s;
}

static bool reads_all(const void *self)
{
    (void)self;
    return true;
}

static gb_tensor represent(void *self, gb_builder *builder, const gb_text_states *states)
{
    const sparse *s = self;
    return gb_bert_term_weights(builder, s->context.bert, states->h,
                                gb_texts_declare(builder, states->texts, states->batch));
}

/* ---- queries as they are ---- */

typedef struct tokens_input {
    gb_tensor bags;          /* [texts, V] */
    uint32_t ld;             /* floats from row to row */
    const gb_batch *batch;   /* from */
    uint32_t first, texts;   /* texts of it */
    gb_special_ids specials; /* that count as no terms */
} tokens_input;

static bool fill_tokens(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const tokens_input *to = record;
    float *bags = gb_executable_input(exec, to->bags, status);
    if (!bags)
        return false;
    memset(bags, 0, sizeof *bags * to->ld * to->texts);
    for (uint32_t t = 0; t < to->texts; t++) {
        const uint32_t *starts = to->batch->starts + to->first + t;
        for (uint32_t r = starts[0]; r < starts[1]; r++) {
            uint32_t id = to->batch->ids[r];
            if (id != to->specials.cls && id != to->specials.sep)
                bags[(size_t)t * to->ld + id] = 1;
        }
    }
    return true;
}

static gb_tensor bags_of(const sparse *s, gb_builder *builder, const gb_side *side)
{
    gb_tape *tape = builder->tape;
    uint32_t vocabulary = s->context.bert->config.vocab_size;
    tokens_input to = {.bags = gb_tape_input(tape, "tokens", GB_F32, side->texts, vocabulary),
                       .batch = side->batch,
                       .first = side->first,
                       .texts = side->texts,
                       .specials = s->specials};
    to.ld = gb_tape_tensor(tape, to.bags)->ld;
    gb_tape_fill_by(tape, fill_tokens, &to, sizeof to);
    return to.bags;
}

static gb_tensor compare(void *self, gb_builder *builder, const gb_side *queries,
                         const gb_side *passages)
{
    const sparse *s = self;
    gb_tensor q = s->own.query_tokens ? bags_of(s, builder, queries) : queries->vectors;
    return gb_matmul(builder->tape, GB_NT, q, passages->vectors);
}

/* ---- the regulariser ---- */

typedef struct flops_inputs {
    gb_tensor shares; /* [1, texts] */
    gb_tensor factor; /* [1, 1] */
    uint32_t texts;   /* whose weights are averaged */
    double peak;      /* of the factor */
    double ramp;      /* steps until then */
} flops_inputs;

static bool fill_flops(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    const flops_inputs *to = record;
    float *shares = gb_executable_input(exec, to->shares, status);
    float *factor = shares ? gb_executable_input(exec, to->factor, status) : NULL;
    if (!factor)
        return false;
    for (uint32_t t = 0; t < to->texts; t++)
        shares[t] = 1.0f / (float)to->texts;
    double risen = step < to->ramp ? step / to->ramp : 1;
    *factor = (float)(to->peak * risen * risen);
    return true;
}

static gb_tensor flops_of(const sparse *s, gb_builder *builder, const gb_side *side, double peak)
{
    gb_tape *tape = builder->tape;
    const flops_inputs to = {.shares = gb_tape_input(tape, "shares", GB_F32, 1, side->texts),
                             .factor = gb_tape_input(tape, "flops factor", GB_F32, 1, 1),
                             .texts = side->texts,
                             .peak = peak,
                             .ramp = s->own.ramp * s->context.params->steps};
    gb_tape_fill_by(tape, fill_flops, &to, sizeof to);
    return gb_flops_loss(tape, side->vectors, to.shares, to.factor);
}

/* Of queries that are as they are there is nothing to regularise. */
static void extra(void *self, gb_builder *builder, const gb_side *queries, const gb_side *passages,
                  gb_tensor losses[GB_MAX_LOSSES - 1])
{
    const sparse *s = self;
    losses[0] = flops_of(s, builder, passages, s->own.flops_passages);
    if (!s->own.query_tokens)
        losses[1] = flops_of(s, builder, queries, s->own.flops_queries);
}

/* ---- the model ---- */

static bool save(void *self, const gb_retriever_folder *folder, gb_status *status)
{
    const sparse *s = self;
    gb_sentence_settings how = *folder->how;
    how.pooling = GB_POOLING_TERMS;
    how.normalize = how.prompt_left_out = false;
    how.query_tokens = s->own.query_tokens;
    return gb_model_save(folder->path, folder->config, folder->params, folder->values,
                         folder->vocab, folder->tokenizer, &how, folder->card, status);
}

static void describe(const void *self, char *text, size_t size)
{
    const sparse *s = self;
    snprintf(text, size, "A retriever by learned sparse vectors (%s) fine-tuned by gabbro.",
             s->own.query_tokens ? "SPLADE-doc: queries are the terms that they have" : "SPLADE");
}

const gb_scoring scoring_sparse = {
    .name = "sparse",
    .help = "inner products of term weights by the masked-LM head (SPLADE)",
    .needs = GB_SCORING_HEAD,
    .users = GB_USER_SPARSE,
    .together = true,
    .options = options,
    .defaults = &defaults,
    .own_bytes = sizeof(sparse_settings),
    .extra_names = {"flops passages", "flops queries"},
    .create = create,
    .destroy = free,
    .reads_all = reads_all,
    .represent = represent,
    .compare = compare,
    .extra = extra,
    .save = save,
    .describe = describe};
