/* T5 (v1.0 and v1.1) and LLaMA against Hugging Face transformers in float64: states of the encoder
 * and of the decoder, and logits. tests/peers/golden_language.py made the numbers and says what
 * they are. */
#include "../nn/prompts.h"
#include "../nn/tiny.h"
#include "trust.h"

#include <gabbro/lm.h>
#include <math.h>
#include <unistd.h>

#define PEER  "transformers (float64)"
#define TEXTS 4

/* A golden model on the device. */
typedef struct golden {
    gb_safetensors *numbers; /* golden.safetensors */
    gb_params *params;       /* of the model */
    gb_lm lm;                /* the model */
    gb_device *device;       /* where it runs */
    gb_state *state;         /* its parameters there */
} golden;

static void golden_open(golden *g, const char *name)
{
    gb_status status = {0};
    char folder[512], path[600];
    gb_lm_config config;
    gb_lm_cache none = {0};
    *g = (golden){0};
    snprintf(folder, sizeof folder, "%s/%s", GB_GOLDEN, name);
    snprintf(path, sizeof path, "%s/golden.safetensors", folder);
    MUST(g->numbers = gb_safetensors_open(path, &status));
    snprintf(path, sizeof path, "%s/config.json", folder);
    MUST(gb_lm_config_read(path, &config, &status));
    MUST(g->params = gb_params_create(&status));
    MUST(gb_lm_declare(g->params, &config, &none, &g->lm, &status));
    gb_params_freeze(g->params);
    float *values = gb_alloc(gb_params_floats(g->params), sizeof *values, &status);
    MUST(values && gb_lm_load(folder, g->params, values, &status));
    g->device = tiny_device(GB_USER_GENERATE | GB_USER_TRAIN_LM);
    MUST(g->state = gb_state_create(g->device, g->params, false, &status));
    MUST(gb_state_write(g->state, GB_ARENA_PARAMS, values, &status));
    free(values);
}

static void golden_close(golden *g)
{
    gb_state_destroy(g->state);
    tiny_device_close(g->device);
    gb_lm_free(&g->lm);
    gb_params_destroy(g->params);
    gb_safetensors_close(g->numbers);
}

/* Texts of a table of ids, one behind the other. */
typedef struct texts {
    uint32_t ids[128], positions[128]; /* tokens and their places */
    uint32_t starts[TEXTS + 1];        /* first of each text */
    uint32_t max_length;               /* tokens of the longest */
} texts;

static texts read_texts(const golden *g, const char *name)
{
    texts t = {0};
    const gb_stored *s = gb_safetensors_find(g->numbers, name);
    cr_assert(s && !strcmp(s->dtype, "I32") && s->shape[0] == TEXTS);
    uint32_t rows = 0;
    for (uint32_t i = 0; i < TEXTS; i++) {
        t.starts[i] = rows;
        for (uint32_t c = 0; c < s->shape[1]; c++) {
            int32_t id;
            memcpy(&id, (const char *)s->data + (i * s->shape[1] + c) * sizeof id, sizeof id);
            if (id < 0)
                continue;
            cr_assert_lt(rows, 128);
            t.ids[rows] = (uint32_t)id;
            t.positions[rows++] = c;
        }
        t.max_length = rows - t.starts[i] > t.max_length ? rows - t.starts[i] : t.max_length;
    }
    t.starts[TEXTS] = rows;
    return t;
}

static void fill_spans(uint32_t spans[TEXTS][4], const texts *q, const texts *k)
{
    for (uint32_t i = 0; i < TEXTS; i++) {
        const texts *both[] = {q, k};
        for (int side = 0; side < 2; side++) {
            spans[i][2 * side] = both[side]->starts[i];
            spans[i][2 * side + 1] = both[side]->starts[i + 1] - both[side]->starts[i];
        }
    }
}

