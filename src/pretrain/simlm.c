/* SimLM (Wang et al., 2023): a representation bottleneck trained by replaced language modelling.
 * A frozen masked LM, the generator, fills two masks of a passage with tokens drawn from its
 * distribution. The encoder reads the text of the smaller mask (.3), a decoder of two layers the
 * text of the larger (.5) behind the encoder's [CLS]; both predict the passage itself:
 *   L = mean_i -log p(x_i | x_enc) + mean_i -log p(x_i | x_dec, cls),  i all tokens but specials.
 * Paper and released code agree on this, on one tied head, and on a decoder that starts as a copy
 * of the encoder's last layers. They differ in the masks: by the paper's text the two are drawn
 * independently; the code adds further words to the encoder's mask, (.5 - .3) / (1 - .3) of them
 * (--decoder-masks). Neither settles, and taken here: every masked token becomes [MASK]
 * before the generator reads it (the code; no 80/10/10); each text is filled on its own, so that a
 * token masked in both may become two; the draw is over all of the vocabulary at temperature 1, and
 * may be the token itself; words are masked whole, the ratio is of tokens without [CLS] and [SEP],
 * as in the other objectives. The paper's generator is ELECTRA's; here it is any masked LM with the
 * same vocabulary. It runs without dropout. */
#include "contrast.h"
#include "decoding.h"

#include <stdlib.h>
#include <string.h>

/* The generator on batches of one size. */
typedef struct program {
    uint32_t rows, draws; /* of the bucket */
    gb_executable *exec;  /* up to the drawn tokens */
    gb_tensor drawn;      /* u32 [draws, 1] */
} program;

/* Of a passage. Nested is the default, as released: what the encoder does not see, the decoder does
 * not see either. By the paper's text they are drawn independently. */
enum { NESTED, INDEPENDENT };
static const char *const mask_kinds[] = {[NESTED] = "nested", [INDEPENDENT] = "independent", NULL};

/* Its settings. */
typedef struct simlm_settings {
    decoding_settings decoding; /* of the family */
    uint32_t masks;             /* NESTED or INDEPENDENT */
} simlm_settings;

static const simlm_settings defaults = {{.mask_ratio = .3, .decoder_mask_ratio = .5, .layers = 2},
                                        NESTED};
static const gb_option options[] = {
    OPTION_MASK_RATIO(decoding_settings, mask_ratio),
    OPTION_DECODER_MASK_RATIO,
    {"decoder-masks", GB_OPTION_CHOICE, GB_FIELD(simlm_settings, masks), 0, NULL,
     "how they relate to the encoder's masks, nested as in the released code", mask_kinds},
    OPTION_DECODER_LAYERS,
    {0}};

typedef struct simlm {
    simlm_settings own;         /* its settings */
    decoding *decoding;         /* encoder, decoder and their losses */
    gb_task task;               /* its task: all of it but the batches is taken */
    const gb_folder *generator; /* where the masked LM comes from */
    gb_params *params;          /* of the generator */
    gb_bert bert;               /* the generator */
    gb_state *state;            /* its values on the device, once prepared */
    bool counted;               /* only the sizes of batches are wanted, and it fills no masks */
    gb_batch texts;             /* what it reads now; the arrays are a batch's */
    labelled_rows masked;       /* their masked rows, likewise */
    gb_selected_rows read;      /* the same */
    program **programs;         /* for the sizes met so far */
    size_t program_count, program_capacity;
    masker scratch[2]; /* masked ids and labels of a text, encoder and decoder */
} simlm;

/* ---- the generator ---- */

static void program_destroy(program *p)
{
    if (!p)
        return;
    gb_executable_destroy(p->exec);
    free(p);
}

typedef struct program_plan {
    const simlm *s; /* whose */
    program *p;     /* being built */
} program_plan;

static bool program_build(void *self, gb_tape *tape, gb_status *status)
{
    (void)status;
    const program_plan *plan = self;
    const simlm *s = plan->s;
    program *p = plan->p;
    const gb_pretrain_params *params = &s->decoding->params;
    gb_builder builder = gb_builder_forward(tape, &s->bert.config, params->max_length);
    gb_batch_inputs in = gb_batch_declare(&builder, &s->bert.config, p->rows, params->batch,
                                          &s->texts, params->seed);
    gb_selected_rows_declare(&builder, &in, p->draws, &s->texts, &s->read);
    gb_tensor h = gb_bert_encode_rows(&builder, &s->bert, &in);
    p->drawn = gb_bert_mlm_sample(&builder, &s->bert, h, in.sequences);
    gb_tape_output(tape, p->drawn);
    return true;
}

