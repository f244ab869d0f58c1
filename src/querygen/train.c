/* A generator that is trained on the queries of a collection. */
#include "gabbro/querygen.h"

#include <gabbro/artifact.h>

#include <stdlib.h>
#include <string.h>

typedef struct session {
    gb_collection *collection;           /* judgements */
    gb_tokens tokens;                    /* ids */
    gb_vocab *vocab;                     /* words */
    gb_querygen_pairs set;               /* pairs */
    gb_querygen_task_params task_params; /* of both tasks */
    gb_params *params;                   /* of the model */
    gb_lm lm;                            /* model */
    void *self, *held_self;              /* data of the tasks */
    gb_task task, held_task;             /* on the pairs to train on, and on those held out */
    float *values;                       /* parameters */
} session;

/* What the training loop asks for: no dropout. */
static const gb_bert_config no_dropout = {0};

static bool open_inputs(session *s, const gb_querygen_training_params *o, gb_status *status)
{
    char hash[GB_HASH_SIZE];
    s->task_params = (gb_querygen_task_params){.batch = o->batch, .seed = o->seed};
    bool ok = (s->collection = gb_open_collection(o->collection, status)) &&
              gb_open_tokens(o->tokens, s->collection, &s->tokens, status) &&
              (s->vocab = gb_vocabulary_read(o->vocabulary, status)) &&
              gb_vocab_hash(s->vocab, hash, status);
    if (ok && strcmp(hash, s->tokens.vocabulary))
        ok = gb_fail(status, GB_DATA, o->vocabulary,
                     "give the one that the texts were tokenized with",
                     "the tokens were made with another vocabulary");
    if (ok && gb_vocab_get_rules(s->vocab)->kind != GB_VOCAB_WORDS)
        ok = gb_fail(status, GB_USAGE, o->vocabulary, "give one of WordPiece",
                     "a generator with this kind of vocabulary could not be read again");
    ok = ok && gb_querygen_pairs_make(&s->set, s->collection, o->held_out, o->train_queries,
                                      o->seed, status);
    if (ok)
        gb_log(GB_LOG_INFO, "%zu pairs to train on, %zu held out; %u queries refused",
               s->set.train.count, s->set.held_out.count, s->set.refused);
    return ok;
}

static gb_lm_config config_of(const session *s, const gb_querygen_training_params *o)
{
    gb_special_ids specials = gb_vocab_specials(s->vocab);
    return (gb_lm_config){.kind = GB_LM_T5,
                          .vocab_size = gb_vocab_size(s->vocab),
                          .hidden_size = o->hidden,
                          .head_dim = o->hidden / o->heads,
                          .heads = o->heads,
                          .kv_heads = o->heads,
                          .intermediate_size = o->ffn,
                          .layers = o->layers,
                          .decoder_layers = o->layers,
                          .buckets = 32,
                          .farthest = 128,
                          .start_id = specials.pad,
                          .end_id = specials.sep,
                          .act = GB_LM_RELU,
                          .tied = true,
                          .eps = 1e-6};
}

static bool make_model(session *s, const gb_querygen_training_params *o, gb_status *status)
{
    gb_lm_config config = config_of(s, o);
    gb_lm_cache none = {0};
    s->task_params.max_passage_length = s->tokens.max_passage;
    s->task_params.max_query_length = s->tokens.max_query;
    s->params = gb_params_create(status);
    if (!s->params || !gb_lm_declare(s->params, &config, &none, &s->lm, status))
        return false;
    gb_params_freeze(s->params);
    s->values = gb_alloc(gb_params_floats(s->params), sizeof *s->values, status);
    if (!s->values)
        return false;
    gb_params_init(s->params, o->seed, s->values);
    return (s->self = gb_querygen_task_create(&s->task_params, &s->set.train, &s->tokens, &s->lm,
                                              &s->task, status)) &&
           (s->held_self = gb_querygen_task_create(&s->task_params, &s->set.held_out, &s->tokens,
                                                   &s->lm, &s->held_task, status));
}

static gb_train_params train_params(const session *s, const gb_querygen_training_params *o)
{
    uint64_t visits = (uint64_t)o->epochs * s->set.train.count;
    uint32_t steps = (uint32_t)((visits + s->task_params.batch - 1) / s->task_params.batch);
    return (gb_train_params){.params = s->params,
                             .config = &no_dropout,
                             .schedule = {GB_SCHEDULE_LINEAR, (float)o->learning_rate, 0,
                                          (uint32_t)(o->warmup * steps), steps},
                             .adamw = {.9f, .999f, 1e-8f, (float)o->weight_decay},
                             .max_norm = (float)o->clip,
                             .max_length = s->task_params.max_passage_length,
                             .label = "train-generator"};
}

