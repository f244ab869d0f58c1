/* Checks whether a model folder is complete, and whether a device computes it correctly. */
#include "verify.h"

#include <stdlib.h>
#include <string.h>

#define FORWARD_BOUND 1e-5 /* float32 against float64, relative to the largest value */
#define PROBE_TOKENS  32   /* of the longest probe */

/* ---- the parts ---- */

static void say_files(const verification *v)
{
    FILE *out = v->params->out;
    const forward_model *m = &v->model;
    const gb_bert_config *c = &m->config;
    fprintf(out, "  %-12s %s of %u layers, hidden %u, %u heads, %u tokens, %u positions\n",
            "config", gb_encoder_name(c->kind), c->layers, c->hidden_size, c->heads, c->vocab_size,
            c->max_positions);
    uint64_t values = 0;
    for (uint32_t i = 0; i < gb_params_count(m->params); i++) {
        const gb_param *p = gb_params_at(m->params, i);
        values += (uint64_t)p->rows * p->cols;
    }
    fprintf(out, "  %-12s encoder%s%s: all %llu values there, in the right shapes, finite\n",
            "weights", m->bert.head ? ", masked-LM head" : "",
            m->bert.projector.kind != GB_PROJECTOR_NONE ? ", projector" : "",
            (unsigned long long)values);
}

/* Tensors of the side file that the encoder does not use: heads and decoders of a pre-training. */
static bool check_side(const verification *v, gb_status *status)
{
    const forward_model *m = &v->model;
    char *path = gb_path_join(status, gb_folder_path(m->folder), "gabbro.safetensors");
    if (!path || !gb_file_exists(path)) {
        bool none = path != NULL;
        free(path);
        return none;
    }
    gb_safetensors *side = gb_safetensors_open(path, status);
    free(path);
    bool ok = side != NULL;
    size_t count = side ? gb_safetensors_count(side) : 0;
    for (size_t i = 0; ok && i < count; i++) {
        const gb_stored *t = gb_safetensors_at(side, i);
        uint64_t rows = t->rank ? t->shape[0] : 1, cols = t->rank == 2 ? t->shape[1] : 0;
        float *values = gb_alloc((size_t)(rows * (cols ? cols : 1)), sizeof *values, status);
        ok = values && gb_folder_read(m->folder, t->name, rows, cols, values, status);
        free(values);
    }
    if (ok)
        fprintf(v->params->out,
                "  %-12s gabbro.safetensors: %zu tensors for further training, finite\n", "",
                count);
    gb_safetensors_close(side);
    return ok;
}

static void say_sentence(const verification *v)
{
    const gb_sentence_settings *s = &v->model.sentence;
    static const char *const names[] = {[GB_POOLING_UNSTATED] = "nothing said: [CLS]",
                                        [GB_POOLING_CLS] = "[CLS]",
                                        [GB_POOLING_MEAN] = "mean over tokens",
                                        [GB_POOLING_LAST] = "last token",
                                        [GB_POOLING_TERMS] = "largest term weights over tokens"};
    fprintf(v->params->out, "  %-12s %s%s, up to %u tokens\n", "pooling", names[s->pooling],
            s->normalize ? ", scaled to length 1" : "", s->max_length);
}

static bool say_prompts(const verification *v, gb_status *status)
{
    FILE *out = v->params->out;
    gb_text_prompts prompts;
    if (!gb_folder_prompts(v->model.folder, &prompts, status))
        return false;
    if (prompts.query)
        fprintf(out, "  %-12s queries begin with \"%s\"\n", "prompts", prompts.query);
    if (prompts.passage)
        fprintf(out, "  %-12s passages begin with \"%s\"\n", "prompts", prompts.passage);
    gb_text_prompts_free(&prompts);
    return true;
}

static bool check_tokenizer(verification *v, gb_status *status)
{
    const forward_model *m = &v->model;
    tokenizing *t = &v->tokens;
    if (!compare_tokenizing_open(t, m->folder, status))
        return false;
    gb_special_ids ids = gb_vocab_specials(t->vocab);
    static const char *const kinds[] = {"WordPiece", "byte-level BPE", "Unigram"};
    gb_vocab_kind kind = gb_vocab_get_rules(t->vocab)->kind;
    bool words = kind == GB_VOCAB_WORDS;
    fprintf(v->params->out, "  %-12s %s: %u tokens, %s %u, %s %u%s%s\n", "tokenizer", kinds[kind],
            gb_vocab_size(t->vocab), gb_vocab_token(t->vocab, ids.cls), ids.cls,
            gb_vocab_token(t->vocab, ids.sep), ids.sep,
            !words                 ? ""
            : t->params.lower_case ? "; lower case"
                                   : "; upper and lower case",
            words && t->params.split_cjk ? ", Chinese characters apart" : "");
    if (ids.pad != m->config.pad_token_id)
        return gb_fail(status, GB_DATA, gb_folder_path(m->folder),
                       "vocab.txt and config.json are not of one model",
                       "[PAD] is token %u, but config.json says %u", ids.pad,
                       m->config.pad_token_id);
    return true;
}

