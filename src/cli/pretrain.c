/* gabbro pretrain: the step that makes an encoder: fresh, or trained by an objective. */
#include "pretrain.h"
#include "in_turns.h"
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

#include <gabbro/pretrain.h>

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro pretrain OBJECTIVE --collection STEP --tokens STEP --vocabulary STEP\n"
    "                       [--init MODEL] [options]\n\n"
    "Train an encoder on a collection's passages.\n"
    "  none            a randomly initialised encoder, not trained\n"
    "  mlm             masked LM\n"
    "  condenser       and of a head that reads the late [CLS] and a middle layer\n"
    "  cocondenser     and a contrastive loss between text and context\n"
    "  cotmae          masked LM, and the context decoded from [CLS] (--decoder)\n"
    "  autoencoding    the passage itself decoded from [CLS] and few of its tokens\n"
    "  autoregression  the passage itself written from [CLS], token by token\n"
    "  bottleneck      the context, e.g. a query, written from [CLS], token by token\n"
    "  enhanced        every token decoded from [CLS] and a sample of its own (RetroMAE)\n"
    "  seed            the passage written from [CLS] by a decoder with a small window (SEED)\n"
    "  simlm           the passage recovered from what --generator, a frozen masked LM, made of "
    "it,\n"
    "                  and decoded from [CLS] and a worse such text\n"
    "  bow             masked LM, and the set of the passage's tokens predicted from [CLS]\n"
    "  costa           masked LM, and a contrastive loss between [CLS] and spans of the passage\n"
    "  ict             masked LM, and a sentence finds the rest of its passage\n"
    "  simcse          a sentence finds itself under another dropout\n"
    "  prop            masked LM, and likelier words of a passage are nearer to it\n"
    "  bprop           the same by the attention of the [CLS] of --init\n"
    "  contriever      a crop finds another of its passage, against a queue of keys\n"
    "A second stage is a second step: --init FIRST --schedule constant --warmup 0.\n"
    "Prints the step's folder; the encoder is in its model/ (a Hugging Face folder).\n";

typedef struct settings {
    const char *collection, *tokens, *vocabulary, *init; /* steps */
    const char *generator;                               /* model that stays as it is, or NULL */
    const char *context, *decoder, *contrast, *schedule; /* by name */
    const char *decoder_masks;                           /* by name */
    const char *bow_head, *projector, *granularities;    /* by name; NULL: open */
    uint32_t layers, hidden, heads, ffn;                 /* of a fresh encoder */
    double init_std;                           /* of a fresh encoder, heads and decoders */
    uint32_t steps;                            /* optimiser steps */
    double rate, warmup, decay, dropout, clip; /* optimiser */
    double final_rate;                         /* share of the rate that a cosine ends at */
    gb_decay_kind decay_kind;                  /* of the learning rate */
    step_memory memory;                        /* parts of the batch, layers computed again */
    gb_pretrain_params params;                 /* of the objective */
} settings;

/* Everything a run needs open. */
typedef struct session {
    gb_collection *collection;     /* documents */
    gb_tokens tokens;              /* ids */
    bool has_tokens;               /* tokens are open */
    gb_vocab *vocab;               /* words */
    gb_model_input init;           /* model to start from */
    bool has_init;                 /* init is open */
    gb_model_input generator;      /* masked LM of simlm */
    bool has_generator;            /* generator is open */
    gb_bert_config config;         /* of the encoder */
    gb_params *params;             /* encoder, head, extras */
    gb_bert bert;                  /* encoder */
    const gb_objective *objective; /* NULL for none */
    void *self;                    /* its data */
    gb_task task;                  /* its task */
    float *values;                 /* parameters */
} session;

static bool open_inputs(session *s, const settings *o, gb_status *status)
{
    bool ok = (s->collection = gb_open_collection(o->collection, status)) &&
              (s->has_tokens = gb_open_tokens(o->tokens, &s->tokens, status)) &&
              (s->vocab = gb_open_vocabulary(o->vocabulary, status));
    if (ok && o->init)
        ok = s->has_init = gb_model_input_open(&s->init, o->init, &s->tokens, status);
    if (ok && o->generator)
        ok = s->has_generator =
            gb_model_input_open(&s->generator, o->generator, &s->tokens, status);
    return ok;
}

