/* Trainings of cross-encoders: opened from artifacts, and trained into one. */
#include "development.h"

#include <gabbro/artifact.h>

#include <stdlib.h>
#include <string.h>

/* As for retrievers: in nats a query. The binary loss says little of this kind, since most pairs
 * are easy. */
#define CONVERGED_LOSS 0.3

/* ---- options ---- */

const gb_cross_settings gb_cross_defaults = {
    .epochs = 3,
    .depth = 200,
    .filter = GB_FILTER_DEFAULTS,
    .optimiser = {.rate = 2e-5, .warmup = .1, .clip = 1, .dropout = .1},
    .dev = {.measure = "MRR@10"}, /* as gb_dev_defaults */
    .params = {.batch = 8, .negatives = 7, .seed = 42}};

#define FIELD(member) GB_FIELD(gb_cross_settings, member)
static const gb_option of_training[] = {
    {"init", GB_OPTION_TEXT, FIELD(init), GB_OPTION_REQUIRED | GB_OPTION_INPUT | GB_OPTION_MODEL,
     "MODEL", "encoder or cross-encoder to start from: artifact or folder"},
    {"collection", GB_OPTION_TEXT, FIELD(collection), GB_OPTION_REQUIRED | GB_OPTION_INPUT,
     "ARTIFACT", "collection of the training queries"},
    {"tokens", GB_OPTION_TEXT, FIELD(tokens), GB_OPTION_REQUIRED | GB_OPTION_INPUT, "ARTIFACT",
     "its tokens"},
    {"negatives", GB_OPTION_LIST, FIELD(negatives), GB_OPTION_REQUIRED | GB_OPTION_INPUT, "RUN",
     "artifact of a run; may be repeated"},
    {"pseudo-labels", GB_OPTION_TEXT, FIELD(pseudo_labels), GB_OPTION_INPUT, "ARTIFACT",
     "of gabbro pseudo-labels: train on its queries, too; give it as --negatives as well"},
    {"loss", GB_OPTION_CHOICE, FIELD(params.loss), 0, NULL,
     "softmax: cross-entropy over a query's passages, the positive being the right one; binary: a "
     "yes-or-no loss for each pair",
     gb_cross_losses},
    {"epochs", GB_OPTION_U32, FIELD(epochs), 0, NULL, "epochs over the training queries"},
    {"train-queries", GB_OPTION_U32, FIELD(train_queries), 0, NULL,
     "training queries, a seeded subset; 0: all"},
    {"depth", GB_OPTION_U32, FIELD(depth), 0, NULL,
     "first passages of each run that negatives are drawn from"},
    {"batch", GB_OPTION_U32, FIELD(params.batch), 0, NULL,
     "queries of a step; --micro-batch counts queries, too", .min = 1},
    {"negatives-per-query", GB_OPTION_U32, FIELD(params.negatives), 0, NULL,
     "negatives of a query, each in a pair with it", .min = 1},
    {"max-length", GB_OPTION_U32, FIELD(max_length), 0, NULL,
     "tokens of a pair; 0: as many as a query and a passage have, if the model has the positions"},
    {"extend-positions", GB_OPTION_FLAG, FIELD(extend_positions), 0, NULL,
     "where pairs need more positions than the model has, give it fresh ones"},
    {"seed", GB_OPTION_U64, FIELD(params.seed), 0, NULL, "seed of everything drawn"},
    {0}};
#undef FIELD

void gb_cross_tables(gb_cross_settings *settings, gb_option_table tables[GB_CROSS_TABLES + 1])
{
    const gb_option_table all[GB_CROSS_TABLES + 1] = {
        {NULL, of_training, settings},
        {"Passages that are no negatives", train_filter_options, &settings->filter},
        {"Optimiser", gb_optimiser_options, &settings->optimiser},
        {"Memory", gb_memory_options, &settings->memory},
        {"Measuring on the way", gb_dev_options, &settings->dev},
        {NULL, train_dev_run_options, &settings->dev},
        {0}};
    memcpy(tables, all, sizeof all);
}

