/* SimLM: which texts encoder and decoder get, its loss, how its decoder starts, and what it
 * refuses.
 */
#include "seen.h"

#include "pretrain/common.h"

#include <math.h>

#define STEP 3

typedef struct bench {
    scratch folder;           /* where files are */
    tiny t;                   /* collection, generator */
    gb_bert_config generator; /* of the generator */
    tiny_params params;       /* settings */
    gb_device *device;        /* where */
    model m;                  /* trained */
} bench;

static void bench_make(bench *b, uint32_t masks)
{
    gb_status status = {0};
    b->folder = scratch_enter();
    b->t = tiny_make();
    b->generator = tiny_generator(&b->t);
    b->device = tiny_device(GB_USER_TRAIN);
    b->params = tiny_settings();
    b->params.decoder_masks = masks;
    b->params.decoder_mask_ratio = .6;
    b->params.decoder_layers = 2;
    gb_bert_config config = tiny_config(&b->t, 16, 32, 0);
    model_make(&b->m, &b->t, &config, "simlm", &b->params);
    MUST(b->m.objective->prepare(b->m.self, b->device, b->m.params, b->m.values, &status));
}

static void bench_free(bench *b)
{
    model_free(&b->m);
    tiny_device_close(b->device);
    tiny_free(&b->t);
    scratch_leave(&b->folder);
}

/* ---- texts ---- */

/* A text of one side as it is before the generator fills it. */
typedef struct hidden {
    uint32_t ids[TINY_LONGEST];   /* with specials */
    uint32_t clean[TINY_LONGEST]; /* the passage */
    bool masked[TINY_LONGEST];    /* hidden from the model */
    uint32_t length;              /* tokens */
} hidden;

/* Masks are drawn by (seed, step, 2 i + side); what side 1 has beyond side 0 where they nest is a
 * share of its own. */
static hidden hide(const bench *b, uint32_t i, uint32_t side, const uint32_t *clean,
                   uint32_t length)
{
    const tiny_params *p = &b->params;
    gb_special_ids specials = gb_vocab_specials(b->t.vocab);
    hidden h = {.length = length};
    memcpy(h.clean, clean, length * sizeof *clean);
    memcpy(h.ids, clean, length * sizeof *clean);
    for (uint32_t s = 0; s <= side; s++) {
        bool nested = p->decoder_masks == TINY_NESTED;
        double more = nested ? (p->decoder_mask_ratio - p->mask_ratio) / (1 - p->mask_ratio)
                             : p->decoder_mask_ratio;
        gb_mask_params how = {.ratio = s ? more : p->mask_ratio, .all_mask = true};
        gb_rng rng = gb_rng_make(p->common.seed, GB_RNG_MASK, STEP, 2 * i + s);
        uint32_t ids[TINY_LONGEST];
        int32_t labels[TINY_LONGEST];
        gb_mask_words(b->t.vocab, &how, clean + 1, length - 2, &rng, ids, labels);
        for (uint32_t k = 0; k < length - 2; k++)
            if (labels[k] != GB_IGNORE && (s == side || nested)) {
                h.ids[k + 1] = specials.mask;
                h.masked[k + 1] = true;
            }
    }
    return h;
}

/* The token that the generator draws as the row-th of a side: the largest of log p with Gumbel
 * noise. *lead: by how much. */
static uint32_t drawn_by(const model *g, const bench *b, const double *state, uint32_t side,
                         uint32_t row, double *lead)
{
    gb_rng rng = gb_rng_make(b->params.common.seed, GB_RNG_DRAW, 2 * STEP + side, row);
    uint32_t token = 0;
    double best = -INFINITY;
    for (uint32_t v = 0; v < g->config.vocab_size; v++) {
        double u = (gb_rng_u32(&rng) + .5) / 4294967296.0;
        double key = -naive_token_loss(g, state, v) - log(-log(1 - u));
        *lead = key > best ? key - best : fmin(*lead, best - key);
        token = key > best ? v : token;
        best = fmax(best, key);
    }
    return token;
}

/* The texts of one side are the passages with their masks filled by the generator. Counts masked
 * tokens, and those that changed. */
