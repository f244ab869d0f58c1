/* Text made with a language model, token by token: slots that texts run in, and prompts that wait
 * for one. */
#include "generator.h"

#include <stdlib.h>
#include <string.h>

/* A text in a slot. */
typedef struct text {
    gb_rng draws;     /* its stream */
    uint32_t passage; /* it belongs to */
    uint32_t query;   /* its number there */
    uint32_t count;   /* tokens made */
} text;

/* T5: a prompt that was encoded. */
typedef struct waiting {
    gb_prompt prompt; /* without its tokens; times: texts that have no slot yet */
    uint32_t place;   /* in the cross cache */
    uint32_t length;  /* rows there */
} waiting;

typedef struct session {
    gb_generator *g;               /* the model */
    const gb_generation *work;     /* prompts and texts */
    const gb_sampling_params *how; /* choice of tokens */
    generator_slot *slots;         /* [slots] what the programs see */
    text *texts;                   /* [slots] */
    uint32_t *made;                /* [slots * max_new_tokens] tokens */
    uint32_t live;                 /* slots with a text */
    gb_prompt next;                /* LLaMA: being worked on; T5: to be encoded; count 0: none */
    bool over;                     /* no more prompts */
    waiting *queue;                /* [at_once] T5: encoded, in order */
    uint32_t head, queued;         /* first and end of it */
    uint32_t *users;               /* [encoded] T5: texts that need a place, begun or not */
    generator_prompt *batch;       /* [at_once] T5: run of the encoder */
} session;

/* ---- prompts ---- */

static bool check_prompt(const session *s, gb_status *status)
{
    const gb_prompt *p = &s->next;
    uint32_t vocabulary = s->g->lm.config.vocab_size;
    if (p->count > s->g->max_length)
        return gb_fail(status, GB_DATA, "generate", "cut the prompts",
                       "the prompt of passage %u has %u tokens; 1 to %u fit", p->passage, p->count,
                       s->g->max_length);
    for (uint32_t i = 0; i < p->count; i++)
        if (p->ids[i] >= vocabulary)
            return gb_fail(status, GB_DATA, "generate", "use the model's own tokenizer",
                           "token %u of passage %u is outside a vocabulary of %u", p->ids[i],
                           p->passage, vocabulary);
    return true;
}

/* Have a prompt in s->next, unless there is none. */
static bool pull(session *s, gb_status *status)
{
    while (!s->over && (!s->next.count || !s->next.times)) {
        s->next = (gb_prompt){0};
        if (!s->work->next(s->work->self, &s->next, status) || !check_prompt(s, status))
            return false;
        s->over = !s->next.count;
    }
    return true;
}

/* T5: encode the next prompts, as many as fit into a run. */
static bool encode_more(session *s, gb_status *status)
{
    gb_generator *g = s->g;
    uint32_t rows = 0, place = 0;
    s->head = s->queued = 0;
    while (s->queued < g->at_once) {
        if (!pull(s, status))
            return false;
        if (s->over || rows + s->next.count > g->rows)
            break;
        while (s->users[place]) /* texts in slots hold at most one place each */
            place++;
        memcpy(g->ids + rows, s->next.ids, sizeof *g->ids * s->next.count);
        s->users[place] = s->next.times;
        s->batch[s->queued] = (generator_prompt){rows, s->next.count, place};
        s->queue[s->queued++] = (waiting){s->next, place, s->next.count};
        rows += s->next.count;
        s->next = (gb_prompt){0};
    }
    return !s->queued || lm_generator_encode(g, s->batch, s->queued, status);
}

/* ---- texts ---- */

/* The next token of a slot, and its end if this is the last. */
static bool choose(session *s, uint32_t slot, const float *logits, gb_status *status)
{
    gb_generator *g = s->g;
    const gb_lm_config *config = &g->lm.config;
    generator_slot *at = &s->slots[slot];
    text *t = &s->texts[slot];
    uint32_t *made = s->made + (size_t)slot * g->max_new_tokens;
    if (!s->how->sample)
        at->token = gb_sample_greedy(logits, config->vocab_size);
    else if (!gb_sample_token(logits, config->vocab_size, s->how, &t->draws, &at->token, status))
        return false;
    made[t->count++] = at->token;
    g->counts.tokens++;
    if (at->token != config->end_id && t->count < g->max_new_tokens)
        return true;
    at->live = false;
    s->live--;
    if (config->layers)
        s->users[at->place]--;
    return s->work->made(s->work->self, t->passage, t->query, made, t->count, status);
}