/* ---- opening ---- */

/* An opened training. */
typedef struct training {
    const gb_cross_settings *settings; /* borrowed */
    gb_cross_params params;            /* of the task, with what the inputs say */
    gb_collection *collection;         /* judgements */
    gb_tokens tokens;                  /* ids */
    gb_model_input init;               /* model to start from */
    gb_training_set set;               /* queries */
    gb_text_hashes texts;              /* of all texts, where copies are looked for */
    gb_filtered filtered;              /* what is no negative */
    gb_bert_config config;             /* of the encoder, with this dropout */
    gb_params *model;                  /* parameters */
    gb_bert bert;                      /* encoder */
    gb_pair_head head;                 /* and what makes scores of its states */
    void *self;                        /* the task's data */
    gb_task task;                      /* what is trained */
    float *values;                     /* of the parameters */
    gb_train_params train;             /* how it is trained */
    gb_training training;              /* all of it */
    gb_maker *maker;                   /* of the artifact */
    train_dev *dev;                    /* what it is measured by on the way, or NULL */
} training;

/* How long pairs are. */
static bool settle_length(training *t, gb_status *status)
{
    uint32_t most = t->config.max_positions, wanted = t->settings->max_length;
    uint32_t needed = t->tokens.max_query + t->tokens.max_passage - 1;
    uint32_t longest = wanted ? wanted : needed;
    if (t->config.kind != GB_ENCODER_BERT)
        return gb_fail(status, GB_DATA, t->settings->init, "start from a BERT",
                       "the model is a %s, and cross-encoders are made of BERTs",
                       gb_encoder_name(t->config.kind));
    if (t->settings->extend_positions && longest > most) {
        gb_log(GB_LOG_INFO, "the model has %u positions, and gets %u fresh ones", most,
               longest - most);
        most = t->config.max_positions = longest;
    }
    if (t->config.type_vocab_size < 2)
        return gb_fail(status, GB_DATA, t->settings->init, "start from another encoder",
                       "the model has one token type and cannot tell query and passage apart");
    if (most < 3 || (longest < 3 && !wanted))
        return gb_fail(status, GB_DATA, t->settings->init, "tokenize longer texts",
                       "pairs of %u tokens do not hold their three special ones",
                       longest < most ? longest : most);
    if (wanted > most || (wanted && wanted < 3))
        return gb_fail(
            status, GB_USAGE, t->settings->init, "give a number between, or --extend-positions",
            "--max-length is %u, and must lie in [3, %u], the model's positions", wanted, most);
    t->params.max_query_length = t->tokens.max_query;
    t->params.max_passage_length = t->tokens.max_passage;
    t->params.max_length = wanted ? wanted : needed < most ? needed : most;
    if (needed > t->params.max_length)
        gb_log(GB_LOG_INFO, "pairs have up to %u tokens; the longer text is cut to make them %u",
               needed, t->params.max_length);
    return true;
}

static bool open_inputs(training *t, gb_status *status)
{
    const gb_cross_settings *o = t->settings;
    if (!(t->collection = gb_open_collection(o->collection, status)) ||
        !gb_open_tokens(o->tokens, t->collection, &t->tokens, status) ||
        !gb_model_input_open_kinds(&t->init, o->init, GB_FOLDER_ENCODER | GB_FOLDER_CROSS_ENCODER,
                                   &t->tokens, status))
        return false;
    t->config = t->init.config;
    t->config.hidden_dropout = t->config.attention_dropout = o->optimiser.dropout;
    const train_set_params how = {.collection = t->collection,
                                  .tokens = &t->tokens,
                                  .negatives = &o->negatives,
                                  .pseudo_labels = o->pseudo_labels,
                                  .depth = o->depth,
                                  .queries = o->train_queries,
                                  .seed = o->params.seed,
                                  .wanted = o->params.negatives,
                                  .filter = &o->filter};
    return gb_bert_config_check(&t->config, "settings of the encoder", status) &&
           settle_length(t, status) &&
           train_set_make(&how, &t->set, &t->texts, &t->filtered, status);
}

