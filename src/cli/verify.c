/* gabbro verify: is a model folder complete, and does this device compute what it should? */
#include "cli.h"
#include "golden.h"

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: gabbro verify [options] MODEL\n"
    "\n"
    "Check a model: MODEL is a Hugging Face folder (config.json, vocab.txt, model.safetensors or\n"
    "pytorch_model.bin, which is read without executing anything) or the folder of a step. Says "
    "what was\n"
    "checked: the files, every tensor, the tokenizer, the pooling, and some texts through the "
    "model on\n"
    "the device against the same computation in float64. Where there are numbers of another "
    "program\n"
    "for this model (golden.safetensors in the folder, or --golden), those too.\n"
    "\n"
    "  --golden FILE    safetensors with any of: text (bytes, one text a line), ids, hidden.0 "
    "...,\n"
    "                   cls, mean, sentence, logits; tests/peers shows how to make it\n"
    "  --bound X        largest difference allowed from those numbers, relative (1e-4)\n"
    "  --device SELECT  as in gabbro doctor\n"
    "  --trust          print measured differences as "
    "trust:<TAB>what<TAB>against<TAB>worst<TAB>bound\n"
    "  -h, --help       this text\n"
    "\n"
    "Exit code 0: all held; 1: a difference is too large; others as for every command.\n";

#define FORWARD_BOUND 1e-5 /* float32 against float64, relative to the largest value */
#define PROBE_TOKENS  32   /* of the longest probe */

/* The command line. */
typedef struct options {
    const char *model;  /* folder */
    const char *golden; /* file, or NULL */
    const char *device; /* or NULL */
    double bound;       /* against golden numbers */
    bool trust;         /* lines to be collected */
} options;

/* ---- the parts ---- */

static void say_files(const forward_model *m)
{
    const gb_bert_config *c = &m->config;
    printf("  %-12s BERT of %u layers, hidden %u, %u heads, %u tokens, %u positions\n", "config",
           c->layers, c->hidden_size, c->heads, c->vocab_size, c->max_positions);
    uint64_t values = 0;
    for (uint32_t i = 0; i < gb_params_count(m->params); i++) {
        const gb_param *p = gb_params_at(m->params, i);
        values += (uint64_t)p->rows * p->cols;
    }
    printf("  %-12s encoder%s%s: all %llu values there, in the right shapes, finite\n", "weights",
           m->bert.head ? ", masked-LM head" : "",
           m->bert.projector.kind != GB_PROJECTOR_NONE ? ", projector" : "",
           (unsigned long long)values);
}

/* Tensors of the side file that the encoder does not use: heads and decoders of a pre-training. */
static bool check_side(const forward_model *m, gb_status *status)
{
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
        printf("  %-12s gabbro.safetensors: %zu tensors for further training, finite\n", "", count);
    gb_safetensors_close(side);
    return ok;
}

static void say_sentence(const gb_sentence_settings *s)
{
    static const char *const names[] = {[GB_POOLING_UNSTATED] = "nothing said: [CLS]",
                                        [GB_POOLING_CLS] = "[CLS]",
                                        [GB_POOLING_MEAN] = "mean over tokens"};
    printf("  %-12s %s%s, up to %u tokens\n", "pooling", names[s->pooling],
           s->normalize ? ", scaled to length 1" : "", s->max_length);
}

static bool say_prompts(const gb_folder *folder, gb_status *status)
{
    gb_text_prompts prompts;
    if (!gb_folder_prompts(folder, &prompts, status))
        return false;
    if (prompts.query)
        printf("  %-12s queries begin with \"%s\"\n", "prompts", prompts.query);
    if (prompts.passage)
        printf("  %-12s passages begin with \"%s\"\n", "prompts", prompts.passage);
    gb_text_prompts_free(&prompts);
    return true;
}

static bool check_tokenizer(const forward_model *m, tokenizing *t, gb_status *status)
{
    if (!tokenizing_open(t, m->folder, status))
        return false;
    gb_special_ids ids = gb_vocab_specials(t->vocab);
    printf("  %-12s vocab.txt: %u tokens, [CLS] %u, [SEP] %u; %s case%s\n", "tokenizer",
           gb_vocab_size(t->vocab), ids.cls, ids.sep,
           t->params.lower_case ? "lower" : "upper and lower",
           t->params.split_cjk ? ", Chinese characters apart" : "");
    if (ids.pad != m->config.pad_token_id)
        return gb_fail(status, GB_DATA, gb_folder_path(m->folder),
                       "vocab.txt and config.json are not of one model",
                       "[PAD] is token %u, but config.json says %u", ids.pad,
                       m->config.pad_token_id);
    return true;
}

/* ---- the computation ---- */

bool verify_measured(const verify_report *r, const char *what, const char *against, double worst,
                     double bound)
{
    bool held = worst <= bound;
    if (r->trust)
        printf("trust:\t%s\t%s\t%.2g\t%.2g\n", what, against, worst, bound);
    else
        printf("  %-12s %s: worst difference from %s %.1e, allowed %.0e  %s\n", "", what, against,
               worst, bound, held ? "PASS" : "FAIL");
    return held;
}

