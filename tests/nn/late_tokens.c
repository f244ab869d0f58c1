/* Texts of late interaction: how they lie in a batch, which of their tokens take part, and that
 * vectors do not depend on what else is encoded with them. */
#include "naive.h"

#include <gabbro/late.h>

#include <math.h>

#define TEXTS 150
#define WIDTH 8

/* A model of late interaction with random values, and texts. */
typedef struct late_model {
    tiny t;                             /* vocabulary */
    model m;                            /* encoder, its parameters and those of the projection */
    gb_late_settings settings;          /* of the kind */
    gb_late late;                       /* the projection */
    gb_device *device;                  /* where */
    uint32_t ids[TEXTS * TINY_LONGEST]; /* of all texts */
    size_t starts[TEXTS + 1];           /* of each; some are empty, some too long */
} late_model;

/* Encoder and projection; one word of passages is left out. */
static void open_late(late_model *x, gb_late_kind kind)
{
    gb_status status = {0};
    *x = (late_model){.t = tiny_make()};
    x->m.config = tiny_config(&x->t, 16, 32, .1);
    MUST(gb_late_settings_new(kind, x->t.vocab, &x->m.config, &x->settings, &status));
    x->settings.width = WIDTH;
    x->settings.query_length = 10;
    x->settings.passage_length = 14;
    if (kind == GB_LATE_COLBERT) { /* instead of punctuation */
        x->settings.skipped[0] = 20;
        x->settings.skipped_count = 1;
    }
    MUST(x->m.params = gb_params_create(&status));
    MUST(gb_bert_declare(x->m.params, &x->m.config, false, &x->m.bert, &status));
    MUST(gb_late_declare(x->m.params, &x->m.config, &x->settings, gb_vocab_specials(x->t.vocab),
                         &x->late, &status));
    gb_params_freeze(x->m.params);
    MUST(x->m.values = gb_alloc(gb_params_floats(x->m.params), sizeof(float), &status));
    gb_params_init(x->m.params, 3, x->m.values);
    for (uint32_t i = 0; i < TEXTS; i++) {
        gb_rng rng = gb_rng_make(6, GB_RNG_TEST, i, 1);
        uint32_t length = gb_rng_below(&rng, TINY_LONGEST);
        x->starts[i + 1] = x->starts[i] + length;
        for (uint32_t k = 0; k < length; k++)
            x->ids[x->starts[i] + k] = 10 + gb_rng_below(&rng, 20);
    }
    x->device = tiny_device(GB_USER_ENCODE);
}

static void close_late(late_model *x)
{
    tiny_device_close(x->device);
    gb_bert_free(&x->m.bert);
    gb_params_destroy(x->m.params);
    free(x->m.values);
    gb_late_settings_free(&x->settings);
    tiny_free(&x->t);
}

Test(late_tokens, texts_are_packed)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    late_model x;
    open_late(&x, GB_LATE_COLBERT);
    gb_special_ids specials = gb_vocab_specials(x.t.vocab);
    const uint32_t text[] = {11, 20, 12, 13, 14, 15, 16, 17, 18, 19, 21, 22, 23, 24};
    gb_batch batch = {0};
    uint32_t tags[14];
    cr_expect_eq(x.settings.query.id, x.m.config.vocab_size - 2);
    cr_expect_str_eq(x.settings.passage.text, "[D] ");
    MUST(gb_late_add(&x.late, GB_LATE_QUERY, text, 3, &batch, &status));
    const uint32_t query[] = {specials.cls, x.settings.query.id, 11, 20, 12, specials.sep};
    cr_assert_eq(batch.rows, 10);
    cr_expect_eq(memcmp(batch.ids, query, sizeof query), 0);
    for (uint32_t i = 6; i < 10; i++)
        cr_expect(batch.ids[i] == specials.mask && batch.positions[i] == i);
    gb_late_tags(&x.late, GB_LATE_QUERY, batch.ids, 10, tags);
    for (uint32_t i = 0; i < 10; i++)
        cr_expect_eq(tags[i], 0, "token %u of a query", i);
    cr_expect_eq(gb_late_kept(&x.late, GB_LATE_QUERY, text, 3), 10);
    /* A passage is cut in front of [SEP]; word 20 takes no part. */
    gb_batch_reset(&batch);
    MUST(gb_late_add(&x.late, GB_LATE_PASSAGE, text, 14, &batch, &status));
    cr_assert_eq(batch.rows, 14);
    cr_expect_eq(batch.ids[1], x.settings.passage.id);
    cr_expect_eq(batch.ids[12], 21);
    cr_expect_eq(batch.ids[13], specials.sep);
    gb_late_tags(&x.late, GB_LATE_PASSAGE, batch.ids, 14, tags);
    for (uint32_t i = 0; i < 14; i++)
        cr_expect_eq(tags[i], i == 3 ? GB_NO_ROW : 0, "token %u of a passage", i);
    cr_expect_eq(gb_late_kept(&x.late, GB_LATE_PASSAGE, text, 14), 13);
    gb_batch_free(&batch);
    close_late(&x);
    scratch_leave(&s);
}