static program *program_of(simlm *s, uint32_t rows, uint32_t draws, gb_status *status)
{
    for (size_t i = 0; i < s->program_count; i++)
        if (s->programs[i]->rows == rows && s->programs[i]->draws == draws)
            return s->programs[i];
    program *p = NULL;
    if (!gb_grow(&s->programs, &s->program_capacity, s->program_count + 1, sizeof *s->programs,
                 status) ||
        !(p = gb_alloc(1, sizeof *p, status)))
        return NULL;
    p->rows = rows;
    p->draws = draws;
    program_plan plan = {s, p};
    const gb_executable_params how = {
        .name = "generator", .state = s->state, .build = program_build, .self = &plan};
    if (!(p->exec = gb_executable_build(&how, status))) {
        program_destroy(p);
        return NULL;
    }
    return s->programs[s->program_count++] = p;
}

/* Put drawn tokens into the masked rows of a batch. stream keys the draws. The tokens come back to
 * the host, which makes the lists that embedding gradients are summed by. */
static bool replace(simlm *s, const batch_texts *texts, uint32_t stream, gb_status *status)
{
    uint64_t ticket;
    s->texts = texts->all;
    s->masked = texts->labelled;
    if (!s->masked.count)
        return true;
    program *p =
        program_of(s, gb_bucket_rows(s->texts.rows), gb_bucket_rows(s->masked.count), status);
    if (!p || !gb_selected_rows_list(&s->read, s->masked.rows, s->masked.count, NULL, 0, status) ||
        !gb_executable_submit(p->exec, stream, &ticket, status))
        return false;
    const uint32_t *drawn = gb_executable_output(p->exec, ticket, p->drawn, status);
    for (uint32_t i = 0; drawn && i < s->masked.count; i++) {
        if (drawn[i] >= s->bert.config.vocab_size)
            return gb_fail(status, GB_DATA, gb_folder_path(s->generator), "take another generator",
                           "the masked LM gives no numbers");
        s->texts.ids[s->masked.rows[i]] = drawn[i];
    }
    return drawn != NULL;
}

static bool check_generator(const gb_pretrain_params *params, const gb_pretrain_data *data,
                            const gb_bert *bert, gb_status *status)
{
    if (!data->generator)
        return gb_fail(status, GB_USAGE, NULL, "make one with the objective mlm",
                       "simlm needs a --generator");
    const gb_bert_config *config = gb_folder_config(data->generator);
    const char *path = gb_folder_path(data->generator);
    if (!gb_folder_has_head(data->generator))
        return gb_fail(status, GB_DATA, path, "take a masked LM",
                       "the generator has no masked-LM head");
    if (config->vocab_size > bert->config.vocab_size)
        return gb_fail(status, GB_DATA, path, "take a generator with the encoder's vocabulary",
                       "the generator knows %u tokens, the encoder %u", config->vocab_size,
                       bert->config.vocab_size);
    return gb_tokens_fit(path, "generator", config->max_positions, "passage", params->max_length,
                         status);
}

static bool prepare(void *self, gb_device *device, const gb_params *params, const float *values,
                    gb_status *status)
{
    (void)params, (void)values;
    simlm *s = self;
    s->counted = !device;
    if (s->counted)
        return true;
    float *own = gb_alloc(gb_params_floats(s->params), sizeof *own, status);
    bool ok = own && gb_model_load(s->generator, s->params, own, status) &&
              (s->state = gb_state_create(device, s->params, false, status)) &&
              gb_state_write(s->state, GB_ARENA_PARAMS, own, status);
    free(own);
    return ok;
}

/* ---- batches ---- */

/* What the encoder hides, the decoder does not see either. */
static void nest(const masker *outer, masker *inner, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (outer->labels[i] != GB_IGNORE) {
            inner->ids[i] = outer->ids[i];
            inner->labels[i] = outer->labels[i];
        }
}

/* Append the two masked texts of a passage. */
static bool add_passage(simlm *s, text_ids text, uint32_t step, uint32_t i, gb_status *status)
{
    decoding *d = s->decoding;
    const gb_pretrain_params *p = &d->params;
    gb_special_ids specials = gb_vocab_specials(d->data.vocab);
    gb_batch *batch[2] = {&d->passages.all, &d->contexts.all};
    bool nested = s->own.masks == NESTED;
    double ratios[2] = {d->how.mask_ratio, d->how.decoder_mask_ratio};
    if (nested)
        ratios[1] = ratios[0] < 1 ? (ratios[1] - ratios[0]) / (1 - ratios[0]) : 0;
    text = pretrain_cut_text(text, p->max_length);
    for (uint32_t side = 0; side < 2; side++) {
        const masker *m = &s->scratch[side];
        gb_rng rng = gb_rng_make(p->seed, GB_RNG_MASK, step, 2 * i + side);
        gb_mask_params how = {.ratio = ratios[side], .all_mask = true};
        if (!pretrain_mask_text(&s->scratch[side], d->data.vocab, &how, text, &rng, status))
            return false;
        if (nested && side)
            nest(&s->scratch[0], &s->scratch[1], text.length);
        if (!gb_batch_add(batch[side], &specials, m->ids, m->labels, text.length, p->max_length,
                          status))
            return false;
    }
    return true;
}

