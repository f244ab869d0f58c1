/* Texts made by language models with random weights: T5 with as many layers on both sides, LLaMA.
 */
#include "private.h"

#include "gabbro/lm.h"
#include <string.h>

enum { SLOTS = 16, TEXTS = 32, NEW = 16, MAX_LENGTH = 64 };

typedef struct session {
    gb_device *device;        /* open */
    gb_lm_config config;      /* model */
    gb_generator *generator;  /* on the device */
    uint32_t given;           /* prompts of this run */
    uint32_t ids[MAX_LENGTH]; /* their tokens */
    double seconds;           /* median of a run */
} session;

static gb_lm_config config_of(const bench_size *z, gb_lm_kind kind)
{
    bool t5 = kind == GB_LM_T5;
    return (gb_lm_config){.kind = kind,
                          .vocab_size = z->vocabulary,
                          .hidden_size = z->hidden,
                          .head_dim = z->hidden / z->heads,
                          .heads = z->heads,
                          .kv_heads = z->heads,
                          .intermediate_size = z->ffn,
                          .layers = t5 ? z->layers : 0,
                          .decoder_layers = z->layers,
                          .buckets = 32,
                          .farthest = 128,
                          .max_positions = 2048,
                          .end_id = UINT32_MAX, /* no text ends early */
                          .act = t5 ? GB_LM_GELU_TANH : GB_LM_SILU,
                          .gated = true,
                          .tied = t5,
                          .eps = 1e-6,
                          .theta = 10000};
}

static bool next_prompt(void *self, gb_prompt *prompt, gb_status *status)
{
    (void)status;
    session *s = self;
    if (s->given < TEXTS)
        *prompt =
            (gb_prompt){.ids = s->ids, .count = MAX_LENGTH, .passage = s->given++, .times = 1};
    return true;
}

static bool forget_text(void *self, uint32_t passage, uint32_t query, const uint32_t *ids,
                        uint32_t count, gb_status *status)
{
    (void)self, (void)passage, (void)query, (void)ids, (void)count, (void)status;
    return true;
}

static bool generate(void *context, gb_status *status)
{
    session *s = context;
    gb_generation work = {s, next_prompt, forget_text, false};
    gb_sampling_params how = {
        .sample = true, .temperature = 1, .top_k = 25, .top_p = .95f, .seed = 1};
    s->given = 0;
    return gb_generate_all(s->generator, &work, &how, status);
}

static bool measure(bench *b, void *context, bench_times *times, gb_status *status)
{
    session *s = context;
    for (uint32_t i = 0; i < MAX_LENGTH; i++)
        s->ids[i] = i * 37 % s->config.vocab_size;
    s->generator =
        gb_generator_create_random(b->device, &s->config, SLOTS, MAX_LENGTH, NEW, status);
    bool ok = s->generator && bench_call_measure(b, generate, s, times, status);
    s->seconds = times->median_s;
    gb_generator_destroy(s->generator);
    return ok;
}

static bool run_case(bench *b, const bench_size *z, gb_lm_kind kind, gb_status *status)
{
    char name[80];
    const char *family = kind == GB_LM_T5 ? "T5" : "LLaMA";
    session s = {.config = config_of(z, kind)};
    snprintf(name, sizeof name, "%s %s %d texts of %d+%d tokens", z->name, family, TEXTS,
             MAX_LENGTH, NEW);
    bench_case c = {.name = name,
                    .size = z,
                    .shape = json_pack("{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i}",
                                       "model", family, "layers", (int)z->layers, "hidden",
                                       (int)z->hidden, "heads", (int)z->heads, "ffn", (int)z->ffn,
                                       "vocabulary", (int)z->vocabulary, "texts", TEXTS, "prompt",
                                       MAX_LENGTH, "new", NEW, "at_once", SLOTS),
                    .flops = TEXTS * gb_generate_flops(&s.config, MAX_LENGTH, NEW),
                    .whole = true};
    if (!bench_case_run(b, &c, measure, &s, status))
        return false;
    if (s.seconds > 0) {
        double rate = TEXTS * NEW / s.seconds;
        json_t *row = json_array_get(b->results, json_array_size(b->results) - 1);
        json_object_set_new(row, "tokens_per_s", json_real(rate));
        fprintf(b->out, "%-34s %10.1f tokens/s\n", "", rate);
    }
    return true;
}

bool bench_generate(bench *b, gb_status *status)
{
    for (size_t i = 0; i < BENCH_SIZES; i++)
        if (b->sizes[i] && (!run_case(b, &bench_sizes[i], GB_LM_T5, status) ||
                            !run_case(b, &bench_sizes[i], GB_LM_LLAMA, status)))
            return false;
    return true;
}
