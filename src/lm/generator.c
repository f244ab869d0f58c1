/* A language model on a device, and the programs that text is made with. Their results for a text
 * do not depend on what else is in them: no row looks at another text's. */
#include "generator.h"

#include <stdlib.h>
#include <string.h>

enum { LEAST_PROMPT = 32, ENCODER_ROWS = 1024 };

/* Prompts of a run of the encoder. */
static uint32_t at_once(uint32_t slots)
{
    return (slots + 3) / 4;
}

void gb_generator_destroy(gb_generator *g)
{
    if (!g)
        return;
    gb_executable_destroy(g->encoder.exec);
    gb_executable_destroy(g->step.exec);
    for (int i = 0; i < GENERATOR_BUCKETS; i++)
        gb_executable_destroy(g->prompts[i].exec);
    gb_state_destroy(g->state);
    gb_params_destroy(g->params);
    gb_lm_free(&g->lm);
    free(g->ids);
    free(g->places);
    free(g->spans);
    free(g->cache_row);
    free(g);
}

const gb_lm_config *gb_generator_config(const gb_generator *g)
{
    return &g->lm.config;
}

gb_generator_counts gb_generator_done(const gb_generator *g)
{
    return g->counts;
}

/* ---- programs ---- */

/* What a program is built from. */
typedef struct plan {
    gb_generator *g;      /* whose */
    generator_program *p; /* being built */
    uint32_t prompt;      /* rows of one text, or 0: one row of each slot */
} plan;

static bool build_encoder(void *self, gb_tape *tape, gb_status *status)
{
    (void)status;
    const plan *from = self;
    const gb_generator *g = from->g;
    generator_program *p = from->p;
    p->logits = GB_NO_TENSOR;
    p->in = gb_lm_rows_declare(tape, &g->lm, true, g->rows, g->at_once, g->max_length, false);
    p->keep = gb_tape_input(tape, "keep", GB_U32, 1, g->rows);
    gb_lm_cache_write(tape, &g->lm, gb_lm_encode(tape, &g->lm, &p->in), p->keep);
    return true;
}

static bool build_decoder(void *self, gb_tape *tape, gb_status *status)
{
    (void)status;
    const plan *from = self;
    const gb_lm *lm = &from->g->lm;
    generator_program *p = from->p;
    uint32_t prompt = from->prompt;
    p->in = gb_lm_rows_declare(tape, lm, false, prompt ? prompt : lm->slots, prompt ? 1 : lm->slots,
                               lm->cached, false);
    p->cross =
        lm->config.layers ? gb_tape_input(tape, "cross spans", GB_U32, lm->slots, 4) : GB_NO_TENSOR;
    gb_tensor h = gb_lm_decode(tape, lm, &p->in, GB_NO_TENSOR, p->cross, lm->cached_encoded);
    if (prompt) {
        p->last = gb_tape_input(tape, "last row", GB_U32, 1, 1);
        h = gb_gather_rows(tape, h, p->last, GB_NO_TENSOR);
    }
    p->logits = gb_lm_logits(tape, lm, h);
    gb_tape_output(tape, p->logits);
    return true;
}

static bool make_encoder(gb_generator *g, gb_status *status)
{
    plan from = {.g = g, .p = &g->encoder};
    const gb_executable_params program = {
        .name = "encode prompts", .state = g->state, .build = build_encoder, .self = &from};
    return (g->encoder.exec = gb_executable_build(&program, status)) != NULL;
}

/* One row of each slot, or `prompt` rows of one. */
static bool make_decoder(gb_generator *g, generator_program *p, uint32_t prompt, gb_status *status)
{
    plan from = {g, p, prompt};
    const gb_executable_params program = {.name = prompt ? "prompt" : "decode",
                                          .state = g->state,
                                          .build = build_decoder,
                                          .self = &from};
    return (p->exec = gb_executable_build(&program, status)) != NULL;
}

/* Weights of a folder, or random ones. */
static bool load(gb_generator *g, gb_device *device, const char *folder, gb_status *status)
{
    g->state = gb_state_create(device, g->params, false, status);
    if (!g->state || folder)
        return g->state && gb_lm_upload(folder, &g->lm, g->params, g->state, status);
    float *values = gb_alloc(gb_params_floats(g->params), sizeof *values, status);
    if (values && !gb_device_surveys(device))
        gb_params_init(g->params, 1, values);
    bool ok = values && gb_state_write(g->state, GB_ARENA_PARAMS, values, status);
    free(values);
    return ok;
}

