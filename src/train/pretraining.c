/* Pre-trainings: opened from artifacts, and trained into one. */
#include "private.h"

#include <gabbro/artifact.h>

#include <stdlib.h>
#include <string.h>

struct gb_pretraining {
    const gb_pretraining_settings *settings; /* borrowed */
    gb_pretrain_params params;               /* of the objective, with what the inputs say */
    gb_collection *collection;               /* documents */
    gb_tokens tokens;                        /* ids */
    gb_vocab *vocab;                         /* words */
    gb_model_input init;                     /* model to start from, or zeros */
    gb_model_input generator;                /* masked LM of simlm, or zeros */
    gb_bert_config config;                   /* of the encoder */
    gb_params *model;                        /* encoder, head, what the objective adds */
    gb_bert bert;                            /* encoder */
    const gb_objective *objective;           /* NULL for none */
    void *self;                              /* its data */
    gb_task task;                            /* its task */
    float *values;                           /* of the parameters */
    char label[TRAIN_LABEL];                 /* for progress */
    gb_train_params train;                   /* how it is trained */
    gb_training training;                    /* all of it */
    bool counted;                            /* only counted: values that nobody reads are zeros */
};

/* ---- opening ---- */

/* Objectives mask whole words, which they know by WordPiece's "##". */
static bool check_vocabulary(const gb_pretraining *p, gb_status *status)
{
    return gb_vocab_is_bert(p->vocab) ||
           gb_fail(status, GB_USAGE, p->settings->vocabulary,
                   "gabbro finetune trains encoders with others",
                   "pre-training needs a WordPiece vocabulary with BERT's special tokens");
}

static bool open_inputs(gb_pretraining *p, gb_status *status)
{
    const gb_pretraining_settings *o = p->settings;
    return (p->collection = gb_open_collection(o->collection, status)) &&
           gb_open_tokens(o->tokens, p->collection, &p->tokens, status) &&
           (p->vocab = gb_vocabulary_read(o->vocabulary, status)) && check_vocabulary(p, status) &&
           (!o->init || (gb_model_input_open(&p->init, o->init, &p->tokens, status) &&
                         train_tower_left_out(o->init, status))) &&
           (!o->generator || gb_model_input_open(&p->generator, o->generator, &p->tokens, status));
}

static gb_bert_config fresh_config(const gb_pretraining *p)
{
    gb_bert_config config = GB_BERT_BASE;
    config.vocab_size = gb_vocab_size(p->vocab);
    config.hidden_size = p->settings->hidden;
    config.layers = p->settings->layers;
    config.heads = p->settings->heads;
    config.intermediate_size = p->settings->ffn;
    config.max_positions = p->tokens.max_passage;
    config.pad_token_id = gb_vocab_specials(p->vocab).pad;
    return config;
}

static bool make_config(gb_pretraining *p, gb_status *status)
{
    const gb_pretraining_settings *o = p->settings;
    p->config = o->init ? p->init.config : fresh_config(p);
    if (p->config.vocab_size < gb_vocab_size(p->vocab))
        return gb_fail(status, GB_DATA, o->init, "tokenize with the vocabulary of the model",
                       "the model knows %u tokens, the vocabulary has %u", p->config.vocab_size,
                       gb_vocab_size(p->vocab));
    if (p->config.theta > 0)
        return gb_fail(status, GB_DATA, o->init,
                       "gabbro finetune trains it; give a BERT for pre-training",
                       "the model is a %s, whose layers no objective decodes with",
                       gb_encoder_name(p->config.kind));
    if (!gb_tokens_fit(o->init, "model", p->config.max_positions, "passage", p->tokens.max_passage,
                       status))
        return false;
    p->config.hidden_dropout = p->config.attention_dropout = o->optimiser.dropout;
    p->config.initializer_range = o->init_std;
    return gb_bert_config_check(&p->config, "settings of the encoder", status);
}

static bool make_objective(gb_pretraining *p, gb_status *status)
{
    const gb_pretrain_data data = {p->collection, &p->tokens, p->vocab, p->generator.folder};
    p->params = p->settings->params;
    p->params.steps = p->settings->steps;
    p->params.max_length = p->tokens.max_passage;
    p->params.own = train_own(p->settings);
    p->model = gb_params_create(status);
    if (!p->model || !gb_bert_declare(p->model, &p->config, true, &p->bert, status))
        return false;
    p->objective = gb_pretraining_objective(p->settings);
    if (!p->objective)
        return true;
    p->self = p->objective->create(&p->params, &data, &p->bert, p->model, &p->task, status);
    return p->self != NULL;
}

static bool make_values(gb_pretraining *p, gb_status *status)
{
    gb_params_freeze(p->model);
    p->values = gb_alloc(gb_params_floats(p->model), sizeof *p->values, status);
    if (!p->values || p->counted)
        return p->values != NULL;
    if (!gb_model_start(p->init.folder, p->model, p->params.seed, p->values, status))
        return false;
    if (p->objective && p->objective->start)
        p->objective->start(p->self, p->init.folder, p->model, p->values);
    return true;
}

static void make_training(gb_pretraining *p)
{
    const gb_pretraining_settings *o = p->settings;
    train_label(o, p->label);
    p->train = train_params(&o->optimiser, &o->memory, o->steps);
    p->train.params = p->model;
    p->train.config = &p->config;
    p->train.max_length = p->params.max_length;
    p->train.label = p->label;
    p->training = (gb_training){&p->task, &p->train, p->values};
}

