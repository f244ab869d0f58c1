/* The options of trainings. */
#include "private.h"

#include <string.h>

/* ---- the optimiser ---- */

#define FIELD(member) GB_FIELD(gb_optimiser_settings, member)
const gb_option gb_optimiser_options[] = {
    {"learning-rate", GB_OPTION_REAL, FIELD(rate), 0, NULL, "learning rate at its peak"},
    {"warmup", GB_OPTION_RATIO, FIELD(warmup), 0, NULL,
     "share of the steps in which the learning rate rises"},
    {"schedule", GB_OPTION_CHOICE, FIELD(decay_kind), 0, NULL,
     "learning rate after the warm-up, to 0 where it is linear", gb_decay_names},
    {"final-rate", GB_OPTION_RATIO, FIELD(final_rate), 0, NULL,
     "share of the learning rate that a cosine ends at"},
    {"weight-decay", GB_OPTION_REAL, FIELD(decay), 0, NULL, "decoupled decay of the weights"},
    {"clip", GB_OPTION_REAL, FIELD(clip), 0, NULL, "largest norm of the gradient; 0: any"},
    {"dropout", GB_OPTION_RATIO, FIELD(dropout), 0, NULL, "dropout of states and attention"},
    {0}};
#undef FIELD

gb_schedule train_schedule(const gb_optimiser_settings *o, uint32_t steps)
{
    return (gb_schedule){.kind = o->decay_kind,
                         .peak = (float)o->rate,
                         .floor_ratio = (float)o->final_rate,
                         .warmup = (uint32_t)(o->warmup * steps),
                         .steps = steps};
}

gb_adamw_params train_adamw(const gb_optimiser_settings *o)
{
    return (gb_adamw_params){.9f, .999f, 1e-8f, (float)o->decay};
}

/* ---- pre-training ---- */

static const char *const contexts[] = {[GB_CONTEXT_NONE] = "none",
                                       [GB_CONTEXT_SPAN] = "span",
                                       [GB_CONTEXT_QUERY] = "query",
                                       [GB_CONTEXT_SELF] = "self",
                                       [GB_CONTEXT_MIXED_STEP] = "mixed-step",
                                       [GB_CONTEXT_MIXED_EXAMPLE] = "mixed-example",
                                       NULL};
static const char *const decoders[] = {
    [GB_DECODER_CAUSAL] = "causal", [GB_DECODER_MASKED] = "masked", NULL};
static const char *const contrasts[] = {
    [GB_CONTRAST_SYMMETRIC] = "symmetric", [GB_CONTRAST_ONE_SIDED] = "one-sided", NULL};
static const char *const masks[] = {
    [GB_MASKS_NESTED] = "nested", [GB_MASKS_INDEPENDENT] = "independent", NULL};
static const char *const bow_heads[] = {
    [GB_BOW_FULL] = "full", [GB_BOW_PROJECTION] = "projection", NULL};
const gb_pretraining_settings gb_pretraining_defaults = {
    .layers = 12,
    .hidden = 768,
    .heads = 12,
    .ffn = 3072,
    .init_std = .02,
    .steps = 1000,
    .optimiser = {.rate = 1e-4, .warmup = .1, .decay = .01, .clip = 1, .dropout = .1},
    .granularities = "word,phrase,sentence,paragraph",
    .params = {.batch = 32,
               .queries = 5,
               .mask_ratio = GB_OPEN_REAL,
               .decoder_mask_ratio = GB_OPEN_REAL,
               .head_layers = 2,
               .window = GB_OPEN,
               .seed = 42,
               .bow_weight = GB_OPEN_REAL,
               .bow_weight_final = GB_OPEN_REAL,
               .projector = GB_PROJECTOR_NONLINEAR,
               .contrast_weight = GB_OPEN_REAL,
               .momentum = GB_OPEN_REAL}};

