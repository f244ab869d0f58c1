/* Text made with a language model, token by token, keys and values kept on the device. */
#include <gabbro/language.h>

#include <stdlib.h>
#include <string.h>

/* A recorded program: the encoder, or the decoder over some rows. */
typedef struct program {
    gb_tape *tape;       /* operations */
    gb_exec *exec;       /* recorded */
    gb_language_rows in; /* rows */
    gb_tensor cross;     /* decoder of T5: u32 [slots, 4] */
    gb_tensor keep;      /* encoder: u32 [1, rows of the cross cache] */
    gb_tensor last;      /* prompts: u32 [1, slots], last row of each */
    gb_tensor logits;    /* decoder: [slots, V] */
} program;

struct gb_generator {
    gb_language lm;    /* the model */
    gb_params *params; /* its parameters */
    gb_state *state;   /* on the device */
    uint32_t longest;  /* tokens of a prompt */
    uint32_t most_new; /* tokens made */
    program prompt;    /* encoder of T5, or the prompts of LLaMA */
    program step;      /* one token of each text */
    uint32_t *ids;     /* [slots * longest] of a program */
    uint32_t *places;  /* [slots * longest] likewise */
    uint32_t *spans;   /* [slots, 4] */
    uint32_t *pick;    /* [slots * rows of the cache] */
};

static void program_free(program *p)
{
    gb_exec_destroy(p->exec);
    gb_tape_destroy(p->tape);
}

void gb_generator_destroy(gb_generator *g)
{
    if (!g)
        return;
    program_free(&g->prompt);
    program_free(&g->step);
    gb_state_destroy(g->state);
    gb_params_destroy(g->params);
    gb_language_free(&g->lm);
    free(g->ids);
    free(g->places);
    free(g->spans);
    free(g->pick);
    free(g);
}

const gb_language_config *gb_generator_config(const gb_generator *g)
{
    return &g->lm.config;
}

static bool record(gb_generator *g, program *p, gb_status *status)
{
    p->exec = gb_tape_ok(p->tape, status) ? gb_exec_create(g->state, p->tape, status) : NULL;
    return p->exec != NULL;
}

static bool build_encoder(gb_generator *g, gb_status *status)
{
    program *p = &g->prompt;
    const gb_language *lm = &g->lm;
    uint32_t rows = lm->slots * g->longest;
    p->tape = gb_tape_create(g->params, "encode prompts", status);
    if (!p->tape)
        return false;
    p->in = gb_language_rows_declare(p->tape, lm, true, rows, lm->slots, g->longest, false);
    p->keep = gb_tape_input(p->tape, "keep", GB_U32, 1, rows);
    gb_language_keep(p->tape, lm, gb_language_encode(p->tape, lm, &p->in), p->keep);
    return record(g, p, status);
}

/* rows: one a text, or all of the prompts. */
static bool build_decoder(gb_generator *g, program *p, uint32_t rows, gb_status *status)
{
    const gb_language *lm = &g->lm;
    p->tape = gb_tape_create(g->params, "decode", status);
    if (!p->tape)
        return false;
    p->in = gb_language_rows_declare(p->tape, lm, false, rows, lm->slots, lm->cached, false);
    p->cross = lm->config.layers ? gb_tape_input(p->tape, "cross spans", GB_U32, lm->slots, 4)
                                 : GB_NO_TENSOR;
    gb_tensor h =
        gb_language_decode(p->tape, lm, &p->in, GB_NO_TENSOR, p->cross, lm->cached_encoded);
    if (rows > lm->slots) {
        p->last = gb_tape_input(p->tape, "last rows", GB_U32, 1, lm->slots);
        h = gb_gather_rows(p->tape, h, p->last, GB_NO_TENSOR);
    }
    p->logits = gb_language_logits(p->tape, lm, h);
    gb_tape_output(p->tape, p->logits);
    return record(g, p, status);
}

static bool load(gb_generator *g, gb_device *device, const char *folder, gb_status *status)
{
    float *values = gb_alloc(gb_params_floats(g->params), sizeof *values, status);
    bool ok = values && gb_language_load(folder, g->params, values, status);
    g->state = ok ? gb_state_create(device, g->params, false, status) : NULL;
    ok = g->state && gb_state_write(g->state, GB_ARENA_PARAMS, values, status);
    free(values);
    return ok;
}