static void check_side(const bench *b, const model *g, const seen_batch *texts, uint32_t side,
                       pair_source *source, uint32_t *masked, uint32_t *changed)
{
    gb_pretrain_data data = tiny_data(&b->t);
    gb_special_ids specials = gb_vocab_specials(b->t.vocab);
    uint32_t row = 0;
    for (uint32_t i = 0; i < texts->count; i++) {
        text_ids pair[2];
        uint32_t clean[TINY_LONGEST] = {specials.cls}, length;
        const uint32_t *ids = ids_of(texts, i, &length);
        pretrain_pair_source_at(source, &data, &b->params.common, STEP, i, pair);
        uint32_t inner =
            pair[0].length < TINY_LONGEST - 2 ? (uint32_t)pair[0].length : TINY_LONGEST - 2;
        cr_assert_eq(length, inner + 2);
        memcpy(clean + 1, pair[0].ids, inner * sizeof *clean);
        clean[inner + 1] = specials.sep;
        hidden h = hide(b, i, side, clean, length);
        naive states = naive_encode(g, h.ids, length, 0, NULL);
        for (uint32_t k = 0; k < length; k++) {
            double lead = INFINITY;
            uint32_t wanted =
                h.masked[k] ? drawn_by(g, b, states.x + (size_t)k * states.hidden, side, row, &lead)
                            : clean[k];
            cr_expect(ids[k] == wanted || lead < 1e-4, "text %u of side %u, token %u: %u, not %u",
                      i, side, k, ids[k], wanted);
            row += h.masked[k];
            *masked += h.masked[k];
            *changed += ids[k] != clean[k];
        }
        free(states.x);
    }
}

static void texts_case(uint32_t masks)
{
    gb_status status = {0};
    bench b;
    bench_make(&b, masks);
    model g;
    model_make(&g, &b.t, &b.generator, NULL, NULL);
    pass p = compare_pass_make(&b.m, b.device, STEP, 0);
    gb_pretrain_data data = tiny_data(&b.t);
    tiny_params settings = b.params;
    settings.common.context = GB_CONTEXT_SELF;
    pair_source source;
    MUST(pretrain_pair_source_make(&source, &data, &settings.common, false, &status));
    b.params = settings;
    uint32_t masked[2] = {0}, changed[2] = {0};
    for (uint32_t side = 0; side < 2; side++) {
        seen_batch texts = batch_of(&p, side, settings.common.batch);
        check_side(&b, &g, &texts, side, &source, &masked[side], &changed[side]);
        cr_expect_gt(changed[side], masked[side] / 2, "%u of %u masked tokens changed",
                     changed[side], masked[side]);
    }
    cr_expect_gt(masked[1], masked[0]);
    pretrain_pair_source_free(&source);
    compare_pass_free(&p);
    model_free(&g);
    bench_free(&b);
}

Test(simlm, masks_are_filled_by_the_generator)
{
    texts_case(TINY_NESTED);
}

Test(simlm, masks_may_be_independent)
{
    texts_case(TINY_INDEPENDENT);
}

/* ---- the loss ---- */

/* Labels are the tokens of the passage in all rows but specials, of both sides. */
static void check_labels(const bench *b, const pass *p, const seen_batch *texts, uint32_t n)
{
    gb_pretrain_data data = tiny_data(&b->t);
    tiny_params settings = b->params;
    gb_status status = {0};
    settings.common.context = GB_CONTEXT_SELF;
    pair_source source;
    MUST(pretrain_pair_source_make(&source, &data, &settings.common, false, &status));
    const uint32_t *rows = gb_reference_u(p->reference, pass_input(p, "selected rows", n));
    const uint32_t *labels = gb_reference_u(p->reference, pass_input(p, "labels", 0));
    uint32_t at = 0;
    while (rows[at] == GB_NO_ROW)
        at++;
    for (uint32_t i = 0; i < texts->count; i++) {
        text_ids pair[2];
        pretrain_pair_source_at(&source, &data, &settings.common, STEP, i, pair);
        for (uint32_t r = texts->starts[i] + 1; r + 1 < texts->starts[i + 1]; r++, at++) {
            cr_assert_eq(rows[at], r);
            cr_expect_eq(labels[at], pair[0].ids[r - texts->starts[i] - 1]);
        }
    }
    pretrain_pair_source_free(&source);
}

Test(simlm, loss)
{
    bench b;
    bench_make(&b, TINY_NESTED);
    pass p = compare_pass_make(&b.m, b.device, STEP, 0);
    seen_batch texts = batch_of(&p, 0, b.params.common.batch),
               worse = batch_of(&p, 1, b.params.common.batch);
    naive states[MOST], decoded[MOST];
    encode_batch(&b.m, &texts, states, 0, NULL);
    for (uint32_t s = 0; s < worse.count; s++) {
        uint32_t length;
        const uint32_t *ids = ids_of(&worse, s, &length);
        decoded[s] = naive_embed(&b.m, ids, length);
        memcpy(decoded[s].x, states[s].x, states[s].hidden * sizeof(double));
        naive_layer(&b.m, "decoder.layer.0", &decoded[s]);
        naive_layer(&b.m, "decoder.layer.1", &decoded[s]);
    }
    check_labels(&b, &p, &texts, 2);
    check_labels(&b, &p, &worse, 3);
    expect_loss(p.loss[0],
                mean_token_loss(&b.m, &p, &texts, states, 2) +
                    mean_token_loss(&b.m, &p, &worse, decoded, 3),
                "total");
    free_batch(states, texts.count);
    free_batch(decoded, worse.count);
    compare_pass_free(&p);
    bench_free(&b);
}