#define FIELD(member) GB_FIELD(gb_pretraining_settings, member)
static const gb_option of_inputs[] = {
    {"collection", GB_OPTION_TEXT, FIELD(collection), GB_OPTION_REQUIRED | GB_OPTION_INPUT,
     "ARTIFACT", "collection of the passages"},
    {"tokens", GB_OPTION_TEXT, FIELD(tokens), GB_OPTION_REQUIRED | GB_OPTION_INPUT, "ARTIFACT",
     "its tokens"},
    {"vocabulary", GB_OPTION_TEXT, FIELD(vocabulary), GB_OPTION_REQUIRED | GB_OPTION_INPUT,
     "ARTIFACT", "their vocabulary"},
    {"init", GB_OPTION_TEXT, FIELD(init), GB_OPTION_INPUT, "MODEL",
     "encoder to start from: artifact or folder"},
    {"layers", GB_OPTION_U32, FIELD(layers), 0, NULL, "layers of a fresh encoder"},
    {"hidden", GB_OPTION_U32, FIELD(hidden), 0, NULL, "its width"},
    {"heads", GB_OPTION_U32, FIELD(heads), 0, NULL, "its attention heads"},
    {"ffn", GB_OPTION_U32, FIELD(ffn), 0, NULL, "width of its feed-forward networks"},
    {"init-std", GB_OPTION_REAL, FIELD(init_std), 0, NULL, "deviation of fresh weights"},
    {"steps", GB_OPTION_U32, FIELD(steps), 0, NULL, "optimiser steps"},
    {"batch", GB_OPTION_U32, FIELD(params.batch), 0, NULL, "passages or pairs of a step"},
    {"context", GB_OPTION_CHOICE, FIELD(params.context), 0, NULL,
     "text that a passage is paired with", contexts},
    {"queries", GB_OPTION_U32, FIELD(params.queries), 0, NULL,
     "generated queries of a passage that are used"},
    {"passages", GB_OPTION_U32, FIELD(params.passages), 0, NULL,
     "passages used, of those with generated queries; 0: all passages"},
    {"seed", GB_OPTION_U64, FIELD(params.seed), 0, NULL, "seed of everything drawn"},
    {0}};
