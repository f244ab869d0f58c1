/* coCondenser (Gao and Callan, 2022): masked LM of the encoder and of the Condenser head, and a
 * contrastive loss between the [CLS] vectors of the two masked texts of a pair.
 *   L = L_mlm + L_head + L_co,
 *   L_co = 1/2N sum_i -log exp(h_i . h_pos(i)) / sum_{j != i} exp(h_i . h_j), temperature 1.
 * One-sided (Ma et al., 2023, equation 8), with passages p_i and contexts c_i:
 *   L_co = 1/N sum_i -log exp(p_i . c_i) / sum_j exp(p_i . c_j). */
#include "condenser.h"

#include <stdlib.h>

/* Symmetric: both sides are anchors, all other texts and contexts negatives. One-sided: texts are
 * anchors, contexts of other texts negatives. Symmetric is the default: equation 8 of the LLM paper
 * is one-sided, but by its text coCondenser's code was run, and that is symmetric. */
enum { SYMMETRIC, ONE_SIDED };
static const char *const contrasts[] = {[SYMMETRIC] = "symmetric", [ONE_SIDED] = "one-sided", NULL};

/* Its settings. The weight of the masked LMs is that of the paper. The released trainer's factors
 * add up to 2 when it caches gradients, which its published commands do. */
typedef struct cocondenser_settings {
    double mask_ratio;  /* of the tokens */
    head_settings head; /* of the head */
    double lm_weight;   /* of the masked LMs beside the contrastive loss */
    uint32_t contrast;  /* SYMMETRIC or ONE_SIDED */
} cocondenser_settings;

static const cocondenser_settings defaults = {.15, HEAD_DEFAULTS, 1, SYMMETRIC};
static const gb_option options[] = {
    OPTION_MASK_RATIO(cocondenser_settings, mask_ratio),
    OPTIONS_HEAD(cocondenser_settings, head),
    {"lm-weight", GB_OPTION_REAL, GB_FIELD(cocondenser_settings, lm_weight), 0, NULL,
     "weight of the masked LMs; 2 in the released code with cached gradients"},
    {"contrast", GB_OPTION_CHOICE, GB_FIELD(cocondenser_settings, contrast), 0, NULL,
     "loss between texts and contexts, symmetric as in the released code", contrasts},
    {0}};

typedef struct cocondenser {
    gb_pretrain_params params; /* settings */
    cocondenser_settings own;  /* and its own */
    gb_pretrain_data data;     /* texts */
    const gb_bert *bert;       /* model */
    condenser_head head;       /* reads the middle layer */
    pair_source source;        /* documents (spans) or passages (other contexts) */
    masker masker;             /* scratch */
    batch_texts texts;         /* of the step */
} cocondenser;

/* Targets of the contrastive loss over 2N texts. */
typedef struct pair_targets {
    const cocondenser *c; /* for whom */
    gb_tensor sibling;    /* u32 [2N, 1] */
    gb_tensor weights;    /* f32 [2N, 1] */
    gb_tensor left_out;   /* u32 [2N, words]: who is no negative */
} pair_targets;

static bool sample(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    cocondenser *c = self;
    pretrain_batch_texts_reset(&c->texts);
    for (uint32_t i = 0; i < c->params.batch; i++) {
        text_ids pair[2];
        pretrain_pair_source_at(&c->source, &c->data, &c->params, step, i, pair);
        for (uint32_t side = 0; side < 2; side++) {
            gb_rng rng = gb_rng_make(c->params.seed, GB_RNG_MASK, step, 2 * i + side);
            if (!pretrain_add_masked(&c->masker, &c->texts.all, &c->data, pair[side],
                                     c->own.mask_ratio, c->params.max_length, &rng, status))
                return false;
        }
    }
    return pretrain_batch_texts_masked(&c->texts, 2, bucket, status);
}

static uint32_t count(const void *self)
{
    return ((const cocondenser *)self)->params.batch;
}

static void size(const void *self, uint32_t first, uint32_t pairs, gb_bucket *bucket)
{
    const cocondenser *c = self;
    pretrain_batch_texts_size(&c->texts, 2 * first, 2 * pairs, 2, bucket);
}

static bool take(void *self, uint32_t first, uint32_t pairs, gb_status *status)
{
    cocondenser *c = self;
    return pretrain_batch_texts_take(&c->texts, 2 * first, 2 * pairs, status);
}

/* ---- the contrastive loss ---- */

/* Who is whose positive, with what weight, and who is left out of the sum of row i: itself, and
 * one-sided all passages; contexts then are no anchors. */
