/* gabbro finetune: the step that makes a retriever from an encoder. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

#include <gabbro/finetune.h>

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro finetune --init MODEL --collection STEP --tokens STEP --negatives RUN [...]\n\n"
    "Contrastive fine-tuning over all passages of the batch, with hard negatives from one or more\n"
    "runs (of bm25-run, mine, negatives or search). Prints the step's folder; the retriever is in "
    "its model/.\n";

/* A mean loss over the last tenth of the steps above this is marked as not converged: training was
 * cut off while it still learned. In nats a query; chance is the logarithm of the candidates, 3.47
 * of 32. */
#define CONVERGED_LOSS 0.3

/* Of vectors of length 1, whose scores lie within [-1, 1]: sentence-transformers' scale of 20. */
#define COSINE_TEMPERATURE .05f

typedef struct settings {
    const char *init, *collection, *tokens;    /* steps */
    const char *projector;                     /* by name */
    gb_projector_kind projector_kind;          /* on query and passage vectors */
    step_list negatives;                       /* steps of runs */
    uint32_t epochs, train_queries, depth;     /* of the training set */
    double rate, warmup, decay, dropout, clip; /* optimiser */
    const char *schedule;                      /* of the rate after the warm-up, by name */
    gb_decay_kind decay_kind;                  /* the same */
    double final_rate;                         /* share of the rate that a cosine ends at */
    double temperature;                        /* of scores; 0: by the kind of vectors */
    step_memory memory;                        /* parts of the batch, layers computed again */
    gb_finetune_params params;                 /* of the task */
} settings;

typedef struct session {
    gb_collection *collection; /* judgements */
    gb_tokens tokens;          /* ids */
    bool has_tokens;           /* tokens are open */
    gb_model_input init;       /* encoder */
    bool has_init;             /* init is open */
    gb_training_set set;       /* queries */
    gb_bert_config config;     /* of the encoder, with this dropout */
    gb_sentence_settings how;  /* of the encoder: pooling and lengths */
    gb_params *params;         /* of the encoder */
    gb_bert bert;              /* encoder */
    void *self;                /* the task's data */
    gb_task task;              /* contrastive */
    float *values;             /* parameters */
} session;

static bool read_run(const char *step, const gb_run_names *names, gb_run *run, gb_status *status)
{
    char *path = gb_path_join(status, step, "run.trec");
    bool ok = path && gb_run_read(path, GB_RUN_TREC, names, run, NULL, status);
    free(path);
    return ok;
}

static bool make_set(session *s, const settings *o, gb_status *status)
{
    gb_run runs[STEP_LIST_MOST] = {0};
    gb_qrels qrels = {0};
    gb_run_names names = {0};
    bool ok = gb_collection_qrels(s->collection, "train", &qrels, status) &&
              gb_run_names_of(s->collection, &names, status);
    for (size_t i = 0; ok && i < o->negatives.count; i++)
        ok = read_run(o->negatives.items[i], &names, &runs[i], status);
    ok = ok && gb_training_set_make(&s->set, &qrels, runs, o->negatives.count, o->depth,
                                    o->train_queries, o->params.seed, status);
    for (size_t i = 0; i < o->negatives.count; i++)
        gb_run_free(&runs[i]);
    gb_run_names_free(&names);
    free(qrels.rows);
    if (ok)
        gb_log(GB_LOG_INFO, "%u training queries, %u of them without hard negatives", s->set.count,
               s->set.without_negatives);
    return ok;
}

static bool open_inputs(session *s, const step_run *run, const settings *o, gb_status *status)
{
    return (s->collection = gb_open_collection(o->collection, status)) &&
           (s->has_tokens = gb_open_tokens(o->tokens, &s->tokens, status)) &&
           (s->has_init = gb_model_input_open(&s->init, o->init, &s->tokens, status)) &&
           gb_model_sentence(s->init.folder, &s->tokens, run->pooling, &s->how, status);
}

static bool make_model(session *s, settings *o, gb_status *status)
{
    o->params.longest_passage = s->tokens.max_passage;
    o->params.longest_query = s->tokens.max_query;
    o->params.pooling = s->how.pooling;
    o->params.normalize = s->how.normalize;
    o->params.temperature =
        o->temperature > 0 || !s->how.normalize ? (float)o->temperature : COSINE_TEMPERATURE;
    s->config = s->init.config;
    s->config.hidden_dropout = s->config.attention_dropout = o->dropout;
    s->params = gb_params_create(status);
    if (!s->params || !gb_bert_declare(s->params, &s->config, false, &s->bert, status) ||
        !gb_bert_add_projector(s->params, &s->bert, o->projector_kind, status) ||
        !(s->values = gb_model_input_values(s->init.folder, s->params, status)) ||
        !gb_bert_start_projector(s->init.folder, s->params, &s->bert, o->params.seed, s->values,
                                 status))
        return false;
    s->self = gb_finetune_create(&o->params, &s->set, &s->tokens, s->init.vocab, &s->bert, &s->task,
                                 status);
    return s->self != NULL;
}

