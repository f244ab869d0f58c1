/* Contriever (Izacard et al., 2022): two crops of a passage find each other among the keys of
 * earlier steps; keys come from a copy of the encoder that follows it slowly (MoCo, He et al.,
 * 2020). L = mean_i -log exp(q_i . k_i / t) / (exp(q_i . k_i / t) + sum_{n in queue} exp(q_i . n /
 * t)) Crops are 10 to 50% of the passage, then each token is deleted with p = .1; no normalisation.
 * The copy and the ring of keys are parameters without a gradient, so that they live on the device,
 * lie in checkpoints, and a resumed run goes on as if it had not stopped. The ring has a place for
 * the keys of the step beside those of the queue: they take the oldest keys' places before the
 * scores are made, and only its own is not hidden from a query. */
#include "contrast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CROP_LEAST .1
#define CROP_MOST  .5
#define DELETED    .1

/* Its settings. */
typedef struct contriever_settings {
    uint32_t queue;     /* negatives kept; 131072 in the paper */
    double momentum;    /* of the encoder of keys */
    double temperature; /* of the contrastive loss */
    bool mean_pooling;  /* texts stand for the mean of their states, as in the paper, instead of
                           [CLS]; off, because all encoders here are used by [CLS] */
} contriever_settings;

static const contriever_settings defaults = {131072, .9995, .05, false};
static const gb_option options[] = {
    {"queue", GB_OPTION_U32, GB_FIELD(contriever_settings, queue), 0, NULL,
     "negatives that are kept", .min = 1, .max = GB_OPEN - 1.0},
    {"momentum", GB_OPTION_RATIO, GB_FIELD(contriever_settings, momentum), 0, NULL,
     "momentum of the encoder of keys"},
    OPTION_TEMPERATURE(contriever_settings, temperature),
    {"mean-pooling", GB_OPTION_FLAG, GB_FIELD(contriever_settings, mean_pooling), 0, NULL,
     "a text's vector is the mean of its states, not that of [CLS]"},
    {0}};

typedef struct contriever {
    gb_pretrain_params params; /* settings */
    contriever_settings own;   /* and its own */
    gb_pretrain_data data;     /* texts */
    const gb_bert *bert;       /* model */
    gb_bert keys;              /* the copy that follows it */
    uint32_t copied;           /* parameters of the encoder, and of the copy */
    uint32_t ring;             /* [queue + batch, H] keys */
    row_order order;           /* passages */
    gb_batch batch[2];         /* crops: queries, keys */
    uint32_t *crop;            /* scratch */
    size_t crop_capacity;      /* allocated */
} contriever;

static uint32_t ring_rows(const contriever *c)
{
    return c->own.queue + c->params.batch;
}

/* ---- crops ---- */

static bool add_crop(contriever *c, uint32_t step, uint32_t i, uint32_t side, gb_status *status)
{
    text_ids text = pretrain_passage_ids(
        &c->data, pretrain_row_order_at(&c->order, (uint64_t)step * c->params.batch + i));
    gb_rng rng = gb_rng_make(c->params.seed, GB_RNG_CONTEXT, step, 2 * i + side);
    uint32_t length = (uint32_t)text.length, kept = 0;
    double ratio = CROP_LEAST + (CROP_MOST - CROP_LEAST) * gb_rng_uniform(&rng);
    uint32_t size = (uint32_t)(ratio * length);
    size = size || !length ? size : 1;
    uint32_t start = gb_rng_below(&rng, length - size + 1);
    if (!gb_grow(&c->crop, &c->crop_capacity, size + 1, sizeof *c->crop, status))
        return false;
    for (uint32_t k = 0; k < size; k++)
        if (gb_rng_uniform(&rng) >= DELETED)
            c->crop[kept++] = text.ids[start + k];
    gb_special_ids specials = gb_vocab_specials(c->data.vocab);
    return gb_batch_add(&c->batch[side], &specials, c->crop, NULL, kept, c->params.max_length,
                        status);
}

static bool sample(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    contriever *c = self;
    for (uint32_t side = 0; side < 2; side++) {
        gb_batch_reset(&c->batch[side]);
        for (uint32_t i = 0; i < c->params.batch; i++)
            if (!add_crop(c, step, i, side, status))
                return false;
        bucket->size[side] = gb_bucket_rows(c->batch[side].rows);
    }
    return true;
}

/* ---- the program ---- */

/* The ring, and where the keys of the step stand in it. */
typedef struct ring_inputs {
    const contriever *c; /* for whom */
    gb_tensor momentum;  /* f32 [1, 1] */
    gb_tensor pick;      /* u32 [1, ring]: key that takes the place */
    gb_tensor labels;    /* u32 [batch, 1]: place of the own key */
    gb_tensor weights;   /* f32 [batch, 1] */
    gb_tensor excluded;  /* u32 [batch, words]: keys of the other texts */
} ring_inputs;

