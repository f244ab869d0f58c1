/* Fine-tunings: opened from artifacts, and trained into one. */
#include "development.h"

#include <gabbro/artifact.h>

#include <stdlib.h>
#include <string.h>

/* Of vectors of length 1, whose scores lie within [-1, 1]: sentence-transformers' scale of 20. */
#define COSINE_TEMPERATURE .05f

/* An opened fine-tuning. */
typedef struct finetuning {
    const gb_finetuning_settings *settings; /* borrowed */
    gb_finetune_params params;              /* of the task, with what the inputs say */
    gb_collection *collection;              /* judgements */
    gb_tokens tokens;                       /* ids */
    gb_model_input init;                    /* encoder */
    gb_training_set set;                    /* queries */
    gb_text_hashes texts;                   /* of all texts, where copies are looked for */
    gb_filtered filtered;                   /* what is no negative */
    gb_distinct distinct;                   /* what batches without duplicates leave out */
    gb_run teacher;                         /* scores, where a loss asks for them */
    uint32_t *topics;                       /* of the queries, or NULL */
    train_pair_teacher *pair_teacher;       /* a model, or NULL */
    train_fixed fixed;                      /* passages that are not trained */
    gb_taught taught;                       /* what they are of */
    gb_bert_config config;                  /* of the encoder, with this dropout */
    gb_sentence_settings sentence;          /* of the encoder: pooling and lengths */
    gb_params *model;                       /* of the encoder */
    gb_bert bert;                           /* encoder */
    gb_bert query_bert;                     /* that of queries, with two towers */
    void *self;                             /* the task's data */
    gb_task task;                           /* contrastive */
    float *values;                          /* of the parameters */
    gb_train_params train;                  /* how it is trained */
    gb_training training;                   /* all of it */
    gb_maker *maker;                        /* of the artifact */
    train_dev *dev;                         /* what it is measured by on the way, or NULL */
} finetuning;

/* ---- opening ---- */

/* The folder says how tokens are compared, which the scoring reads, and nothing of pooling. */
static bool goes_on_with_tokens(const gb_finetuning_settings *o)
{
    return gb_scorings[o->scoring]->needs & GB_SCORING_TOKENS &&
           gb_model_late_kind(o->init) != GB_LATE_NONE;
}

static bool open_inputs(finetuning *f, const char *pooling, gb_status *status)
{
    const gb_finetuning_settings *o = f->settings;
    return (f->collection = gb_open_collection(o->collection, status)) &&
           gb_open_tokens(o->tokens, f->collection, &f->tokens, status) &&
           gb_model_input_open(&f->init, o->init, &f->tokens, status) &&
           (o->two_towers || o->passage_vectors.count || train_tower_left_out(o->init, status)) &&
           (goes_on_with_tokens(o) ||
            gb_model_sentence(f->init.folder, &f->tokens, pooling, &f->sentence, status));
}

static bool make_set(finetuning *f, gb_status *status)
{
    const gb_finetuning_settings *o = f->settings;
    const train_set_params how = {.collection = f->collection,
                                  .tokens = &f->tokens,
                                  .negatives = &o->negatives,
                                  .pseudo_labels = o->pseudo_labels,
                                  .depth = o->depth,
                                  .queries = o->train_queries,
                                  .seed = o->params.seed,
                                  .wanted = o->params.negatives - o->params.random,
                                  .filter = &o->filter};
    return train_set_make(&how, &f->set, &f->texts, &f->filtered, status) &&
           ((!o->mask_copies && !o->no_duplicates) || f->texts.passages ||
            gb_text_hashes_make(&f->texts, &f->tokens, status));
}

/* Clusters of the queries that are left in the set. */
static bool make_topics(finetuning *f, gb_status *status)
{
    const gb_finetuning_settings *o = f->settings;
    if (!o->clusters != !o->query_vectors)
        return gb_fail(status, GB_USAGE, "--clusters", "give both, or none",
                       "clusters need --query-vectors, which are of no other use");
    return !o->clusters || (f->topics = train_topics(f->collection, &f->set, o->query_vectors,
                                                     o->clusters, o->params.seed, status));
}