gb_lm_cache gb_generator_cache(const gb_lm_config *config, uint32_t slots, uint32_t max_length,
                               uint32_t max_new_tokens)
{
    bool encoder = config->layers > 0;
    return (gb_lm_cache){.slots = slots,
                         .max_length = encoder ? max_new_tokens : max_length + max_new_tokens,
                         .encoded = max_length,
                         .encoded_texts = slots + at_once(slots)};
}

/* Sizes of the caches and of the encoder's program. */
static bool declare(gb_generator *g, gb_device *device, const char *folder,
                    const gb_lm_config *config, uint32_t slots, gb_quant quant, gb_status *status)
{
    const char *where = folder ? folder : "random model";
    uint64_t rows = (uint64_t)g->at_once * g->max_length;
    g->rows = rows < ENCODER_ROWS ? (uint32_t)rows : ENCODER_ROWS;
    g->rows = g->rows < g->max_length ? g->max_length : g->rows;
    gb_lm_cache cache = gb_generator_cache(config, slots, g->max_length, g->max_new_tokens);
    cache.quant = quant;
    if (!config->layers && cache.max_length > config->max_positions)
        return gb_fail(status, GB_USAGE, where, "shorten the prompts or make fewer tokens",
                       "%u tokens of prompt and %u new ones; the model takes %u", g->max_length,
                       g->max_new_tokens, config->max_positions);
    if (!gb_lm_fits(where, config, &cache, gb_device_get_caps(device)->memory_bytes, status) ||
        !(g->params = gb_params_create(status)) ||
        !gb_lm_declare(g->params, config, &cache, &g->lm, status))
        return false;
    gb_params_freeze(g->params);
    return true;
}

static bool create(gb_generator *g, gb_device *device, const char *folder,
                   const gb_lm_config *config, uint32_t slots, gb_quant quant, gb_status *status)
{
    if (!declare(g, device, folder, config, slots, quant, status))
        return false;
    const gb_lm *lm = &g->lm;
    bool encoder = lm->config.layers > 0;
    size_t rows = slots > g->max_length ? slots : g->max_length; /* of any program */
    rows = encoder && g->rows > rows ? g->rows : rows;
    g->ids = gb_alloc(rows, sizeof *g->ids, status);
    g->places = gb_alloc(rows, sizeof *g->places, status);
    g->spans = gb_alloc((size_t)(slots + g->at_once) * 4, sizeof *g->spans, status);
    g->cache_row = gb_alloc(rows, sizeof *g->cache_row, status);
    return g->ids && g->places && g->spans && g->cache_row && load(g, device, folder, status) &&
           (!encoder || make_encoder(g, status)) && make_decoder(g, &g->step, 0, status);
}

static gb_generator *make(gb_device *device, const char *folder, const gb_lm_config *config,
                          uint32_t slots, uint32_t max_length, uint32_t max_new_tokens,
                          gb_quant quant, gb_status *status)
{
    if (!slots || !max_length || !max_new_tokens) {
        gb_fail(status, GB_USAGE, folder, NULL, "%u texts of %u tokens and %u new ones", slots,
                max_length, max_new_tokens);
        return NULL;
    }
    gb_generator *g = gb_alloc(1, sizeof *g, status);
    if (!g)
        return NULL;
    g->max_length = max_length;
    g->max_new_tokens = max_new_tokens;
    g->at_once = at_once(slots);
    if (create(g, device, folder, config, slots, quant, status))
        return g;
    gb_generator_destroy(g);
    return NULL;
}

gb_generator *gb_generator_create(gb_device *device, const char *folder, uint32_t slots,
                                  uint32_t max_length, uint32_t max_new_tokens, gb_status *status)
{
    return gb_generator_create_quant(device, folder, slots, max_length, max_new_tokens,
                                     GB_QUANT_NONE, status);
}

gb_generator *gb_generator_create_quant(gb_device *device, const char *folder, uint32_t slots,
                                        uint32_t max_length, uint32_t max_new_tokens,
                                        gb_quant quant, gb_status *status)
{
    gb_lm_config config;
    char *path = gb_path_join(status, folder, "config.json");
    bool ok = path && gb_lm_config_read(path, &config, status);
    free(path);
    return ok ? make(device, folder, &config, slots, max_length, max_new_tokens, quant, status)
              : NULL;
}

gb_generator *gb_generator_create_random(gb_device *device, const gb_lm_config *config,
                                         uint32_t slots, uint32_t max_length,
                                         uint32_t max_new_tokens, gb_status *status)
{
    return make(device, NULL, config, slots, max_length, max_new_tokens, GB_QUANT_NONE, status);
}

/* ---- running ---- */