static gb_pretraining *open_pretraining(const gb_pretraining_settings *settings, bool counted,
                                        gb_status *status)
{
    gb_pretraining *p = gb_alloc(1, sizeof *p, status);
    if (!p)
        return NULL;
    p->settings = settings;
    p->counted = counted;
    if (!open_inputs(p, status) || !make_config(p, status) || !make_objective(p, status) ||
        !make_values(p, status)) {
        gb_pretraining_close(p);
        return NULL;
    }
    make_training(p);
    return p;
}

gb_pretraining *gb_pretraining_open(const gb_pretraining_settings *settings, gb_status *status)
{
    return open_pretraining(settings, false, status);
}

void gb_pretraining_close(gb_pretraining *p)
{
    if (!p)
        return;
    if (p->self)
        p->objective->destroy(p->self);
    gb_bert_free(&p->bert);
    gb_params_destroy(p->model);
    free(p->values);
    gb_model_input_close(&p->init);
    gb_model_input_close(&p->generator);
    gb_vocab_destroy(p->vocab);
    gb_tokens_close(&p->tokens);
    gb_collection_close(p->collection);
    free(p);
}

const gb_training *gb_pretraining_training(const gb_pretraining *p)
{
    return p->objective && p->settings->steps ? &p->training : NULL;
}

bool gb_pretraining_prepare(gb_pretraining *p, gb_device *device, gb_status *status)
{
    return !p->objective || !p->objective->prepare ||
           p->objective->prepare(p->self, device, p->model, p->values, status);
}

/* ---- into an artifact ---- */

/* How the model that training started from makes vectors of texts; unstated where there is none, or
 * where it is a way that is not known here. */
static gb_sentence_settings vectors_of_init(const gb_pretraining *p)
{
    gb_sentence_settings how = {0};
    if (!p->init.folder || !gb_folder_sentence(p->init.folder, &how, NULL))
        return (gb_sentence_settings){0};
    how.normalize |= how.similarity == GB_SIMILARITY_COSINE && how.pooling != GB_POOLING_TERMS;
    return how;
}

/* How the new model makes them. */
static gb_sentence_settings vectors_of(const gb_pretraining *p)
{
    const gb_objective *objective = p->objective;
    bool trained = objective && !objective->no_vector;
    gb_sentence_settings before = vectors_of_init(p);
    gb_sentence_settings how = {.pooling = GB_POOLING_CLS, .max_length = p->config.max_positions};
    if (trained && objective->pooling)
        how.pooling = objective->pooling(p->params.own);
    if (before.pooling == GB_POOLING_UNSTATED)
        return how;
    if (!trained) {
        before.query_prompt = train_prompt(p->tokens.query_prompt);
        before.passage_prompt = train_prompt(p->tokens.passage_prompt);
        return before;
    }
    if (before.pooling != how.pooling || before.normalize)
        gb_log(
            GB_LOG_WARN,
            "%s makes vectors in another way than %s trains them: those of the new model are the "
            "%s, not scaled",
            gb_folder_path(p->init.folder), objective->name,
            how.pooling == GB_POOLING_MEAN ? "means over the tokens" : "states of [CLS]");
    return how;
}

static bool save_model(const gb_maker *maker, const gb_pretraining *p,
                       const gb_sentence_settings *how, gb_status *status)
{
    char title[200];
    snprintf(title, sizeof title, "gabbro encoder: %s", p->settings->objective);
    gb_model_card card = {.title = title,
                          .what = "A BERT encoder pre-trained by gabbro.",
                          .command = gb_maker_name(maker)};
    gb_tokenizer_params tokenizer =
        p->init.folder ? p->init.tokenizer : gb_vocab_get_rules(p->vocab)->words;
    char *path = gb_maker_file(maker, "model", status);
    bool ok = path && gb_model_save(path, &p->config, p->model, p->values, p->vocab, tokenizer, how,
                                    &card, status);
    free(path);
    return ok;
}

static bool train(gb_maker *maker, gb_pretraining *p, gb_status *status)
{
    gb_device *device = gb_maker_device(maker, status);
    double(*log)[GB_MAX_LOSSES] = gb_alloc(p->settings->steps, sizeof *log, status);
    gb_train_result result;
    bool ok = device && log && gb_pretraining_prepare(p, device, status) &&
              gb_maker_train(maker, &p->training, p->values, log, &result, status) &&
              (!gb_maker_leads(maker) ||
               train_save_losses(maker, p->task.loss_names, p->settings->steps, log, status));
    if (ok) {
        json_t *losses = json_object();
        for (int l = 0; l < GB_MAX_LOSSES && p->task.loss_names[l]; l++)
            json_object_set_new(losses, p->task.loss_names[l], json_real(result.final_loss[l]));
        json_object_set_new(maker->facts, "final_loss", losses);
    }
    free(log);
    return ok;
}

bool gb_pretrain(gb_maker *maker, const gb_pretraining_settings *settings, gb_status *status)
{
    gb_pretraining *p = gb_pretraining_open(settings, status);
    gb_sentence_settings how = p ? vectors_of(p) : (gb_sentence_settings){0};
    bool ok = p && (!gb_pretraining_training(p) || train(maker, p, status)) &&
              (!gb_maker_leads(maker) || save_model(maker, p, &how, status));
    gb_pretraining_close(p);
    return ok;
}

/* The objective is made for a part of the batch. */
bool gb_pretrain_cost(gb_maker *maker, const gb_pretraining_settings *settings, gb_status *status)
{
    gb_pretraining_settings part = *settings;
    if (part.params.batch > GB_COST_PART)
        part.params.batch = GB_COST_PART;
    gb_pretraining *p = open_pretraining(&part, true, status);
    bool ok = p && gb_pretraining_prepare(p, NULL, status) &&
              (!p->objective || gb_maker_print_cost(maker, &p->training, settings->params.batch,
                                                    part.params.batch, status));
    gb_pretraining_close(p);
    return ok;
}