static bool open_fixed(finetuning *f, gb_status *status)
{
    const gb_finetuning_settings *o = f->settings;
    const train_fixed_params how = {.folders = &o->passage_vectors,
                                    .collection = f->collection,
                                    .init = o->init,
                                    .width = f->init.config.hidden_size};
    return !o->passage_vectors.count || train_fixed_open(&f->fixed, &how, status);
}

static bool open_teacher(finetuning *f, gb_status *status)
{
    const gb_finetuning_settings *o = f->settings;
    const gb_loss *loss = gb_losses[o->loss];
    if (!o->teacher && !o->teacher_queries.count)
        return true;
    if (!(loss->needs & GB_LOSS_TEACHER))
        return gb_fail(status, GB_USAGE, "--teacher", "use --loss margin-mse or kl",
                       "the loss %s asks for no teacher", loss->name);
    if (!o->teacher)
        return (f->pair_teacher = train_pair_teacher_open(f->collection, &o->teacher_queries,
                                                          &o->teacher_passages, status));
    const train_teacher_params how = {.collection = f->collection,
                                      .run = o->teacher,
                                      .negatives = o->params.negatives,
                                      .drop = o->drop_unscored};
    return train_teacher_read(&how, &f->set, &f->teacher, &f->taught, status);
}

/* Whether the scoring reads the masked-LM head. */
static bool needs_head(const finetuning *f)
{
    return gb_scorings[f->settings->scoring]->needs & GB_SCORING_HEAD;
}

/* For --cost, an encoder that is yet to be trained is stood for by the one it begins with, which
 * may lack the head. */
static bool check_head(const finetuning *f, gb_status *status)
{
    return !needs_head(f) || gb_folder_has_head(f->init.folder) || f->maker->cost ||
           gb_fail(status, GB_DATA, f->settings->init,
                   "start from an encoder that was pre-trained with it",
                   "the scoring %s needs the masked-LM head, which this model lacks",
                   gb_scorings[f->settings->scoring]->name);
}

/* A model of sparse vectors goes on as one. */
static bool check_pooling(const finetuning *f, gb_status *status)
{
    if (f->sentence.prompt_left_out &&
        (train_prompt(f->tokens.query_prompt) || train_prompt(f->tokens.passage_prompt)))
        return gb_fail(status, GB_DATA, f->settings->init, "--pooling mean takes all tokens",
                       "the model leaves its prompts out of the mean (\"include_prompt\": false), "
                       "which is not trained here");
    return f->sentence.pooling != GB_POOLING_TERMS || needs_head(f) ||
           gb_fail(status, GB_USAGE, f->settings->init, "--scoring sparse, or --pooling cls",
                   "the model to start from is one of sparse vectors (SparseEncoder)");
}

static uint32_t steps_of(const finetuning *f)
{
    const gb_finetuning_settings *o = f->settings;
    uint64_t visits = (uint64_t)o->epochs * f->set.count, batch = o->params.batch;
    return (uint32_t)((visits + batch - 1) / batch);
}

/* Without duplicates the steps are those of whole batches; the task's batch may be smaller, for
 * --cost. */
static bool count_distinct(finetuning *f, const gb_finetune_data *data, gb_status *status)
{
    const gb_finetuning_settings *o = f->settings;
    gb_distinct *found = &f->distinct;
    gb_finetune_params params = f->params;
    params.batch = o->params.batch;
    if (!data->distinct)
        return true;
    if (!gb_finetune_distinct(&params, data, o->epochs, found, status))
        return false;
    f->params.steps = found->steps;
    uint64_t visits = (uint64_t)o->epochs * f->set.count;
    gb_log(found->left_out > visits / 10 ? GB_LOG_WARN : GB_LOG_INFO,
           "batches without duplicates: of %llu visits of queries %llu are put off to a later "
           "batch, and %llu are in no batch of their epoch",
           (unsigned long long)visits, (unsigned long long)found->put_off,
           (unsigned long long)found->left_out);
    return true;
}