static bool sample(void *self, uint32_t step, gb_bucket *bucket, gb_status *status)
{
    simlm *s = self;
    decoding *d = s->decoding;
    batch_texts *texts[2] = {&d->passages, &d->contexts};
    if (!s->state && !s->counted)
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "the generator is not on the device");
    for (uint32_t side = 0; side < 2; side++)
        pretrain_batch_texts_reset(texts[side]);
    for (uint32_t i = 0; i < d->params.batch; i++) {
        text_ids pair[2];
        pretrain_pair_source_at(&d->source, &d->data, &d->params, step, i, pair);
        if (!add_passage(s, pair[0], step, i, status))
            return false;
    }
    for (uint32_t side = 0; side < 2; side++)
        if (!pretrain_labelled_rows_of(&texts[side]->labelled, &texts[side]->all, status) ||
            (!s->counted && !replace(s, texts[side], 2 * step + side, status)) ||
            !pretrain_labelled_rows_all(&texts[side]->labelled, &texts[side]->all, status))
            return false;
    return pretrain_decoding_take_all(d, bucket, status);
}

static uint32_t count(const void *self)
{
    const simlm *s = self;
    return s->task.microbatch.count(s->decoding);
}

static void size(const void *self, uint32_t first, uint32_t texts, gb_bucket *bucket)
{
    const simlm *s = self;
    s->task.microbatch.size(s->decoding, first, texts, bucket);
}

static bool take(void *self, uint32_t first, uint32_t texts, gb_status *status)
{
    simlm *s = self;
    return s->task.microbatch.select(s->decoding, first, texts, status);
}

static void build(void *self, gb_builder *builder, const gb_bucket *bucket,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    simlm *s = self;
    s->task.build(s->decoding, builder, bucket, losses);
}

/* ---- the objective ---- */

/* Layers of the decoder that the model to start from does not have are copies of the encoder's
 * last ones. */
static void start(void *self, const gb_folder *init, const gb_params *params, float *values)
{
    const simlm *s = self;
    const decoding *d = s->decoding;
    uint32_t layers = d->how.layers, first = d->bert->config.layers - layers;
    for (uint32_t l = 0; l < layers; l++) {
        const gb_block *block = pretrain_decoder_block(d, l);
        if (!init || !gb_folder_has(init, gb_params_at(params, block->down_weight)->name))
            gb_block_copy(params, &d->bert->blocks[first + l], block, values);
    }
}

static void destroy(void *self)
{
    simlm *s = self;
    if (!s)
        return;
    for (size_t i = 0; i < s->program_count; i++)
        program_destroy(s->programs[i]);
    free(s->programs);
    gb_selected_rows_free(&s->read);
    gb_state_destroy(s->state);
    gb_bert_free(&s->bert);
    gb_params_destroy(s->params);
    pretrain_masker_free(&s->scratch[0]);
    pretrain_masker_free(&s->scratch[1]);
    pretrain_decoding_destroy(s->decoding);
    free(s);
}

static bool check_settings(const simlm_settings *own, const gb_bert *bert, gb_status *status)
{
    const decoding_settings *how = &own->decoding;
    if (how->layers > bert->config.layers)
        return gb_fail(status, GB_USAGE, NULL, "give fewer --decoder-layers",
                       "the decoder copies the encoder's last %u layers, and it has %u",
                       how->layers, bert->config.layers);
    if (own->masks == NESTED && how->decoder_mask_ratio < how->mask_ratio)
        return gb_fail(status, GB_USAGE, NULL, "or take --decoder-masks independent",
                       "nested masks: --decoder-mask-ratio is at least --mask-ratio");
    return true;
}

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    gb_pretrain_params own = *params;
    own.context = GB_CONTEXT_SELF;
    if (!check_settings(params->own, bert, status) || !check_generator(&own, data, bert, status))
        return NULL;
    simlm *s = gb_alloc(1, sizeof *s, status);
    if (!s)
        return NULL;
    s->own = *(const simlm_settings *)params->own;
    s->generator = data->generator;
    s->decoding =
        pretrain_decoding_create(&own, data, bert, model, &decoder_masked, &s->task, status);
    s->params = s->decoding ? gb_params_create(status) : NULL;
    if (!s->params ||
        !gb_bert_declare(s->params, gb_folder_config(s->generator), true, &s->bert, status)) {
        destroy(s);
        return NULL;
    }
    gb_params_freeze(s->params);
    *task = s->task;
    task->self = s;
    task->sample = sample;
    task->build = build;
    task->microbatch = (gb_microbatch){.count = count, .size = size, .select = take};
    return s;
}

const gb_objective objective_simlm = {
    .name = "simlm",
    .help = "the passage recovered from what --generator, a frozen masked LM, made of it, and "
            "decoded from [CLS] and a worse such text",
    .needs = GB_NEEDS_GENERATOR,
    .options = options,
    .defaults = &defaults,
    .own_bytes = sizeof defaults,
    .create = create,
    .destroy = destroy,
    .prepare = prepare,
    .start = start};