static const gb_option of_objectives[] = {
    {"mask-ratio", GB_OPTION_RATIO, FIELD(params.mask_ratio), 0, NULL,
     "share of the encoder's tokens that are masked (default: simlm .3, others .15)"},
    {"decoder-mask-ratio", GB_OPTION_RATIO, FIELD(params.decoder_mask_ratio), 0, NULL,
     "the same of a masked decoder (default .45), and of simlm and the rows of enhanced (default "
     ".5)"},
    {"decoder-masks", GB_OPTION_CHOICE, FIELD(params.decoder_masks), 0, NULL,
     "simlm: how they lie to the encoder's, nested as in the released code", masks},
    {"generator", GB_OPTION_TEXT, FIELD(generator), GB_OPTION_INPUT, "MODEL",
     "simlm: masked LM that fills the masks: artifact or folder"},
    {"head-layers", GB_OPTION_U32, FIELD(params.head_layers), 0, NULL,
     "layers of a Condenser head"},
    {"skip-from", GB_OPTION_U32, FIELD(params.skip_from), 0, NULL,
     "layer whose states a Condenser head takes; 0: half of them"},
    {"lm-weight", GB_OPTION_REAL, FIELD(params.lm_weight), 0, NULL,
     "coCondenser: weight of the masked LMs; 0: 1 (the released code with cached gradients: 2)"},
    {"contrast", GB_OPTION_CHOICE, FIELD(params.contrast), 0, NULL,
     "coCondenser: loss between texts and contexts, symmetric as in its code", contrasts},
    {"decoder", GB_OPTION_CHOICE, FIELD(params.decoder), 0, NULL,
     "CoT-MAE: decoder, causal as in the released code", decoders},
    {"decoder-layers", GB_OPTION_U32, FIELD(params.decoder_layers), 0, NULL,
     "layers of a decoder; 0: CoT-MAE's masked one and simlm's 2, seed's 3, others' 1"},
    {"window", GB_OPTION_U32, FIELD(params.window), 0, NULL,
     "tokens that a causal decoder sees back, 0: all (default: CoT-MAE 3, seed 2, others 0)"},
    {"bow-head", GB_OPTION_CHOICE, FIELD(params.bow_head), 0, NULL,
     "bow: MLM head at [CLS], full as in the released code, or the bare projection", bow_heads},
    {"bow-weight", GB_OPTION_REAL, FIELD(params.bow_weight), 0, NULL,
     "bow: weight of the loss at the first step (default 1)"},
    {"bow-weight-final", GB_OPTION_REAL, FIELD(params.bow_weight_final), 0, NULL,
     "bow: at the last, by a cosine (default .1)"},
    {"granularities", GB_OPTION_TEXT, FIELD(granularities), 0, "LIST",
     "costa: some of word,phrase,sentence,paragraph"},
    {"spans", GB_OPTION_U32, FIELD(params.spans), 0, NULL,
     "costa: spans of each granularity and passage; 0: 5"},
    {"projector", GB_OPTION_CHOICE, FIELD(params.projector), 0, NULL, "costa: projector on [CLS]",
     gb_projector_names},
    {"contrast-weight", GB_OPTION_REAL, FIELD(params.contrast_weight), 0, NULL,
     "costa: weight of the contrastive loss (default .1)"},
    {"temperature", GB_OPTION_REAL, FIELD(params.temperature), 0, NULL,
     "of a contrastive loss; 0: costa's .1, simcse's and contriever's .05, ict's 1, the root of "
     "the "
     "width for prop and bprop"},
    {"queue", GB_OPTION_U32, FIELD(params.queue), 0, NULL, "contriever: negatives; 0: 131072"},
    {"momentum", GB_OPTION_RATIO, FIELD(params.momentum), 0, NULL,
     "contriever: momentum of the encoder of keys (default .9995)"},
    {"mean-pooling", GB_OPTION_FLAG, FIELD(params.mean_pooling), 0, NULL,
     "contriever: a text's vector is the mean of its states, not that of [CLS]"},
    {0}};
#undef FIELD

void gb_pretraining_tables(gb_pretraining_settings *settings,
                           gb_option_table tables[GB_PRETRAINING_TABLES + 1])
{
    const gb_option_table all[GB_PRETRAINING_TABLES + 1] = {
        {NULL, of_inputs, settings},
        {NULL, gb_optimiser_options, &settings->optimiser},
        {"Memory", gb_memory_options, &settings->memory},
        {"Objectives", of_objectives, settings},
        {0}};
    memcpy(tables, all, sizeof all);
}

const gb_objective *gb_pretraining_objective(const gb_pretraining_settings *settings)
{
    return strcmp(settings->objective, "none") ? gb_objective_find(settings->objective) : NULL;
}

void gb_pretraining_settle(gb_pretraining_settings *settings)
{
    gb_pretrain_settle(settings->objective, &settings->params);
}

void train_label(const gb_pretraining_settings *settings, char label[TRAIN_LABEL])
{
    bool has_context = settings->params.context != GB_CONTEXT_NONE;
    snprintf(label, TRAIN_LABEL, "pretrain %s%s%s", settings->objective, has_context ? "/" : "",
             has_context ? contexts[settings->params.context] : "");
}

bool train_context(const char *name, gb_context *context)
{
    for (uint32_t i = 0; contexts[i]; i++)
        if (!strcmp(name, contexts[i])) {
            *context = (gb_context)i;
            return true;
        }
    return false;
}

/* A list "word,phrase" as bits. */
static bool read_granularities(gb_pretraining_settings *settings, gb_status *status)
{
    static const char *const names[] = {"word", "phrase", "sentence", "paragraph"};
    settings->params.granularities = 0;
    for (const char *at = settings->granularities; *at;) {
        size_t length = strcspn(at, ","), i = 0;
        while (i < 4 && (strlen(names[i]) != length || strncmp(at, names[i], length)))
            i++;
        if (i == 4)
            return gb_fail(status, GB_USAGE, NULL, NULL,
                           "--granularities is a list of word, phrase, sentence, paragraph");
        settings->params.granularities |= 1u << i;
        at += length + (at[length] == ',');
    }
    return true;
}

