/* The options of trainings. */
#include "development.h"

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
     "share of the learning rate that a cosine ends at", .with = "schedule"},
    {"weight-decay", GB_OPTION_REAL, FIELD(decay), 0, NULL, "decoupled decay of the weights"},
    {"clip", GB_OPTION_REAL, FIELD(clip), 0, NULL, "largest norm of the gradient; 0: any"},
    {"dropout", GB_OPTION_RATIO, FIELD(dropout), 0, NULL, "dropout of states and attention"},
    {0}};
#undef FIELD

bool gb_optimiser_check(const gb_optimiser_settings *o, gb_status *status)
{
    return o->final_rate == 0 || o->decay_kind == GB_SCHEDULE_COSINE ||
           gb_fail(status, GB_USAGE, "--final-rate", "leave it out, or give --schedule cosine",
                   "a %s schedule does not end at a share of the rate",
                   gb_decay_names[o->decay_kind]);
}

gb_train_params train_params(const gb_optimiser_settings *o, const gb_memory_settings *memory,
                             uint32_t steps)
{
    gb_train_params train = {.schedule = {.kind = o->decay_kind,
                                          .peak = (float)o->rate,
                                          .floor_ratio = (float)o->final_rate,
                                          .warmup = (uint32_t)(o->warmup * steps),
                                          .steps = steps},
                             .adamw = {.9f, .999f, 1e-8f, (float)o->decay},
                             .max_norm = (float)o->clip};
    gb_memory_apply(memory, &train);
    return train;
}

/* ---- pre-training ---- */

static const char *const contexts[] = {[GB_CONTEXT_NONE] = "none",
                                       [GB_CONTEXT_SPAN] = "span",
                                       [GB_CONTEXT_QUERY] = "query",
                                       [GB_CONTEXT_SELF] = "self",
                                       [GB_CONTEXT_MIXED_STEP] = "mixed-step",
                                       [GB_CONTEXT_MIXED_EXAMPLE] = "mixed-example",
                                       NULL};

gb_pretraining_settings gb_pretraining_defaults(void)
{
    gb_pretraining_settings settings = {
        .layers = 12,
        .hidden = 768,
        .heads = 12,
        .ffn = 3072,
        .init_std = .02,
        .steps = 1000,
        .optimiser = {.rate = 1e-4, .warmup = .1, .decay = .01, .clip = 1, .dropout = .1},
        .params = {.batch = 32, .queries = 5, .seed = 42}};
    for (size_t i = 0; gb_objectives[i]; i++)
        settings.own[i] = gb_objective_defaults(gb_objectives[i]);
    return settings;
}

#define FIELD(member) GB_FIELD(gb_pretraining_settings, member)
static const gb_option of_inputs[] = {
    {"collection", GB_OPTION_TEXT, FIELD(collection), GB_OPTION_REQUIRED | GB_OPTION_INPUT,
     "ARTIFACT", "collection of the passages"},
    {"tokens", GB_OPTION_TEXT, FIELD(tokens), GB_OPTION_REQUIRED | GB_OPTION_INPUT, "ARTIFACT",
     "its tokens"},
    {"vocabulary", GB_OPTION_TEXT, FIELD(vocabulary), GB_OPTION_REQUIRED | GB_OPTION_INPUT,
     "ARTIFACT", "their vocabulary"},
    {"init", GB_OPTION_TEXT, FIELD(init), GB_OPTION_INPUT | GB_OPTION_MODEL, "MODEL",
     "encoder to start from: artifact or folder"},
    {"layers", GB_OPTION_U32, FIELD(layers), 0, NULL, "layers of a fresh encoder"},
    {"hidden", GB_OPTION_U32, FIELD(hidden), 0, NULL, "its width"},
    {"heads", GB_OPTION_U32, FIELD(heads), 0, NULL, "its attention heads"},
    {"ffn", GB_OPTION_U32, FIELD(ffn), 0, NULL, "width of its feed-forward networks"},
    {"init-std", GB_OPTION_REAL, FIELD(init_std), 0, NULL, "deviation of fresh weights"},
    {"steps", GB_OPTION_U32, FIELD(steps), 0, NULL, "optimiser steps"},
    {"generator", GB_OPTION_TEXT, FIELD(generator), GB_OPTION_INPUT | GB_OPTION_MODEL, "MODEL",
     "masked LM that fills the masks of simlm (not a query generator): artifact or folder"},
    {"batch", GB_OPTION_U32, FIELD(params.batch), 0, NULL, "passages or pairs of a step"},
    {"context", GB_OPTION_CHOICE, FIELD(params.context), 0, NULL,
     "text that a passage is paired with: another span of its document, a generated query, or "
     "itself; "
     "mixed: spans or queries, drawn for every step or every pair",
     contexts},
    {"queries", GB_OPTION_U32, FIELD(params.queries), 0, NULL,
     "generated queries of a passage that are used", .with = "context", .min = 1,
     .max = UINT32_MAX},
    {"passages", GB_OPTION_U32, FIELD(params.passages), 0, NULL,
     "passages used, of those with generated queries; 0: all passages"},
    {"seed", GB_OPTION_U64, FIELD(params.seed), 0, NULL, "seed of everything drawn"},
    {0}};