/* Tokens of all texts, alone or together: [sum of kept, WIDTH]; free(). */
static float *encode_all(const late_model *x, gb_late_side side, uint32_t at_once, float *whole,
                         uint32_t *tags, size_t *kept)
{
    gb_status status = {0};
    const gb_late_encoder_params how = {.device = x->device,
                                        .bert = &x->m.bert,
                                        .late = &x->late,
                                        .params = x->m.params,
                                        .values = x->m.values,
                                        .side = side};
    gb_late_encoder *encoder = gb_late_encoder_create(&how, &status);
    MUST(encoder);
    float *tokens = calloc((size_t)TEXTS * TINY_LONGEST * WIDTH, sizeof *tokens);
    *kept = 0;
    for (uint32_t t = 0; t < TEXTS; t += at_once) {
        gb_encode_rows rows = {.ids = x->ids, .starts = x->starts, .first = t, .count = at_once};
        MUST(gb_late_encoder_run(encoder, &rows, tokens + *kept * WIDTH,
                                 whole ? whole + t * 16 : NULL, tags ? tags + *kept : NULL,
                                 &status));
        for (uint32_t i = t; i < t + at_once; i++)
            *kept += gb_late_kept(&x->late, side, x->ids + x->starts[i],
                                  x->starts[i + 1] - x->starts[i]);
    }
    gb_late_encoder_destroy(encoder);
    return tokens;
}

/* What nothing attends to changes nothing: the tokens before the [MASK]s are those of the plain
 * encoder. */
static void expect_plain(const late_model *x, const float *tokens)
{
    const gb_param *weight = gb_params_at(x->m.params, x->late.weight);
    gb_special_ids specials = gb_vocab_specials(x->t.vocab);
    for (uint32_t t = 0, at = 0; t < TEXTS; t += 10, at += 10 * x->settings.query_length) {
        uint32_t ids[10] = {specials.cls, x->settings.query.id}, count = 2;
        size_t length = x->starts[t + 1] - x->starts[t];
        for (size_t i = 0; i < length && count < 9; i++)
            ids[count++] = x->ids[x->starts[t] + i];
        ids[count++] = specials.sep;
        naive n = naive_encode(&x->m, ids, count, 0, NULL);
        for (uint32_t r = 0; r < count; r++) {
            double v[WIDTH] = {0}, square = 0;
            for (uint32_t c = 0; c < WIDTH; c++) {
                for (uint32_t h = 0; h < n.hidden; h++)
                    v[c] += (double)x->m.values[weight->offset + c * weight->ld + h] *
                            n.x[r * n.hidden + h];
                square += v[c] * v[c];
            }
            for (uint32_t c = 0; c < WIDTH; c++)
                cr_expect_float_eq(tokens[(size_t)(at + r) * WIDTH + c], v[c] / sqrt(square), 2e-6,
                                   "text %u, token %u", t, r);
        }
        free(n.x);
    }
}

Test(late_tokens, no_text_depends_on_others)
{
    scratch s = scratch_enter();
    late_model x;
    size_t kept, alone_kept;
    open_late(&x, GB_LATE_COLBERT);
    for (int side = 0; side < 2; side++) {
        float *all = encode_all(&x, (gb_late_side)side, TEXTS, NULL, NULL, &kept);
        float *alone = encode_all(&x, (gb_late_side)side, 1, NULL, NULL, &alone_kept);
        cr_assert_eq(kept, alone_kept);
        cr_expect_eq(memcmp(all, alone, kept * WIDTH * sizeof *all), 0);
        if (side == GB_LATE_QUERY)
            expect_plain(&x, all);
        free(all);
        free(alone);
    }
    close_late(&x);
    scratch_leave(&s);
}

Test(late_tokens, coil_has_tags_and_whole_vectors)
{
    scratch s = scratch_enter();
    late_model x;
    size_t kept, at = 0;
    open_late(&x, GB_LATE_COIL);
    float *whole = calloc(TEXTS * 16, sizeof *whole);
    uint32_t *tags = calloc(TEXTS * TINY_LONGEST, sizeof *tags);
    float *tokens = encode_all(&x, GB_LATE_PASSAGE, TEXTS, whole, tags, &kept);
    gb_special_ids specials = gb_vocab_specials(x.t.vocab);
    for (uint32_t t = 0; t < TEXTS; t++) {
        size_t length = x.starts[t + 1] - x.starts[t], cut = length < 12 ? length : 12;
        for (size_t i = 0; i < cut; i++)
            cr_expect_eq(tags[at + i], x.ids[x.starts[t] + i], "text %u", t);
        at += cut;
        if (t % 30)
            continue;
        uint32_t ids[14] = {specials.cls};
        for (size_t i = 0; i < cut; i++)
            ids[1 + i] = x.ids[x.starts[t] + i];
        ids[1 + cut] = specials.sep;
        naive n = naive_encode(&x.m, ids, (uint32_t)cut + 2, 0, NULL);
        for (uint32_t h = 0; h < 16; h++)
            cr_expect_float_eq(whole[t * 16 + h], n.x[h], 2e-5, "[CLS] of text %u", t);
        free(n.x);
    }
    cr_expect_eq(at, kept);
    free(tokens), free(tags), free(whole);
    close_late(&x);
    scratch_leave(&s);
}
