/* PROP (Ma et al., 2021) as COSTA's authors compare with it, a bi-encoder: of two sets of words
 * drawn from a passage's language model, the likelier one shall be nearer to the passage. L = L_mlm
 * + L_rop,  L_rop = mean_i max(0, 1 - p(s+) + p(s-)), p the softmax over the two scores, s =
 * CLS(words) . CLS(passage) / t. As released: sizes Poisson(3) without 0, equal for both sets;
 * Dirichlet smoothing with shares of passages as background; candidates filled up to 500; masked LM
 * on the passage's side only. Left out: stems, dropping and thinning of words by frequency, and
 * skipping short passages, which are settings for Wikipedia articles. Scores of vectors that are
 * layer-normed are large, so t is by default the square root of the width; the paper gives none. */
#include "prop.h"

#include <math.h>
#include <stdlib.h>

/* Its settings. */
typedef struct prop_settings {
    double mask_ratio;  /* of the tokens */
    double temperature; /* of the preference; 0: the square root of the width */
} prop_settings;

static const prop_settings defaults = {.15, 0};
static const gb_option options[] = {
    OPTION_MASK_RATIO(prop_settings, mask_ratio),
    {"temperature", GB_OPTION_REAL, GB_FIELD(prop_settings, temperature), 0, NULL,
     "scores of the sets are divided by it; 0: by the root of the width"},
    {0}};

typedef struct prop {
    gb_pretrain_params params; /* settings */
    prop_settings own;         /* and its own */
    gb_pretrain_data data;     /* texts */
    const gb_bert *bert;       /* model */
    row_order order;           /* passages */
    masker masker;             /* scratch */
    prop_words words;          /* of the collection */
    batch_texts texts;         /* passages, then likelier and less likely sets in turn */
    bool *paired;              /* [batch] the passage has sets */
    bool by_attention;         /* B-PROP */
    prop_attention attention;  /* of the encoder at the start, B-PROP */
} prop;

/* ---- sets ---- */

/* Append a set as a text. */
static bool add_set(prop *p, const prop_language *language, const uint32_t *places, uint32_t size,
                    gb_status *status)
{
    gb_special_ids specials = gb_vocab_specials(p->data.vocab);
    uint32_t count = 0, ids[256];
    for (uint32_t i = 0; i < size; i++) {
        prop_word word = p->words.words[language->words[places[i]]];
        const uint32_t *from = pretrain_passage_ids(&p->data, word.passage).ids + word.start;
        for (uint32_t k = 0; k < word.length && count < 256; k++)
            ids[count++] = from[k];
    }
    return gb_batch_add(&p->texts.all, &specials, ids, NULL, count, p->params.max_length, status);
}

/* Two sets of a passage, the likelier first; empty ones where it has no words. */
static bool add_sets(prop *p, uint32_t passage, uint32_t step, uint32_t i, gb_status *status)
{
    gb_rng rng = gb_rng_make(p->params.seed, GB_RNG_CONTEXT, step, i);
    text_ids text =
        pretrain_cut_text(pretrain_passage_ids(&p->data, passage), p->params.max_length);
    prop_language language;
    uint32_t places[2][PROP_CANDIDATES], size = 0;
    double scores[2] = {0};
    if (p->by_attention
            ? !pretrain_prop_attention_language(&p->attention, &p->words, &p->data, passage,
                                                p->params.max_length, &language, status)
            : !pretrain_prop_language_of(&p->words, &p->data, text, &rng, &language, status))
        return false;
    p->paired[i] = language.count > 0;
    if (p->paired[i]) {
        size = pretrain_prop_set_size(&rng);
        size = size < language.count ? size : language.count;
        for (int s = 0; s < 2; s++)
            scores[s] = pretrain_prop_draw_set(&language, size, &rng, places[s]);
    }
    int better = scores[1] > scores[0];
    return add_set(p, &language, places[better], size, status) &&
           add_set(p, &language, places[1 - better], size, status);
}

/* ---- the task ---- */