static void fill(const golden *g, gb_executable *exec, const gb_lm_rows *in, const texts *t)
{
    gb_status status = {0};
    uint32_t spans[TEXTS][4];
    fill_spans(spans, t, t);
    MUST(gb_lm_rows_fill(exec, in, &g->lm, t->ids, t->positions, spans[0], NULL, &status));
}

/* Largest difference from the golden tensor, relative to the largest of its numbers. */
static double differs(const golden *g, const gb_tape *tape, gb_executable *exec, uint64_t ticket,
                      gb_tensor tensor, const char *name)
{
    gb_status status = {0};
    const gb_tensor_info *info = gb_tape_tensor(tape, tensor);
    const float *got = gb_executable_output(exec, ticket, tensor, &status);
    float *wanted = gb_alloc((size_t)info->rows * info->cols, sizeof *wanted, &status);
    const gb_stored *stored = gb_safetensors_find(g->numbers, name);
    MUST(got && wanted && stored);
    MUST(gb_stored_read(stored, info->rows, info->cols, wanted, &status));
    double worst = 0, largest = 0;
    for (uint32_t r = 0; r < info->rows; r++)
        for (uint32_t c = 0; c < info->cols; c++) {
            double value = wanted[(size_t)r * info->cols + c];
            double d = fabs(got[(size_t)r * info->ld + c] - value);
            largest = fmax(largest, fabs(value));
            worst = d <= worst ? worst : isnan(d) ? INFINITY : d;
        }
    free(wanted);
    return worst / largest;
}

static void compare(const char *name, const char *label)
{
    gb_status status = {0};
    golden g;
    golden_open(&g, name);
    bool t5 = g.lm.config.kind == GB_LM_T5;
    texts source = read_texts(&g, "ids"), decoded = t5 ? read_texts(&g, "decoder.ids") : source;
    gb_tape *tape = gb_tape_create(g.params, name, &status);
    MUST(tape);
    gb_lm_rows from = {0};
    gb_tensor encoded = GB_NO_TENSOR, cross = GB_NO_TENSOR;
    if (t5) {
        from = gb_lm_rows_declare(tape, &g.lm, true, source.starts[TEXTS], TEXTS, source.max_length,
                                  false);
        encoded = gb_lm_encode(tape, &g.lm, &from);
        cross = gb_tape_input(tape, "cross spans", GB_U32, TEXTS, 4);
        gb_tape_output(tape, encoded);
    }
    gb_lm_rows to = gb_lm_rows_declare(tape, &g.lm, false, decoded.starts[TEXTS], TEXTS,
                                       decoded.max_length, false);
    gb_tensor states = gb_lm_decode(tape, &g.lm, &to, encoded, cross, source.max_length);
    gb_tensor logits = gb_lm_logits(tape, &g.lm, states);
    gb_tape_output(tape, states);
    gb_tape_output(tape, logits);
    MUST(gb_tape_ok(tape, &status));
    gb_executable *exec = gb_executable_create(g.state, tape, &status);
    MUST(exec);
    if (t5) {
        fill(&g, exec, &from, &source);
        uint32_t spans[TEXTS][4], *words = gb_executable_input(exec, cross, &status);
        fill_spans(spans, &decoded, &source);
        memcpy(words, spans, sizeof spans);
    }
    fill(&g, exec, &to, &decoded);
    uint64_t ticket;
    MUST(gb_executable_run(exec, &ticket, &status));
    char what[80];
    snprintf(what, sizeof what, "%s: last states of the encoder", label);
    if (t5)
        trust(what, PEER, differs(&g, tape, exec, ticket, encoded, "encoded"), 1e-4);
    snprintf(what, sizeof what, "%s: last states of the decoder", label);
    trust(what, PEER, differs(&g, tape, exec, ticket, states, "states"), 1e-4);
    snprintf(what, sizeof what, "%s: logits", label);
    trust(what, PEER, differs(&g, tape, exec, ticket, logits, "logits"), 1e-4);
    gb_executable_destroy(exec);
    gb_tape_destroy(tape);
    golden_close(&g);
}

