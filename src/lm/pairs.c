/* Teaching a language model: each token of a text is predicted from the true ones before it. */
#include "generator.h"

#include <stdlib.h>
#include <string.h>

void gb_lm_pairs_reset(gb_lm_pairs *pairs)
{
    gb_batch_reset(&pairs->source);
    gb_batch_reset(&pairs->target);
}

void gb_lm_pairs_free(gb_lm_pairs *pairs)
{
    gb_batch_free(&pairs->source);
    gb_batch_free(&pairs->target);
}

bool gb_lm_pairs_add(gb_lm_pairs *pairs, const gb_lm_config *config, const uint32_t *prompt,
                     size_t prompt_length, const uint32_t *text, size_t length, gb_status *status)
{
    bool encoder = config->layers > 0;
    gb_batch *target = &pairs->target;
    const uint32_t *before = encoder ? &config->start_id : prompt;
    size_t before_length = encoder ? 1 : prompt_length;
    uint32_t first;
    if (encoder && !gb_batch_reserve(&pairs->source, prompt_length, &first, status))
        return false;
    if (encoder)
        memcpy(pairs->source.ids + first, prompt, sizeof *prompt * prompt_length);
    if (!gb_batch_reserve(target, before_length + length, &first, status))
        return false;
    memcpy(target->ids + first, before, sizeof *before * before_length);
    memcpy(target->ids + first + before_length, text, sizeof *text * length);
    int32_t *labels = target->labels + first + before_length - 1;
    for (size_t i = 0; i < length; i++)
        labels[i] = (int32_t)text[i];
    labels[length] = (int32_t)config->end_id;
    target->labelled += (uint32_t)length + 1;
    return true;
}

/* ---- on a tape ---- */

uint32_t lm_batch_fillers(uint32_t rows, uint32_t max_length)
{
    return rows / max_length + 1;
}

/* First row and number of rows of text s of a batch, or of one of those that fill it up. */
static void span_of(const gb_batch *batch, const gb_lm_rows *in, uint32_t texts, uint32_t s,
                    uint32_t span[2])
{
    uint32_t end = in->rows;
    if (s < texts) {
        span[0] = s < batch->count ? batch->starts[s] : batch->rows;
        end = s < batch->count ? batch->starts[s + 1] : batch->rows;
    } else {
        uint64_t first = batch->rows + (uint64_t)(s - texts) * in->max_length;
        span[0] = first < end ? (uint32_t)first : end;
        end = end - span[0] > in->max_length ? span[0] + in->max_length : end;
    }
    span[1] = end - span[0];
}

bool lm_batch_fill(gb_executable *exec, const gb_lm_rows *in, const gb_lm *lm,
                   const gb_batch *batch, uint32_t texts, gb_status *status)
{
    if (batch->rows > in->rows || batch->count > texts)
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "a batch of %u rows in a bucket of %u",
                       batch->rows, in->rows);
    uint32_t *ids = gb_alloc(in->rows, sizeof *ids, status);
    uint32_t *positions = gb_alloc(in->rows, sizeof *positions, status);
    uint32_t *spans = gb_alloc((size_t)in->sequences * 4, sizeof *spans, status);
    bool ok = ids && positions && spans;
    for (uint32_t r = 0; ok && r < in->rows; r++) {
        ids[r] = r < batch->rows ? batch->ids[r] : lm->config.start_id;
        positions[r] = r < batch->rows ? batch->positions[r] : 0;
    }
    for (uint32_t s = 0; ok && s < in->sequences; s++) {
        span_of(batch, in, texts, s, spans + (size_t)s * 4);
        memcpy(spans + (size_t)s * 4 + 2, spans + (size_t)s * 4, 2 * sizeof *spans);
    }
    ok = ok && gb_lm_rows_fill(exec, in, lm, ids, positions, spans, NULL, status);
    free(ids);
    free(positions);
    free(spans);
    return ok;
}

static bool fill_labels(gb_executable *exec, const gb_lm_pairs_inputs *in, const gb_batch *target,
                        float weight, gb_status *status)
{
    uint32_t *labels = gb_executable_input(exec, in->labels, status);
    float *weights = labels ? gb_executable_input(exec, in->weights, status) : NULL;
    for (uint32_t r = 0; weights && r < in->target.rows; r++) {
        bool counts = r < target->rows && target->labels[r] != GB_IGNORE;
        labels[r] = counts ? (uint32_t)target->labels[r] : GB_NO_ROW;
        weights[(size_t)r * 4] = counts ? weight : 0;
    }
    return weights != NULL;
}

typedef struct teaching_record {
    gb_lm_pairs_inputs in;    /* filled */
    const gb_lm *lm;          /* the model */
    const gb_lm_pairs *pairs; /* from */
    bool mean;                /* of all labels, else their sum */
} teaching_record;

static bool fill_teaching(const void *record_, gb_executable *exec, uint32_t step,
                          gb_status *status)
{
    (void)step;
    const teaching_record *record = record_;
    const gb_lm_pairs_inputs *in = &record->in;
    const gb_batch *source = &record->pairs->source, *target = &record->pairs->target;
    float weight = record->mean ? 1.0f / (float)target->labelled : 1;
    if (!lm_batch_fill(exec, &in->target, record->lm, target, in->texts, status) ||
        !fill_labels(exec, in, target, weight, status))
        return false;
    if (in->cross_spans == GB_NO_TENSOR)
        return true;
    uint32_t *spans = gb_executable_input(exec, in->cross_spans, status);
    for (uint32_t s = 0; spans && s < in->target.sequences; s++) {
        span_of(target, &in->target, in->texts, s, spans + (size_t)s * 4);
        span_of(source, &in->source, in->texts, s, spans + (size_t)s * 4 + 2);
    }
    return spans && lm_batch_fill(exec, &in->source, record->lm, source, in->texts, status);
}

gb_lm_pairs_inputs gb_lm_pairs_declare(gb_tape *tape, const gb_lm *lm,
                                       const gb_lm_pairs_sizes *sizes, const gb_lm_pairs *pairs,
                                       bool gradients, bool mean)
{
    bool encoder = lm->config.layers > 0;
    uint32_t fill = lm_batch_fillers(sizes->target_rows, sizes->max_target_length);
    if (encoder && lm_batch_fillers(sizes->source_rows, sizes->max_source_length) > fill)
        fill = lm_batch_fillers(sizes->source_rows, sizes->max_source_length);
    uint32_t sequences = sizes->texts + fill;
    gb_lm_pairs_inputs in = {.cross_spans = GB_NO_TENSOR, .texts = sizes->texts};
    if (encoder) {
        in.source = gb_lm_rows_declare(tape, lm, true, sizes->source_rows, sequences,
                                       sizes->max_source_length, gradients);
        in.cross_spans = gb_tape_input(tape, "cross spans", GB_U32, sequences, 4);
    }
    in.target = gb_lm_rows_declare(tape, lm, false, sizes->target_rows, sequences,
                                   sizes->max_target_length, gradients);
    in.labels = gb_tape_input(tape, "labels", GB_U32, sizes->target_rows, 1);
    in.weights = gb_tape_input(tape, "label weights", GB_F32, sizes->target_rows, 1);
    const teaching_record record = {in, lm, pairs, mean};
    gb_tape_fill_by(tape, fill_teaching, &record, sizeof record);
    return in;
}
