/* Prompts in memory for tests of generators. */
#ifndef TESTS_PROMPTS_H
#define TESTS_PROMPTS_H

#include <gabbro/lm.h>

#include <string.h>

/* Prompts, back to back, each for one text. */
typedef struct prompts {
    const uint32_t *ids;     /* tokens, as in gb_prompt */
    const uint32_t *starts;  /* [count + 1] index of the first token of each prompt */
    const uint32_t *passage; /* [count] number of the passage, for the draws */
    const uint32_t *query;   /* [count] number of its query, for the draws */
    uint32_t count;          /* prompts, any number */
} prompts;

/* A generation from them. */
typedef struct generated {
    const prompts *in;
    uint32_t source;  /* prompts that were given so far */
    uint32_t width;   /* tokens of a row of made */
    uint32_t *made;   /* [count][width] */
    uint32_t *counts; /* [count] */
} generated;

static bool next_prompt(void *self, gb_prompt *prompt, gb_status *status)
{
    (void)status;
    generated *g = self;
    uint32_t i = g->source;
    if (i == g->in->count)
        return true;
    g->source++;
    *prompt = (gb_prompt){.ids = g->in->ids + g->in->starts[i],
                          .count = g->in->starts[i + 1] - g->in->starts[i],
                          .passage = g->in->passage[i],
                          .query = g->in->query[i],
                          .times = 1};
    return true;
}

/* Texts come as they end. */
static bool keep_text(void *self, uint32_t passage, uint32_t query, const uint32_t *ids,
                      uint32_t count, gb_status *status)
{
    (void)status;
    generated *g = self;
    for (uint32_t i = 0; i < g->source; i++)
        if (g->in->passage[i] == passage && g->in->query[i] == query) {
            memcpy(g->made + (size_t)i * g->width, ids, sizeof *ids * count);
            g->counts[i] = count;
        }
    return true;
}

/* The text of every prompt: tokens made [count][width], lengths counts [count]. */
static bool generate_texts(gb_generator *generator, const prompts *in,
                           const gb_sampling_params *how, uint32_t width, uint32_t *made,
                           uint32_t *counts, gb_status *status)
{
    generated g = {.in = in, .width = width, .made = made, .counts = counts};
    gb_generation generation = {&g, next_prompt, keep_text, false};
    return gb_generate_all(generator, &generation, how, status);
}

#endif