bool gb_pretraining_check(gb_pretraining_settings *settings, gb_status *status)
{
    const char *name = settings->objective;
    const gb_objective *objective = gb_pretraining_objective(settings);
    if (!objective)
        return !strcmp(name, "none") ||
               gb_fail(status, GB_USAGE, NULL, "see --help", "no objective \"%s\"", name);
    if (objective->contextual && settings->params.context == GB_CONTEXT_NONE)
        return gb_fail(status, GB_USAGE, NULL, "see --help", "%s needs a --context, e.g. query",
                       name);
    if (!strcmp(name, "simlm") && !settings->generator)
        return gb_fail(status, GB_USAGE, NULL, "make one: gabbro pretrain mlm",
                       "simlm needs a --generator");
    if (!settings->params.batch)
        return gb_fail(status, GB_USAGE, NULL, NULL, "--batch is at least 1");
    return read_granularities(settings, status);
}

/* ---- fine-tuning ---- */

const gb_finetuning_settings gb_finetuning_defaults = {
    .epochs = 3,
    .depth = 200,
    .optimiser = {.rate = 2e-5, .warmup = .1, .clip = 1, .dropout = .1},
    .params = {.batch = 8, .negatives = 15, .seed = 42}};

#define FIELD(member) GB_FIELD(gb_finetuning_settings, member)
static const gb_option of_finetuning[] = {
    {"init", GB_OPTION_TEXT, FIELD(init), GB_OPTION_REQUIRED | GB_OPTION_INPUT, "MODEL",
     "encoder to start from: artifact or folder"},
    {"collection", GB_OPTION_TEXT, FIELD(collection), GB_OPTION_REQUIRED | GB_OPTION_INPUT,
     "ARTIFACT", "collection of the training queries"},
    {"tokens", GB_OPTION_TEXT, FIELD(tokens), GB_OPTION_REQUIRED | GB_OPTION_INPUT, "ARTIFACT",
     "its tokens"},
    {"negatives", GB_OPTION_LIST, FIELD(negatives), GB_OPTION_REQUIRED | GB_OPTION_INPUT, "RUN",
     "artifact of a run; may be repeated"},
    {"epochs", GB_OPTION_U32, FIELD(epochs), 0, NULL, "epochs over the training queries"},
    {"train-queries", GB_OPTION_U32, FIELD(train_queries), 0, NULL,
     "training queries, a seeded subset; 0: all"},
    {"depth", GB_OPTION_U32, FIELD(depth), 0, NULL,
     "first passages of each run that negatives are drawn from"},
    {"batch", GB_OPTION_U32, FIELD(params.batch), 0, NULL, "queries of a step", .least = 1},
    {"negatives-per-query", GB_OPTION_U32, FIELD(params.negatives), 0, NULL,
     "hard negatives of a query"},
    {"temperature", GB_OPTION_REAL, FIELD(temperature), 0, NULL,
     "scores are divided by it; 0: 1, or .05 where the encoder's vectors have length 1"},
    {"projector", GB_OPTION_CHOICE, FIELD(projector), 0, NULL,
     "projector on the vectors, when they are used too", gb_projector_names},
    {"seed", GB_OPTION_U64, FIELD(params.seed), 0, NULL, "seed of everything drawn"},
    {0}};
#undef FIELD

void gb_finetuning_tables(gb_finetuning_settings *settings,
                          gb_option_table tables[GB_FINETUNING_TABLES + 1])
{
    const gb_option_table all[GB_FINETUNING_TABLES + 1] = {
        {NULL, of_finetuning, settings},
        {NULL, gb_optimiser_options, &settings->optimiser},
        {"Memory", gb_memory_options, &settings->memory},
        {0}};
    memcpy(tables, all, sizeof all);
}
