/* Late interaction against PyLate: vectors of tokens and scores of a folder that PyLate wrote, and
 * of the same model written again, as ColBERT's own program reads it too.
 * tests/peers/golden_late.py made the numbers and says what they are. */
#include "../nn/tiny.h"
#include "trust.h"

#include <gabbro/artifact.h>
#include <gabbro/late.h>

#include <math.h>

#define PEER  "PyLate"
#define BOUND 2e-6

/* The model of a folder, opened. */
typedef struct opened {
    gb_model_input model;      /* the folder */
    gb_late_settings settings; /* what it says of tokens */
    gb_params *params;         /* of encoder and projection */
    gb_bert bert;              /* encoder */
    gb_late late;              /* projection */
    float *values;             /* of the parameters */
    gb_tokenizer *tokenizer;   /* of its vocabulary */
} opened;

/* At *o, which must not move. */
static void open_folder(opened *o, const char *path)
{
    gb_status status = {0};
    *o = (opened){0};
    MUST(gb_model_input_open(&o->model, path, NULL, &status));
    MUST(gb_folder_late(o->model.folder, o->model.vocab, &o->settings, &status));
    cr_assert_eq(o->settings.kind, GB_LATE_COLBERT);
    MUST(o->params = gb_params_create(&status));
    MUST(gb_bert_declare(o->params, &o->model.config, false, &o->bert, &status));
    MUST(gb_late_declare(o->params, &o->model.config, &o->settings,
                         gb_vocab_specials(o->model.vocab), &o->late, &status));
    MUST(o->values = gb_model_input_values(o->model.folder, o->params, &status));
    MUST(o->tokenizer = gb_tokenizer_create(o->model.vocab, o->model.tokenizer, &status));
}

static void close_folder(opened *o)
{
    gb_tokenizer_destroy(o->tokenizer);
    gb_bert_free(&o->bert);
    gb_params_destroy(o->params);
    gb_late_settings_free(&o->settings);
    gb_model_input_close(&o->model);
    free(o->values);
}

/* Vectors of the tokens of the lines of a file. */
typedef struct vectors {
    float *tokens;    /* [starts[texts], width] */
    uint32_t *starts; /* [texts + 1] */
    uint32_t texts;   /* lines */
} vectors;

static vectors encode_lines(const opened *o, gb_device *device, gb_late_side side, const char *file)
{
    gb_status status = {0};
    enum { MOST = 16 };
    vectors v = {.starts = calloc(MOST + 1, sizeof *v.starts)};
    gb_ids ids = {0};
    size_t ends[MOST + 1] = {0};
    char *text = gb_read_file(file, NULL, &status);
    MUST(text);
    for (char *at = text, *end; (end = strchr(at, '\n')); at = end + 1) {
        size_t before = ids.count;
        cr_assert_lt(v.texts, MOST);
        MUST(gb_tokenize(o->tokenizer, at, (size_t)(end - at), &ids, &status));
        ends[++v.texts] = ids.count;
        v.starts[v.texts] = v.starts[v.texts - 1] +
                            gb_late_kept(&o->late, side, ids.data + before, ids.count - before);
    }
    v.tokens = calloc((size_t)v.starts[v.texts] * o->settings.width, sizeof *v.tokens);
    const gb_late_encoder_params how = {.device = device,
                                        .bert = &o->bert,
                                        .late = &o->late,
                                        .params = o->params,
                                        .values = o->values,
                                        .side = side};
    gb_late_encoder *encoder = gb_late_encoder_create(&how, &status);
    MUST(encoder);
    const gb_encode_rows rows = {.ids = ids.data, .starts = ends, .count = v.texts};
    MUST(gb_late_encoder_run(encoder, &rows, v.tokens, NULL, NULL, &status));
    gb_late_encoder_destroy(encoder);
    free(ids.data);
    free(text);
    return v;
}

static void vectors_free(vectors *v)
{
    free(v->tokens);
    free(v->starts);
}

/* The worst difference from a golden tensor [rows, width]. */
static double worst_of(const gb_safetensors *golden, const char *name, const float *values,
                       uint32_t rows, uint32_t width)
{
    gb_status status = {0};
    double worst = 0;
    float *wanted = calloc((size_t)rows * width, sizeof *wanted);
    const gb_stored *stored = gb_safetensors_find(golden, name);
    cr_assert(stored, "no golden %s", name);
    MUST(gb_stored_read(stored, rows, width, wanted, &status));
    for (size_t i = 0; i < (size_t)rows * width; i++)
        worst = fmax(worst, fabs((double)values[i] - (double)wanted[i]));
    free(wanted);
    return worst;
}

static void check_counts(const gb_safetensors *golden, const char *name, const vectors *v)
{
    const gb_stored *stored = gb_safetensors_find(golden, name);
    cr_assert(stored && stored->shape[0] == v->texts, "%s", name);
    for (uint32_t t = 0; t < v->texts; t++) {
        int32_t count;
        memcpy(&count, (const char *)stored->data + t * sizeof count, sizeof count);
        cr_assert_eq((uint32_t)count, v->starts[t + 1] - v->starts[t], "%s of text %u: %u, not %d",
                     name, t, v->starts[t + 1] - v->starts[t], count);
    }
}