/* ---- the computation ---- */

void compare_verify_measured(verification *v, const char *what, const char *against, double worst,
                             double bound)
{
    FILE *out = v->params->out;
    bool within = worst <= bound;
    if (v->params->trust)
        fprintf(out, "trust:\t%s\t%s\t%.2g\t%.2g\n", what, against, worst, bound);
    else
        fprintf(out, "  %-12s %s: worst difference from %s %.1e, allowed %.0e  %s\n", "", what,
                against, worst, bound, within ? "PASS" : "FAIL");
    v->held = v->held && within;
}

/* Few texts, so that float64 takes seconds also for large models. */
static bool probe(verification *v, gb_status *status)
{
    static const char *const texts[] = {
        "", "Basalt", "Where does na\xc3\xafve caf\xc3\xa9 talk end?",
        ("Gabbro is a coarse rock that cooled slowly, deep below the ground; its minerals are "
         "those of basalt, which cooled fast above, and 42% of its weight may be feldspar.")};
    enum { COUNT = sizeof texts / sizeof *texts };
    const forward_model *m = &v->model;
    uint32_t max_length =
        m->sentence.max_length < PROBE_TOKENS ? m->sentence.max_length : PROBE_TOKENS;
    gb_batch batch = {0};
    forward f = {0};
    uint64_t ticket;
    double worst = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < COUNT; i++)
        ok = compare_tokenizing_add(&v->tokens, &batch, texts[i], strlen(texts[i]), max_length,
                                    status);
    bool logits = m->bert.head && (uint64_t)batch.rows * m->config.vocab_size < 1u << 23;
    ok = ok &&
         compare_forward_make(&f, m, v->state, batch.rows, COUNT, max_length, logits, status) &&
         compare_forward_run(&f, &batch, &ticket, status) &&
         compare_forward_compare(&f, &batch, ticket, &worst, status);
    if (ok) {
        fprintf(v->params->out,
                "  %-12s %u texts of %u tokens: states of every layer, pooled vectors%s\n",
                "forward", COUNT, batch.rows, logits ? ", logits" : "");
        compare_verify_measured(v, "forward pass", "float64", worst, FORWARD_BOUND);
    }
    compare_forward_free(&f);
    gb_batch_free(&batch);
    return ok;
}

static bool compare_golden(verification *v, gb_status *status)
{
    const char *given = v->params->golden, *folder = gb_folder_path(v->model.folder);
    char *path =
        given ? gb_strdup(given, status) : gb_path_join(status, folder, "golden.safetensors");
    bool ok = path != NULL;
    if (ok && (given || gb_file_exists(path)))
        ok = compare_golden_compare(v, path, status);
    else if (ok)
        fprintf(v->params->out, "  %-12s none in the folder (--golden FILE)\n", "golden");
    free(path);
    return ok;
}

/* All that needs no device. */
static bool check_folder(verification *v, gb_status *status)
{
    if (!compare_forward_model_open(&v->model, v->params->model, status))
        return false;
    fprintf(v->params->out, "%s\n", gb_folder_path(v->model.folder));
    say_files(v);
    if (!check_side(v, status) || !check_tokenizer(v, status))
        return false;
    say_sentence(v);
    return say_prompts(v, status);
}

bool gb_verify(const gb_verify_params *params, bool *held, gb_status *status)
{
    verification v = {.params = params, .held = true};
    gb_device_params device = gb_ops_device(params->config, params->select);
    device.quiet = true;
    bool ok = check_folder(&v, status) && (v.device = gb_device_open(&device, status)) &&
              (v.state = compare_forward_state(&v.model, v.device, status));
    if (ok)
        fprintf(params->out, "  %-12s %s\n", "device", gb_device_get_caps(v.device)->name);
    ok = ok && probe(&v, status) && compare_golden(&v, status);
    *held = v.held;
    gb_state_destroy(v.state);
    gb_device_close(v.device);
    compare_tokenizing_close(&v.tokens);
    compare_forward_model_close(&v.model);
    return ok;
}