/* What the inputs and the other settings say of the task. */
static bool make_params(finetuning *f, gb_status *status)
{
    const gb_finetuning_settings *o = f->settings;
    gb_finetune_params *p = &f->params;
    p->max_passage_length = f->tokens.max_passage;
    p->max_query_length = f->tokens.max_query;
    p->pooling = f->sentence.pooling;
    p->normalize = f->sentence.normalize;
    bool cosines = f->sentence.normalize && gb_scorings[o->scoring]->single;
    p->temperature = o->temperature > 0 || !cosines ? (float)o->temperature : COSINE_TEMPERATURE;
    p->steps = steps_of(f);
    p->negatives = o->passage_vectors.count ? o->depth : p->negatives;
    p->scoring = gb_scorings[o->scoring];
    p->loss = gb_losses[o->loss];
    p->scoring_own = &o->scoring_own[o->scoring];
    p->loss_own = &o->loss_own[o->loss];
    return gb_matryoshka_read(o->matryoshka, o->matryoshka_weights, &p->matryoshka, status);
}

/* What the model begins with; --cost asks for sizes alone. */
static float *first_values(const finetuning *f, gb_status *status)
{
    if (!f->maker->cost)
        return gb_model_input_values(f->init.folder, f->model, status);
    gb_params_freeze(f->model);
    return gb_alloc(gb_params_floats(f->model), sizeof(float), status);
}

static bool make_model(finetuning *f, gb_status *status)
{
    const gb_finetuning_settings *o = f->settings;
    if (!make_params(f, status))
        return false;
    f->config = f->init.config;
    f->config.hidden_dropout = f->config.attention_dropout = o->optimiser.dropout;
    if (!gb_bert_config_check(&f->config, "settings of the encoder", status))
        return false;
    const gb_finetune_data data = {.set = &f->set,
                                   .tokens = &f->tokens,
                                   .vocab = f->init.vocab,
                                   .bert = &f->bert,
                                   .query_bert = o->two_towers ? &f->query_bert : NULL,
                                   .teacher = o->teacher ? &f->teacher : NULL,
                                   .pair_teacher = train_pair_teacher_of(f->pair_teacher),
                                   .topics = f->topics,
                                   .copies = o->mask_copies ? &f->texts : NULL,
                                   .distinct = o->no_duplicates ? &f->texts : NULL,
                                   .init = f->init.folder,
                                   .fixed = o->passage_vectors.count ? &f->fixed.passages : NULL};
    return count_distinct(f, &data, status) &&
           gb_finetune_prepare(&data, &f->params, &f->config, status) &&
           (f->model = gb_params_create(status)) &&
           gb_bert_declare(f->model, &f->config, needs_head(f), &f->bert, status) &&
           gb_bert_add_projector(f->model, &f->bert, o->projector, status) &&
           (!o->two_towers ||
            gb_bert_declare_tower(f->model, "query.", &f->bert, &f->query_bert, status)) &&
           (f->self = gb_finetune_create(&f->params, &data, f->model, &f->task, status)) &&
           (f->values = first_values(f, status)) &&
           gb_bert_start_projector(f->init.folder, f->model, &f->bert, o->params.seed, f->values,
                                   status) &&
           ((!o->two_towers && !data.fixed) ||
            train_tower_start(o->init, data.fixed ? &f->bert : &f->query_bert, f->model, f->values,
                              status)) &&
           gb_finetune_start(f->self, f->init.folder, f->model, o->params.seed, f->values, status);
}

static void make_training(finetuning *f)
{
    const gb_finetuning_settings *o = f->settings;
    uint32_t query = f->params.max_query_length, passage = f->params.max_passage_length;
    f->train = train_params(&o->optimiser, &o->memory, f->params.steps);
    f->train.params = f->model;
    f->train.config = &f->config;
    f->train.max_length = query > passage ? query : passage;
    f->train.label = "finetune";
    f->training = (gb_training){&f->task, &f->train, f->values};
}

static bool save_model(void *self, const char *folder, gb_status *status);

