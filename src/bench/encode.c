/* Vectors of texts, from ids to numbers on the host: recording the program is part of it. */
#include "private.h"

#include <stdlib.h>

#define SURVEYED 1000 /* texts where nothing runs */

typedef struct session {
    gb_device *device;            /* open */
    const bench_size *size;       /* model */
    uint32_t texts;               /* encoded in a run */
    bench_texts data;             /* texts */
    gb_params *params;            /* of the encoder */
    gb_bert bert;                 /* encoder */
    float *values;                /* its parameters */
    float *vectors;               /* [texts, hidden] */
    const gb_config *environment; /* where temporary files go */
} session;

static bool open_session(session *s, gb_status *status)
{
    gb_bert_config config = bench_config(s->size);
    if (!bench_texts_make(&s->data, s->environment, s->size, s->texts, status) ||
        !(s->params = gb_params_create(status)) ||
        !gb_bert_declare(s->params, &config, false, &s->bert, status))
        return false;
    gb_params_freeze(s->params);
    s->values = gb_alloc(gb_params_floats(s->params), sizeof *s->values, status);
    s->vectors = gb_alloc((size_t)s->texts * s->size->hidden, sizeof *s->vectors, status);
    if (s->values && !gb_device_surveys(s->device))
        gb_params_init(s->params, 1, s->values);
    return s->values && s->vectors;
}

static bool encode(void *context, gb_status *status)
{
    session *s = context;
    const gb_encoder_params how = {.device = s->device,
                                   .bert = &s->bert,
                                   .params = s->params,
                                   .values = s->values,
                                   .specials = gb_vocab_specials(s->data.vocab),
                                   .max_length = s->size->max_length};
    const gb_encode_rows texts = {
        .tokens = s->data.tokens.passages, .count = s->texts, .label = "bench"};
    return gb_encode(&how, &texts, s->vectors, status);
}

static bool measure(bench *b, void *context, bench_times *times, gb_status *status)
{
    session *s = context;
    s->device = b->device;
    bool ok = open_session(s, status) && bench_call_measure(b, encode, s, times, status);
    gb_bert_free(&s->bert);
    gb_params_destroy(s->params);
    bench_texts_free(&s->data);
    free(s->values);
    free(s->vectors);
    return ok;
}

bool bench_encode(bench *b, gb_status *status)
{
    for (size_t i = 0; i < BENCH_SIZES; i++) {
        const bench_size *z = &bench_sizes[i];
        uint32_t texts = b->survey ? SURVEYED : z->encoded;
        session s = {.environment = b->config, .size = z, .texts = texts};
        double h = z->hidden, layer = 4 * h * h + 2 * h * z->ffn;
        char name[80];
        snprintf(name, sizeof name, "%s %u texts of %u tokens", z->name, texts, z->max_length);
        if (!b->sizes[i])
            continue;
        bench_case c = {.name = name,
                        .size = z,
                        .shape = json_pack("{s:i, s:i, s:i, s:i, s:i, s:i, s:i}", "layers",
                                           (int)z->layers, "hidden", (int)z->hidden, "heads",
                                           (int)z->heads, "ffn", (int)z->ffn, "vocabulary",
                                           (int)z->vocabulary, "texts", (int)z->encoded, "longest",
                                           (int)z->max_length),
                        .expected = 2.0 * z->encoded * z->max_length * z->layers * layer,
                        .whole = true};
        if (!bench_case_run(b, &c, measure, &s, status))
            return false;
    }
    return true;
}
