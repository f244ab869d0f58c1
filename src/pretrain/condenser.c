/* Condenser (Gao and Callan, 2021): masked LM of the encoder, and of a short Transformer head whose
 * input is the late [CLS] and the states of a middle layer; the same masks and labels.
 *   L = L_mlm + L_head. */
#include "condenser.h"

#include <stdlib.h>

/* ---- the head ---- */

bool pretrain_condenser_head_make(condenser_head *head, const head_settings *settings,
                                  const gb_bert *bert, gb_params *model, gb_status *status)
{
    *head = (condenser_head){.count = settings->layers,
                             .skip_from = settings->skip_from == GB_OPEN ? bert->config.layers / 2
                                                                         : settings->skip_from};
    if (head->skip_from > bert->config.layers)
        return gb_fail(status, GB_USAGE, "--skip-from", "name one of them",
                       "layer %u of an encoder that has %u", head->skip_from, bert->config.layers);
    head->layers = gb_alloc(head->count, sizeof *head->layers, status);
    bool ok = head->layers != NULL;
    for (uint32_t l = 0; ok && l < head->count; l++) {
        char prefix[64];
        snprintf(prefix, sizeof prefix, "condenser.layer.%u", l);
        ok = gb_block_declare(model, prefix, &bert->config, &head->layers[l], status);
    }
    return ok;
}

void pretrain_condenser_head_free(condenser_head *head)
{
    free(head->layers);
    head->layers = NULL;
}

void pretrain_condenser_head_apply(gb_builder *builder, const condenser_head *head,
                                   const gb_bert *bert, const gb_batch_inputs *in,
                                   const gb_selection *cls_rows, gb_tensor *h, gb_tensor *cls,
                                   gb_tensor *x)
{
    gb_tensor middle;
    *h = gb_bert_encode(builder, bert, in, head->skip_from, &middle);
    *cls = gb_selection_gather(builder, *h, cls_rows);
    *x = gb_scatter_rows(builder->tape, middle, *cls, cls_rows->inverse, cls_rows->index);
    for (uint32_t l = 0; l < head->count; l++)
        *x = l + 1 < head->count ? gb_block_apply(builder, &head->layers[l], in, *x)
                                 : gb_block_apply_last(builder, &head->layers[l], in, *x);
}

/* ---- the objective ---- */

/* Its settings. */
typedef struct condenser_settings {
    double mask_ratio;  /* of the tokens */
    head_settings head; /* of the head */
} condenser_settings;

static const condenser_settings defaults = {.15, HEAD_DEFAULTS};
static const gb_option options[] = {
    OPTION_MASK_RATIO(condenser_settings, mask_ratio), OPTIONS_HEAD(condenser_settings, head), {0}};

typedef struct condenser {
    gb_pretrain_params params; /* settings */
    condenser_settings own;    /* and its own */
    gb_pretrain_data data;     /* texts */
    const gb_bert *bert;       /* model */
    condenser_head head;       /* reads the middle layer */
    row_order order;           /* passages */
    masker masker;             /* scratch */
    batch_texts texts;         /* of the step */
} condenser;

static bool sample(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    condenser *c = self;
    pretrain_batch_texts_reset(&c->texts);
    for (uint32_t i = 0; i < c->params.batch; i++) {
        uint32_t passage = pretrain_row_order_at(&c->order, (uint64_t)step * c->params.batch + i);
        gb_rng rng = gb_rng_make(c->params.seed, GB_RNG_MASK, step, i);
        if (!pretrain_add_masked(&c->masker, &c->texts.all, &c->data,
                                 pretrain_passage_ids(&c->data, passage), c->own.mask_ratio,
                                 c->params.max_length, &rng, status))
            return false;
    }
    return pretrain_batch_texts_masked(&c->texts, 2, bucket, status);
}

static uint32_t count(const void *self)
{
    return ((const condenser *)self)->params.batch;
}

static void size(const void *self, uint32_t first, uint32_t texts, gb_bucket *bucket)
{
    const condenser *c = self;
    pretrain_batch_texts_size(&c->texts, first, texts, 2, bucket);
}

static bool take(void *self, uint32_t first, uint32_t texts, gb_status *status)
{
    condenser *c = self;
    return pretrain_batch_texts_take(&c->texts, first, texts, status);
}

static void build(void *self, gb_builder *builder, const gb_bucket *bucket,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    condenser *c = self;
    const batch_texts *texts = &c->texts;
    uint32_t batch = pretrain_texts_of(bucket, c->params.batch);
    gb_batch_inputs in =
        pretrain_batch_texts_declare(builder, c->bert, bucket, batch, texts, c->params.seed);
    gb_selection first = gb_first_rows_declare(builder, batch, in.rows, &texts->now, 0);
    /* Masked rows, of the encoder and again of the head. */
    labelled_inputs labels =
        pretrain_labelled_declare(builder, bucket->size[BUCKET_LABELLED], in.rows,
                                  &texts->now_labelled, in.rows, &texts->now_labelled);
    gb_tensor h, cls, x;
    pretrain_condenser_head_apply(builder, &c->head, c->bert, &in, &first, &h, &cls, &x);
    losses[0] = pretrain_labelled_loss(builder, c->bert, &labels, h, x);
}

static void destroy(void *self)
{
    condenser *c = self;
    if (!c)
        return;
    pretrain_row_order_free(&c->order);
    pretrain_masker_free(&c->masker);
    pretrain_batch_texts_free(&c->texts);
    pretrain_condenser_head_free(&c->head);
    free(c);
}

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    condenser *c = gb_alloc(1, sizeof *c, status);
    if (!c)
        return NULL;
    c->params = *params;
    c->own = *(const condenser_settings *)params->own;
    c->data = *data;
    c->bert = bert;
    if (!pretrain_condenser_head_make(&c->head, &c->own.head, bert, model, status) ||
        !pretrain_row_order_passages(&c->order, data, params, status)) {
        destroy(c);
        return NULL;
    }
    *task = (gb_task){.self = c,
                      .loss_names = {"total"},
                      .sample = sample,
                      .build = build,
                      .microbatch = {.count = count, .size = size, .select = take}};
    return c;
}

const gb_objective objective_condenser = {
    .name = "condenser",
    .help = "masked LM, and that of a head which reads the late [CLS] and a middle layer",
    .options = options,
    .defaults = &defaults,
    .own_bytes = sizeof defaults,
    .create = create,
    .destroy = destroy};
