/* The cost of a generation. */
#include "private.h"

#include <stdio.h>
#include <stdlib.h>

enum { SAMPLE = 1000 }; /* prompts that the cost is told from */

/* What it takes. */
typedef struct generation_cost {
    uint32_t passages;        /* of the shard */
    double texts;             /* answers */
    double prompt_tokens;     /* of all prompts */
    double new_tokens;        /* of all answers, at most */
    double flops;             /* arithmetic, at most */
    uint64_t parameter_bytes; /* of the model on the device */
    uint64_t cache_bytes;     /* of keys and values */
} generation_cost;

/* Bytes of the model and of its cache. */
static bool count_bytes(const gb_querygen *g, const gb_lm_config *config, generation_cost *cost,
                        gb_status *status)
{
    const gb_querygen_params *o = g->params;
    uint64_t all;
    gb_lm_cache none = {0};
    gb_lm_cache cache = gb_generator_cache(config, o->batch, o->prompt_tokens, o->max_tokens);
    none.quant = cache.quant = o->quant;
    bool ok = gb_lm_bytes(config, &none, &cost->parameter_bytes, status) &&
              gb_lm_bytes(config, &cache, &all, status);
    cost->cache_bytes = ok ? all - cost->parameter_bytes : 0;
    return ok;
}

static bool count_texts(gb_querygen *g, const gb_lm_config *config, generation_cost *cost,
                        gb_status *status)
{
    uint32_t passages = g->end - g->first, sample = passages < SAMPLE ? passages : SAMPLE;
    uint32_t new_tokens = g->params->max_tokens;
    double tokens = 0, flops = 0;
    for (uint32_t i = 0; i < sample; i++) {
        if (!querygen_make_prompt(g, g->first + (uint32_t)((uint64_t)passages * i / sample),
                                  status))
            return false;
        tokens += (double)g->ids.count;
        for (uint32_t call = 0; call < g->calls; call++)
            flops +=
                gb_generate_flops(config, call && config->layers ? 0 : g->ids.count, new_tokens);
    }
    double scale = sample ? (double)passages / sample : 0;
    cost->passages = passages;
    cost->texts = (double)passages * g->calls;
    cost->prompt_tokens = tokens * scale;
    cost->new_tokens = (double)passages * g->calls * new_tokens;
    cost->flops = flops * scale;
    return true;
}

static bool estimate(gb_querygen *g, generation_cost *cost, gb_status *status)
{
    gb_lm_config config;
    char *path =
        querygen_open_inputs(g, status) ? gb_path_join(status, g->folder, "config.json") : NULL;
    bool ok = path && gb_lm_config_read(path, &config, status) &&
              count_bytes(g, &config, cost, status) && count_texts(g, &config, cost, status);
    free(path);
    return ok;
}

bool gb_querygen_print_cost(gb_querygen *g, gb_status *status)
{
    generation_cost c;
    if (!estimate(g, &c, status))
        return false;
    printf("passages=%u texts=%.0f prompt_tokens=%.0f most_new_tokens=%.0f most_flops=%.6g "
           "parameter_bytes=%llu cache_bytes=%llu\n",
           c.passages, c.texts, c.prompt_tokens, c.new_tokens, c.flops,
           (unsigned long long)c.parameter_bytes, (unsigned long long)c.cache_bytes);
    return true;
}