static bool make_config(session *s, settings *o, gb_status *status)
{
    uint32_t longest = s->tokens.max_passage;
    o->params.longest = longest;
    if (s->has_init) {
        s->config = s->init.config;
        if (s->config.vocab_size < gb_vocab_size(s->vocab))
            return gb_fail(status, GB_DATA, o->init, "tokenize with the vocabulary of the model",
                           "the model knows %u tokens, the vocabulary has %u", s->config.vocab_size,
                           gb_vocab_size(s->vocab));
        if (s->config.max_positions < longest)
            return gb_fail(status, GB_DATA, o->init, "tokenize with fewer tokens a passage",
                           "the model has %u positions, passages up to %u tokens",
                           s->config.max_positions, longest);
    } else {
        s->config = GB_BERT_BASE;
        s->config.vocab_size = gb_vocab_size(s->vocab);
        s->config.hidden_size = o->hidden;
        s->config.layers = o->layers;
        s->config.heads = o->heads;
        s->config.intermediate_size = o->ffn;
        s->config.max_positions = longest;
        s->config.pad_token_id = gb_vocab_specials(s->vocab).pad;
    }
    s->config.hidden_dropout = s->config.attention_dropout = o->dropout;
    s->config.initializer_range = o->init_std;
    return gb_bert_config_check(&s->config, "settings of the encoder", status);
}

static bool make_objective(session *s, settings *o, const char *name, gb_status *status)
{
    gb_pretrain_data data = {s->collection, &s->tokens, s->vocab, s->generator.folder};
    gb_pretrain_params *p = &o->params;
    p->steps = o->steps;
    if (!p->skip_from)
        p->skip_from = s->config.layers / 2;
    s->params = gb_params_create(status);
    if (!s->params || !gb_bert_declare(s->params, &s->config, true, &s->bert, status))
        return false;
    s->objective = strcmp(name, "none") ? gb_objective_find(name) : NULL;
    if (s->objective &&
        !(s->self = s->objective->create(p, &data, &s->bert, s->params, &s->task, status)))
        return false;
    gb_params_freeze(s->params);
    s->values = gb_alloc(gb_params_floats(s->params), sizeof *s->values, status);
    if (!s->values)
        return false;
    gb_params_init(s->params, p->seed, s->values);
    if (s->has_init && !gb_model_load(s->init.folder, s->params, s->values, status))
        return false;
    if (s->objective && s->objective->start)
        s->objective->start(s->self, s->init.folder, s->params, s->values);
    return true;
}

static bool save_model(const step_run *run, const session *s, const char *name, gb_status *status)
{
    char title[200];
    snprintf(title, sizeof title, "gabbro encoder: %s", name);
    gb_model_card card = {.title = title,
                          .what = "A BERT encoder pre-trained by gabbro.",
                          .command = gb_step_name(run->step)};
    gb_tokenizer_params tokenizer = s->has_init ? s->init.tokenizer : GB_TOKENIZER_DEFAULTS;
    gb_sentence_settings how = {.max_length = s->config.max_positions};
    char *path = step_file(run, "model", status);
    bool ok = path && gb_model_save(path, &s->config, s->params, s->values, s->vocab, tokenizer,
                                    &how, &card, status);
    free(path);
    return ok;
}

/* Losses of every step as TSV, for curves. */
static bool save_log(const step_run *run, const session *s, double (*log)[GB_MAX_LOSSES],
                     uint32_t steps, gb_status *status)
{
    char *path = step_file(run, "losses.tsv", status);
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    free(path);
    if (!out)
        return false;
    fprintf(gb_out_stream(out), "step");
    for (int l = 0; l < GB_MAX_LOSSES && s->task.loss_names[l]; l++)
        fprintf(gb_out_stream(out), "\t%s", s->task.loss_names[l]);
    for (uint32_t i = 0; i < steps; i++) {
        fprintf(gb_out_stream(out), "\n%u", i);
        for (int l = 0; l < GB_MAX_LOSSES && s->task.loss_names[l]; l++)
            fprintf(gb_out_stream(out), "\t%.7g", log[i][l]);
    }
    fprintf(gb_out_stream(out), "\n");
    return gb_out_commit(out, status);
}

static gb_train_params train_params(const session *s, const settings *o)
{
    return (gb_train_params){.params = s->params,
                             .config = &s->config,
                             .schedule = {o->decay_kind, (float)o->rate, (float)o->final_rate,
                                          (uint32_t)(o->warmup * o->steps), o->steps},
                             .adamw = {.9f, .999f, 1e-8f, (float)o->decay},
                             .largest_norm = (float)o->clip,
                             .longest = o->params.longest};
}

