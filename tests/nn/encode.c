/* Vectors of texts do not depend on what else is encoded with them. */
#include "naive.h"

#include <math.h>

#define TEXTS 300
#define ALONE 60 /* of them are encoded alone too */

typedef struct texts {
    tiny t;            /* vocabulary */
    model m;           /* encoder */
    gb_row_file *file; /* TEXTS texts of random ids, some empty, some too long */
    gb_device *device; /* where */
} texts;

/* global_every: as ModernBERT has it; 0: a BERT. */
static void open_kind(texts *x, uint32_t global_every)
{
    gb_status status = {0};
    x->t = tiny_make();
    gb_bert_config config = tiny_config(&x->t, 16, 32, .1); /* which encoding must not do */
    if (global_every) {
        config.kind = GB_ENCODER_MODERNBERT;
        config.type_vocab_size = 0;
        config.window = 6;
        config.global_every = global_every;
        config.theta = 1000;
        config.local_theta = 100;
    }
    model_make(&x->m, &x->t, &config, NULL, NULL);
    gb_row_writer *writer = gb_row_writer_open("texts.gbt", 4, &status);
    MUST(writer);
    for (uint32_t i = 0; i < TEXTS; i++) {
        gb_rng rng = gb_rng_make(6, GB_RNG_TEST, i, 0);
        uint32_t ids[TINY_LONGEST + 8], length = gb_rng_below(&rng, TINY_LONGEST + 8);
        for (uint32_t k = 0; k < length; k++)
            ids[k] = gb_rng_below(&rng, config.vocab_size);
        MUST(gb_row_writer_add(writer, ids, length, &status));
    }
    MUST(gb_row_writer_commit(writer, &status));
    MUST(x->file = gb_row_file_open("texts.gbt", 4, &status));
    x->device = tiny_device(GB_USER_ENCODE | (global_every ? GB_USER_GENERATE : 0));
}

static void open_texts(texts *x)
{
    open_kind(x, 0);
}

static void close_texts(texts *x)
{
    tiny_device_close(x->device);
    gb_row_file_close(x->file);
    model_free(&x->m);
    tiny_free(&x->t);
}

static gb_encoder_params params_of(const texts *x)
{
    return (gb_encoder_params){.device = x->device,
                               .bert = &x->m.bert,
                               .params = x->m.params,
                               .values = x->m.values,
                               .specials = gb_vocab_specials(x->t.vocab),
                               .max_length = TINY_LONGEST};
}

static void encode(const texts *x, const uint32_t *rows, uint32_t count, float *out)
{
    gb_status status = {0};
    const gb_encoder_params how = params_of(x);
    const gb_encode_rows wanted = {
        .tokens = x->file, .rows = rows, .count = count, .label = "test"};
    MUST(gb_encode(&how, &wanted, out, &status));
}

/* States of [CLS], the text as far as it fits, and [SEP]. */
static naive states_of(const texts *x, uint32_t row)
{
    size_t length;
    const uint32_t *text = gb_row_file_row(x->file, row, &length);
    uint32_t ids[TINY_LONGEST], count = 0;
    gb_special_ids specials = gb_vocab_specials(x->t.vocab);
    ids[count++] = specials.cls;
    for (size_t i = 0; i < length && count + 1 < TINY_LONGEST; i++)
        ids[count++] = text[i];
    ids[count++] = specials.sep;
    return naive_encode(&x->m, ids, count, 0, NULL);
}

/* The mean of those behind the first `skip`, scaled to length 1; zero where there are none. */
static void expect_mean(const texts *x, uint32_t row, uint32_t skip, const float *got)
{
    naive n = states_of(x, row);
    uint32_t h = x->m.config.hidden_size;
    double mean[16] = {0}, square = 0;
    for (uint32_t t = skip; t < n.length; t++)
        for (uint32_t i = 0; i < h; i++)
            mean[i] += n.x[(size_t)t * h + i] / (n.length - skip);
    for (uint32_t i = 0; i < h; i++)
        square += mean[i] * mean[i];
    for (uint32_t i = 0; i < h; i++)
        cr_expect_float_eq(got[i], square > 0 ? mean[i] / sqrt(square) : 0, 1e-6, "text %u", row);
    free(n.x);
}

Test(encode, averages)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    texts x = {0};
    open_texts(&x);
    gb_encoder_params how = params_of(&x);
    how.sentence = (gb_sentence_settings){.pooling = GB_POOLING_MEAN, .normalize = true};
    uint32_t h = x.m.config.hidden_size;
    float *all = calloc(TEXTS, h * sizeof *all);
    MUST(gb_encode(&how, &(gb_encode_rows){.tokens = x.file, .count = TEXTS}, all, &status));
    for (uint32_t i = 0; i < TEXTS; i += 7)
        expect_mean(&x, i, 0, all + (size_t)i * h);
    gb_encoder *encoder;
    MUST(encoder = gb_encoder_create(&how, &status));
    gb_encoder_leave_out(encoder, 4); /* as a prompt of three tokens */
    MUST(gb_encoder_run(encoder, &(gb_encode_rows){.tokens = x.file, .count = 60}, all, &status));
    for (uint32_t i = 0; i < 60; i += 3)
        expect_mean(&x, i, 4, all + (size_t)i * h);
    gb_encoder_destroy(encoder);
    free(all);
    close_texts(&x);
    scratch_leave(&s);
}

