/* Masked language modelling (Devlin et al., 2019) of passages, whole words masked. */
#include "common.h"

#include <stdlib.h>

/* Its settings. */
typedef struct mlm_settings {
    double mask_ratio; /* of the tokens */
} mlm_settings;

static const mlm_settings defaults = {.15};
static const gb_option options[] = {OPTION_MASK_RATIO(mlm_settings, mask_ratio), {0}};

typedef struct mlm {
    gb_pretrain_params params; /* settings */
    mlm_settings own;          /* and its own */
    gb_pretrain_data data;     /* texts */
    const gb_bert *bert;       /* model */
    row_order order;           /* passages */
    masker masker;             /* scratch */
    batch_texts texts;         /* of the step */
} mlm;

static bool sample(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    mlm *m = self;
    pretrain_batch_texts_reset(&m->texts);
    for (uint32_t i = 0; i < m->params.batch; i++) {
        uint32_t passage = pretrain_row_order_at(&m->order, (uint64_t)step * m->params.batch + i);
        gb_rng rng = gb_rng_make(m->params.seed, GB_RNG_MASK, step, i);
        if (!pretrain_add_masked(&m->masker, &m->texts.all, &m->data,
                                 pretrain_passage_ids(&m->data, passage), m->own.mask_ratio,
                                 m->params.max_length, &rng, status))
            return false;
    }
    return pretrain_batch_texts_masked(&m->texts, 1, bucket, status);
}

static uint32_t count(const void *self)
{
    return ((const mlm *)self)->params.batch;
}

static void size(const void *self, uint32_t first, uint32_t texts, gb_bucket *bucket)
{
    const mlm *m = self;
    pretrain_batch_texts_size(&m->texts, first, texts, 1, bucket);
}

static bool take(void *self, uint32_t first, uint32_t texts, gb_status *status)
{
    mlm *m = self;
    return pretrain_batch_texts_take(&m->texts, first, texts, status);
}

static void build(void *self, gb_builder *builder, const gb_bucket *bucket,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    mlm *m = self;
    gb_batch_inputs in = pretrain_batch_texts_declare(builder, m->bert, bucket,
                                                      pretrain_texts_of(bucket, m->params.batch),
                                                      &m->texts, m->params.seed);
    labelled_inputs labels = pretrain_labelled_declare(builder, bucket->size[BUCKET_LABELLED],
                                                       in.rows, &m->texts.now_labelled, 0, NULL);
    gb_tensor h = gb_bert_encode(builder, m->bert, &in, 0, NULL);
    losses[0] = pretrain_labelled_loss(builder, m->bert, &labels, h, GB_NO_TENSOR);
}

static void destroy(void *self)
{
    mlm *m = self;
    if (!m)
        return;
    pretrain_row_order_free(&m->order);
    pretrain_masker_free(&m->masker);
    pretrain_batch_texts_free(&m->texts);
    free(m);
}

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    (void)model;
    mlm *m = gb_alloc(1, sizeof *m, status);
    if (!m)
        return NULL;
    m->params = *params;
    m->own = *(const mlm_settings *)params->own;
    m->data = *data;
    m->bert = bert;
    if (!pretrain_row_order_passages(&m->order, data, params, status)) {
        free(m);
        return NULL;
    }
    *task = (gb_task){.self = m,
                      .loss_names = {"mlm"},
                      .sample = sample,
                      .build = build,
                      .microbatch = {.count = count, .size = size, .select = take}};
    return m;
}

const gb_objective objective_mlm = {.name = "mlm",
                                    .help = "masked LM",
                                    .options = options,
                                    .defaults = &defaults,
                                    .own_bytes = sizeof defaults,
                                    .no_vector = true,
                                    .create = create,
                                    .destroy = destroy};