static bool prepare(step_run *run, session *s, gb_status *status)
{
    gb_device *device = s->objective->prepare ? step_device(run, status) : NULL;
    return !s->objective->prepare ||
           (device && s->objective->prepare(s->self, device, s->params, s->values, status));
}

static bool train(step_run *run, session *s, const settings *o, const char *name, json_t *facts,
                  gb_status *status)
{
    gb_device *device = step_device(run, status);
    char *resume = device && step_leads(run) ? step_file(run, "resume", status) : NULL;
    double(*log)[GB_MAX_LOSSES] = gb_alloc(o->steps, sizeof *log, status);
    char label[100];
    snprintf(label, sizeof label, "pretrain %s%s%s", name, o->params.context ? "/" : "",
             o->params.context ? o->context : "");
    gb_train_params params = train_params(s, o);
    params.label = label;
    params.resume_dir = resume;
    params.checkpoint_s = 20;
    step_memory_apply(&o->memory, run, &params);
    gb_train_result result;
    bool ok = device && (resume || !step_leads(run)) && log && prepare(run, s, status) &&
              gb_train(device, &s->task, &params, s->values, log, &result, status) &&
              (!step_leads(run) || save_log(run, s, log, o->steps, status));
    if (ok) {
        json_t *losses = json_object();
        for (int l = 0; l < GB_MAX_LOSSES && s->task.loss_names[l]; l++)
            json_object_set_new(losses, s->task.loss_names[l], json_real(result.final_loss[l]));
        json_object_set_new(facts, "final_loss", losses);
        json_object_update_new(facts, step_device_facts(run));
        json_object_set_new(facts, "times", step_train_times(&result));
        step_memory_facts(&o->memory, &result, facts);
    }
    free(resume);
    free(log);
    return ok;
}

/* The training for somebody else; see pretrain.h. */
typedef struct borrower {
    training_use use; /* takes it */
    void *self;       /* its data */
} borrower;

static bool lend(const step_run *run, session *s, const settings *o, const char *name,
                 const borrower *to, gb_status *status)
{
    if (!s->objective || !o->steps)
        return gb_fail(status, GB_USAGE, NULL, NULL, "pretrain %s trains nothing", name);
    if (s->objective->prepare)
        return gb_fail(status, GB_USAGE, NULL, "take another objective",
                       "%s keeps a part of itself on one device", name);
    gb_train_params params = train_params(s, o);
    params.label = name;
    step_memory_apply(&o->memory, run, &params);
    gb_training training = {&s->task, &params, s->values};
    return to->use(to->self, &training, status);
}

static bool make(step_run *run, session *s, const settings *o, const char *name, gb_status *status)
{
    json_t *facts = json_object();
    bool ok = (!s->objective || !o->steps || train(run, s, o, name, facts, status)) &&
              (!step_leads(run) || save_model(run, s, name, status)) &&
              step_end(run, facts, status);
    json_decref(facts);
    return ok;
}

/* The objective was made for a part of the batch. */
static bool estimate(step_run *run, session *s, const settings *o, const char *name, uint32_t batch,
                     gb_status *status)
{
    gb_train_params params = train_params(s, o);
    params.label = name;
    step_memory_apply(&o->memory, run, &params);
    return !s->objective || (prepare(run, s, status) &&
                             step_train_cost(&s->task, &params, batch, o->params.batch, status));
}

static bool run_pretrain(step_run *run, settings *o, const char *name, const borrower *to,
                         gb_status *status)
{
    session s = {0};
    uint32_t batch = o->params.batch;
    if (run->cost && batch > STEP_COST_PART)
        o->params.batch = STEP_COST_PART;
    bool ok = open_inputs(&s, o, status) && make_config(&s, o, status) &&
              make_objective(&s, o, name, status) &&
              (to          ? lend(run, &s, o, name, to, status)
               : run->cost ? estimate(run, &s, o, name, batch, status)
                           : make(run, &s, o, name, status));
    if (s.objective)
        s.objective->destroy(s.self);
    gb_bert_free(&s.bert);
    gb_params_destroy(s.params);
    free(s.values);
    if (s.has_init)
        gb_model_input_close(&s.init);
    if (s.has_generator)
        gb_model_input_close(&s.generator);
    gb_vocab_destroy(s.vocab);
    if (s.has_tokens)
        gb_tokens_close(&s.tokens);
    gb_collection_close(s.collection);
    return ok;
}

