/* Inverse Cloze Task (Lee et al., 2019), as COSTA's authors train it: a random sentence of a
 * passage and the rest of the passage find each other in the batch, beside the masked LM of both.
 *   L = L_mlm + L_ict,  L_ict = mean_i -log exp(q_i . c_i / t) / sum_j exp(q_i . c_j / t).
 * The sentence is always taken out of the rest (its first authors leave it in with p = .1); [CLS]
 * vectors of the masked texts, dot products. A passage of one sentence gives its two halves. */
#include "contrast.h"

#include <stdlib.h>
#include <string.h>

/* Its settings. */
typedef struct ict_settings {
    double mask_ratio;  /* of the tokens */
    double temperature; /* of the contrastive loss */
} ict_settings;

static const ict_settings defaults = {.15, 1};
static const gb_option options[] = {OPTION_MASK_RATIO(ict_settings, mask_ratio),
                                    OPTION_TEMPERATURE(ict_settings, temperature),
                                    {0}};

typedef struct ict {
    gb_pretrain_params params;               /* settings */
    ict_settings own;                        /* and its own */
    gb_pretrain_data data;                   /* texts */
    const gb_bert *bert;                     /* model */
    row_order order;                         /* passages */
    masker masker;                           /* scratch */
    batch_texts texts;                       /* of the step */
    gb_id_range *sentences;                  /* scratch */
    uint32_t *rest;                          /* scratch: a passage without a sentence */
    size_t sentence_capacity, rest_capacity; /* allocated */
} ict;

/* A range of the text to take out: a sentence, or a half where there is one only. */
static gb_id_range choose(const ict *t, text_ids text, uint32_t count, gb_rng *rng)
{
    if (count > 1)
        return t->sentences[gb_rng_below(rng, count)];
    uint32_t length = (uint32_t)text.length, middle = length / 2;
    while (middle < length && gb_vocab_is_continuation(t->data.vocab, text.ids[middle]))
        middle++;
    return gb_rng_below(rng, 2) ? (gb_id_range){middle, length} : (gb_id_range){0, middle};
}

/* The sentence of the i-th passage, or with `other` the rest of it. */
static bool draw(ict *t, uint32_t step, uint32_t i, bool other, text_ids *out, gb_status *status)
{
    uint32_t passage = pretrain_row_order_at(&t->order, (uint64_t)step * t->params.batch + i);
    text_ids text =
        pretrain_cut_text(pretrain_passage_ids(&t->data, passage), t->params.max_length);
    gb_rng rng = gb_rng_make(t->params.seed, GB_RNG_CONTEXT, step, i);
    if (!gb_grow(&t->sentences, &t->sentence_capacity, text.length + 1, sizeof *t->sentences,
                 status) ||
        !gb_grow(&t->rest, &t->rest_capacity, text.length + 1, sizeof *t->rest, status))
        return false;
    uint32_t length = (uint32_t)text.length;
    gb_id_range range =
        choose(t, text, gb_id_sentences(t->data.vocab, text.ids, length, t->sentences), &rng);
    if (range.end - range.start == length || range.end == range.start) { /* a single word */
        *out = text;
        return true;
    }
    memcpy(t->rest, text.ids, sizeof *t->rest * range.start);
    memcpy(t->rest + range.start, text.ids + range.end, sizeof *t->rest * (length - range.end));
    *out = other ? (text_ids){t->rest, length - (range.end - range.start)}
                 : (text_ids){text.ids + range.start, range.end - range.start};
    return true;
}

static bool sample(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    ict *t = self;
    pretrain_batch_texts_reset(&t->texts);
    for (uint32_t i = 0; i < 2 * t->params.batch; i++) {
        text_ids text;
        gb_rng rng = gb_rng_make(t->params.seed, GB_RNG_MASK, step, i);
        if (!draw(t, step, i % t->params.batch, i >= t->params.batch, &text, status) ||
            !pretrain_add_masked(&t->masker, &t->texts.all, &t->data, text, t->own.mask_ratio,
                                 t->params.max_length, &rng, status))
            return false;
    }
    return pretrain_batch_texts_masked(&t->texts, 1, bucket, status);
}

static uint32_t count(const void *self)
{
    return 2 * ((const ict *)self)->params.batch;
}

static void size(const void *self, uint32_t first, uint32_t texts, gb_bucket *bucket)
{
    const ict *t = self;
    pretrain_batch_texts_size(&t->texts, first, texts, 1, bucket);
}

static bool take(void *self, uint32_t first, uint32_t texts, gb_status *status)
{
    ict *t = self;
    return pretrain_batch_texts_take(&t->texts, first, texts, status);
}

static void build(void *self, gb_builder *builder, const gb_bucket *bucket,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    ict *t = self;
    const batch_texts *texts = &t->texts;
    uint32_t batch = t->params.batch;
    if (bucket->texts) {
        pretrain_masked_microbatch_build(builder, t->bert, bucket, texts, t->params.seed, losses);
        return;
    }
    gb_batch_inputs in =
        pretrain_batch_texts_declare(builder, t->bert, bucket, 2 * batch, texts, t->params.seed);
    labelled_inputs labels = pretrain_labelled_declare(builder, bucket->size[BUCKET_LABELLED],
                                                       in.rows, &texts->now_labelled, 0, NULL);
    gb_selection sentences = gb_first_rows_declare(builder, batch, in.rows, &texts->now, 0);
    gb_selection rests = gb_first_rows_declare(builder, batch, in.rows, &texts->now, batch);
    gb_tensor h = gb_bert_encode(builder, t->bert, &in, 0, NULL);
    losses[1] = pretrain_labelled_loss(builder, t->bert, &labels, h, GB_NO_TENSOR);
    gb_tensor b = gb_selection_gather(builder, h, &rests),
              a = gb_selection_gather(builder, h, &sentences);
    losses[2] = pretrain_pair_loss(builder, batch, a, b, t->own.temperature);
    losses[0] = gb_add(builder->tape, losses[1], losses[2]);
}

static void compare(void *self, gb_builder *builder, gb_tensor vectors,
                    gb_tensor losses[GB_MAX_LOSSES])
{
    const ict *t = self;
    losses[0] = losses[2] =
        pretrain_side_loss(builder, t->params.batch, vectors, t->own.temperature);
}

static void destroy(void *self)
{
    ict *t = self;
    if (!t)
        return;
    pretrain_row_order_free(&t->order);
    pretrain_masker_free(&t->masker);
    pretrain_batch_texts_free(&t->texts);
    free(t->sentences);
    free(t->rest);
    free(t);
}

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    (void)model;
    ict *t = gb_alloc(1, sizeof *t, status);
    if (!t)
        return NULL;
    t->params = *params;
    t->own = *(const ict_settings *)params->own;
    t->data = *data;
    t->bert = bert;
    if (!pretrain_row_order_passages(&t->order, data, params, status)) {
        destroy(t);
        return NULL;
    }
    *task = (gb_task){
        .self = t,
        .loss_names = {"total", "mlm", "contrastive"},
        .sample = sample,
        .build = build,
        .microbatch = {
            .count = count, .size = size, .select = take, .vectors = 1, .compare = compare}};
    return t;
}

const gb_objective objective_ict = {.name = "ict",
                                    .help = "masked LM, and a contrastive loss between a "
                                            "sentence and the rest of its passage (ICT)",
                                    .options = options,
                                    .defaults = &defaults,
                                    .own_bytes = sizeof defaults,
                                    .create = create,
                                    .destroy = destroy};