Test(language, t5)
{
    compare("t5", "T5 v1.0");
}

Test(language, t5_gated)
{
    compare("t5v11", "T5 v1.1");
}

Test(language, llama)
{
    compare("llama", "LLaMA, shared heads of keys, in shards");
}

/* Settings that would mean another computation, and damage, are refused. */
Test(language, foreign_configs)
{
    static const char *const texts_[] = {
        "{\"model_type\": \"gpt2\"}",
        "{\"model_type\": \"t5\", \"vocab_size\": 9}",
        "{\"model_type\": \"llama\", \"vocab_size\": 9, \"hidden_size\": 32, "
        "\"intermediate_size\": 8, \"num_attention_heads\": 2, \"num_hidden_layers\": 1, "
        "\"rope_scaling\": {\"factor\": 2}}",
        "{\"model_type\": \"llama\", \"vocab_size\": 9, \"hidden_size\": 32, "
        "\"intermediate_size\": 8, \"num_attention_heads\": 2, \"num_hidden_layers\": 1, "
        "\"rope_parameters\": {\"rope_type\": \"llama3\", \"factor\": 8, \"rope_theta\": 5e5}}",
        "{\"model_type\": \"llama\", \"vocab_size\": 9, \"hidden_size\": 32, "
        "\"intermediate_size\": 8, \"num_attention_heads\": 2, \"num_hidden_layers\": 1, "
        "\"num_key_value_heads\": 0}",
        "{\"model_type\": \"llama\", \"vocab_size\": 9, \"hidden_size\": 32, "
        "\"intermediate_size\": 8, \"num_attention_heads\": 2, \"num_hidden_layers\": 1, "
        "\"hidden_act\": \"tanh\"}"};
    char path[] = "/tmp/gabbro-config-XXXXXX";
    int file = mkstemp(path);
    cr_assert(file >= 0);
    close(file);
    for (size_t i = 0; i < sizeof texts_ / sizeof *texts_; i++) {
        gb_status status = {0};
        gb_lm_config config;
        FILE *out = fopen(path, "w");
        cr_assert(out && fputs(texts_[i], out) >= 0 && !fclose(out));
        cr_expect_not(gb_lm_config_read(path, &config, &status), "%s", texts_[i]);
        cr_expect_eq(status.code, GB_DATA, "%s: %s", texts_[i], status.what);
    }
    remove(path);
}

/* Angles as transformers 5 writes them. */
Test(language, rope_parameters)
{
    char path[] = "/tmp/gabbro-config-XXXXXX";
    int file = mkstemp(path);
    gb_status status = {0};
    gb_lm_config config = {0};
    FILE *out = file >= 0 ? fdopen(file, "w") : NULL;
    cr_assert(out &&
              fputs("{\"model_type\": \"llama\", \"vocab_size\": 9, \"hidden_size\": 32, "
                    "\"intermediate_size\": 8, \"num_attention_heads\": 2, "
                    "\"num_hidden_layers\": 1, \"rope_parameters\": {\"rope_theta\": 5e5, "
                    "\"rope_type\": \"default\"}}",
                    out) >= 0 &&
              !fclose(out));
    MUST(gb_lm_config_read(path, &config, &status));
    cr_expect_eq(config.theta, 5e5);
    remove(path);
}

/* ---- making text ---- */

#define NEW 12

/* Texts first, first + 1, ... of the golden ids, and what is made of them. */
typedef struct batch {
    uint32_t first, count;     /* which texts */
    uint32_t made[TEXTS][NEW]; /* tokens */
    uint32_t counts[TEXTS];    /* how many */
} batch;