/* Place of a word in a list that ends with NULL; fails naming the option. */
static bool choose(const char *option, const char *word, const char *const *words, int *choice,
                   gb_status *status)
{
    char known[200] = "";
    for (*choice = 0; words[*choice]; ++*choice) {
        if (!strcmp(word, words[*choice]))
            return true;
        size_t length = strlen(known);
        snprintf(known + length, sizeof known - length, "%s%s", length ? ", " : "", words[*choice]);
    }
    return gb_fail(status, GB_USAGE, NULL, NULL, "--%s is one of: %s", option, known);
}

static bool choose_words(settings *o, gb_status *status)
{
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
    int context, decoder, contrast, decoder_masks;
    if (!choose("context", o->context, contexts, &context, status) ||
        !choose("decoder", o->decoder, decoders, &decoder, status) ||
        !choose("contrast", o->contrast, contrasts, &contrast, status) ||
        !gb_decay_kind_find(o->schedule, &o->decay_kind, status) ||
        !choose("decoder-masks", o->decoder_masks, masks, &decoder_masks, status))
        return false;
    o->params.decoder_masks = (gb_masks)decoder_masks;
    o->params.context = (gb_context)context;
    o->params.decoder = (gb_decoder)decoder;
    o->params.contrast = (gb_contrast)contrast;
    return true;
}

/* A list "word,phrase" as bits. */
static bool choose_granularities(settings *o, gb_status *status)
{
    static const char *const names[] = {"word", "phrase", "sentence", "paragraph"};
    for (const char *at = o->granularities; *at;) {
        size_t length = strcspn(at, ","), i = 0;
        while (i < 4 && (strlen(names[i]) != length || strncmp(at, names[i], length)))
            i++;
        if (i == 4)
            return gb_fail(status, GB_USAGE, NULL, NULL,
                           "--granularities is a list of word, phrase, sentence, paragraph");
        o->params.granularities |= 1u << i;
        at += length + (at[length] == ',');
    }
    return true;
}

/* Words that only some objectives know, and their defaults for those. */
static bool choose_own_words(settings *o, const char *objective, gb_status *status)
{
    static const char *const heads[] = {
        [GB_BOW_FULL] = "full", [GB_BOW_PROJECTION] = "projection", NULL};
    int head = 0;
    if (!strcmp(objective, "bow") && !o->bow_head)
        o->bow_head = "full";
    if (!strcmp(objective, "costa")) {
        o->projector = o->projector ? o->projector : "nonlinear";
        o->granularities = o->granularities ? o->granularities : "word,phrase,sentence,paragraph";
    }
    if (o->bow_head && !choose("bow-head", o->bow_head, heads, &head, status))
        return false;
    o->params.bow_head = (gb_bow_head)head;
    if (o->projector && !gb_projector_find(o->projector, &o->params.projector))
        return gb_fail(status, GB_USAGE, NULL, NULL, "--projector is none, linear or nonlinear");
    return !o->granularities || choose_granularities(o, status);
}

static bool check_words(settings *o, const char *name, gb_status *status)
{
    if (!choose_words(o, status) || (name && !choose_own_words(o, name, status)))
        return false;
    const gb_objective *objective = name ? gb_objective_find(name) : NULL;
    if (!name || (strcmp(name, "none") && !objective))
        return gb_fail(status, GB_USAGE, NULL, "see --help", "no objective \"%s\"",
                       name ? name : "");
    if (objective && objective->contextual && o->params.context == GB_CONTEXT_NONE)
        return gb_fail(status, GB_USAGE, NULL, "see --help", "%s needs a --context, e.g. query",
                       name);
    if (objective && !strcmp(name, "simlm") && !o->generator)
        return gb_fail(status, GB_USAGE, NULL, "make one: gabbro pretrain mlm",
                       "simlm needs a --generator");
    if (objective && !o->params.batch)
        return gb_fail(status, GB_USAGE, NULL, NULL, "--batch is at least 1");
    return true;
}