/* Few texts, so that float64 takes seconds also for large models. */
static bool probe(const verify_report *r, const forward_model *m, const tokenizing *t,
                  gb_state *state, bool *held, gb_status *status)
{
    static const char *const texts[] = {
        "", "Basalt", "Where does na\xc3\xafve caf\xc3\xa9 talk end?",
        "Gabbro is a coarse rock that cooled slowly, deep below the ground; its minerals are those "
        "of "
        "basalt, which cooled fast above, and 42% of its weight may be feldspar."};
    enum { COUNT = sizeof texts / sizeof *texts };
    uint32_t longest =
        m->sentence.max_length < PROBE_TOKENS ? m->sentence.max_length : PROBE_TOKENS;
    gb_packed packed = {0};
    forward f = {0};
    uint64_t ticket;
    double worst = 0;
    bool ok = true;
    for (size_t i = 0; ok && i < COUNT; i++)
        ok = tokenizing_add(t, &packed, texts[i], strlen(texts[i]), longest, status);
    bool logits = m->bert.head && (uint64_t)packed.rows * m->config.vocab_size < 1u << 23;
    ok = ok && forward_make(&f, m, state, packed.rows, COUNT, longest, logits, status) &&
         forward_run(&f, &packed, &ticket, status) &&
         forward_compare(&f, &packed, ticket, &worst, status);
    if (ok) {
        printf("  %-12s %u texts of %u tokens: states of every layer, pooled vectors%s\n",
               "forward", COUNT, packed.rows, logits ? ", logits" : "");
        *held = verify_measured(r, "forward pass", "float64", worst, FORWARD_BOUND) && *held;
    }
    forward_free(&f);
    gb_packed_free(&packed);
    return ok;
}

static bool compare_golden(const options *o, const verify_report *r, const forward_model *m,
                           const tokenizing *t, gb_state *state, bool *held, gb_status *status)
{
    char *path = o->golden ? gb_strdup(o->golden, status)
                           : gb_path_join(status, gb_folder_path(m->folder), "golden.safetensors");
    bool ok = path != NULL;
    if (ok && (o->golden || gb_file_exists(path)))
        ok = golden_compare(path, r, m, t, state, o->bound, held, status);
    else if (ok)
        printf("  %-12s none in the folder (--golden FILE)\n", "golden");
    free(path);
    return ok;
}

static bool verify(const options *o, bool *held, gb_status *status)
{
    forward_model m = {0};
    tokenizing t = {0};
    gb_device *device = NULL;
    gb_state *state = NULL;
    verify_report r = {.trust = o->trust};
    gb_device_params params = {.select = o->device, .quiet = true};
    bool ok = forward_model_open(&m, o->model, status);
    if (ok) {
        printf("%s\n", gb_folder_path(m.folder));
        say_files(&m);
        ok = check_side(&m, status) && check_tokenizer(&m, &t, status);
    }
    if (ok)
        say_sentence(&m.sentence);
    ok = ok && say_prompts(m.folder, status);
    ok = ok && (device = gb_device_open(&params, status)) &&
         (state = forward_state(&m, device, status));
    if (ok)
        printf("  %-12s %s\n", "device", gb_device_get_caps(device)->name);
    ok = ok && probe(&r, &m, &t, state, held, status) &&
         compare_golden(o, &r, &m, &t, state, held, status);
    gb_state_destroy(state);
    gb_device_close(device);
    tokenizing_close(&t);
    forward_model_close(&m);
    return ok;
}

/* ---- the command line ---- */

static bool parse(int argc, char **argv, options *o, int *code)
{
    static const struct option long_options[] = {
        {"golden", required_argument, NULL, 'g'}, {"bound", required_argument, NULL, 'b'},
        {"device", required_argument, NULL, 'd'}, {"trust", no_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},         {0}};
    int option;
    char *end = NULL;
    bool sound = true;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        if (option == 'g') {
            o->golden = optarg;
        } else if (option == 'b') {
            o->bound = strtod(optarg, &end);
            sound = sound && *optarg && !*end && o->bound > 0;
        } else if (option == 'd') {
            o->device = optarg;
        } else if (option == 't') {
            o->trust = true;
        } else {
            fputs(help, option == 'h' ? stdout : stderr);
            *code = option == 'h' ? 0 : GB_USAGE;
            return false;
        }
    }
    if (sound && argc - optind == 1) {
        o->model = argv[optind];
        return true;
    }
    fputs(help, stderr);
    *code = GB_USAGE;
    return false;
}

int gb_cli_verify(int argc, char **argv)
{
    gb_status status = {0};
    options o = {.bound = 1e-4};
    int code = 0;
    bool held = true;
    if (!parse(argc, argv, &o, &code))
        return code;
    if (!verify(&o, &held, &status)) {
        gb_status_print(&status);
        return status.code;
    }
    printf("%s\n", held ? "All of it holds." : "Something differs: see above.");
    return held ? 0 : GB_MISMATCH;
}