static void make(gb_generator *generator, const texts *t, batch *b, const gb_sampling_params *how)
{
    gb_status status = {0};
    uint32_t starts[TEXTS + 1], passage[TEXTS], query[TEXTS];
    for (uint32_t i = 0; i <= b->count; i++)
        starts[i] = t->starts[b->first + i] - t->starts[b->first];
    for (uint32_t i = 0; i < b->count; i++) {
        passage[i] = b->first + i;
        query[i] = 1;
    }
    prompts of_texts = {t->ids + t->starts[b->first], starts, passage, query, b->count};
    MUST(generate_texts(generator, &of_texts, how, NEW, b->made[0], b->counts, &status));
}

/* Greedy tokens are those of transformers; drawn ones do not depend on the batch. */
static void generate(const char *name)
{
    gb_status status = {0};
    char folder[512], path[600];
    snprintf(folder, sizeof folder, "%s/%s", GB_GOLDEN, name);
    snprintf(path, sizeof path, "%s/golden.safetensors", folder);
    golden g = {.numbers = gb_safetensors_open(path, &status)};
    MUST(g.numbers);
    gb_device *device = tiny_device(GB_USER_GENERATE | GB_USER_TRAIN_LM);
    texts t = read_texts(&g, "ids"), wanted = read_texts(&g, "greedy");
    gb_generator *generator =
        gb_generator_create(device, folder, TEXTS, t.max_length, NEW, &status);
    MUST(generator);
    gb_sampling_params how = {.temperature = 0.7f, .top_k = 20, .top_p = 0.95f, .seed = 42};
    batch all = {0, TEXTS, {{0}}, {0}}, late = {2, 2, {{0}}, {0}};
    make(generator, &t, &all, &how);
    for (uint32_t i = 0; i < TEXTS; i++) {
        cr_assert_eq(all.counts[i], wanted.starts[i + 1] - wanted.starts[i]);
        for (uint32_t c = 0; c < all.counts[i]; c++)
            cr_expect_eq(all.made[i][c], wanted.ids[wanted.starts[i] + c],
                         "%s, text %u, token %u: %u, not %u", name, i, c, all.made[i][c],
                         wanted.ids[wanted.starts[i] + c]);
    }
    how.sample = true;
    all = (batch){0, TEXTS, {{0}}, {0}};
    make(generator, &t, &all, &how);
    make(generator, &t, &late, &how);
    uint32_t moved = 0;
    for (uint32_t i = 0; i < 2; i++) {
        cr_expect_arr_eq(late.made[i], all.made[2 + i], sizeof late.made[i]);
        for (uint32_t c = 0; c < NEW; c++)
            moved += late.made[i][c] != wanted.ids[wanted.starts[2 + i] + c];
    }
    cr_expect(moved, "the draws are greedy");
    gb_generator_destroy(generator);
    tiny_device_close(device);
    gb_safetensors_close(g.numbers);
}

Test(language, t5_generates)
{
    generate("t5");
}

Test(language, t5_gated_generates)
{
    generate("t5v11");
}

Test(language, llama_generates)
{
    generate("llama");
}

/* ---- slots ---- */

#define PASSAGES 9
#define QUERIES  4

/* PASSAGES prompts of one to nine tokens, QUERIES texts each. */
typedef struct many {
    uint32_t source;                       /* prompts so far */
    uint32_t ids[9];                       /* the last one */
    uint32_t made[PASSAGES][QUERIES][NEW]; /* texts */
    uint32_t counts[PASSAGES][QUERIES];    /* their tokens; 0: not made */
    uint32_t tokens;                       /* of all */
} many;

static bool next_of_many(void *self, gb_prompt *prompt, gb_status *status)
{
    (void)status;
    many *m = self;
    uint32_t p = m->source;
    if (p == PASSAGES)
        return true;
    m->source++;
    *prompt = (gb_prompt){m->ids, 1 + p * 5 % 9, p, 0, QUERIES};
    for (uint32_t i = 0; i < prompt->count; i++)
        m->ids[i] = 2 + (p * 17 + i * 7) % 58;
    return true;
}

