/* Unsupervised SimCSE (Gao et al., 2021): a sentence is encoded twice, and its two vectors, which
 * differ by dropout alone, find each other in the batch.
 *   L = mean_i -log exp(cos(z_i, z'_i) / t) / sum_j exp(cos(z_i, z'_j) / t),  z = tanh(W cls + b).
 * The projector is used in training only, as released. The text is a random sentence of a passage.
 */
#include "contrast.h"

#include <stdlib.h>

/* Its settings. */
typedef struct simcse_settings {
    double temperature; /* of the contrastive loss */
} simcse_settings;

static const simcse_settings defaults = {.05};
static const gb_option options[] = {OPTION_TEMPERATURE(simcse_settings, temperature), {0}};

typedef struct simcse {
    gb_pretrain_params params; /* settings */
    simcse_settings own;       /* and its own */
    gb_pretrain_data data;     /* texts */
    const gb_bert *bert;       /* model */
    gb_projector projector;    /* on [CLS] */
    row_order order;           /* passages */
    batch_texts texts;         /* sentences, then the same again */
    gb_id_range *sentences;    /* scratch */
    size_t sentence_capacity;  /* allocated */
} simcse;

static bool add_sentence(simcse *s, uint32_t step, uint32_t i, gb_status *status)
{
    text_ids text = pretrain_passage_ids(
        &s->data, pretrain_row_order_at(&s->order, (uint64_t)step * s->params.batch + i));
    gb_rng rng = gb_rng_make(s->params.seed, GB_RNG_CONTEXT, step, i);
    if (!gb_grow(&s->sentences, &s->sentence_capacity, text.length + 1, sizeof *s->sentences,
                 status))
        return false;
    uint32_t count = gb_id_sentences(s->data.vocab, text.ids, (uint32_t)text.length, s->sentences);
    gb_id_range range = count ? s->sentences[gb_rng_below(&rng, count)] : (gb_id_range){0, 0};
    gb_special_ids specials = gb_vocab_specials(s->data.vocab);
    return gb_batch_add(&s->texts.all, &specials, text.ids + range.start, NULL,
                        range.end - range.start, s->params.max_length, status);
}

static bool sample(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    simcse *s = self;
    pretrain_batch_texts_reset(&s->texts);
    for (uint32_t i = 0; i < 2 * s->params.batch; i++)
        if (!add_sentence(s, step, i % s->params.batch, status))
            return false;
    pretrain_batch_texts_size(&s->texts, 0, s->texts.all.count, 0, bucket);
    return pretrain_batch_texts_take_all(&s->texts, status);
}

static uint32_t count(const void *self)
{
    return 2 * ((const simcse *)self)->params.batch;
}

static void size(const void *self, uint32_t first, uint32_t texts, gb_bucket *bucket)
{
    const simcse *s = self;
    pretrain_batch_texts_size(&s->texts, first, texts, 0, bucket);
}

static bool take(void *self, uint32_t first, uint32_t texts, gb_status *status)
{
    simcse *s = self;
    return pretrain_batch_texts_take(&s->texts, first, texts, status);
}

/* Projected [CLS] vectors of length 1, of `count` texts from `first` on. */
static gb_tensor view(const simcse *s, gb_builder *builder, gb_tensor h, uint32_t rows,
                      uint32_t count, uint32_t first)
{
    gb_selection cls = gb_first_rows_declare(builder, count, rows, &s->texts.now, first);
    gb_tensor z = gb_projector_apply(builder, &s->projector, gb_selection_gather(builder, h, &cls));
    return gb_normalize_rows(builder->tape, z);
}

static void build(void *self, gb_builder *builder, const gb_bucket *bucket,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    simcse *s = self;
    uint32_t batch = s->params.batch, texts = pretrain_texts_of(bucket, 2 * batch);
    gb_batch_inputs in =
        pretrain_batch_texts_declare(builder, s->bert, bucket, texts, &s->texts, s->params.seed);
    gb_tensor h = gb_bert_encode(builder, s->bert, &in, 0, NULL);
    losses[0] = GB_NO_TENSOR;
    if (bucket->texts) {
        builder->vectors = view(s, builder, h, in.rows, texts, 0);
        return;
    }
    gb_tensor b = view(s, builder, h, in.rows, batch, batch),
              a = view(s, builder, h, in.rows, batch, 0);
    losses[0] = pretrain_pair_loss(builder, batch, a, b, s->own.temperature);
}

static void compare(void *self, gb_builder *builder, gb_tensor vectors,
                    gb_tensor losses[GB_MAX_LOSSES])
{
    const simcse *s = self;
    losses[0] = pretrain_side_loss(builder, s->params.batch, vectors, s->own.temperature);
}

static void destroy(void *self)
{
    simcse *s = self;
    if (!s)
        return;
    pretrain_row_order_free(&s->order);
    pretrain_batch_texts_free(&s->texts);
    free(s->sentences);
    free(s);
}

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    if (bert->config.hidden_dropout <= 0 && bert->config.attention_dropout <= 0) {
        gb_fail(status, GB_USAGE, NULL, "give a --dropout, e.g. .1",
                "simcse needs dropout: its two views of a text differ by nothing else");
        return NULL;
    }
    simcse *s = gb_alloc(1, sizeof *s, status);
    if (!s)
        return NULL;
    s->params = *params;
    s->own = *(const simcse_settings *)params->own;
    s->data = *data;
    s->bert = bert;
    if (!gb_projector_declare(model, "projector", GB_PROJECTOR_NONLINEAR, &bert->config,
                              &s->projector, status) ||
        !pretrain_row_order_passages(&s->order, data, params, status)) {
        destroy(s);
        return NULL;
    }
    *task = (gb_task){
        .self = s,
        .loss_names = {"contrastive"},
        .sample = sample,
        .build = build,
        .microbatch = {
            .count = count, .size = size, .select = take, .vectors = 1, .compare = compare}};
    return s;
}

const gb_objective objective_simcse = {.name = "simcse",
                                       .help =
                                           "contrastive loss between two encodings of a sentence "
                                           "with different dropout (SimCSE)",
                                       .options = options,
                                       .defaults = &defaults,
                                       .own_bytes = sizeof defaults,
                                       .create = create,
                                       .destroy = destroy};