/* An empty prompt is none. */
static char *prompt_of(char *prompt)
{
    return prompt && *prompt ? prompt : NULL;
}

static bool save_model(const step_run *run, const session *s, uint32_t longest, gb_status *status)
{
    bool projected = s->bert.projector.kind != GB_PROJECTOR_NONE;
    gb_sentence_settings how = s->how;
    how.max_length = longest;
    how.query_prompt = prompt_of(s->tokens.query_prompt);
    how.passage_prompt = prompt_of(s->tokens.passage_prompt);
    char what[200];
    snprintf(what, sizeof what, "A dense passage retriever (%s%s %s) fine-tuned by gabbro.",
             how.pooling == GB_POOLING_MEAN ? "mean of the tokens" : "CLS",
             projected ? " through the projector in gabbro.safetensors, which other programs do "
                         "not apply;"
                       : ",",
             how.normalize ? "cosine" : "dot product");
    gb_model_card card = {
        .title = "gabbro retriever", .what = what, .command = gb_step_name(run->step)};
    char *path = step_file(run, "model", status);
    bool ok = path && gb_model_save(path, &s->config, s->params, s->values, s->init.vocab,
                                    s->init.tokenizer, &how, &card, status);
    free(path);
    return ok;
}

static gb_train_params train_params(const session *s, const settings *o, uint32_t batch)
{
    uint32_t steps = (uint32_t)(((uint64_t)o->epochs * s->set.count + batch - 1) / batch);
    return (gb_train_params){.params = s->params,
                             .config = &s->config,
                             .schedule = {o->decay_kind, (float)o->rate, (float)o->final_rate,
                                          (uint32_t)(o->warmup * steps), steps},
                             .adamw = {.9f, .999f, 1e-8f, (float)o->decay},
                             .largest_norm = (float)o->clip,
                             .longest = o->params.longest_passage > o->params.longest_query
                                            ? o->params.longest_passage
                                            : o->params.longest_query,
                             .label = "finetune"};
}

static bool train(step_run *run, session *s, const settings *o, json_t *facts, gb_status *status)
{
    gb_device *device = step_device(run, status);
    char *resume = device && step_leads(run) ? step_file(run, "resume", status) : NULL;
    gb_train_params params = train_params(s, o, o->params.batch);
    params.resume_dir = resume;
    params.checkpoint_s = 20;
    step_memory_apply(&o->memory, run, &params);
    gb_train_result result;
    bool ok = device && (resume || !step_leads(run)) &&
              gb_train(device, &s->task, &params, s->values, NULL, &result, status);
    if (ok) {
        json_object_update_new(facts, step_device_facts(run));
        json_object_set_new(facts, "first_loss", json_real(result.first_loss[0]));
        json_object_set_new(facts, "final_loss", json_real(result.final_loss[0]));
        json_object_set_new(facts, "converged",
                            json_boolean(result.final_loss[0] < CONVERGED_LOSS));
        json_object_set_new(facts, "steps", json_integer(params.schedule.steps));
        json_object_set_new(facts, "train_queries", json_integer(s->set.count));
        json_object_set_new(facts, "without_hard_negatives",
                            json_integer(s->set.without_negatives));
        json_object_set_new(facts, "candidates_per_query",
                            json_integer((json_int_t)o->params.batch * (1 + o->params.negatives)));
        json_object_set_new(facts, "times", step_train_times(&result));
        step_memory_facts(&o->memory, &result, facts);
    }
    free(resume);
    return ok;
}

/* The task is made for a part of the batch. */
static bool estimate(const step_run *run, session *s, settings *o, gb_status *status)
{
    uint32_t batch = o->params.batch;
    if (batch > STEP_COST_PART)
        o->params.batch = STEP_COST_PART;
    if (!open_inputs(s, run, o, status) || !make_set(s, o, status) || !make_model(s, o, status))
        return false;
    gb_train_params params = train_params(s, o, batch);
    step_memory_apply(&o->memory, run, &params);
    return step_train_cost(&s->task, &params, batch, o->params.batch, status);
}

static bool make(step_run *run, session *s, settings *o, gb_status *status)
{
    json_t *facts = json_object();
    bool ok = open_inputs(s, run, o, status) && make_set(s, o, status) &&
              make_model(s, o, status) && train(run, s, o, facts, status) &&
              (!step_leads(run) || save_model(run, s, o->params.longest_passage, status)) &&
              step_end(run, facts, status);
    json_decref(facts);
    return ok;
}