/* The largest log(1 + relu(logit)) of each token of the vocabulary. */
static void expect_terms(const texts *x, uint32_t row, const float *got)
{
    naive n = states_of(x, row);
    uint32_t v = x->m.config.vocab_size;
    double *logits = calloc(v, sizeof *logits), *most = calloc(v, sizeof *most);
    for (uint32_t t = 0; t < n.length; t++) {
        naive_head(&x->m, n.x + (size_t)t * n.hidden, logits);
        for (uint32_t i = 0; i < v; i++)
            most[i] = fmax(most[i], logits[i]);
    }
    for (uint32_t i = 0; i < v; i++)
        cr_expect_float_eq(got[i], log1p(most[i]), 1e-5, "text %u, term %u", row, i);
    free(logits);
    free(most);
    free(n.x);
}

/* Sparse vectors, and the same bits for a text that is encoded alone. */
Test(encode, term_weights)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    texts x = {0};
    open_texts(&x);
    tiny_device_close(x.device);
    x.device = tiny_device(GB_USER_ENCODE | GB_USER_SPARSE);
    gb_encoder_params how = params_of(&x);
    how.sentence.pooling = GB_POOLING_TERMS;
    uint32_t v = x.m.config.vocab_size;
    float *all = calloc(TEXTS, v * sizeof *all), *alone = calloc(v, sizeof *alone);
    MUST(gb_encode(&how, &(gb_encode_rows){.tokens = x.file, .count = TEXTS}, all, &status));
    for (uint32_t i = 0; i < TEXTS; i += 7)
        expect_terms(&x, i, all + (size_t)i * v);
    for (uint32_t i = 0; i < ALONE; i += 20) {
        const gb_encode_rows one = {.tokens = x.file, .first = i, .count = 1};
        MUST(gb_encode(&how, &one, alone, &status));
        cr_expect_eq(memcmp(alone, all + (size_t)i * v, v * sizeof *alone), 0, "text %u", i);
    }
    free(all);
    free(alone);
    close_texts(&x);
    scratch_leave(&s);
}

/* The longest test has the last name: Criterion 2.4.1 leaks when the test it began with ends last.
 */
Test(encode, no_text_depends_on_others)
{
    scratch s = scratch_enter();
    texts x = {0};
    open_texts(&x);
    uint32_t h = x.m.config.hidden_size, order[TEXTS];
    float *all = calloc(TEXTS, h * sizeof *all), *shuffled = calloc(TEXTS, h * sizeof *all);
    encode(&x, NULL, TEXTS, all);
    for (uint32_t i = 0; i < TEXTS; i++)
        order[i] = i;
    gb_rng rng = gb_rng_make(6, GB_RNG_TEST, 0, 1);
    gb_rng_shuffle(&rng, order, TEXTS);
    encode(&x, order, TEXTS, shuffled);
    for (uint32_t i = 0; i < TEXTS; i++) {
        cr_expect_eq(memcmp(all + (size_t)order[i] * h, shuffled + (size_t)i * h, h * sizeof *all),
                     0, "text %u in another order", order[i]);
    }
    for (uint32_t i = 0; i < ALONE; i++) {
        float alone[16];
        encode(&x, &i, 1, alone);
        cr_expect_eq(memcmp(alone, all + (size_t)i * h, sizeof alone), 0, "text %u alone", i);
    }
    free(all);
    free(shuffled);
    close_texts(&x);
    scratch_leave(&s);
}

/* The [CLS] states of the first texts as a training step makes them: of all rows, then gathered. */
static void training_vectors(const texts *x, uint32_t count, float *out)
{
    gb_status status = {0};
    uint32_t h = x->m.config.hidden_size;
    gb_special_ids specials = gb_vocab_specials(x->t.vocab);
    gb_batch batch = {0};
    for (uint32_t i = 0; i < count; i++) {
        size_t length;
        const uint32_t *ids = gb_row_file_row(x->file, i, &length);
        MUST(gb_batch_add(&batch, &specials, ids, NULL, length, TINY_LONGEST, &status));
    }
    gb_state *state = gb_state_create(x->device, x->m.params, true, &status);
    MUST(state);
    MUST(gb_state_write(state, GB_ARENA_PARAMS, x->m.values, &status));
    gb_tape *tape = gb_tape_create(x->m.params, "training", &status);
    MUST(tape);
    gb_builder builder = {.tape = tape, .eps = 1e-12f, .max_length = TINY_LONGEST};
    gb_batch_inputs in =
        gb_batch_declare(&builder, &x->m.config, gb_bucket_rows(batch.rows), count, &batch, 0);
    gb_selection cls = gb_first_rows_declare(&builder, count, in.rows, &batch, 0);
    gb_tensor vectors =
        gb_selection_gather(&builder, gb_bert_encode(&builder, &x->m.bert, &in, 0, NULL), &cls);
    gb_tape_output(tape, vectors);
    gb_executable *exec = gb_executable_create(state, tape, &status);
    MUST(exec);
    uint64_t ticket;
    MUST(gb_executable_submit(exec, 0, &ticket, &status));
    const float *values = gb_executable_output(exec, ticket, vectors, &status);
    MUST(values);
    memcpy(out, values, (size_t)count * h * sizeof *out);
    gb_executable_destroy(exec);
    gb_tape_destroy(tape);
    gb_state_destroy(state);
    gb_batch_free(&batch);
}

