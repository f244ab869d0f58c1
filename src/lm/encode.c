/* Vectors of texts by a LLaMA: its states behind the last norm, pooled (RepLLaMA, Ma et al., SIGIR
 * 2024, takes that of the last token). */
#include "generator.h"

#include <stdlib.h>
#include <string.h>

#define TEXTS 64 /* of a batch */
/* Tokens of a batch: a program for each, made when it is first needed; the last: of long texts. */
static const uint32_t bucket_rows[] = {64, 256, 1024, 0};
#define BUCKETS (sizeof bucket_rows / sizeof *bucket_rows)

/* A program, and what it is built from. */
typedef struct program {
    gb_lm_encoder *of;   /* whose */
    gb_executable *exec; /* NULL: not made */
    uint32_t rows;       /* tokens */
    gb_tensor vectors;   /* [TEXTS, H] */
} program;

struct gb_lm_encoder {
    gb_device *device;         /* that computes */
    gb_lm lm;                  /* the model */
    gb_params *params;         /* its parameters */
    gb_state *state;           /* their values on the device */
    gb_pooling pooling;        /* of states */
    bool normalize;            /* vectors of length 1 */
    uint32_t max_length, dims; /* tokens of a text; numbers of a vector that are kept */
    uint32_t before, behind;   /* tokens around a text, or GB_MAP_NONE */
    bool one_size;             /* of programs: that of many texts */
    gb_padding padding;        /* of all runs */
    gb_batch batch;            /* that runs */
    program programs[BUCKETS]; /* by bucket_rows */
};

/* ---- the programs ---- */

typedef struct filling {
    const gb_lm_encoder *of; /* its model and batch */
    gb_lm_rows in;           /* filled */
} filling;

static bool fill(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const filling *f = record;
    return lm_batch_fill(exec, &f->in, &f->of->lm, &f->of->batch, TEXTS, status);
}

static bool build(void *self, gb_tape *tape, gb_status *status)
{
    (void)status;
    program *p = self;
    gb_lm_encoder *e = p->of;
    uint32_t longest = e->max_length < p->rows ? e->max_length : p->rows;
    gb_builder builder = {.tape = tape, .max_length = longest};
    const filling f = {.of = e,
                       .in = gb_lm_rows_declare(tape, &e->lm, false, p->rows,
                                                TEXTS + lm_batch_fillers(p->rows, longest), longest,
                                                false)};
    gb_tape_fill_by(tape, fill, &f, sizeof f);
    const gb_pooling_params how = {
        .kind = e->pooling, .texts = TEXTS, .rows = p->rows, .max_length = longest};
    gb_pooling_inputs in = gb_pooling_declare(&builder, &how, &e->batch);
    gb_tensor h = gb_lm_decode(tape, &e->lm, &f.in, GB_NO_TENSOR, GB_NO_TENSOR, 0);
    p->vectors = gb_pooling_apply(&builder, h, &in);
    if (e->normalize)
        p->vectors = gb_normalize_rows(tape, p->vectors);
    gb_tape_output(tape, p->vectors);
    return true;
}

/* The smallest whose batch holds texts of so many tokens in all, of which one has `longest`. */
static program *program_for(gb_lm_encoder *e, size_t tokens, uint32_t longest, gb_status *status)
{
    size_t which = 0;
    if (e->one_size) {
        tokens = SIZE_MAX;
        longest = e->max_length;
    }
    while (which + 1 < BUCKETS && (bucket_rows[which] < longest || bucket_rows[which] < tokens) &&
           (bucket_rows[which + 1] || bucket_rows[which] < longest))
        which++;
    program *p = &e->programs[which];
    if (p->exec)
        return p;
    uint32_t rows = bucket_rows[which];
    *p = (program){.of = e, .rows = rows ? rows : gb_bucket_rows(e->max_length)};
    const gb_executable_params how = {.name = "encode by a language model",
                                      .state = e->state,
                                      .device = e->device,
                                      .params = e->params,
                                      .build = build,
                                      .self = p};
    p->exec = gb_executable_build(&how, status);
    return p->exec ? p : NULL;
}

/* ---- opening ---- */

static bool open_lm(gb_lm_encoder *e, const gb_lm_encoder_params *how, gb_status *status)
{
    const gb_lm_cache cache = {0};
    gb_lm_config config = *how->config;
    config.tied = true; /* the output matrix is not computed */
    return gb_lm_fits(how->folder, &config, &cache, gb_device_get_caps(how->device)->memory_bytes,
                      status) &&
           (e->params = gb_params_create(status)) &&
           gb_lm_declare(e->params, &config, &cache, &e->lm, status) &&
           (gb_params_freeze(e->params), true) &&
           (e->state = gb_state_create(how->device, e->params, false, status)) &&
           gb_lm_upload(how->folder, &e->lm, e->params, e->state, status);
}