/* Values of a model that has more positions than its folder. */
static float *extended_values(training *t, gb_status *status)
{
    const gb_bert_config *config = &t->init.config;
    gb_params *stored = gb_params_create(status);
    gb_bert bert = {0};
    gb_pair_head head;
    float *from = stored && gb_bert_declare(stored, config, false, &bert, status) &&
                          gb_pair_head_declare(stored, config, &head, status)
                      ? gb_model_input_values(t->init.folder, stored, status)
                      : NULL;
    gb_params_freeze(t->model);
    float *to = from ? gb_alloc(gb_params_floats(t->model), sizeof *to, status) : NULL;
    if (to)
        gb_params_init(t->model, t->params.seed, to);
    for (uint32_t i = 0; to && i < gb_params_count(stored); i++) {
        const gb_param *a = gb_params_at(stored, i);
        const gb_param *b = gb_params_at(t->model, gb_params_find(t->model, a->name));
        memcpy(to + b->offset, from + a->offset, sizeof *to * a->rows * a->ld);
    }
    gb_bert_free(&bert);
    gb_params_destroy(stored);
    free(from);
    return to;
}

static float *values_of(training *t, gb_status *status)
{
    return t->config.max_positions > t->init.config.max_positions
               ? extended_values(t, status)
               : gb_model_input_values(t->init.folder, t->model, status);
}

static bool make_model(training *t, gb_status *status)
{
    return (t->model = gb_params_create(status)) &&
           gb_bert_declare(t->model, &t->config, false, &t->bert, status) &&
           gb_pair_head_declare(t->model, &t->config, &t->head, status) &&
           (t->values = values_of(t, status)) &&
           gb_pair_head_start(t->init.folder, t->model, &t->head, t->params.seed, t->values,
                              status) &&
           (t->self = gb_cross_create(&t->params, &t->set, &t->tokens, t->init.vocab, &t->bert,
                                      &t->head, &t->task, status));
}

static bool save_model(void *self, const char *folder, gb_status *status);

/* A `rank` of train_dev_params. */
static bool rank(void *self, const train_dev *dev, const char *folder, gb_run *run,
                 gb_status *status)
{
    const training *t = self;
    (void)folder;
    const gb_pair_scorer_params scorer = {.bert = &t->bert,
                                          .head = &t->head,
                                          .params = t->model,
                                          .values = t->values,
                                          .specials = gb_vocab_specials(t->init.vocab),
                                          .queries = t->tokens.queries,
                                          .passages = t->tokens.passages,
                                          .max_query_length = t->params.max_query_length,
                                          .max_passage_length = t->params.max_passage_length,
                                          .max_length = t->params.max_length};
    return train_dev_rank_pairs(dev, &scorer, run, status);
}

static bool open_development(training *t, gb_status *status)
{
    const gb_cross_settings *o = t->settings;
    const train_dev_params params = {.settings = &o->dev,
                                     .maker = t->maker,
                                     .collection = t->collection,
                                     .tokens = &t->tokens,
                                     .tokens_artifact = o->tokens,
                                     .depth = o->depth,
                                     .seed = o->params.seed,
                                     .save = save_model,
                                     .rank = rank,
                                     .self = t};
    if (!o->dev.split)
        return true;
    if (!o->dev.run)
        return gb_fail(status, GB_USAGE, "--dev", "make one: gabbro bm25-run --split SPLIT",
                       "a cross-encoder needs --dev-run, a run with the passages that it ranks");
    return (t->dev = train_dev_open(&params, &t->set, status)) != NULL;
}