static bool made_of_many(void *self, uint32_t passage, uint32_t query, const uint32_t *ids,
                         uint32_t count, gb_status *status)
{
    (void)status;
    many *m = self;
    cr_assert(passage < PASSAGES && query < QUERIES && count && count <= NEW);
    cr_assert_eq(m->counts[passage][query], 0, "text %u of %u was made twice", query, passage);
    memcpy(m->made[passage][query], ids, sizeof *ids * count);
    m->counts[passage][query] = count;
    m->tokens += count;
    return true;
}

static gb_generator_counts make_many(gb_device *device, const char *name, uint32_t slots,
                                     bool in_batches, many *m)
{
    gb_status status = {0};
    char folder[512];
    snprintf(folder, sizeof folder, "%s/%s", GB_GOLDEN, name);
    gb_generator *generator = gb_generator_create(device, folder, slots, 9, NEW, &status);
    MUST(generator);
    gb_sampling_params how = {
        .sample = true, .temperature = 1, .top_k = 25, .top_p = 0.95f, .seed = 7};
    *m = (many){0};
    gb_generation work = {m, next_of_many, made_of_many, in_batches};
    MUST(gb_generate_all(generator, &work, &how, &status));
    gb_generator_counts done = gb_generator_done(generator);
    gb_generator_destroy(generator);
    cr_expect_eq(done.tokens, m->tokens);
    return done;
}

/* Whatever the number of slots, and whether they wait for each other, the texts are the same; not
 * waiting takes fewer steps. */
static void refill(const char *name)
{
    gb_device *device = tiny_device(GB_USER_GENERATE | GB_USER_TRAIN_LM);
    many waited, other;
    gb_generator_counts most = make_many(device, name, 5, true, &waited), least = {0};
    for (uint32_t p = 0; p < PASSAGES; p++)
        for (uint32_t q = 0; q < QUERIES; q++)
            cr_expect(waited.counts[p][q], "text %u of %u was not made", q, p);
    static const uint32_t slots[] = {5, 1, 8};
    for (int i = 0; i < 3; i++) {
        gb_generator_counts done = make_many(device, name, slots[i], false, &other);
        least = i ? least : done;
        cr_expect_arr_eq(other.counts, waited.counts, sizeof other.counts, "%u slots", slots[i]);
        cr_expect_arr_eq(other.made, waited.made, sizeof other.made, "%u slots", slots[i]);
    }
    cr_log_info("%s: %u tokens in %u steps, %u in batches", name, waited.tokens,
                (uint32_t)least.steps, (uint32_t)most.steps);
    cr_expect_lt(least.steps, most.steps);
    cr_expect_lt(least.steps * 5, waited.tokens + 5 * NEW, "slots stood empty");
    tiny_device_close(device);
}

Test(language, t5_refills)
{
    refill("t5");
}

Test(language, llama_refills)
{
    refill("llama");
}

/* Temperature, then top k, then top p on what is left of it: of .4 .3 .15 .1 .05, four of five are
 * .42 .32 .16 .11, of which three reach .8. */
Test(language, draws_in_order)
{
    static const double shares[] = {.1, .4, .05, .3, .15};
    enum { DRAWS = 20000 };
    gb_status status = {0};
    float logits[5];
    uint32_t seen[5] = {0}, token;
    for (uint32_t i = 0; i < 5; i++)
        logits[i] = (float)(2 * log(shares[i]) + 3);
    gb_sampling_params how = {.temperature = 2, .top_k = 4, .top_p = 0.8f};
    gb_rng rng = gb_rng_make(5, GB_RNG_TEST, 0, 0);
    for (uint32_t i = 0; i < DRAWS; i++) {
        MUST(gb_sample_token(logits, 5, &how, &rng, &token, &status));
        seen[token]++;
    }
    cr_expect_eq(seen[0] + seen[2], 0);
    double chi = 0;
    for (uint32_t i = 1; i < 5; i += i == 1 ? 2 : 1) {
        double expected = DRAWS * shares[i] / .85;
        chi += (seen[i] - expected) * (seen[i] - expected) / expected;
    }
    cr_expect_lt(chi, 13.8, "chi square %g of two degrees", chi); /* one in a thousand */
    how.top_k = 1;
    MUST(gb_sample_token(logits, 5, &how, &rng, &token, &status));
    cr_expect_eq(token, gb_sample_greedy(logits, 5));
}