gb_lm_encoder *gb_lm_encoder_create(const gb_lm_encoder_params *how, gb_status *status)
{
    if (how->sentence.prompt_left_out) {
        gb_fail(status, GB_DATA, how->folder, "ask for the pooling last or mean",
                "a LLaMA's mean without the prompt (\"include_prompt\": false) is not computed");
        return NULL;
    }
    gb_lm_encoder *e = gb_alloc(1, sizeof *e, status);
    if (!e)
        return NULL;
    e->device = how->device;
    e->pooling = how->sentence.pooling;
    e->normalize = how->sentence.normalize;
    e->max_length = how->sentence.max_length;
    e->dims = how->dims ? how->dims : how->config->hidden_size;
    e->before = how->before;
    e->behind = how->behind;
    e->one_size = how->one_size;
    if (open_lm(e, how, status))
        return e;
    gb_lm_encoder_destroy(e);
    return NULL;
}

void gb_lm_encoder_destroy(gb_lm_encoder *e)
{
    if (!e)
        return;
    for (size_t i = 0; i < BUCKETS; i++)
        gb_executable_destroy(e->programs[i].exec);
    gb_state_destroy(e->state);
    gb_params_destroy(e->params);
    gb_lm_free(&e->lm);
    gb_batch_free(&e->batch);
    free(e);
}

/* ---- running ---- */

/* With those around it; a text that is too long loses its end. */
static uint32_t tokens_of(const gb_lm_encoder *e, size_t length)
{
    size_t tokens = length + (e->before != GB_MAP_NONE) + (e->behind != GB_MAP_NONE);
    return tokens < e->max_length ? (uint32_t)tokens : e->max_length;
}

static bool add(gb_lm_encoder *e, const uint32_t *ids, size_t length, gb_status *status)
{
    uint32_t first, tokens = tokens_of(e, length);
    if (!gb_batch_reserve(&e->batch, tokens, &first, status))
        return false;
    uint32_t *to = e->batch.ids + first, *end = to + tokens;
    if (e->before != GB_MAP_NONE)
        *to++ = e->before;
    if (e->behind != GB_MAP_NONE)
        *--end = e->behind;
    if (end > to)
        memcpy(to, ids, sizeof *ids * (size_t)(end - to));
    return true;
}

/* Runs the batch, whose vectors go to `out`, and empties it. */
static bool flush(gb_lm_encoder *e, program *p, float *out, gb_status *status)
{
    uint64_t ticket;
    uint32_t ld = gb_tape_tensor(gb_executable_tape(p->exec), p->vectors)->ld;
    const float *vectors = gb_executable_submit(p->exec, 0, &ticket, status)
                               ? gb_executable_output(p->exec, ticket, p->vectors, status)
                               : NULL;
    for (uint32_t i = 0; vectors && i < e->batch.count; i++) {
        float *to = out + (size_t)i * e->dims;
        memcpy(to, vectors + (size_t)i * ld, sizeof *to * e->dims);
        if (e->dims < e->lm.config.hidden_size)
            gb_vector_cut(to, e->dims, e->normalize);
    }
    e->padding.used += e->batch.rows;
    e->padding.computed += p->rows;
    gb_batch_reset(&e->batch);
    return vectors != NULL;
}

static bool run_all(gb_lm_encoder *e, const gb_encode_rows *texts, program *p, float *out,
                    gb_progress *progress, gb_status *status)
{
    uint32_t done = 0;
    gb_batch_reset(&e->batch);
    for (uint32_t i = 0; i <= texts->count; i++) {
        size_t length = 0;
        const uint32_t *ids = i < texts->count ? gb_encode_text(texts, i, &length) : NULL;
        bool full = i == texts->count || e->batch.count == TEXTS ||
                    e->batch.rows + tokens_of(e, length) > p->rows;
        if (full && e->batch.count) {
            if (!flush(e, p, out + (size_t)done * e->dims, status))
                return false;
            done = i;
        }
        if (gb_interrupted())
            return gb_fail(status, GB_INTERRUPTED, texts->label ? texts->label : "encode",
                           "run the same command again", "stopped");
        if (i < texts->count && !add(e, ids, length, status))
            return false;
        if (progress)
            gb_progress_update(progress, done, NULL);
    }
    return true;
}

bool gb_lm_encoder_run(gb_lm_encoder *e, const gb_encode_rows *texts, float *out, gb_status *status)
{
    gb_progress progress;
    size_t all = 0;
    uint32_t longest = 0;
    for (uint32_t i = 0; i < texts->count; i++) {
        size_t length;
        gb_encode_text(texts, i, &length);
        uint32_t tokens = tokens_of(e, length);
        if (!tokens)
            return gb_fail(status, GB_DATA, texts->label ? texts->label : "encode",
                           "leave empty texts out", "text %u has no token", i + 1);
        all += tokens;
        longest = tokens > longest ? tokens : longest;
    }
    program *p = program_for(e, all, longest, status);
    if (!p)
        return false;
    if (texts->label)
        gb_progress_begin(&progress, texts->label, "texts", texts->count, 0);
    bool ok = run_all(e, texts, p, out, texts->label ? &progress : NULL, status);
    if (ok && texts->label)
        gb_progress_end(&progress, texts->count, NULL);
    return ok;
}

gb_padding gb_lm_encoder_padding(const gb_lm_encoder *e)
{
    return e->padding;
}