static float score_of(const vectors *q, uint32_t query, const vectors *p, uint32_t passage,
                      uint32_t width)
{
    double sum = 0;
    for (uint32_t i = q->starts[query]; i < q->starts[query + 1]; i++) {
        double best = -INFINITY;
        for (uint32_t j = p->starts[passage]; j < p->starts[passage + 1]; j++) {
            double product = 0;
            for (uint32_t c = 0; c < width; c++)
                product += (double)q->tokens[(size_t)i * width + c] *
                           (double)p->tokens[(size_t)j * width + c];
            best = fmax(best, product);
        }
        sum += best;
    }
    return (float)sum;
}

/* queries: name of the golden vectors. */
static void check_folder(const char *path, const char *what, const char *queries)
{
    gb_status status = {0};
    gb_safetensors *golden = gb_safetensors_open(GB_GOLDEN "/late/golden.safetensors", &status);
    MUST(golden);
    gb_device *device = tiny_device(GB_USER_ENCODE);
    opened o;
    open_folder(&o, path);
    uint32_t width = o.settings.width;
    vectors q = encode_lines(&o, device, GB_LATE_QUERY, GB_GOLDEN "/late/queries.txt");
    vectors p = encode_lines(&o, device, GB_LATE_PASSAGE, GB_GOLDEN "/late/passages.txt");
    char line[200];
    check_counts(golden, "query_counts", &q);
    check_counts(golden, "passage_counts", &p);
    snprintf(line, sizeof line, "%s: vectors of the tokens of queries", what);
    trust(line, PEER, worst_of(golden, queries, q.tokens, q.starts[q.texts], width), BOUND);
    snprintf(line, sizeof line, "%s: vectors of the tokens of passages", what);
    trust(line, PEER, worst_of(golden, "passages", p.tokens, p.starts[p.texts], width), BOUND);
    if (!strcmp(queries, "queries")) {
        float *scores = calloc((size_t)q.texts * p.texts, sizeof *scores);
        for (uint32_t i = 0; i < q.texts; i++)
            for (uint32_t j = 0; j < p.texts; j++)
                scores[i * p.texts + j] = score_of(&q, i, &p, j, width);
        snprintf(line, sizeof line, "%s: scores", what);
        trust(line, PEER, worst_of(golden, "scores", scores, q.texts, p.texts), 10 * BOUND);
        free(scores);
    }
    vectors_free(&q);
    vectors_free(&p);
    close_folder(&o);
    tiny_device_close(device);
    gb_safetensors_close(golden);
}

Test(late, folder_of_pylate)
{
    check_folder(GB_GOLDEN "/late/model", "a folder of PyLate", "queries");
}

/* Writes the golden model again, with what `change` makes of its settings. */
static void write_again(const char *to, bool attend)
{
    gb_status status = {0};
    opened o;
    open_folder(&o, GB_GOLDEN "/late/model");
    o.settings.attend = attend;
    const gb_sentence_settings how = {.late = &o.settings};
    const gb_model_card card = {.title = "test", .what = "A test."};
    MUST(gb_model_save(to, &o.model.config, o.params, o.values, o.model.vocab, o.model.tokenizer,
                       &how, &card, &status));
    close_folder(&o);
}

Test(late, folder_written_again)
{
    scratch s = scratch_enter();
    write_again("again", false);
    check_folder("again", "a folder of PyLate, written again", "queries");
    /* What is left is what ColBERT's own program writes. */
    cr_assert(gb_remove_tree("again/modules.json", NULL));
    cr_assert(gb_remove_tree("again/config_sentence_transformers.json", NULL));
    cr_assert(gb_remove_tree("again/1_Dense", NULL));
    check_folder("again", "the same as of ColBERT", "queries");
    scratch_leave(&s);
}

Test(late, masks_that_are_seen)
{
    scratch s = scratch_enter();
    write_again("seen", true);
    check_folder("seen", "with masks that are seen", "seen");
    scratch_leave(&s);
}

static void expect_refused(const char *file, const char *content, const char *what)
{
    gb_status status = {0};
    gb_late_settings late = {0};
    write_again("bad", false);
    FILE *out = fopen(file, "w");
    cr_assert(out && fputs(content, out) >= 0 && !fclose(out));
    gb_folder *folder = gb_folder_open("bad", &status);
    gb_vocab *vocab = folder ? gb_folder_vocab(folder, &status) : NULL;
    bool ok = vocab && gb_folder_late(folder, vocab, &late, &status);
    cr_expect_not(ok, "%s", what);
    cr_expect_eq(status.code, GB_DATA);
    cr_expect(strstr(status.what, what), "\"%s\" does not say \"%s\"", status.what, what);
    gb_late_settings_free(&late);
    gb_vocab_destroy(vocab);
    gb_folder_close(folder);
}

Test(late, what_is_not_computed_is_refused)
{
    scratch s = scratch_enter();
    expect_refused("bad/1_Dense/config.json", "{\"bias\": true}", "has a bias");
    expect_refused("bad/config_sentence_transformers.json", "{\"query_length\": 999}", "[4, 24]");
    expect_refused("bad/config_sentence_transformers.json", "{\"query_prefix\": \"[A] \"}",
                   "the marker \"[A] \" is no token");
    gb_status status = {0};
    gb_sentence_settings sentence;
    write_again("bad", false);
    gb_folder *folder = gb_folder_open("bad", &status);
    MUST(folder);
    cr_expect_not(gb_folder_sentence(folder, &sentence, &status));
    cr_expect(strstr(status.what, "a ColBERT model, whose vectors are of tokens"));
    gb_folder_close(folder);
    scratch_leave(&s);
}