static bool sample(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    prop *p = self;
    pretrain_batch_texts_reset(&p->texts);
    for (uint32_t round = 0; round < 2; round++)
        for (uint32_t i = 0; i < p->params.batch; i++) {
            uint32_t passage =
                pretrain_row_order_at(&p->order, (uint64_t)step * p->params.batch + i);
            gb_rng rng = gb_rng_make(p->params.seed, GB_RNG_MASK, step, i);
            if (round ? !add_sets(p, passage, step, i, status)
                      : !pretrain_add_masked(&p->masker, &p->texts.all, &p->data,
                                             pretrain_passage_ids(&p->data, passage),
                                             p->own.mask_ratio, p->params.max_length, &rng, status))
                return false;
        }
    return pretrain_batch_texts_masked(&p->texts, 1, bucket, status);
}

static uint32_t count(const void *self)
{
    return 3 * ((const prop *)self)->params.batch;
}

static void size(const void *self, uint32_t first, uint32_t texts, gb_bucket *bucket)
{
    const prop *p = self;
    pretrain_batch_texts_size(&p->texts, first, texts, 1, bucket);
}

static bool take(void *self, uint32_t first, uint32_t texts, gb_status *status)
{
    prop *p = self;
    return pretrain_batch_texts_take(&p->texts, first, texts, status);
}

/* ---- the preference loss ---- */

typedef struct pair_targets {
    const prop *p;     /* for whom */
    gb_tensor pairs;   /* u32 [batch, 2] */
    gb_tensor weights; /* f32 [batch, 1] */
} pair_targets;

static bool fill_pairs(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const pair_targets *to = record;
    const prop *p = to->p;
    uint32_t batch = p->params.batch, paired = 0;
    uint32_t *pairs = gb_executable_input(exec, to->pairs, status);
    float *weights = pairs ? gb_executable_input(exec, to->weights, status) : NULL;
    if (!weights)
        return false;
    for (uint32_t i = 0; i < batch; i++)
        paired += p->paired[i];
    for (uint32_t i = 0; i < batch; i++) {
        pairs[2 * i] = p->paired[i] ? 2 * i : GB_NO_ROW;
        pairs[2 * i + 1] = p->paired[i] ? 2 * i + 1 : GB_NO_ROW;
        weights[(size_t)i * 4] = p->paired[i] ? 1.0f / (float)paired : 0;
    }
    return true;
}

/* Of vectors of passages [batch, H], and of their sets [2 batch, H]. */
static gb_tensor preference(const prop *p, gb_builder *builder, gb_tensor passages, gb_tensor sets)
{
    uint32_t batch = p->params.batch;
    const pair_targets to = {
        .p = p,
        .pairs = gb_tape_input(builder->tape, "better and worse sets", GB_U32, batch, 2),
        .weights = gb_tape_input(builder->tape, "pair weights", GB_F32, batch, 1)};
    gb_tape_fill_by(builder->tape, fill_pairs, &to, sizeof to);
    gb_tensor scores = gb_matmul(builder->tape, GB_NT, passages, sets);
    double t = p->own.temperature > 0 ? p->own.temperature : sqrt(p->bert->config.hidden_size);
    return gb_preference_loss(builder->tape, gb_scale(builder->tape, scores, (float)(1 / t)),
                              to.pairs, to.weights);
}

/* ---- the program ---- */

static void build(void *self, gb_builder *builder, const gb_bucket *bucket,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    prop *p = self;
    const batch_texts *texts = &p->texts;
    uint32_t batch = p->params.batch;
    if (bucket->texts) {
        pretrain_masked_microbatch_build(builder, p->bert, bucket, texts, p->params.seed, losses);
        return;
    }
    gb_batch_inputs in =
        pretrain_batch_texts_declare(builder, p->bert, bucket, 3 * batch, texts, p->params.seed);
    labelled_inputs labels = pretrain_labelled_declare(builder, bucket->size[BUCKET_LABELLED],
                                                       in.rows, &texts->now_labelled, 0, NULL);
    gb_selection passages = gb_first_rows_declare(builder, batch, in.rows, &texts->now, 0);
    gb_selection sets = gb_first_rows_declare(builder, 2 * batch, in.rows, &texts->now, batch);
    gb_tensor h = gb_bert_encode(builder, p->bert, &in, 0, NULL);
    losses[1] = pretrain_labelled_loss(builder, p->bert, &labels, h, GB_NO_TENSOR);
    gb_tensor z = gb_selection_gather(builder, h, &passages);
    losses[2] = preference(p, builder, z, gb_selection_gather(builder, h, &sets));
    losses[0] = gb_add(builder->tape, losses[1], losses[2]);
}