/* The next text of a prompt gets a slot. */
static void begin(session *s, uint32_t slot, gb_prompt *prompt)
{
    s->texts[slot] =
        (text){.draws = gb_rng_make(s->how->seed, GB_RNG_DRAW, prompt->query, prompt->passage),
               .passage = prompt->passage,
               .query = prompt->query};
    prompt->query++;
    prompt->times--;
    s->live++;
}

static bool begin_encoded(session *s, uint32_t slot, gb_status *status)
{
    if (s->head == s->queued && !encode_more(s, status))
        return false;
    if (s->head == s->queued)
        return true;
    waiting *w = &s->queue[s->head];
    s->slots[slot] = (generator_slot){.live = true,
                                      .token = s->g->lm.config.start_id,
                                      .place = w->place,
                                      .prompt_count = w->length};
    begin(s, slot, &w->prompt);
    s->head += !w->prompt.times;
    return true;
}

/* Texts may end with their first token, so that several are begun in one slot. */
static bool begin_prompted(session *s, uint32_t slot, gb_status *status)
{
    while (!s->slots[slot].live) {
        const float *logits;
        if (!pull(s, status))
            return false;
        if (s->over)
            break;
        if (!lm_generator_prompt_run(s->g, s->next.ids, s->next.count, slot, &logits, status))
            return false;
        s->slots[slot] = (generator_slot){.live = true, .at = s->next.count};
        begin(s, slot, &s->next);
        if (!choose(s, slot, logits, status))
            return false;
    }
    return true;
}

static bool refill(session *s, gb_status *status)
{
    bool encoder = s->g->lm.config.layers > 0;
    if (s->work->in_batches && s->live)
        return true;
    for (uint32_t slot = 0; slot < s->g->lm.slots; slot++)
        if (!s->slots[slot].live &&
            !(encoder ? begin_encoded(s, slot, status) : begin_prompted(s, slot, status)))
            return false;
    return true;
}

static bool step(session *s, gb_status *status)
{
    const float *logits;
    uint32_t ld = (s->g->lm.config.vocab_size + 3) & ~3u;
    if (!lm_generator_step(s->g, s->slots, &logits, status))
        return false;
    for (uint32_t slot = 0; slot < s->g->lm.slots; slot++) {
        if (!s->slots[slot].live)
            continue;
        s->slots[slot].at++;
        if (!choose(s, slot, logits + (size_t)slot * ld, status))
            return false;
    }
    return true;
}

static bool run(session *s, gb_status *status)
{
    if (!refill(s, status))
        return false;
    while (s->live) {
        if (gb_interrupted())
            return gb_fail(status, GB_INTERRUPTED, "generate", "run the same command again",
                           "stopped");
        if (!step(s, status) || !refill(s, status))
            return false;
    }
    return true;
}

bool gb_generate_all(gb_generator *g, const gb_generation *generation,
                     const gb_sampling_params *how, gb_status *status)
{
    uint32_t slots = g->lm.slots;
    if (how->sample && !(how->temperature > 0))
        return gb_fail(status, GB_USAGE, "generate", "give a temperature above 0", "temperature %g",
                       (double)how->temperature);
    session s = {.g = g,
                 .work = generation,
                 .how = how,
                 .slots = gb_alloc(slots, sizeof *s.slots, status),
                 .texts = gb_alloc(slots, sizeof *s.texts, status),
                 .made = gb_alloc((size_t)slots * g->max_new_tokens, sizeof *s.made, status),
                 .queue = gb_alloc(g->at_once, sizeof *s.queue, status),
                 .users = gb_alloc(g->lm.encoded, sizeof *s.users, status),
                 .batch = gb_alloc(g->at_once, sizeof *s.batch, status)};
    bool ok = s.slots && s.texts && s.made && s.queue && s.users && s.batch && run(&s, status);
    free(s.slots);
    free(s.texts);
    free(s.made);
    free(s.queue);
    free(s.users);
    free(s.batch);
    return ok;
}
