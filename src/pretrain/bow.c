/* Bag-of-Word prediction (Ma et al., 2024): beside the masked LM, the [CLS] vector predicts the set
 * of the text's tokens.
 *   L = L_mlm + c(t) L_bow,  L_bow = mean over texts of CE(z, uniform over S), S the unique ids of
 * the unmasked text without specials and unused entries, z the logits of the masked-LM head at
 * [CLS] (released code) or [CLS] times the embeddings (the paper's text); same pass, masked input.
 */
#include "contrast.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* How logits are made of the [CLS] vector. Full, the MLM head at [CLS], is the default: the
 * released code trains it; the paper's equations 11 and 12 multiply [CLS] with the embeddings
 * (projection).
 */
enum { FULL, PROJECTION };
static const char *const heads[] = {[FULL] = "full", [PROJECTION] = "projection", NULL};

/* Its settings. The weight falls by a cosine, as released; the paper's text has no decay. The
 * released code counts micro-steps and so decays sooner when it accumulates gradients; here steps
 * count. */
typedef struct bow_settings {
    double mask_ratio;   /* of the tokens */
    uint32_t head;       /* FULL or PROJECTION */
    double weight;       /* of the loss of the set at step 0 */
    double weight_final; /* the same at the last step */
} bow_settings;

static const bow_settings defaults = {.15, FULL, 1, .1};
static const gb_option options[] = {
    OPTION_MASK_RATIO(bow_settings, mask_ratio),
    {"bow-head", GB_OPTION_CHOICE, GB_FIELD(bow_settings, head), 0, NULL,
     "MLM head at [CLS], full as in the released code, or the bare projection", heads},
    {"bow-weight", GB_OPTION_REAL, GB_FIELD(bow_settings, weight), 0, NULL,
     "weight of the loss of the set at the first step"},
    {"bow-weight-final", GB_OPTION_REAL, GB_FIELD(bow_settings, weight_final), 0, NULL,
     "the same at the last, by a cosine"},
    {0}};

typedef struct bow {
    gb_pretrain_params params; /* settings */
    bow_settings own;          /* and its own */
    gb_pretrain_data data;     /* texts */
    const gb_bert *bert;       /* model */
    row_order order;           /* passages */
    masker masker;             /* scratch */
    batch_texts texts;         /* of the step */
    bool *wanted;              /* [vocabulary of the model] ids that may be in a set */
    uint32_t *sets;            /* [batch][words] bit of each id in the set of each text */
    uint32_t words;            /* of a set */
    uint32_t filled;           /* sets that are not empty */
} bow;

/* The set of a text, cut as its masked copy is. */
static void make_set(bow *b, text_ids text, uint32_t *set)
{
    size_t length = text.length + 2 > b->params.max_length ? b->params.max_length - 2 : text.length;
    bool any = false;
    memset(set, 0, sizeof *set * b->words);
    for (size_t i = 0; i < length; i++)
        if (b->wanted[text.ids[i]]) {
            set[text.ids[i] / 32] |= 1u << (text.ids[i] % 32);
            any = true;
        }
    b->filled += any;
}

static bool sample(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    bow *b = self;
    pretrain_batch_texts_reset(&b->texts);
    b->filled = 0;
    for (uint32_t i = 0; i < b->params.batch; i++) {
        uint32_t passage = pretrain_row_order_at(&b->order, (uint64_t)step * b->params.batch + i);
        gb_rng rng = gb_rng_make(b->params.seed, GB_RNG_MASK, step, i);
        text_ids text = pretrain_passage_ids(&b->data, passage);
        if (!pretrain_add_masked(&b->masker, &b->texts.all, &b->data, text, b->own.mask_ratio,
                                 b->params.max_length, &rng, status))
            return false;
        make_set(b, text, b->sets + (size_t)i * b->words);
    }
    return pretrain_batch_texts_masked(&b->texts, 1, bucket, status);
}

static uint32_t count(const void *self)
{
    return ((const bow *)self)->params.batch;
}

static void size(const void *self, uint32_t first, uint32_t texts, gb_bucket *bucket)
{
    const bow *b = self;
    pretrain_batch_texts_size(&b->texts, first, texts, 1, bucket);
}

static bool take(void *self, uint32_t first, uint32_t texts, gb_status *status)
{
    bow *b = self;
    return pretrain_batch_texts_take(&b->texts, first, texts, status);
}

/* Cosine from `weight` at step 0 to `weight_final` at the last. */
static float weight_at(const bow *b, uint32_t step)
{
    double part = b->params.steps > 1 ? (double)step / (b->params.steps - 1) : 0;
    double rest = .5 * (1 + cos(M_PI * (part < 1 ? part : 1)));
    return (float)(b->own.weight_final + (b->own.weight - b->own.weight_final) * rest);
}

/* Targets of the loss, and its weight. */
typedef struct set_targets {
    const bow *b;      /* for whom */
    gb_tensor sets;    /* u32 [texts, words] */
    gb_tensor weights; /* f32 [texts, 1] */
    gb_tensor factor;  /* f32 [1, 1] weight of the step */
    uint32_t texts;    /* of the program */
} set_targets;