static bool run(generator_program *p, const float **logits, gb_status *status)
{
    uint64_t ticket;
    if (!gb_executable_run(p->exec, &ticket, status) ||
        !gb_executable_wait(p->exec, ticket, status))
        return false;
    if (p->logits != GB_NO_TENSOR)
        *logits = gb_executable_output(p->exec, ticket, p->logits, status);
    return p->logits == GB_NO_TENSOR || *logits;
}

bool lm_generator_encode(gb_generator *g, const generator_prompt *prompts, uint32_t count,
                         gb_status *status)
{
    const gb_lm *lm = &g->lm;
    generator_program *p = &g->encoder;
    uint32_t *keep = gb_executable_input(p->exec, p->keep, status), used = 0;
    if (!keep)
        return false;
    memset(keep, 0xff, sizeof *keep * g->rows);
    for (uint32_t s = 0; s < g->at_once; s++) {
        uint32_t start = s < count ? prompts[s].start : 0,
                 length = s < count ? prompts[s].length : 0;
        const uint32_t span[] = {start, length, start, length};
        memcpy(g->spans + (size_t)s * 4, span, sizeof span);
        for (uint32_t i = 0; i < length; i++)
            keep[start + i] = prompts[s].place * lm->cached_encoded + i;
        used += length;
    }
    memset(g->ids + used, 0, sizeof *g->ids * (g->rows - used));
    g->counts.prompt_runs++;
    g->counts.prompt_tokens += used;
    return gb_lm_rows_fill(p->exec, &p->in, lm, g->ids, NULL, g->spans, NULL, status) &&
           run(p, NULL, status);
}

/* The program of prompts of at most so many tokens as a power of two, which is theirs whatever they
 * come with. */
static generator_program *prompt_program(gb_generator *g, uint32_t count, gb_status *status)
{
    uint32_t rows = LEAST_PROMPT, bucket = 0;
    while (rows < count && bucket + 1 < GENERATOR_BUCKETS) {
        rows *= 2;
        bucket++;
    }
    generator_program *p = &g->prompts[bucket];
    if (rows < count || rows > g->max_length)
        rows = g->max_length;
    return p->exec || make_decoder(g, p, rows, status) ? p : NULL;
}

bool lm_generator_prompt_run(gb_generator *g, const uint32_t *ids, uint32_t count, uint32_t slot,
                             const float **logits, gb_status *status)
{
    const gb_lm *lm = &g->lm;
    generator_program *p = prompt_program(g, count, status);
    uint32_t *last = p ? gb_executable_input(p->exec, p->last, status) : NULL;
    if (!last)
        return false;
    last[0] = count - 1;
    memset(g->ids, 0, sizeof *g->ids * p->in.rows);
    memset(g->places, 0, sizeof *g->places * p->in.rows);
    memset(g->cache_row, 0xff, sizeof *g->cache_row * p->in.rows);
    for (uint32_t i = 0; i < count; i++) {
        g->ids[i] = ids[i];
        g->places[i] = i;
        g->cache_row[i] = slot * lm->cached + i;
    }
    const uint32_t span[] = {0, count, slot * lm->cached, count};
    g->counts.prompt_runs++;
    g->counts.prompt_tokens += count;
    return gb_lm_rows_fill(p->exec, &p->in, lm, g->ids, g->places, span, g->cache_row, status) &&
           run(p, logits, status);
}

bool lm_generator_step(gb_generator *g, const generator_slot *slots, const float **logits,
                       gb_status *status)
{
    const gb_lm *lm = &g->lm;
    generator_program *p = &g->step;
    uint32_t *cross = lm->config.layers ? gb_executable_input(p->exec, p->cross, status) : NULL;
    if (lm->config.layers && !cross)
        return false;
    for (uint32_t s = 0; s < lm->slots; s++) {
        const generator_slot *t = &slots[s];
        const uint32_t span[] = {s, t->live, s * lm->cached, t->live ? t->at + 1 : 0};
        const uint32_t over[] = {s, t->live, t->place * lm->cached_encoded,
                                 t->live ? t->prompt_count : 0};
        memcpy(g->spans + (size_t)s * 4, span, sizeof span);
        if (cross)
            memcpy(cross + (size_t)s * 4, over, sizeof over);
        g->cache_row[s] = t->live ? s * lm->cached + t->at : GB_NO_ROW;
        g->ids[s] = t->live ? t->token : 0;
        g->places[s] = t->live ? t->at : 0;
    }
    g->counts.steps++;
    return gb_lm_rows_fill(p->exec, &p->in, lm, g->ids, g->places, g->spans, g->cache_row,
                           status) &&
           run(p, logits, status);
}
