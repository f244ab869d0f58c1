/* Vectors projected to the vocabulary on the device, against the plain C model. */
#include "tiny.h"

#include "naive.h"

#include "gabbro/figures.h"

#include <math.h>

enum { TEXTS = 7, WIDTH = 16, DEPTH = 6 };

typedef struct scene {
    tiny t;                /* vocabulary and texts */
    model m;               /* the model in the folder "m" */
    gb_vocab_projection p; /* the same, as the commands open it */
    gb_device *device;     /* where */
} scene;

static void open_scene(scene *s, bool head)
{
    gb_status status = {0};
    *s = (scene){0};
    s->t = tiny_make();
    gb_bert_config config = tiny_config(&s->t, WIDTH, 32, 0);
    model_make(&s->m, &s->t, &config, NULL, NULL);
    gb_params *params = s->m.params;
    if (head) {
        MUST(gb_model_save("m", &config, params, s->m.values, s->t.vocab, GB_TOKENIZER_DEFAULTS,
                           TINY_SENTENCE, NULL, &status));
    } else { /* the encoder comes first */
        gb_bert bert;
        MUST(params = gb_params_create(&status));
        MUST(gb_bert_declare(params, &config, false, &bert, &status));
        gb_params_freeze(params);
        float *values = calloc(gb_params_floats(params), sizeof *values);
        gb_params_init(params, 1, values);
        MUST(gb_model_save("m", &config, params, values, s->t.vocab, GB_TOKENIZER_DEFAULTS,
                           TINY_SENTENCE, NULL, &status));
        free(values);
        gb_bert_free(&bert);
        gb_params_destroy(params);
    }
    MUST(gb_vocab_projection_open(&s->p, "m", NULL, &status));
    s->device = tiny_device(GB_USER_ENCODE | GB_USER_SEARCH);
}

static void close_scene(scene *s)
{
    gb_vocab_projection_close(&s->p);
    tiny_device_close(s->device);
    model_free(&s->m);
    tiny_free(&s->t);
}

/* Logits of the text in row `row` in plain C. */
static void naive_logits(const scene *s, uint32_t row, bool full, double *logits)
{
    gb_special_ids specials = gb_vocab_specials(s->t.vocab);
    size_t length;
    const uint32_t *ids = gb_row_file_row(s->t.tokens.passages, row, &length);
    uint32_t all[TINY_LONGEST], count = 0, tokens = gb_vocab_size(s->t.vocab), ld;
    all[count++] = specials.cls;
    for (size_t i = 0; i < length && count < TINY_LONGEST - 1; i++)
        all[count++] = ids[i];
    all[count++] = specials.sep;
    naive n = naive_encode(&s->m, all, count, 0, NULL);
    const float *words = model_values(&s->m, &ld, "bert.embeddings.word_embeddings.weight");
    for (uint32_t t = 0; t < tokens; t++) {
        logits[t] = full ? -naive_token_loss(&s->m, n.x, t) : 0; /* logits up to a constant */
        for (uint32_t k = 0; k < WIDTH && !full; k++)
            logits[t] += n.x[k] * (double)words[(size_t)t * ld + k];
    }
    free(n.x);
}

/* Best first, and nothing better left out, up to rounding. */
static void expect_best(const double *logits, uint32_t tokens, const uint32_t *top)
{
    for (uint32_t k = 0; k < DEPTH; k++) {
        cr_assert_lt(top[k], tokens);
        uint32_t better = 0;
        for (uint32_t t = 0; t < tokens; t++)
            better += logits[t] > logits[top[k]] + 1e-4;
        cr_expect_leq(better, k);
        for (uint32_t j = 0; j < k; j++)
            cr_expect_neq(top[j], top[k]);
    }
}

static void check(bool full)
{
    gb_status status = {0};
    scratch here = scratch_enter();
    scene s;
    open_scene(&s, true);
    uint32_t tokens = gb_vocab_size(s.t.vocab), top[TEXTS * DEPTH];
    cr_assert_geq(gb_row_file_count(s.t.tokens.passages), TEXTS);
    float *vectors = NULL;
    double *logits = calloc(tokens, sizeof *logits);
    gb_projected_texts texts = {
        .file = s.t.tokens.passages, .count = TEXTS, .max_length = TINY_LONGEST};
    MUST(gb_vocab_projection_encode(&s.p, s.device, &texts, &vectors, &status));
    gb_projected_vectors source = {vectors, TEXTS, WIDTH, full};
    MUST(gb_vocab_projection_top(&s.p, s.device, &source, DEPTH, top, &status));
    for (uint32_t i = 0; i < TEXTS; i++) {
        naive_logits(&s, i, full, logits);
        expect_best(logits, tokens, top + i * DEPTH);
    }
    free(logits);
    free(vectors);
    close_scene(&s);
    scratch_leave(&here);
}

Test(vocab_projection, bare_embeddings)
{
    check(false);
}

Test(vocab_projection, full_head)
{
    check(true);
}

Test(vocab_projection, refusals)
{
    scratch here = scratch_enter();
    scene s;
    open_scene(&s, false);
    float vector[WIDTH + 1] = {1};
    uint32_t top[DEPTH];
    gb_status status = {0};
    gb_projected_vectors source = {vector, 1, WIDTH, true};
    cr_expect_not(gb_vocab_projection_top(&s.p, s.device, &source, DEPTH, top, &status));
    cr_expect(status.code == GB_USAGE && strstr(status.what, "no masked-LM head"));
    status = (gb_status){0};
    source = (gb_projected_vectors){vector, 1, WIDTH + 1, false};
    cr_expect_not(gb_vocab_projection_top(&s.p, s.device, &source, DEPTH, top, &status));
    cr_expect(status.code == GB_USAGE && strstr(status.what, "17"));
    status = (gb_status){0};
    source.width = WIDTH;
    cr_expect_not(gb_vocab_projection_top(&s.p, s.device, &source, 1 << 20, top, &status));
    cr_expect_eq(status.code, GB_USAGE);
    close_scene(&s);
    scratch_leave(&here);
}

Test(vocab_projection, names_of_models)
{
    gb_status status = {0};
    char name[GB_MODEL_NAME];
    const char *item = "Plain MLM=/a/b=c";
    cr_assert(gb_model_name(&item, name, &status));
    cr_expect_str_eq(name, "Plain MLM");
    cr_expect_str_eq(item, "/a/b=c");
    item = "/a/pretrain-12/";
    cr_assert(gb_model_name(&item, name, &status));
    cr_expect_str_eq(name, "pretrain-12");
    cr_expect_str_eq(item, "/a/pretrain-12/");
    static const char *const bad[] = {"=x", "a=", "", "/", "a\tb=x", "\xff=x"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        status = (gb_status){0};
        item = bad[i];
        cr_expect_not(gb_model_name(&item, name, &status), "%s", bad[i]);
        cr_expect_eq(status.code, GB_USAGE);
    }
}