/* ---- vectors ---- */

/* What a text's vector is, of golden states [rows, H] of the texts one behind the other. */
static void pool(const texts *t, uint32_t text, const float *states, uint32_t width,
                 const gb_lm_encoder_params *how, double *vector)
{
    bool mean = how->sentence.pooling == GB_POOLING_MEAN;
    uint32_t end = t->starts[text + 1], first = mean ? t->starts[text] : end - 1;
    double square = 0;
    for (uint32_t c = 0; c < width; c++) {
        vector[c] = 0;
        for (uint32_t r = first; r < end; r++)
            vector[c] += states[(size_t)r * width + c] / (end - first);
        square += c < how->dims ? vector[c] * vector[c] : 0;
    }
    for (uint32_t c = 0; how->sentence.normalize && c < how->dims; c++)
        vector[c] /= sqrt(square);
}

static void expect_vectors(const golden *g, gb_pooling pooling, bool normalize, uint32_t dims)
{
    gb_status status = {0};
    const gb_lm_encoder_params how = {
        .device = g->device,
        .folder = GB_GOLDEN "/llama",
        .config = &g->lm.config,
        .sentence = {.pooling = pooling, .normalize = normalize, .max_length = 64},
        .before = GB_MAP_NONE,
        .behind = GB_MAP_NONE,
        .dims = dims};
    texts t = read_texts(g, "ids");
    uint32_t width = g->lm.config.hidden_size;
    size_t starts[TEXTS + 1];
    float states[128 * 32], vectors[TEXTS * 32];
    double worst = 0, largest = 0, wanted[32];
    cr_assert(width == 32);
    MUST(gb_stored_read(gb_safetensors_find(g->numbers, "states"), t.starts[TEXTS], width, states,
                        &status));
    for (uint32_t i = 0; i <= TEXTS; i++)
        starts[i] = t.starts[i];
    gb_lm_encoder *encoder = gb_lm_encoder_create(&how, &status);
    MUST(encoder);
    const gb_encode_rows all = {.ids = t.ids, .starts = starts, .count = TEXTS};
    MUST(gb_lm_encoder_run(encoder, &all, vectors, &status));
    for (uint32_t i = 0; i < TEXTS; i++) {
        pool(&t, i, states, width, &how, wanted);
        for (uint32_t c = 0; c < dims; c++) {
            largest = fmax(largest, fabs(wanted[c]));
            worst = fmax(worst, fabs(vectors[(size_t)i * dims + c] - wanted[c]));
        }
    }
    char what[80];
    snprintf(what, sizeof what, "LLaMA: vectors by %s%s, %u numbers",
             pooling == GB_POOLING_MEAN ? "the mean" : "the last token",
             normalize ? ", of length 1" : "", dims);
    trust(what, PEER, worst / largest, 1e-4);
    const size_t none[] = {0, 0};
    cr_expect_not(gb_lm_encoder_run(
        encoder, &(gb_encode_rows){.ids = t.ids, .starts = none, .count = 1}, vectors, &status));
    cr_expect_eq(status.code, GB_DATA);
    gb_lm_encoder_destroy(encoder);
}

Test(language, llama_makes_vectors)
{
    golden g;
    golden_open(&g, "llama");
    gb_state_destroy(g.state);
    tiny_device_close(g.device);
    g.state = NULL;
    g.device = tiny_device(GB_USER_GENERATE | GB_USER_ENCODE);
    expect_vectors(&g, GB_POOLING_LAST, true, 32);
    expect_vectors(&g, GB_POOLING_MEAN, false, 32);
    expect_vectors(&g, GB_POOLING_LAST, true, 12);
    golden_close(&g);
}