static bool create(gb_generator *g, gb_device *device, const char *folder, uint32_t slots,
                   gb_status *status)
{
    gb_language_config config;
    char *path = gb_path_join(status, folder, "config.json");
    bool ok = path && gb_language_config_read(path, &config, status);
    free(path);
    g->params = ok ? gb_params_create(status) : NULL;
    if (!g->params)
        return false;
    bool encoder = config.layers > 0;
    gb_language_cache cache = {slots, encoder ? g->most_new : g->longest + g->most_new, g->longest};
    if (!encoder && cache.longest > config.max_positions)
        return gb_fail(status, GB_USAGE, folder, "shorten the prompts or make fewer tokens",
                       "%u tokens of prompt and %u new ones; the model takes %u", g->longest,
                       g->most_new, config.max_positions);
    if (!gb_language_declare(g->params, &config, &cache, &g->lm, status))
        return false;
    gb_params_freeze(g->params);
    g->ids = gb_alloc((size_t)slots * g->longest, sizeof *g->ids, status);
    g->places = gb_alloc((size_t)slots * g->longest, sizeof *g->places, status);
    g->spans = gb_alloc((size_t)slots * 4, sizeof *g->spans, status);
    g->pick = gb_alloc((size_t)slots * (cache.longest + g->longest), sizeof *g->pick, status);
    return g->ids && g->places && g->spans && g->pick && load(g, device, folder, status) &&
           (encoder ? build_encoder(g, status)
                    : build_decoder(g, &g->prompt, slots * g->longest, status)) &&
           build_decoder(g, &g->step, slots, status);
}

gb_generator *gb_generator_create(gb_device *device, const char *folder, uint32_t slots,
                                  uint32_t longest, uint32_t most_new, gb_status *status)
{
    if (!slots || !longest || !most_new) {
        gb_fail(status, GB_USAGE, folder, NULL, "%u texts of %u tokens and %u new ones", slots,
                longest, most_new);
        return NULL;
    }
    gb_generator *g = gb_alloc(1, sizeof *g, status);
    if (!g)
        return NULL;
    g->longest = longest + (slots * longest == slots); /* two rows a text at least */
    g->most_new = most_new;
    if (create(g, device, folder, slots, status))
        return g;
    gb_generator_destroy(g);
    return NULL;
}

/* ---- running ---- */

static uint32_t length_of(const gb_prompts *in, uint32_t slot)
{
    return slot < in->count ? in->starts[slot + 1] - in->starts[slot] : 0;
}

static bool run(program *p, const float **logits, gb_status *status)
{
    uint64_t ticket;
    if (!gb_exec_run(p->exec, &ticket, status) || !gb_exec_wait(p->exec, ticket, status))
        return false;
    *logits = logits && p->logits != GB_NO_TENSOR && p->in.pick != GB_NO_TENSOR
                  ? gb_exec_output(p->exec, ticket, p->logits, status)
                  : NULL;
    return true;
}

/* The prompts: into the cache of the encoder, or of the decoder with the logits of the first token.
 */
static bool run_prompts(gb_generator *g, const gb_prompts *in, const float **logits,
                        gb_status *status)
{
    const gb_language *lm = &g->lm;
    bool encoder = lm->config.layers > 0;
    uint32_t rows = encoder ? g->longest : lm->cached; /* of a text in the cache */
    program *p = &g->prompt;
    memset(g->ids, 0, sizeof *g->ids * lm->slots * g->longest);
    memset(g->places, 0, sizeof *g->places * lm->slots * g->longest);
    memset(g->pick, 0xff, sizeof *g->pick * lm->slots * rows);
    uint32_t *last = encoder ? NULL : gb_exec_input(p->exec, p->last, status);
    if (!encoder && !last)
        return false;
    for (uint32_t s = 0; s < lm->slots; s++) {
        uint32_t length = length_of(in, s), row = s * g->longest;
        for (uint32_t i = 0; i < length; i++) {
            g->ids[row + i] = in->ids[in->starts[s] + i];
            g->places[row + i] = i;
            g->pick[s * rows + i] = row + i;
        }
        const uint32_t span[] = {row, length, encoder ? row : s * rows, length};
        memcpy(g->spans + (size_t)s * 4, span, sizeof span);
        if (last)
            last[s] = length ? row + length - 1 : GB_NO_ROW;
    }
    uint32_t *keep = encoder ? gb_exec_input(p->exec, p->keep, status) : NULL;
    if (keep)
        memcpy(keep, g->pick, sizeof *keep * lm->slots * rows);
    return (keep || !encoder) &&
           gb_language_rows_fill(p->exec, &p->in, lm, g->ids, g->places, g->spans,
                                 encoder ? NULL : g->pick, status) &&
           run(p, logits, status);
}

/* One token of every text that is not at its end, behind `place[slot]` others. */
static bool run_step(gb_generator *g, const gb_prompts *in, const uint32_t *tokens,
                     const uint32_t *place, const bool *ended, const float **logits,
                     gb_status *status)
{
    const gb_language *lm = &g->lm;
    program *p = &g->step;
    uint32_t *cross = lm->config.layers ? gb_exec_input(p->exec, p->cross, status) : NULL;
    if (lm->config.layers && !cross)
        return false;
    memset(g->pick, 0xff, sizeof *g->pick * lm->slots * lm->cached);
    for (uint32_t s = 0; s < lm->slots; s++) {
        bool live = !ended[s];
        const uint32_t span[] = {s, live, s * lm->cached, live ? place[s] + 1 : 0};
        const uint32_t over[] = {s, live, s * g->longest, live ? length_of(in, s) : 0};
        memcpy(g->spans + (size_t)s * 4, span, sizeof span);
        if (cross)
            memcpy(cross + (size_t)s * 4, over, sizeof over);
        if (live)
            g->pick[s * lm->cached + place[s]] = s;
    }
    return gb_language_rows_fill(p->exec, &p->in, lm, tokens, place, g->spans, g->pick, status) &&
           run(p, logits, status);
}