static void fill_pairs(const cocondenser *c, uint32_t *sibling, float *weights, uint32_t *left_out)
{
    bool one_sided = c->own.contrast == ONE_SIDED;
    uint32_t texts = 2 * c->params.batch, words = (texts + 31) / 32;
    for (uint32_t i = 0; i < texts; i++) {
        bool anchor = !one_sided || i % 2 == 0;
        sibling[i] = anchor ? i ^ 1 : GB_NO_ROW;
        weights[(size_t)i * 4] = !anchor ? 0 : 1.0f / (float)(one_sided ? c->params.batch : texts);
        for (uint32_t w = 0; w < words; w++) {
            uint32_t own = w == i / 32 ? 1u << (i % 32) : 0;
            left_out[i * words + w] = one_sided ? 0x55555555u : own; /* even: passages */
        }
    }
}

static bool fill_targets(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const pair_targets *to = record;
    uint32_t *sibling = gb_executable_input(exec, to->sibling, status);
    float *weights = sibling ? gb_executable_input(exec, to->weights, status) : NULL;
    uint32_t *left_out = weights ? gb_executable_input(exec, to->left_out, status) : NULL;
    if (left_out)
        fill_pairs(to->c, sibling, weights, left_out);
    return left_out != NULL;
}

/* Of the [CLS] vectors of all texts of the batch. */
static gb_tensor contrast(const cocondenser *c, gb_builder *builder, gb_tensor cls)
{
    uint32_t texts = 2 * c->params.batch;
    const pair_targets to = {
        .c = c,
        .sibling = gb_tape_input(builder->tape, "siblings", GB_U32, texts, 1),
        .weights = gb_tape_input(builder->tape, "pair weights", GB_F32, texts, 1),
        .left_out = gb_tape_input(builder->tape, "diagonal", GB_U32, texts, (texts + 31) / 32)};
    gb_tape_fill_by(builder->tape, fill_targets, &to, sizeof to);
    return gb_softmax_loss(builder->tape, gb_matmul(builder->tape, GB_NT, cls, cls), to.sibling,
                           to.weights, to.left_out);
}

/* ---- the program ---- */

static void build(void *self, gb_builder *builder, const gb_bucket *bucket,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    cocondenser *c = self;
    const batch_texts *texts = &c->texts;
    uint32_t count = 2 * pretrain_texts_of(bucket, c->params.batch);
    gb_batch_inputs in =
        pretrain_batch_texts_declare(builder, c->bert, bucket, count, texts, c->params.seed);
    gb_selection first = gb_first_rows_declare(builder, count, in.rows, &texts->now, 0);
    /* Masked rows, of the encoder and again of the head. */
    labelled_inputs labels =
        pretrain_labelled_declare(builder, bucket->size[BUCKET_LABELLED], in.rows,
                                  &texts->now_labelled, in.rows, &texts->now_labelled);
    gb_tensor h, cls, x;
    pretrain_condenser_head_apply(builder, &c->head, c->bert, &in, &first, &h, &cls, &x);
    losses[1] = pretrain_labelled_loss(builder, c->bert, &labels, h, x);
    builder->vectors = cls;
    losses[2] = bucket->texts ? GB_NO_TENSOR : contrast(c, builder, cls);
    double weight = c->own.lm_weight;
    gb_tensor lm = weight != 1 ? gb_scale(builder->tape, losses[1], (float)weight) : losses[1];
    losses[0] = bucket->texts ? lm : gb_add(builder->tape, lm, losses[2]);
}

static void compare(void *self, gb_builder *builder, gb_tensor vectors,
                    gb_tensor losses[GB_MAX_LOSSES])
{
    losses[0] = losses[2] = contrast(self, builder, vectors);
}

static void destroy(void *self)
{
    cocondenser *c = self;
    if (!c)
        return;
    pretrain_pair_source_free(&c->source);
    pretrain_masker_free(&c->masker);
    pretrain_batch_texts_free(&c->texts);
    pretrain_condenser_head_free(&c->head);
    free(c);
}

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    cocondenser *c = gb_alloc(1, sizeof *c, status);
    if (!c)
        return NULL;
    c->params = *params;
    c->own = *(const cocondenser_settings *)params->own;
    c->data = *data;
    c->bert = bert;
    if (!pretrain_condenser_head_make(&c->head, &c->own.head, bert, model, status) ||
        !pretrain_pair_source_make(&c->source, data, params, true, status)) {
        destroy(c);
        return NULL;
    }
    *task = (gb_task){
        .self = c,
        .loss_names = {"total", "mlm", "contrastive"},
        .sample = sample,
        .build = build,
        .microbatch = {
            .count = count, .size = size, .select = take, .vectors = 2, .compare = compare}};
    return c;
}

const gb_objective objective_cocondenser = {
    .name = "cocondenser",
    .help = "as condenser, and a contrastive loss between text and context",
    .needs = GB_NEEDS_CONTEXT,
    .options = options,
    .defaults = &defaults,
    .own_bytes = sizeof defaults,
    .create = create,
    .destroy = destroy};