/* batch: queries of a step of the task, not more than the settings'. */
static bool open_training(training *t, gb_maker *maker, const gb_cross_settings *settings,
                          uint32_t batch, gb_status *status)
{
    *t = (training){.settings = settings, .params = settings->params, .maker = maker};
    t->params.batch = batch;
    if (!open_inputs(t, status) || !open_development(t, status) || !make_model(t, status))
        return false;
    uint64_t visits = (uint64_t)settings->epochs * t->set.count;
    uint32_t steps = (uint32_t)((visits + settings->params.batch - 1) / settings->params.batch);
    t->train = train_params(&settings->optimiser, &settings->memory, steps);
    t->train.params = t->model;
    t->train.config = &t->config;
    t->train.max_length = t->params.max_length;
    t->train.label = "finetune-cross";
    t->training = (gb_training){&t->task, &t->train, t->values};
    if (t->dev)
        train_dev_begin(t->dev, &t->train);
    return true;
}

static void close_training(training *t)
{
    train_dev_close(t->dev);
    gb_cross_destroy(t->self);
    gb_training_set_free(&t->set);
    gb_text_hashes_free(&t->texts);
    gb_bert_free(&t->bert);
    gb_params_destroy(t->model);
    free(t->values);
    gb_model_input_close(&t->init);
    gb_tokens_close(&t->tokens);
    gb_collection_close(t->collection);
}

/* ---- into an artifact ---- */

/* Writes the model as it is now; it is a `save` of train_dev_params. */
static bool save_model(void *self, const char *folder, gb_status *status)
{
    const training *t = self;
    bool binary = t->params.loss == GB_CROSS_BINARY;
    const gb_sentence_settings how = {.max_length = t->params.max_length, .probability = binary};
    char what[200];
    snprintf(what, sizeof what,
             "A cross-encoder that ranks passages for a query, trained by gabbro %s.",
             binary ? "to tell right pairs from wrong ones"
                    : "to find a query's positive among its negatives");
    gb_model_card card = {
        .title = "gabbro cross-encoder", .what = what, .command = gb_maker_name(t->maker)};
    return gb_model_save(folder, &t->config, t->model, t->values, t->init.vocab, t->init.tokenizer,
                         &how, &card, status);
}

static void note(gb_maker *maker, const training *t, const gb_train_result *result)
{
    json_t *facts = maker->facts;
    double converged = t->params.loss == GB_CROSS_SOFTMAX ? CONVERGED_LOSS : 0;
    train_note_losses(facts, result, 0, converged);
    train_note_set(facts, &t->set, &t->filtered);
    json_object_set_new(facts, "pair_tokens", json_integer(t->params.max_length));
}

bool gb_train_cross(gb_maker *maker, const gb_cross_settings *settings, gb_status *status)
{
    training t;
    gb_train_result result;
    double(*log)[GB_MAX_LOSSES] = NULL;
    bool ok = open_training(&t, maker, settings, settings->params.batch, status) &&
              (log = gb_alloc(t.train.schedule.steps + 1, sizeof *log, status)) &&
              gb_maker_train(maker, &t.training, t.values, log, &result, status);
    if (ok)
        note(maker, &t, &result);
    ok = ok && (!gb_maker_leads(maker) ||
                train_save_outcome(
                    &(train_outcome){maker, &t.task, &result, log, t.dev, save_model, &t}, status));
    free(log);
    close_training(&t);
    return ok;
}

bool gb_train_cross_cost(gb_maker *maker, const gb_cross_settings *settings, gb_status *status)
{
    training t;
    uint32_t batch = settings->params.batch;
    uint32_t part = batch < GB_COST_PART ? batch : GB_COST_PART;
    bool ok = open_training(&t, maker, settings, part, status) &&
              gb_maker_print_cost(maker, &t.training, batch, part, status);
    close_training(&t);
    return ok;
}