static void compare(void *self, gb_builder *builder, gb_tensor vectors,
                    gb_tensor losses[GB_MAX_LOSSES])
{
    const prop *p = self;
    uint32_t batch = p->params.batch;
    gb_selection passages = gb_row_range_declare(builder, batch, 3 * batch, 0);
    gb_selection sets = gb_row_range_declare(builder, 2 * batch, 3 * batch, batch);
    gb_tensor s = gb_selection_gather(builder, vectors, &sets);
    losses[0] = losses[2] =
        preference(p, builder, gb_selection_gather(builder, vectors, &passages), s);
}

static void destroy(void *self)
{
    prop *p = self;
    if (!p)
        return;
    pretrain_row_order_free(&p->order);
    pretrain_masker_free(&p->masker);
    pretrain_prop_words_free(&p->words);
    pretrain_prop_attention_free(&p->attention);
    pretrain_batch_texts_free(&p->texts);
    free(p->paired);
    free(p);
}

static void *make(const gb_pretrain_params *params, const gb_pretrain_data *data,
                  const gb_bert *bert, bool by_attention, gb_task *task, gb_status *status)
{
    prop *p = gb_alloc(1, sizeof *p, status);
    if (!p)
        return NULL;
    p->params = *params;
    p->own = *(const prop_settings *)params->own;
    p->data = *data;
    p->bert = bert;
    p->by_attention = by_attention;
    p->paired = gb_alloc(params->batch, sizeof *p->paired, status);
    if (!p->paired ||
        !pretrain_prop_words_make(&p->words,
                                  by_attention ? pretrain_prop_is_alphabetic : gb_is_content_word,
                                  data, params->max_length, status) ||
        !pretrain_row_order_passages(&p->order, data, params, status)) {
        destroy(p);
        return NULL;
    }
    *task = (gb_task){
        .self = p,
        .loss_names = {"total", "mlm", "preference"},
        .sample = sample,
        .build = build,
        .microbatch = {
            .count = count, .size = size, .select = take, .vectors = 1, .compare = compare}};
    return p;
}

static void *create_prop(const gb_pretrain_params *params, const gb_pretrain_data *data,
                         const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    (void)model;
    return make(params, data, bert, false, task, status);
}

static void *create_bprop(const gb_pretrain_params *params, const gb_pretrain_data *data,
                          const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    (void)model;
    return make(params, data, bert, true, task, status);
}

static bool prepare(void *self, gb_device *device, const gb_params *params, const float *values,
                    gb_status *status)
{
    prop *p = self;
    return pretrain_prop_attention_measure(&p->attention, &p->words, &p->data, p->bert,
                                           p->params.max_length, device, params, values, status);
}

const gb_objective objective_prop = {
    .name = "prop",
    .help = "masked LM, and of two sampled sets of words the one that is likelier in a passage "
            "scores higher with it (PROP)",
    .options = options,
    .defaults = &defaults,
    .own_bytes = sizeof defaults,
    .create = create_prop,
    .destroy = destroy};
const gb_objective objective_bprop = {.name = "bprop",
                                      .help = "as prop, by the attention of the [CLS] of --init",
                                      .options = options,
                                      .defaults = &defaults,
                                      .own_bytes = sizeof defaults,
                                      .create = create_bprop,
                                      .destroy = destroy,
                                      .prepare = prepare};