Test(encode, equals_training)
{
    scratch s = scratch_enter();
    texts x = {0};
    open_texts(&x);
    float encoded[20 * 16], trained[20 * 16];
    encode(&x, NULL, 20, encoded);
    training_vectors(&x, 20, trained);
    cr_expect_eq(memcmp(encoded, trained, sizeof encoded), 0);
    close_texts(&x);
    scratch_leave(&s);
}

/* Of ModernBERT's last layer, the rows that are read alone are as those of all rows: where it looks
 * at all tokens, and where at a window. */
Test(encode, equals_training_of_modernbert)
{
    scratch s = scratch_enter();
    for (uint32_t every = 1; every <= 2; every++) {
        texts x = {0};
        open_kind(&x, every);
        float encoded[20 * 16], trained[20 * 16];
        encode(&x, NULL, 20, encoded);
        training_vectors(&x, 20, trained);
        for (size_t i = 0; i < sizeof encoded / sizeof *encoded; i++)
            cr_expect_float_eq(encoded[i], trained[i], 1e-5, "every %u, number %zu: %g, not %g",
                               every, i, (double)encoded[i], (double)trained[i]);
        close_texts(&x);
    }
    scratch_leave(&s);
}

/* A retriever's projector is part of its vectors. */
Test(encode, applies_the_projector)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    texts x = {0};
    open_texts(&x);
    float plain[5 * 16], out[5 * 16];
    encode(&x, NULL, 5, plain);
    /* The same encoder with a projector. */
    gb_params *params = gb_params_create(&status);
    gb_bert bert;
    MUST(gb_bert_declare(params, &x.m.config, false, &bert, &status));
    MUST(gb_bert_add_projector(params, &bert, GB_PROJECTOR_NONLINEAR, &status));
    gb_params_freeze(params);
    float *values = calloc(gb_params_floats(params), sizeof *values);
    gb_params_init(params, 5, values);
    const gb_param *weight = gb_params_at(params, bert.projector.weight),
                   *bias = gb_params_at(params, bert.projector.bias);
    for (uint32_t i = 0; i < gb_params_count(params); i++) {
        const gb_param *p = gb_params_at(params, i);
        if (!strncmp(p->name, "bert.", 5))
            memcpy(values + p->offset, model_values(&x.m, NULL, "%s", p->name),
                   (size_t)p->rows * p->ld * sizeof *values);
    }
    values[bias->offset + 3] = .5f;
    gb_encoder_params how = params_of(&x);
    how.bert = &bert;
    how.params = params;
    how.values = values;
    MUST(gb_encode(&how, &(gb_encode_rows){.tokens = x.file, .count = 5}, out, &status));
    for (uint32_t t = 0; t < 5; t++)
        for (uint32_t i = 0; i < 16; i++) {
            double sum = values[bias->offset + i];
            for (uint32_t j = 0; j < 16; j++)
                sum += (double)values[weight->offset + i * weight->ld + j] * plain[t * 16 + j];
            cr_expect_float_eq(out[t * 16 + i], tanh(sum), 1e-6);
        }
    free(values);
    gb_bert_free(&bert);
    gb_params_destroy(params);
    close_texts(&x);
    scratch_leave(&s);
}

/* A text of one token more than fits is the text without that token. */
Test(encode, long_texts_are_cut)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    texts x = {0};
    open_texts(&x);
    uint32_t ids[TINY_LONGEST - 1];
    for (uint32_t i = 0; i < TINY_LONGEST - 1; i++)
        ids[i] = i + 5;
    gb_row_writer *writer = gb_row_writer_open("long.gbt", 4, &status);
    MUST(writer);
    MUST(gb_row_writer_add(writer, ids, TINY_LONGEST - 1, &status));
    MUST(gb_row_writer_add(writer, ids, TINY_LONGEST - 2, &status));
    MUST(gb_row_writer_add(writer, ids, TINY_LONGEST - 3, &status));
    MUST(gb_row_writer_commit(writer, &status));
    gb_row_file_close(x.file);
    MUST(x.file = gb_row_file_open("long.gbt", 4, &status));
    float out[3][16];
    encode(&x, NULL, 3, out[0]);
    cr_expect_eq(memcmp(out[0], out[1], sizeof *out), 0, "not cut");
    cr_expect_neq(memcmp(out[1], out[2], sizeof *out), 0, "cut too short");
    close_texts(&x);
    scratch_leave(&s);
}