static void run_finetune(step_run *run, settings *o, gb_status *status)
{
    session s = {0};
    if (run->cost)
        estimate(run, &s, o, status);
    else
        make(run, &s, o, status);
    gb_finetune_destroy(s.self);
    gb_training_set_free(&s.set);
    gb_bert_free(&s.bert);
    gb_params_destroy(s.params);
    free(s.values);
    if (s.has_init)
        gb_model_input_close(&s.init);
    if (s.has_tokens)
        gb_tokens_close(&s.tokens);
    gb_collection_close(s.collection);
}

int gb_cli_finetune(int argc, char **argv)
{
    gb_status status = {0};
    settings o = {.projector = "none",
                  .schedule = "linear",
                  .epochs = 3,
                  .depth = 200,
                  .rate = 2e-5,
                  .warmup = .1,
                  .dropout = .1,
                  .clip = 1,
                  .memory = STEP_MEMORY_DEFAULTS,
                  .params = {.batch = 8, .negatives = 15, .seed = 42}};
    const step_option options[] = {
        {"init", OPTION_TEXT, &o.init, true, true, "encoder: step or model folder"},
        {"collection", OPTION_TEXT, &o.collection, true, true, "step of a collection"},
        {"tokens", OPTION_TEXT, &o.tokens, true, true, "step of its tokens"},
        {"negatives", OPTION_LIST, &o.negatives, true, true, "step of a run; may be repeated"},
        {"epochs", OPTION_U32, &o.epochs, false, false, "over the training queries (3)"},
        {"train-queries", OPTION_U32, &o.train_queries, false, false, "seeded subset (0: all)"},
        {"depth", OPTION_U32, &o.depth, false, false,
         "first passages of each run in the pool (200)"},
        {"batch", OPTION_U32, &o.params.batch, false, false, "queries of a step (8)"},
        {"negatives-per-query", OPTION_U32, &o.params.negatives, false, false, "hard ones (15)"},
        {"learning-rate", OPTION_REAL, &o.rate, false, false, "peak (2e-5)"},
        {"warmup", OPTION_RATIO, &o.warmup, false, false, "share of the steps (.1)"},
        {"schedule", OPTION_TEXT, &o.schedule, false, false,
         "after the warm-up: linear to 0, cosine, constant (linear)", true},
        {"final-rate", OPTION_RATIO, &o.final_rate, false, false,
         "share of the learning rate that a cosine ends at (0)", true},
        {"weight-decay", OPTION_REAL, &o.decay, false, false, "decoupled (0)"},
        {"clip", OPTION_REAL, &o.clip, false, false, "largest gradient norm (1); 0: none"},
        {"dropout", OPTION_RATIO, &o.dropout, false, false, "of states and attention (.1)"},
        {"temperature", OPTION_REAL, &o.temperature, false, false,
         "scores are divided by it (0: 1, or .05 where the encoder's vectors have length 1)", true},
        {"projector", OPTION_TEXT, &o.projector, false, false,
         "on the vectors, in use too: none, linear, nonlinear (none)", true},
        {"micro-batch", OPTION_U32, &o.memory.micro_batch, false, false,
         "queries and passages on the device at once; their gradients add up to those of the batch "
         "(0: all of it)",
         true},
        {"recompute", OPTION_TEXT, &o.memory.recompute, false, false,
         "none, or layers: computed again for their gradient instead of kept (none)", true},
        {"seed", OPTION_U64, &o.params.seed, false, false, "of everything drawn (42)"},
        {0}};
    step_run run = {.kind = "finetune", .options = options, .encodes = true, .trains = true};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    bool ok = o.params.batch > 0 || gb_fail(&status, GB_USAGE, NULL, NULL, "--batch is at least 1");
    if (ok && !gb_projector_find(o.projector, &o.projector_kind))
        ok = gb_fail(&status, GB_USAGE, NULL, NULL, "--projector is none, linear or nonlinear");
    ok = ok && gb_decay_kind_find(o.schedule, &o.decay_kind, &status);
    const char *set = o.projector_kind == GB_PROJECTOR_NONLINEAR ? "contrast" : NULL;
    char sets[STEP_SETS];
    run.shader_set = sets;
    ok = ok && step_memory_check(&o.memory, &run, o.dropout > 0, set, sets, &status) &&
         (run.cost || step_begin(&run, 1, true, NULL, &status));
    if (ok && !run.cost && step_there(&run))
        step_end(&run, NULL, &status);
    else if (ok)
        run_finetune(&run, &o, &status);
    return step_close(&run, &status);
}