static bool fill_targets(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    const set_targets *to = record;
    const bow *b = to->b;
    uint32_t count = b->texts.now.count;
    uint32_t *sets = gb_executable_input(exec, to->sets, status);
    float *weights = sets ? gb_executable_input(exec, to->weights, status) : NULL;
    float *factor = weights ? gb_executable_input(exec, to->factor, status) : NULL;
    if (!factor)
        return false;
    memcpy(sets, b->sets + (size_t)b->texts.first * b->words, sizeof *sets * count * b->words);
    memset(sets + (size_t)count * b->words, 0, sizeof *sets * (to->texts - count) * b->words);
    for (uint32_t i = 0; i < to->texts; i++) /* texts without a set have no loss */
        weights[(size_t)i * 4] = b->filled ? 1.0f / (float)b->filled : 0;
    *factor = weight_at(b, step);
    return true;
}

static gb_tensor bow_loss(const bow *b, gb_builder *builder, const set_targets *to, gb_tensor cls)
{
    const gb_bert *bert = b->bert;
    gb_tape *tape = builder->tape;
    gb_tensor bias = GB_NO_TENSOR;
    if (b->own.head == FULL) {
        cls = gb_bert_head_states(builder, bert, cls);
        bias = gb_tape_param(tape, bert->head_bias);
    }
    return gb_vocabulary_multilabel_loss(tape, cls, gb_tape_param(tape, bert->word), bias, to->sets,
                                         to->weights, gb_chunk_rows(bert->config.vocab_size));
}

static void build(void *self, gb_builder *builder, const gb_bucket *bucket,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    bow *b = self;
    const batch_texts *texts = &b->texts;
    uint32_t batch = pretrain_texts_of(bucket, b->params.batch);
    gb_batch_inputs in =
        pretrain_batch_texts_declare(builder, b->bert, bucket, batch, texts, b->params.seed);
    labelled_inputs labels = pretrain_labelled_declare(builder, bucket->size[BUCKET_LABELLED],
                                                       in.rows, &texts->now_labelled, 0, NULL);
    gb_selection first = gb_first_rows_declare(builder, batch, in.rows, &texts->now, 0);
    const set_targets to = {
        .b = b,
        .sets = gb_tape_input(builder->tape, "sets of ids", GB_U32, batch, b->words),
        .weights = gb_tape_input(builder->tape, "text weights", GB_F32, batch, 1),
        .factor = gb_tape_input(builder->tape, "weight of the step", GB_F32, 1, 1),
        .texts = batch};
    gb_tape_fill_by(builder->tape, fill_targets, &to, sizeof to);
    gb_tensor h = gb_bert_encode(builder, b->bert, &in, 0, NULL);
    losses[1] = pretrain_labelled_loss(builder, b->bert, &labels, h, GB_NO_TENSOR);
    losses[2] = bow_loss(b, builder, &to, gb_selection_gather(builder, h, &first));
    losses[0] = gb_add(builder->tape, losses[1], gb_scale_by(builder->tape, losses[2], to.factor));
}

static void destroy(void *self)
{
    bow *b = self;
    if (!b)
        return;
    pretrain_row_order_free(&b->order);
    pretrain_masker_free(&b->masker);
    pretrain_batch_texts_free(&b->texts);
    free(b->wanted);
    free(b->sets);
    free(b);
}

/* All ids but specials and unused entries; in BERT's vocabulary those from 999 on. */
static void mark_wanted(bow *b)
{
    uint32_t known = gb_vocab_size(b->data.vocab);
    for (uint32_t id = 0; id < b->bert->config.vocab_size && id < known; id++)
        b->wanted[id] = !gb_vocab_is_special(b->data.vocab, id) &&
                        strncmp(gb_vocab_token(b->data.vocab, id), "[unused", 7) != 0;
}

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    (void)model;
    bow *b = gb_alloc(1, sizeof *b, status);
    if (!b)
        return NULL;
    b->params = *params;
    b->own = *(const bow_settings *)params->own;
    b->data = *data;
    b->bert = bert;
    b->words = (bert->config.vocab_size + 31) / 32;
    b->wanted = gb_alloc(bert->config.vocab_size, sizeof *b->wanted, status);
    b->sets = gb_alloc((size_t)params->batch * b->words, sizeof *b->sets, status);
    if (!b->wanted || !b->sets || !pretrain_row_order_passages(&b->order, data, params, status)) {
        destroy(b);
        return NULL;
    }
    mark_wanted(b);
    *task = (gb_task){.self = b,
                      .loss_names = {"total", "mlm", "bow"},
                      .sample = sample,
                      .build = build,
                      .microbatch = {.count = count, .size = size, .select = take}};
    return b;
}

const gb_objective objective_bow = {
    .name = "bow",
    .help = "masked LM, and the set of the passage's tokens predicted from [CLS]",
    .options = options,
    .defaults = &defaults,
    .own_bytes = sizeof defaults,
    .create = create,
    .destroy = destroy};
