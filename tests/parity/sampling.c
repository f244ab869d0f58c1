/* Tokens drawn from language models against the distributions that transformers draws from, first
 * and second token of 20 prompts. tests/peers/golden_sampling.py made the numbers. */
#include "../nn/tiny.h"
#include "trust.h"

#include <gabbro/lm.h>
#include <math.h>

#define PEER       "transformers' distribution"
#define PROMPTS    20
#define MAX_LENGTH 9

/* What is drawn of one model, and how often which tokens came. */
typedef struct drawing {
    gb_safetensors *numbers;  /* golden */
    uint32_t vocabulary;      /* V */
    uint32_t times;           /* texts of a prompt */
    uint32_t given;           /* prompts so far */
    uint32_t ids[MAX_LENGTH]; /* the last one */
    uint32_t *first;          /* [PROMPTS, V] counts */
    uint32_t *second;         /* [PROMPTS, V + 1]; column V: there was none */
} drawing;

static bool next_prompt(void *self, gb_prompt *prompt, gb_status *status)
{
    (void)status;
    drawing *d = self;
    const gb_stored *ids = gb_safetensors_find(d->numbers, "ids");
    cr_assert(ids && ids->shape[0] == PROMPTS && ids->shape[1] == MAX_LENGTH);
    if (d->given == PROMPTS)
        return true;
    *prompt = (gb_prompt){.ids = d->ids, .passage = d->given, .times = d->times};
    for (uint32_t c = 0; c < MAX_LENGTH; c++) {
        int32_t id;
        memcpy(&id, (const char *)ids->data + (d->given * MAX_LENGTH + c) * sizeof id, sizeof id);
        if (id >= 0)
            d->ids[prompt->count++] = (uint32_t)id;
    }
    d->given++;
    return true;
}

static bool count_text(void *self, uint32_t passage, uint32_t query, const uint32_t *ids,
                       uint32_t count, gb_status *status)
{
    (void)query;
    (void)status;
    drawing *d = self;
    d->first[passage * d->vocabulary + ids[0]]++;
    d->second[passage * (d->vocabulary + 1) + (count > 1 ? ids[1] : d->vocabulary)]++;
    return true;
}

/* What a chi square of that many degrees exceeds once in a thousand times (Wilson, Hilferty 1931).
 */
static double bound(uint32_t degrees)
{
    double v = 2. / (9. * degrees);
    return degrees * pow(1 - v + 3.0902 * sqrt(v), 3);
}

/* Chi square of all prompts over its bound; tokens that are expected fewer than five times count
 * together. Infinite where a token came that cannot. */
static double misfit(const drawing *d, const char *setting, bool second)
{
    gb_status status = {0};
    char name[40];
    uint32_t cols = d->vocabulary + second, degrees = 0;
    snprintf(name, sizeof name, "%s.%s", setting, second ? "second" : "first");
    const gb_stored *stored = gb_safetensors_find(d->numbers, name);
    float *wanted = gb_alloc(PROMPTS * (size_t)cols, sizeof *wanted, &status);
    MUST(stored && wanted && gb_stored_read(stored, PROMPTS, cols, wanted, &status));
    double chi = 0;
    for (uint32_t p = 0; p < PROMPTS; p++) {
        double rare = 0, rare_seen = 0;
        uint32_t bins = 0;
        for (uint32_t c = 0; c < cols; c++) {
            double expected = (double)wanted[p * cols + c] * d->times;
            double seen = (second ? d->second : d->first)[p * cols + c];
            chi += seen > 0 && expected <= 0 ? INFINITY : 0;
            if (expected < 5) {
                rare += expected;
                rare_seen += seen;
                continue;
            }
            chi += (seen - expected) * (seen - expected) / expected;
            bins++;
        }
        if (rare >= 1) {
            chi += (rare_seen - rare) * (rare_seen - rare) / rare;
            bins++;
        }
        degrees += bins ? bins - 1 : 0;
    }
    free(wanted);
    cr_assert_gt(degrees, PROMPTS);
    return chi / bound(degrees);
}

static void draw(const char *name, const char *setting, gb_sampling_params how, uint32_t times)
{
    gb_status status = {0};
    char folder[512], path[600], what[100];
    snprintf(folder, sizeof folder, "%s/%s", GB_GOLDEN, name);
    snprintf(path, sizeof path, "%s/sampling.safetensors", folder);
    drawing d = {.numbers = gb_safetensors_open(path, &status), .times = times};
    MUST(d.numbers);
    gb_device *device = tiny_device(GB_USER_GENERATE);
    gb_generator *generator = gb_generator_create(device, folder, 100, MAX_LENGTH, 2, &status);
    MUST(generator);
    d.vocabulary = gb_generator_config(generator)->vocab_size;
    d.first = gb_alloc(PROMPTS * (size_t)d.vocabulary, sizeof *d.first, &status);
    d.second = gb_alloc(PROMPTS * (size_t)(d.vocabulary + 1), sizeof *d.second, &status);
    MUST(d.first && d.second);
    gb_generation work = {&d, next_prompt, count_text, false};
    MUST(gb_generate_all(generator, &work, &how, &status));
    for (int second = 0; second < 2; second++) {
        snprintf(what, sizeof what, "%s, %s token of 20 prompts: chi square over its bound", name,
                 second ? "second" : "first");
        trust(what, PEER, misfit(&d, setting, second), 1);
        cr_expect_gt(misfit(&d, "other", second), 1, "other settings fit too");
    }
    free(d.first);
    free(d.second);
    gb_generator_destroy(generator);
    tiny_device_close(device);
    gb_safetensors_close(d.numbers);
}

static const gb_sampling_params like_t5 = {
    .sample = true, .temperature = 1, .top_k = 25, .top_p = 0.95f, .seed = 1};
static const gb_sampling_params like_llm = {
    .sample = true, .temperature = 0.7f, .top_k = 50, .top_p = 0.95f, .seed = 2};

Test(sampling, t5)
{
    draw("t5", "t5", like_t5, 400);
}

Test(sampling, t5_gated)
{
    draw("t5v11", "llm", like_llm, 400);
}

Test(sampling, llama)
{
    draw("llama", "llm", like_llm, 100);
}