static bool fill_ring(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    const ring_inputs *in = record;
    const contriever *c = in->c;
    uint32_t batch = c->params.batch, ring = ring_rows(c), words = (ring + 31) / 32;
    float *momentum = gb_executable_input(exec, in->momentum, status);
    uint32_t *pick = momentum ? gb_executable_input(exec, in->pick, status) : NULL;
    uint32_t *labels = pick ? gb_executable_input(exec, in->labels, status) : NULL;
    float *weights = labels ? gb_executable_input(exec, in->weights, status) : NULL;
    uint32_t *excluded = weights ? gb_executable_input(exec, in->excluded, status) : NULL;
    if (!excluded)
        return false;
    *momentum = step ? (float)c->own.momentum : 0; /* the copy begins as the encoder itself */
    for (uint32_t r = 0; r < ring; r++)
        pick[r] = GB_NO_ROW;
    memset(excluded, 0, sizeof *excluded * batch * words);
    for (uint32_t i = 0; i < batch; i++) {
        labels[i] = (uint32_t)(((uint64_t)step * batch + i) % ring);
        weights[(size_t)i * 4] = 1.0f / (float)batch;
        pick[labels[i]] = i;
    }
    for (uint32_t i = 0; i < batch; i++)
        for (uint32_t j = 0; j < batch; j++)
            if (j != i)
                excluded[(size_t)i * words + labels[j] / 32] |= 1u << (labels[j] % 32);
    return true;
}

static ring_inputs ring_declare(const contriever *c, gb_tape *tape)
{
    uint32_t batch = c->params.batch, ring = ring_rows(c);
    const ring_inputs in = {.c = c,
                            .momentum = gb_tape_input(tape, "momentum", GB_F32, 1, 1),
                            .pick = gb_tape_input(tape, "new keys", GB_U32, 1, ring),
                            .labels = gb_tape_input(tape, "own keys", GB_U32, batch, 1),
                            .weights = gb_tape_input(tape, "query weights", GB_F32, batch, 1),
                            .excluded =
                                gb_tape_input(tape, "excluded", GB_U32, batch, (ring + 31) / 32)};
    gb_tape_fill_by(tape, fill_ring, &in, sizeof in);
    return in;
}

/* Vectors of one crop of each passage by an encoder. */
static gb_tensor vectors(const contriever *c, gb_builder *builder, const gb_bert *bert,
                         const gb_bucket *bucket, int side)
{
    const gb_pooling_params how = {.kind = c->own.mean_pooling ? GB_POOLING_MEAN : GB_POOLING_CLS,
                                   .texts = c->params.batch,
                                   .rows = bucket->size[side],
                                   .max_length = c->params.max_length};
    const gb_batch *crops = &c->batch[side];
    gb_batch_inputs in =
        gb_batch_declare(builder, &bert->config, how.rows, how.texts, crops, c->params.seed);
    gb_pooling_inputs pooling = gb_pooling_declare(builder, &how, crops);
    return gb_pooling_apply(builder, gb_bert_encode(builder, bert, &in, 0, NULL), &pooling);
}

static void build(void *self, gb_builder *builder, const gb_bucket *bucket,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    contriever *c = self;
    gb_tape *tape = builder->tape;
    ring_inputs in = ring_declare(c, tape);
    for (uint32_t i = 0; i < c->copied; i++)
        gb_ema_update(tape, gb_tape_param(tape, c->keys.word + i),
                      gb_tape_param(tape, c->bert->word + i), in.momentum);
    gb_tensor keys = gb_tape_param(tape, c->ring), q = vectors(c, builder, c->bert, bucket, 0);
    gb_replace_rows(tape, keys, vectors(c, builder, &c->keys, bucket, 1), in.pick);
    gb_tensor scores =
        gb_scale(tape, gb_matmul(tape, GB_NT, q, keys), (float)(1 / c->own.temperature));
    losses[0] = gb_softmax_loss(tape, scores, in.labels, in.weights, in.excluded);
}

/* ---- the objective ---- */

static void destroy(void *self)
{
    contriever *c = self;
    if (!c)
        return;
    pretrain_row_order_free(&c->order);
    gb_batch_free(&c->batch[0]);
    gb_batch_free(&c->batch[1]);
    gb_bert_free(&c->keys);
    free(c->crop);
    free(c);
}

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    contriever *c = gb_alloc(1, sizeof *c, status);
    if (!c)
        return NULL;
    c->params = *params;
    c->own = *(const contriever_settings *)params->own;
    c->data = *data;
    c->bert = bert;
    uint32_t h = bert->config.hidden_size;
    bool ok = gb_bert_declare_copy(model, "momentum.", bert, &c->keys, status);
    c->copied = gb_params_count(model) - c->keys.word;
    /* Before keys come in the queue holds random vectors of about length 1, as in MoCo. */
    ok = ok && (c->ring = gb_params_add_state(model, "contriever.queue", ring_rows(c), h,
                                              (float)(1 / sqrt(h)), status)) != UINT32_MAX;
    if (!ok || !pretrain_row_order_passages(&c->order, data, params, status)) {
        destroy(c);
        return NULL;
    }
    if (c->own.queue >= c->order.epochs.count)
        gb_log(
            GB_LOG_WARN,
            "a queue of %u keys holds the %u passages more than once: a passage is among its own "
            "negatives; --queue makes it shorter",
            c->own.queue, c->order.epochs.count);
    *task = (gb_task){.self = c, .loss_names = {"contrastive"}, .sample = sample, .build = build};
    return c;
}

static gb_pooling pooling(const void *own)
{
    return ((const contriever_settings *)own)->mean_pooling ? GB_POOLING_MEAN : GB_POOLING_CLS;
}

const gb_objective objective_contriever = {
    .name = "contriever",
    .help = "a crop finds another of its passage, against a queue of keys",
    .options = options,
    .defaults = &defaults,
    .own_bytes = sizeof defaults,
    .pooling = pooling,
    .create = create,
    .destroy = destroy};