static bool train(gb_maker *maker, session *s, const gb_querygen_training_params *o,
                  gb_status *status)
{
    gb_train_params params = train_params(s, o);
    const gb_training training = {&s->task, &params, s->values};
    gb_train_result result;
    if (!gb_maker_train(maker, &training, s->values, NULL, &result, status))
        return false;
    json_object_set_new(maker->facts, "first_loss", json_real(result.first_loss[0]));
    json_object_set_new(maker->facts, "final_loss", json_real(result.final_loss[0]));
    json_object_set_new(maker->facts, "steps", json_integer(params.schedule.steps));
    return true;
}

/* Loss on the pairs that were held out, beside that of the frequencies of tokens. */
static bool measure(gb_maker *maker, session *s, gb_status *status)
{
    json_t *facts = maker->facts;
    double loss, unigram;
    json_object_set_new(facts, "pairs", json_integer((json_int_t)s->set.train.count));
    json_object_set_new(facts, "held_out_pairs", json_integer((json_int_t)s->set.held_out.count));
    json_object_set_new(facts, "refused_queries", json_integer(s->set.refused));
    if (!s->set.held_out.count)
        return true;
    if (!gb_querygen_loss(gb_maker_device(maker, status), s->held_self, s->params, s->values, &loss,
                          status) ||
        !gb_querygen_unigram_loss(&s->set.train, &s->set.held_out, &s->tokens, &s->lm.config,
                                  &unigram, status))
        return false;
    gb_log(GB_LOG_INFO, "held-out loss %.4f nats a token (by frequencies of tokens alone %.4f)",
           loss, unigram);
    json_t *metrics = json_pack("{s:{s:f}, s:{s:f}}", "held-out:loss", "value", loss,
                                "held-out:unigram loss", "value", unigram);
    bool ok = metrics ? gb_maker_write_metrics(maker, metrics, status)
                      : gb_fail_memory(status, "writing the loss");
    json_decref(metrics);
    return ok;
}

static bool save_model(const gb_maker *maker, const session *s, gb_status *status)
{
    char *path = gb_maker_file(maker, "model", status);
    bool ok = path && gb_lm_save(path, &s->lm.config, s->params, s->values, s->vocab,
                                 s->task_params.max_passage_length, status);
    free(path);
    return ok;
}

static void close_session(session *s)
{
    gb_querygen_task_destroy(s->self);
    gb_querygen_task_destroy(s->held_self);
    gb_querygen_pairs_free(&s->set);
    gb_lm_free(&s->lm);
    gb_params_destroy(s->params);
    free(s->values);
    gb_vocab_destroy(s->vocab);
    gb_tokens_close(&s->tokens);
    gb_collection_close(s->collection);
}

bool gb_querygen_train(const gb_querygen_training_params *o, gb_maker *maker, gb_status *status)
{
    session s = {0};
    bool ok = open_inputs(&s, o, status) && make_model(&s, o, status) &&
              train(maker, &s, o, status) && measure(maker, &s, status) &&
              save_model(maker, &s, status);
    close_session(&s);
    return ok;
}

/* The task is made for a part of the batch. */
bool gb_querygen_train_cost(const gb_querygen_training_params *o, const gb_maker *maker,
                            gb_status *status)
{
    session s = {0};
    bool ok = open_inputs(&s, o, status);
    if (ok) {
        gb_train_params whole = train_params(&s, o);
        if (o->batch > GB_COST_PART)
            s.task_params.batch = GB_COST_PART;
        ok = make_model(&s, o, status);
        gb_train_params params = train_params(&s, o);
        params.schedule = whole.schedule;
        const gb_training training = {&s.task, &params, s.values};
        ok = ok && gb_maker_print_cost(maker, &training, o->batch, s.task_params.batch, status);
    }
    close_session(&s);
    return ok;
}

bool gb_querygen_training_check(const gb_querygen_training_params *o, gb_status *status)
{
    if (!o->batch || !o->layers || !o->heads || !o->hidden || !o->ffn)
        return gb_fail(status, GB_USAGE, NULL, NULL, "batch, layers and widths are at least 1");
    return (o->hidden % o->heads == 0 && o->hidden / o->heads % 4 == 0 && o->ffn % 4 == 0) ||
           gb_fail(status, GB_USAGE, NULL, NULL,
                   "%u heads do not share a width of %u: each takes the same multiple of 4; and "
                   "--ffn %u is a multiple of 4",
                   o->heads, o->hidden, o->ffn);
}