/* ---- the decoder's start ---- */

static bool same_param(const model *m, const char *a, const char *b)
{
    uint32_t i = gb_params_find(m->params, a), j = gb_params_find(m->params, b);
    cr_assert(i != UINT32_MAX && j != UINT32_MAX);
    const gb_param *p = gb_params_at(m->params, i), *q = gb_params_at(m->params, j);
    for (uint32_t r = 0; r < p->rows; r++)
        if (memcmp(m->values + p->offset + (size_t)r * p->ld,
                   m->values + q->offset + (size_t)r * q->ld, p->cols * sizeof(float)))
            return false;
    return true;
}

/* It copies the last layers, and leaves what the model to start from has. */
Test(simlm, decoder_starts_as_the_last_layers)
{
    static const char *const names[] = {"attention.self.qkv.weight", "attention.self.qkv.bias",
                                        "output.LayerNorm.weight"};
    gb_status status = {0};
    scratch s = scratch_enter();
    tiny t = tiny_make();
    tiny_generator(&t);
    tiny_params settings = tiny_settings(); /* one layer of two */
    gb_bert_config config = tiny_config(&t, 16, 32, 0);
    model m;
    model_make(&m, &t, &config, "simlm", &settings);
    gb_model_card card = {.title = "tiny", .what = "A test."};
    MUST(gb_model_save("trained", &config, m.params, m.values, t.vocab, GB_TOKENIZER_DEFAULTS,
                       TINY_SENTENCE, &card, &status));
    gb_folder *trained = gb_folder_open("trained", &status);
    MUST(trained);
    const gb_folder *inits[] = {trained, t.generator, NULL};
    for (int i = 0; i < 3; i++) {
        m.objective->start(m.self, inits[i], m.params, m.values);
        for (int n = 0; n < 3; n++) {
            char from[96], to[96];
            snprintf(from, sizeof from, "bert.encoder.layer.1.%s", names[n]);
            snprintf(to, sizeof to, "decoder.layer.0.%s", names[n]);
            cr_expect_eq(same_param(&m, from, to), i > 0, "%s, start %d", to, i);
            m.values[gb_params_at(m.params, gb_params_find(m.params, to))->offset] += 1;
        }
    }
    gb_folder_close(trained);
    model_free(&m);
    tiny_free(&t);
    scratch_leave(&s);
}

/* ---- what it refuses ---- */

static void expect_refused(const tiny *t, const gb_bert_config *config, const tiny_params *settings,
                           gb_code code, const char *what)
{
    gb_status status = {0}, refused = {0};
    const gb_objective *simlm = gb_objective_find("simlm");
    gb_own_settings own;
    gb_pretrain_params how = tiny_pretrain(settings, simlm, &own);
    gb_pretrain_data data = tiny_data(t);
    gb_task task;
    gb_bert bert;
    gb_params *params = gb_params_create(&status);
    MUST(params && gb_bert_declare(params, config, true, &bert, &status));
    cr_expect_null(simlm->create(&how, &data, &bert, params, &task, &refused));
    cr_expect_eq(refused.code, code);
    cr_expect(strstr(refused.what, what), "\"%s\" does not tell \"%s\"", refused.what, what);
    gb_bert_free(&bert);
    gb_params_destroy(params);
}

Test(simlm, refuses)
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    tiny_params settings = tiny_settings();
    gb_bert_config config = tiny_config(&t, 16, 32, 0), small = config;
    expect_refused(&t, &config, &settings, GB_USAGE, "--generator");
    tiny_generator(&t);
    settings.decoder_mask_ratio = .2;
    expect_refused(&t, &config, &settings, GB_USAGE, "at least --mask-ratio");
    settings = tiny_settings();
    settings.decoder_layers = 3;
    expect_refused(&t, &config, &settings, GB_USAGE, "last 3 layers");
    settings = tiny_settings();
    small.vocab_size--;
    expect_refused(&t, &small, &settings, GB_DATA, "63 tokens, the encoder 62");
    settings.common.max_length = 99;
    expect_refused(&t, &config, &settings, GB_DATA, "29 positions");
    tiny_free(&t);
    scratch_leave(&s);
}