static int pretrain(int argc, char **argv, const borrower *to)
{
    gb_status status = {0};
    settings o = {.context = "none",
                  .decoder = "causal",
                  .contrast = "symmetric",
                  .schedule = "linear",
                  .decoder_masks = "nested",
                  .layers = 12,
                  .hidden = 768,
                  .heads = 12,
                  .ffn = 3072,
                  .init_std = .02,
                  .steps = 1000,
                  .rate = 1e-4,
                  .warmup = .1,
                  .decay = .01,
                  .dropout = .1,
                  .clip = 1,
                  .memory = STEP_MEMORY_DEFAULTS,
                  .params = {.batch = 32,
                             .queries = 5,
                             .mask_ratio = GB_OPEN_RATIO,
                             .decoder_mask_ratio = GB_OPEN_RATIO,
                             .head_layers = 2,
                             .window = GB_OPEN,
                             .seed = 42,
                             .bow_weight = GB_OPEN_RATIO,
                             .bow_weight_final = GB_OPEN_RATIO,
                             .contrast_weight = GB_OPEN_RATIO,
                             .momentum = GB_OPEN_RATIO}};
    const char *name = NULL, *others = NULL;
    const step_option options[] = {
        {"collection", OPTION_TEXT, &o.collection, true, true, "step of a collection"},
        {"tokens", OPTION_TEXT, &o.tokens, true, true, "step of its tokens"},
        {"vocabulary", OPTION_TEXT, &o.vocabulary, true, true, "step of its vocabulary"},
        {"init", OPTION_TEXT, &o.init, false, true, "encoder to start from: step or model folder"},
        {"generator", OPTION_TEXT, &o.generator, false, true,
         "simlm: masked LM that fills masks: step or model folder", true},
        {"context", OPTION_TEXT, &o.context, false, false,
         "none, span, query, self, mixed-step or mixed-example (none)"},
        {"queries", OPTION_U32, &o.params.queries, false, false, "generated queries used (5)"},
        {"passages", OPTION_U32, &o.params.passages, false, false,
         "passages used, of those with generated queries (0: all passages)", true},
        {"layers", OPTION_U32, &o.layers, false, false, "of a fresh encoder (12)"},
        {"hidden", OPTION_U32, &o.hidden, false, false, "width (768)"},
        {"heads", OPTION_U32, &o.heads, false, false, "attention heads (12)"},
        {"ffn", OPTION_U32, &o.ffn, false, false, "feed-forward width (3072)"},
        {"init-std", OPTION_REAL, &o.init_std, false, false, "of fresh weights (.02)"},
        {"steps", OPTION_U32, &o.steps, false, false, "optimiser steps (1000)"},
        {"batch", OPTION_U32, &o.params.batch, false, false, "passages or pairs of a step (32)"},
        {"learning-rate", OPTION_REAL, &o.rate, false, false, "peak (1e-4)"},
        {"warmup", OPTION_RATIO, &o.warmup, false, false, "share of the steps (.1)"},
        {"schedule", OPTION_TEXT, &o.schedule, false, false,
         "after the warm-up: linear to 0, cosine, constant (linear)", true},
        {"final-rate", OPTION_RATIO, &o.final_rate, false, false,
         "share of the learning rate that a cosine ends at (0)", true},
        {"weight-decay", OPTION_REAL, &o.decay, false, false, "decoupled (.01)"},
        {"clip", OPTION_REAL, &o.clip, false, false, "largest gradient norm (1); 0: none"},
        {"dropout", OPTION_RATIO, &o.dropout, false, false, "of states and attention (.1)"},
        {"mask-ratio", OPTION_RATIO, &o.params.mask_ratio, false, false,
         "encoder (simlm .3, others .15)"},
        {"decoder-mask-ratio", OPTION_RATIO, &o.params.decoder_mask_ratio, false, false,
         "masked decoder (.45), simlm and rows of enhanced (.5)"},
        {"decoder-masks", OPTION_TEXT, &o.decoder_masks, false, false,
         "simlm: nested (released code) or independent of the encoder's (nested)", true},
        {"head-layers", OPTION_U32, &o.params.head_layers, false, false, "Condenser head (2)"},
        {"skip-from", OPTION_U32, &o.params.skip_from, false, false,
         "layer the Condenser head takes (half of them)"},
        {"lm-weight", OPTION_REAL, &o.params.lm_weight, false, false,
         "coCondenser: of the masked LMs (0: 1; released code with cached gradients: 2)", true},
        {"contrast", OPTION_TEXT, &o.contrast, false, false,
         "coCondenser: symmetric (its code) or one-sided (symmetric)", true},
        {"decoder", OPTION_TEXT, &o.decoder, false, false,
         "CoT-MAE: causal (released code) or masked"},
        {"decoder-layers", OPTION_U32, &o.params.decoder_layers, false, false,
         "of a decoder (CoT-MAE 2 masked, simlm 2, seed 3, others 1)"},
        {"window", OPTION_U32, &o.params.window, false, false,
         "tokens a causal decoder sees back (CoT-MAE 3, seed 2, others 0: all)"},
        {"bow-head", OPTION_TEXT, &o.bow_head, false, false,
         "bow: full MLM head at [CLS] (released code) or bare projection (full)", true},
        {"bow-weight", OPTION_REAL, &o.params.bow_weight, false, false,
         "bow: at the first step (1)", true},
        {"bow-weight-final", OPTION_REAL, &o.params.bow_weight_final, false, false,
         "bow: at the last, by a cosine (.1)", true},
        {"granularities", OPTION_TEXT, &o.granularities, false, false,
         "costa: some of word,phrase,sentence,paragraph (all)", true},
        {"spans", OPTION_U32, &o.params.spans, false, false,
         "costa: of each granularity and passage (5)", true},
        {"projector", OPTION_TEXT, &o.projector, false, false,
         "costa: on [CLS]: none, linear, nonlinear (nonlinear)", true},
        {"contrast-weight", OPTION_REAL, &o.params.contrast_weight, false, false,
         "costa: of the contrastive loss (.1)", true},
        {"temperature", OPTION_REAL, &o.params.temperature, false, false,
         "of a contrastive loss (costa .1, simcse and contriever .05, ict 1, prop and bprop root "
         "of width)",
         true},
        {"queue", OPTION_U32, &o.params.queue, false, false, "contriever: negatives (131072)",
         true},
        {"momentum", OPTION_RATIO, &o.params.momentum, false, false,
         "contriever: of the encoder of keys (.9995)", true},
        {"mean-pooling", OPTION_FLAG, &o.params.mean_pooling, false, false,
         "contriever: texts are the mean of their states, not [CLS]", true},
        {"micro-batch", OPTION_U32, &o.memory.micro_batch, false, false,
         "passages (pairs of cocondenser; texts of ict, simcse, prop) on the device at once; their "
         "gradients add up to those of the batch (0: all of it)",
         true},
        {"recompute", OPTION_TEXT, &o.memory.recompute, false, false,
         "none, or layers: computed again for their gradient instead of kept (none)", true},
        {"in-turns-with", OPTION_TEXT, &others, false, false,
         "train no model: time the steps of this objective and of others (bow,enhanced) with the "
         "same options, in turns; see efficiency",
         true},
        {"seed", OPTION_U64, &o.params.seed, false, false, "of everything drawn (42)"},
        {0}};
    step_run run = {.kind = "pretrain", .options = options, .trains = true};
    int code = GB_OK;
    if (!step_parse(&run, argc, argv, usage, &name, &code, &status))
        return code;
    const gb_objective *objective = name ? gb_objective_find(name) : NULL;
    char sets[STEP_SETS];
    run.shader_set = sets;
    bool makes_step = !to && !run.cost, turns = makes_step && others;
    bool ok = check_words(&o, name, &status) &&
              step_memory_check(&o.memory, &run, o.dropout > 0,
                                objective ? objective->shader_set : NULL, sets, &status);
    /* What was not said stays open in turns: each objective settles it for itself. */
    run.said_alone = turns;
    if (ok && !turns)
        gb_pretrain_settle(name, &o.params);
    if (ok && makes_step)
        ok = step_begin(
            &run, 1, strcmp(name, "none") != 0,
            json_pack("{s:s, s:I}", "objective", name, "batch", (json_int_t)o.params.batch),
            &status);
    if (ok && makes_step && step_there(&run))
        step_end(&run, NULL, &status);
    else if (ok && turns)
        code = in_turns(&run, argc, argv, name, others, &status);
    else if (ok)
        run_pretrain(&run, &o, name, to, &status);
    int closed = step_close(&run, &status);
    return closed ? closed : code;
}

int gb_cli_pretrain(int argc, char **argv)
{
    return pretrain(argc, argv, NULL);
}

int pretrain_open(int argc, char **argv, training_use use, void *self)
{
    return pretrain(argc, argv, &(borrower){use, self});
}