static bool open_development(finetuning *f, gb_status *status)
{
    const gb_finetuning_settings *o = f->settings;
    const train_dev_params params = {.settings = &o->dev,
                                     .maker = f->maker,
                                     .collection = f->collection,
                                     .tokens = &f->tokens,
                                     .tokens_artifact = o->tokens,
                                     .seed = o->params.seed,
                                     .save = save_model,
                                     .rank = train_dev_rank_retriever,
                                     .self = f};
    return !o->dev.split || (f->dev = train_dev_open(&params, &f->set, status));
}

/* batch: queries of a step of the task, not more than the settings'. */
static bool open_finetuning(finetuning *f, gb_maker *maker, const gb_finetuning_settings *settings,
                            uint32_t batch, gb_status *status)
{
    *f = (finetuning){.settings = settings, .params = settings->params, .maker = maker};
    f->params.batch = batch;
    if (!open_inputs(f, maker->pooling, status) || !check_head(f, status) ||
        !check_pooling(f, status) || !open_fixed(f, status) || !make_set(f, status) ||
        !open_development(f, status) || !open_teacher(f, status) || !make_topics(f, status) ||
        !make_model(f, status))
        return false;
    make_training(f);
    if (f->dev)
        train_dev_begin(f->dev, &f->train);
    return true;
}

static void close_finetuning(finetuning *f)
{
    train_dev_close(f->dev);
    gb_finetune_destroy(f->self);
    gb_training_set_free(&f->set);
    gb_text_hashes_free(&f->texts);
    gb_run_free(&f->teacher);
    free(f->topics);
    train_pair_teacher_close(f->pair_teacher);
    train_fixed_close(&f->fixed);
    gb_bert_free(&f->bert);
    gb_bert_free(&f->query_bert);
    gb_params_destroy(f->model);
    free(f->values);
    gb_model_input_close(&f->init);
    gb_tokens_close(&f->tokens);
    gb_collection_close(f->collection);
}

/* ---- into an artifact ---- */

static bool save_folder(const finetuning *f, const gb_retriever_folder *folder, gb_status *status)
{
    const gb_finetuning_settings *o = f->settings;
    if (o->passage_vectors.count)
        return train_towers_save(folder, NULL, &f->bert, f->init.folder, status);
    return o->two_towers ? train_towers_save(folder, &f->bert, &f->query_bert, NULL, status)
                         : gb_finetune_save(f->self, folder, status);
}

/* Writes the model as it is now; it is a `save` of train_dev_params. */
static bool save_model(void *self, const char *folder, gb_status *status)
{
    const finetuning *f = self;
    bool projected = f->bert.projector.kind != GB_PROJECTOR_NONE;
    gb_sentence_settings how = f->sentence;
    how.max_length = f->tokens.max_passage;
    how.query_prompt = train_prompt(f->tokens.query_prompt);
    how.passage_prompt = train_prompt(f->tokens.passage_prompt);
    char what[300];
    if (!gb_finetune_describe(f->self, what, sizeof what))
        snprintf(what, sizeof what, "A dense passage retriever (%s%s %s) fine-tuned by gabbro.",
                 how.pooling == GB_POOLING_MEAN   ? "mean of the tokens"
                 : how.pooling == GB_POOLING_LAST ? "last token"
                                                  : "CLS",
                 projected
                     ? " through the projector in gabbro.safetensors, which other programs do "
                       "not apply;"
                     : ",",
                 how.normalize ? "cosine" : "dot product");
    gb_model_card card = {
        .title = "gabbro retriever", .what = what, .command = gb_maker_name(f->maker)};
    const gb_retriever_folder to = {.path = folder,
                                    .config = &f->config,
                                    .params = f->model,
                                    .values = f->values,
                                    .vocab = f->init.vocab,
                                    .tokenizer = f->init.tokenizer,
                                    .how = &how,
                                    .card = &card};
    return save_folder(f, &to, status);
}