#undef FIELD

void gb_pretraining_tables(gb_pretraining_settings *settings,
                           gb_option_table tables[GB_PRETRAINING_TABLES + 1])
{
    *tables++ = (gb_option_table){NULL, of_inputs, settings};
    *tables++ = (gb_option_table){NULL, gb_optimiser_options, &settings->optimiser};
    *tables++ = (gb_option_table){"Memory", gb_memory_options, &settings->memory};
    for (size_t i = 0; gb_objectives[i]; i++)
        *tables++ = (gb_option_table){.heading = gb_objectives[i]->name,
                                      .options = gb_objectives[i]->options,
                                      .base = &settings->own[i],
                                      .note = gb_objectives[i]->help,
                                      .no_key = true};
    *tables = (gb_option_table){0};
}

void gb_pretraining_note(gb_option_table tables[GB_PRETRAINING_TABLES + 1], const char *objective)
{
    for (; tables->options; tables++)
        if (tables->note && !strcmp(tables->heading, objective))
            tables->no_key = false;
}

const gb_objective *gb_pretraining_objective(const gb_pretraining_settings *settings)
{
    return strcmp(settings->objective, "none") ? gb_objective_find(settings->objective) : NULL;
}

const gb_own_settings *train_own(const gb_pretraining_settings *settings)
{
    size_t i = 0;
    while (gb_objectives[i] && strcmp(gb_objectives[i]->name, settings->objective))
        i++;
    return &settings->own[i];
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

static bool has_plain_sizes(const gb_pretraining_settings *settings)
{
    const gb_pretraining_settings plain = gb_pretraining_defaults();
    return settings->layers == plain.layers && settings->hidden == plain.hidden &&
           settings->heads == plain.heads && settings->ffn == plain.ffn;
}

bool gb_pretraining_check(const gb_pretraining_settings *settings, gb_status *status)
{
    const char *name = settings->objective;
    const gb_objective *objective = gb_pretraining_objective(settings);
    if (!gb_optimiser_check(&settings->optimiser, status))
        return false;
    if (settings->init && !has_plain_sizes(settings))
        return gb_fail(status, GB_USAGE, "--init", "leave them out",
                       "--layers, --hidden, --heads and --ffn are of a fresh encoder");
    if (!objective)
        return !strcmp(name, "none") ||
               gb_fail(status, GB_USAGE, NULL, "see --help", "no objective \"%s\"", name);
    if (objective->needs & GB_NEEDS_CONTEXT && settings->params.context == GB_CONTEXT_NONE)
        return gb_fail(status, GB_USAGE, NULL, "see --help", "%s needs a --context, e.g. query",
                       name);
    if (objective->needs & GB_NEEDS_GENERATOR && !settings->generator)
        return gb_fail(status, GB_USAGE, NULL, "make one: gabbro pretrain mlm",
                       "%s needs a --generator", name);
    return settings->params.batch || gb_fail(status, GB_USAGE, NULL, NULL, "--batch is at least 1");
}

bool gb_pretraining_check_alone(const gb_pretraining_settings *settings, gb_status *status)
{
    const gb_objective *objective = gb_pretraining_objective(settings);
    uint32_t needs = objective ? objective->needs : 0;
    if (settings->params.passages && needs & GB_NEEDS_JUDGEMENTS)
        return gb_fail(status, GB_USAGE, "--passages", "leave it out; --train-queries chooses",
                       "%s learns from the passages of training queries", settings->objective);
    if (settings->params.context != GB_CONTEXT_NONE && !(needs & GB_NEEDS_CONTEXT))
        return gb_fail(status, GB_USAGE, "--context", "leave it out",
                       "%s pairs passages with no other text", settings->objective);
    return !settings->generator || needs & GB_NEEDS_GENERATOR ||
           gb_fail(status, GB_USAGE, "--generator", "leave it out",
                   "%s has no masks that a model fills", settings->objective);
}

/* ---- fine-tuning ---- */

gb_finetuning_settings gb_finetuning_defaults(void)
{
    gb_finetuning_settings settings = {
        .epochs = 3,
        .depth = 200,
        .filter = GB_FILTER_DEFAULTS,
        .optimiser = {.rate = 2e-5, .warmup = .1, .clip = 1, .dropout = .1},
        .dev = gb_dev_defaults,
        .params = {.batch = 8, .negatives = 15, .seed = 42}};
    for (size_t i = 0; gb_scorings[i]; i++)
        settings.scoring_own[i] =
            gb_own_settings_of(gb_scorings[i]->defaults, gb_scorings[i]->own_bytes);
    for (size_t i = 0; gb_losses[i]; i++)
        settings.loss_own[i] = gb_own_settings_of(gb_losses[i]->defaults, gb_losses[i]->own_bytes);
    return settings;
}

#define FIELD(member) GB_FIELD(gb_finetuning_settings, member)
static const gb_option of_finetuning[] = {
    {"init", GB_OPTION_TEXT, FIELD(init), GB_OPTION_REQUIRED | GB_OPTION_INPUT | GB_OPTION_MODEL,
     "MODEL", "encoder to start from: artifact or folder"},
    {"collection", GB_OPTION_TEXT, FIELD(collection), GB_OPTION_REQUIRED | GB_OPTION_INPUT,
     "ARTIFACT", "collection of the training queries"},
    {"tokens", GB_OPTION_TEXT, FIELD(tokens), GB_OPTION_REQUIRED | GB_OPTION_INPUT, "ARTIFACT",
     "its tokens"},
    {"negatives", GB_OPTION_LIST, FIELD(negatives), GB_OPTION_INPUT, "RUN",
     "artifact of a run; may be repeated; required, except with --passage-vectors"},
    {"passage-vectors", GB_OPTION_LIST, FIELD(passage_vectors), GB_OPTION_INPUT, "DIR",
     "vectors of all passages by the model of --init, of gabbro encode; once for every shard. They "
     "stay as they are, and the encoder of queries alone is trained, against the best --depth of "
     "them by a search in every step (ADORE)"},
    {"pseudo-labels", GB_OPTION_TEXT, FIELD(pseudo_labels), GB_OPTION_INPUT, "ARTIFACT",
     "of gabbro pseudo-labels: train on its queries, too; give it as --negatives as well"},
    {"epochs", GB_OPTION_U32, FIELD(epochs), 0, NULL, "epochs over the training queries"},
    {"train-queries", GB_OPTION_U32, FIELD(train_queries), 0, NULL,
     "training queries, a seeded subset; 0: all"},
    {"depth", GB_OPTION_U32, FIELD(depth), 0, NULL,
     "first passages of each run that negatives are drawn from"},
    {"batch", GB_OPTION_U32, FIELD(params.batch), 0, NULL, "queries of a step", .min = 1},
    {"negatives-per-query", GB_OPTION_U32, FIELD(params.negatives), 0, NULL,
     "hard negatives of a query (with --passage-vectors --depth says how many)"},
    {"random-negatives", GB_OPTION_U32, FIELD(params.random), 0, NULL,
     "how many of the hard negatives are random passages of the collection instead"},
    {"temperature", GB_OPTION_REAL, FIELD(temperature), 0, NULL,
     "scores are divided by it; 0: .05 if the encoder's vectors have length 1, else 1"},
    {"matryoshka", GB_OPTION_TEXT, FIELD(matryoshka), 0, "D,...",
     "lengths to which vectors may be cut (by encode --dims), e.g. 768,256,64: the loss is the sum "
     "of the losses at all of them (default: whole vectors only)"},
    {"matryoshka-weights", GB_OPTION_TEXT, FIELD(matryoshka_weights), 0, "W,...",
     "weights of these losses, in the same order (default: 1 each)"},
    {"projector", GB_OPTION_CHOICE, FIELD(projector), 0, NULL,
     "projector on the vectors, kept in the retriever", gb_projector_names},
    {"scoring", GB_OPTION_CHOICE, FIELD(scoring), 0, NULL, "how queries and passages are compared",
     gb_scoring_names},
    {"loss", GB_OPTION_CHOICE, FIELD(loss), 0, NULL,
     "function of the scores that is minimised, see below", gb_loss_names},
    {"query-vectors", GB_OPTION_TEXT, FIELD(query_vectors), GB_OPTION_INPUT, "DIR",
     "vectors of the training queries, of gabbro encode --split train, for --clusters"},
    {"clusters", GB_OPTION_U32, FIELD(clusters), 0, NULL,
     "clusters of the queries, each batch from one of them; clusters too small for a batch are "
     "mixed; 0: none"},
    {"two-towers", GB_OPTION_FLAG, FIELD(two_towers), 0, NULL,
     "queries get an encoder of their own, which starts from the same model (DPR)"},
    {"teacher", GB_OPTION_TEXT, FIELD(teacher), GB_OPTION_INPUT, "RUN",
     "artifact of a run with a teacher's scores of the queries' positives and negatives, for "
     "losses that need a teacher"},
    {"teacher-queries", GB_OPTION_LIST, FIELD(teacher_queries), GB_OPTION_INPUT, "DIR",
     "instead of --teacher, a model as teacher: its vectors of the training queries (gabbro encode "
     "--split train), one a text or one a token; once for every shard"},
    {"teacher-passages", GB_OPTION_LIST, FIELD(teacher_passages), GB_OPTION_INPUT, "DIR",
     "its vectors of all passages. Every pair of a batch is scored, also across queries"},
    {"margin-bins", GB_OPTION_U32, FIELD(params.margin_bins), 0, "N",
     "draw negatives equally often from N bins of the teacher's margin between them and the "
     "positive (TAS-B: 10); 0: do not",
     .max = 1000},
    {"drop-unscored", GB_OPTION_FLAG, FIELD(drop_unscored), 0, NULL,
     "leave out pairs that the teacher did not score", .with = "teacher"},
    {"mask-copies", GB_OPTION_FLAG, FIELD(mask_copies), 0, NULL,
     "in a batch, a passage with the text of a positive is no negative, nor is it for a query of "
     "the same text"},
    {"no-duplicates", GB_OPTION_FLAG, FIELD(no_duplicates), 0, NULL,
     "no two queries of a batch have a text in common: one with a text, its own or of its positive "
     "or a negative, that is there already waits for the next batch. Queries that fill no whole "
     "batch at the end of an epoch are left out of it"},
    {"seed", GB_OPTION_U64, FIELD(params.seed), 0, NULL, "seed of everything drawn"},
    {0}};
#undef FIELD

#define FIELD(member) GB_FIELD(gb_filter_settings, member)
const gb_option train_filter_options[] = {
    {"skip", GB_OPTION_U32, FIELD(skip), 0, NULL,
     "drop the first N passages of each run, which may well be relevant", .with = "negatives"},
    {"scores", GB_OPTION_TEXT, FIELD(scores), GB_OPTION_INPUT, "RUN",
     "artifact of a run with scores, e.g. of a cross-encoder, for the options below; what it "
     "does not score is dropped",
     .with = "negatives"},
    {"margin", GB_OPTION_REAL, FIELD(margin), 0, NULL,
     "drop what scores less than this below the query's lowest positive"},
    {"relative-margin", GB_OPTION_RATIO, FIELD(relative_margin), 0, NULL,
     "the same by a share: drop what scores more than p - X |p|, where p is the score of that "
     "positive (NV-Retriever's 95% of it: .05)"},
    {"min-score", GB_OPTION_REAL, FIELD(min_score), 0, NULL, "drop what has a smaller score",
     .min = -1e30, .max = 1e30},
    {"max-score", GB_OPTION_REAL, FIELD(max_score), 0, NULL, "drop what has a larger score",
     .min = -1e30, .max = 1e30},
    {"unique-texts", GB_OPTION_FLAG, FIELD(unique_texts), 0, NULL,
     "drop what has the text of a positive or of another negative", .with = "negatives"},
    {0}};
#undef FIELD

/* The table of a scoring or a loss, whose options may be none. */
static gb_option_table own_table(const char *heading, const char *help, const gb_option *options,
                                 gb_own_settings *own)
{
    static const gb_option none[] = {{0}};
    return (gb_option_table){.heading = heading,
                             .options = options ? options : none,
                             .base = own,
                             .note = help,
                             .no_key = true};
}

void gb_finetuning_tables(gb_finetuning_settings *settings,
                          gb_option_table tables[GB_FINETUNING_TABLES + 1])
{
    *tables++ = (gb_option_table){NULL, of_finetuning, settings};
    *tables++ = (gb_option_table){"Passages that are no negatives", train_filter_options,
                                  &settings->filter};
    *tables++ = (gb_option_table){"Optimiser", gb_optimiser_options, &settings->optimiser};
    *tables++ = (gb_option_table){"Memory", gb_memory_options, &settings->memory};
    *tables++ = (gb_option_table){"Measuring on the way", gb_dev_options, &settings->dev};
    *tables++ = (gb_option_table){NULL, train_dev_passage_options, &settings->dev};
    for (size_t i = 0; gb_scorings[i]; i++)
        *tables++ = own_table(gb_scorings[i]->name, gb_scorings[i]->help, gb_scorings[i]->options,
                              &settings->scoring_own[i]);
    for (size_t i = 0; gb_losses[i]; i++)
        *tables++ = own_table(gb_losses[i]->name, gb_losses[i]->help, gb_losses[i]->options,
                              &settings->loss_own[i]);
    *tables = (gb_option_table){0};
}

bool gb_finetuning_check(const gb_finetuning_settings *o, gb_status *status)
{
    const gb_scoring *scoring = gb_scorings[o->scoring];
    if (!gb_optimiser_check(&o->optimiser, status))
        return false;
    if (!scoring->single && o->projector != GB_PROJECTOR_NONE)
        return gb_fail(status, GB_USAGE, NULL, "leave --projector out", "the scoring %s %s",
                       scoring->name,
                       scoring->needs & GB_SCORING_TOKENS ? "has a projection of its own"
                                                          : "makes no vector that is projected");
    if (!o->teacher_queries.count != !o->teacher_passages.count ||
        (o->teacher && o->teacher_queries.count))
        return gb_fail(status, GB_USAGE, NULL, "give both, or --teacher in their place",
                       "a teacher has --teacher-queries and --teacher-passages");
    gb_matryoshka parts;
    if (!gb_matryoshka_read(o->matryoshka, o->matryoshka_weights, &parts, status))
        return false;
    if (o->params.margin_bins && !o->teacher)
        return gb_fail(status, GB_USAGE, NULL, "give --teacher, and a loss that asks for one",
                       "--margin-bins are of a teacher's margins");
    if (o->no_duplicates && (o->clusters || o->passage_vectors.count))
        return gb_fail(status, GB_USAGE, "--no-duplicates",
                       "leave it out, or --clusters and --passage-vectors",
                       "clusters say themselves which queries share a batch, and where passages "
                       "are searched for a query is compared with its own alone");
    if (!o->passage_vectors.count)
        return o->negatives.count ||
               gb_fail(status, GB_USAGE, NULL, "give --negatives, e.g. of gabbro bm25-run",
                       "hard negatives come from a run, or from a search among --passage-vectors");
    if (o->negatives.count || o->two_towers || o->params.random)
        return gb_fail(status, GB_USAGE, NULL,
                       "leave --negatives, --random-negatives and --two-towers out",
                       "with --passage-vectors a search finds the negatives, and the encoder of "
                       "queries alone is trained");
    return o->depth || gb_fail(status, GB_USAGE, "--depth", "give 1 or more",
                               "with --passage-vectors it says how many passages are compared");
}

void gb_finetuning_note(const gb_finetuning_settings *settings,
                        gb_option_table tables[GB_FINETUNING_TABLES + 1])
{
    const void *scoring = &settings->scoring_own[settings->scoring];
    const void *loss = &settings->loss_own[settings->loss];
    for (; tables->options; tables++)
        if (tables->base == scoring || tables->base == loss)
            tables->no_key = false;
}