/* The next token of every text; *left: texts that go on. */
static bool choose(gb_generator *g, const gb_pick_params *how, const float *logits, gb_rng *draws,
                   uint32_t *tokens, bool *ended, uint32_t *made, uint32_t *counts, uint32_t *left,
                   gb_status *status)
{
    uint32_t vocabulary = g->lm.config.vocab_size, ld = (vocabulary + 3) & ~3u;
    *left = 0;
    for (uint32_t s = 0; s < g->lm.slots; s++) {
        if (ended[s])
            continue;
        const float *row = logits + (size_t)s * ld;
        if (!how->sample)
            tokens[s] = gb_pick_greedy(row, vocabulary);
        else if (!gb_pick_token(row, vocabulary, how, &draws[s], &tokens[s], status))
            return false;
        made[(size_t)s * g->most_new + counts[s]++] = tokens[s];
        ended[s] = tokens[s] == g->lm.config.end_id || counts[s] == g->most_new;
        *left += !ended[s];
    }
    return true;
}

static bool check_prompts(const gb_generator *g, const gb_prompts *in, gb_status *status)
{
    if (in->count > g->lm.slots)
        return gb_fail(status, GB_USAGE, "generate", NULL, "%u prompts in %u slots", in->count,
                       g->lm.slots);
    for (uint32_t s = 0; s < in->count; s++) {
        if (!length_of(in, s) || length_of(in, s) > g->longest)
            return gb_fail(status, GB_DATA, "generate", "cut the prompts",
                           "prompt %u has %u tokens; 1 to %u fit", s, length_of(in, s), g->longest);
        for (uint32_t i = in->starts[s]; i < in->starts[s + 1]; i++)
            if (in->ids[i] >= g->lm.config.vocab_size)
                return gb_fail(status, GB_DATA, "generate", "use the model's own tokenizer",
                               "token %u of prompt %u is outside a vocabulary of %u", in->ids[i], s,
                               g->lm.config.vocab_size);
    }
    return true;
}

/* What a run keeps of every slot. */
typedef struct progress {
    gb_rng *draws;   /* streams of the texts */
    uint32_t *token; /* last token */
    uint32_t *place; /* tokens in the decoder's cache */
    bool *ended;     /* no more tokens */
} progress;

static bool generate(gb_generator *g, const gb_prompts *in, const gb_pick_params *how, progress *t,
                     uint32_t *made, uint32_t *counts, gb_status *status)
{
    bool encoder = g->lm.config.layers > 0;
    uint32_t left = in->count;
    for (uint32_t s = 0; s < g->lm.slots; s++) {
        counts[s] = 0;
        t->ended[s] = s >= in->count;
        t->token[s] = g->lm.config.start_id;
        t->place[s] = encoder ? 0 : length_of(in, s);
        if (s < in->count)
            t->draws[s] = gb_rng_make(how->seed, GB_RNG_DRAW, in->query[s], in->passage[s]);
    }
    const float *logits = NULL;
    if (!run_prompts(g, in, &logits, status))
        return false;
    if (!encoder && (!logits || !choose(g, how, logits, t->draws, t->token, t->ended, made, counts,
                                        &left, status)))
        return false;
    while (left) {
        if (!run_step(g, in, t->token, t->place, t->ended, &logits, status) || !logits)
            return false;
        for (uint32_t s = 0; s < in->count; s++)
            t->place[s] += !t->ended[s];
        if (!choose(g, how, logits, t->draws, t->token, t->ended, made, counts, &left, status))
            return false;
    }
    return true;
}

bool gb_generate(gb_generator *g, const gb_prompts *in, const gb_pick_params *how, uint32_t *made,
                 uint32_t *counts, gb_status *status)
{
    if (!check_prompts(g, in, status))
        return false;
    if (how->sample && !(how->temperature > 0))
        return gb_fail(status, GB_USAGE, "generate", "give a temperature above 0", "temperature %g",
                       (double)how->temperature);
    uint32_t slots = g->lm.slots;
    progress t = {
        gb_alloc(slots, sizeof *t.draws, status), gb_alloc(slots, sizeof *t.token, status),
        gb_alloc(slots, sizeof *t.place, status), gb_alloc(slots, sizeof *t.ended, status)};
    bool ok =
        t.draws && t.token && t.place && t.ended && generate(g, in, how, &t, made, counts, status);
    free(t.draws);
    free(t.token);
    free(t.place);
    free(t.ended);
    return ok;
}