/* Positives of a query that its batches take for negatives, which papers put up with. */
static bool note_collisions(gb_maker *maker, const finetuning *f, uint32_t steps, gb_status *status)
{
    gb_collisions found;
    if (!gb_finetune_collisions(f->self, steps, &found, status))
        return false;
    double share = found.pairs ? (double)found.positives / (double)found.pairs : 0;
    json_object_set_new(maker->facts, "positives_as_negatives", json_real(share));
    if (share >= 0.001) /* a smaller one is not worth a line */
        gb_log(GB_LOG_INFO,
               "%.3g%% of the negatives of a batch are judged relevant to the query that they are "
               "compared with; gabbro finetune --mask-copies leaves them out",
               100 * share);
    return true;
}

/* What was left out of batches and for want of a teacher's score. */
static bool note_left_out(gb_maker *maker, const finetuning *f, uint32_t steps, gb_status *status)
{
    const gb_taught *t = &f->taught;
    uint64_t copies;
    if (f->settings->teacher)
        json_object_set_new(maker->facts, "teacher",
                            json_pack("{s:I, s:I, s:I, s:I}", "pairs", (json_int_t)t->pairs,
                                      "unscored", (json_int_t)t->missing, "dropped_queries",
                                      (json_int_t)t->dropped_queries, "short_queries",
                                      (json_int_t)t->short_queries));
    if (f->settings->no_duplicates)
        json_object_set_new(maker->facts, "no_duplicates",
                            json_pack("{s:I, s:I}", "put_off", (json_int_t)f->distinct.put_off,
                                      "left_out", (json_int_t)f->distinct.left_out));
    if (f->settings->passage_vectors.count)
        return true;
    if (!f->settings->mask_copies)
        return note_collisions(maker, f, steps, status);
    if (!gb_finetune_copies(f->self, steps, &copies, status))
        return false;
    json_object_set_new(maker->facts, "copies_in_batches", json_integer((json_int_t)copies));
    return true;
}

static void note(gb_maker *maker, const finetuning *f, const gb_train_result *result)
{
    const gb_matryoshka *parts = &f->params.matryoshka;
    uint32_t candidates = 1 + f->params.negatives;
    double limit = f->params.loss->converged, lengths = 0;
    for (uint32_t i = 0; i < parts->count; i++)
        lengths += parts->weights[i];
    if (!f->settings->passage_vectors.count) /* where they are, a query has its own alone */
        candidates *= f->params.batch;
    json_t *facts = maker->facts;
    train_note_losses(facts, result, f->params.scoring->extra ? 1 : 0,
                      parts->count ? limit * lengths : limit);
    train_note_set(facts, &f->set, &f->filtered);
    json_object_set_new(facts, "candidates_per_query", json_integer(candidates));
}

bool gb_finetune(gb_maker *maker, const gb_finetuning_settings *settings, gb_status *status)
{
    finetuning f;
    gb_train_result result;
    double(*log)[GB_MAX_LOSSES] = NULL;
    bool ok =
        open_finetuning(&f, maker, settings, settings->params.batch, status) &&
        (log = gb_alloc(f.train.schedule.steps + 1, sizeof *log, status)) &&
        (!settings->passage_vectors.count || (f.fixed.device = gb_maker_device(maker, status))) &&
        gb_maker_train(maker, &f.training, f.values, log, &result, status);
    if (ok)
        note(maker, &f, &result);
    ok = ok && note_left_out(maker, &f, result.steps, status) &&
         (!gb_maker_leads(maker) ||
          train_save_outcome(&(train_outcome){maker, &f.task, &result, log, f.dev, save_model, &f},
                             status));
    free(log);
    close_finetuning(&f);
    return ok;
}

bool gb_finetune_cost(gb_maker *maker, const gb_finetuning_settings *settings, gb_status *status)
{
    finetuning f;
    uint32_t batch = settings->params.batch;
    uint32_t part = batch < GB_COST_PART ? batch : GB_COST_PART;
    bool ok = open_finetuning(&f, maker, settings, part, status) &&
              gb_maker_print_cost(maker, &f.training, batch, part, status);
    close_finetuning(&f);
    return ok;
}
