/* Teaching a language model: each token of a text is predicted from the true ones before it. */
#include <gabbro/lm.h>

#include <stdlib.h>
#include <string.h>

void gb_language_pairs_reset(gb_language_pairs *pairs)
{
    gb_packed_reset(&pairs->given);
    gb_packed_reset(&pairs->written);
}

void gb_language_pairs_free(gb_language_pairs *pairs)
{
    gb_packed_free(&pairs->given);
    gb_packed_free(&pairs->written);
}

bool gb_language_pairs_add(gb_language_pairs *pairs, const gb_language_config *config,
                           const uint32_t *prompt, size_t prompt_length, const uint32_t *text,
                           size_t length, gb_status *status)
{
    bool encoder = config->layers > 0;
    gb_packed *written = &pairs->written;
    const uint32_t *before = encoder ? &config->start_id : prompt;
    size_t before_length = encoder ? 1 : prompt_length;
    uint32_t first;
    if (encoder && !gb_packed_begin(&pairs->given, prompt_length, &first, status))
        return false;
    if (encoder)
        memcpy(pairs->given.ids + first, prompt, sizeof *prompt * prompt_length);
    if (!gb_packed_begin(written, before_length + length, &first, status))
        return false;
    memcpy(written->ids + first, before, sizeof *before * before_length);
    memcpy(written->ids + first + before_length, text, sizeof *text * length);
    int32_t *labels = written->labels + first + before_length - 1;
    for (size_t i = 0; i < length; i++)
        labels[i] = (int32_t)text[i];
    labels[length] = (int32_t)config->end_id;
    written->labelled += (uint32_t)length + 1;
    return true;
}

/* ---- on a tape ---- */

static uint32_t most_fillers(uint32_t rows, uint32_t longest)
{
    return rows / longest + 1;
}

/* First row and number of rows of text s of a batch, or of one of those that fill it up. */
static void span_of(const gb_packed *packed, const gb_language_rows *in, uint32_t texts, uint32_t s,
                    uint32_t span[2])
{
    uint32_t end = in->rows;
    if (s < texts) {
        span[0] = s < packed->count ? packed->starts[s] : packed->rows;
        end = s < packed->count ? packed->starts[s + 1] : packed->rows;
    } else {
        uint64_t first = packed->rows + (uint64_t)(s - texts) * in->longest;
        span[0] = first < end ? (uint32_t)first : end;
        end = end - span[0] > in->longest ? span[0] + in->longest : end;
    }
    span[1] = end - span[0];
}

/* Behind the batch: the start token at place 0. */
static bool fill_rows(gb_exec *exec, const gb_language_rows *in, const gb_language *lm,
                      const gb_packed *packed, uint32_t texts, gb_status *status)
{
    if (packed->rows > in->rows || packed->count > texts)
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "a batch of %u rows in a bucket of %u",
                       packed->rows, in->rows);
    uint32_t *ids = gb_alloc(in->rows, sizeof *ids, status);
    uint32_t *positions = gb_alloc(in->rows, sizeof *positions, status);
    uint32_t *spans = gb_alloc((size_t)in->sequences * 4, sizeof *spans, status);
    bool ok = ids && positions && spans;
    for (uint32_t r = 0; ok && r < in->rows; r++) {
        ids[r] = r < packed->rows ? packed->ids[r] : lm->config.start_id;
        positions[r] = r < packed->rows ? packed->positions[r] : 0;
    }
    for (uint32_t s = 0; ok && s < in->sequences; s++) {
        span_of(packed, in, texts, s, spans + (size_t)s * 4);
        memcpy(spans + (size_t)s * 4 + 2, spans + (size_t)s * 4, 2 * sizeof *spans);
    }
    ok = ok && gb_language_rows_fill(exec, in, lm, ids, positions, spans, NULL, status);
    free(ids);
    free(positions);
    free(spans);
    return ok;
}

static bool fill_labels(gb_exec *exec, const gb_language_teaching *in, const gb_packed *written,
                        float weight, gb_status *status)
{
    uint32_t *labels = gb_exec_input(exec, in->labels, status);
    float *weights = labels ? gb_exec_input(exec, in->weights, status) : NULL;
    for (uint32_t r = 0; weights && r < in->written.rows; r++) {
        bool counts = r < written->rows && written->labels[r] != GB_IGNORE;
        labels[r] = counts ? (uint32_t)written->labels[r] : GB_NO_ROW;
        weights[(size_t)r * 4] = counts ? weight : 0;
    }
    return weights != NULL;
}

typedef struct teaching_record {
    gb_language_teaching in;        /* filled */
    const gb_language *lm;          /* the model */
    const gb_language_pairs *pairs; /* from */
    bool mean;                      /* of all labels, else their sum */
} teaching_record;

static bool fill_teaching(const void *record_, gb_exec *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const teaching_record *record = record_;
    const gb_language_teaching *in = &record->in;
    const gb_packed *given = &record->pairs->given, *written = &record->pairs->written;
    float weight = record->mean ? 1.0f / (float)written->labelled : 1;
    if (!fill_rows(exec, &in->written, record->lm, written, in->texts, status) ||
        !fill_labels(exec, in, written, weight, status))
        return false;
    if (in->cross_spans == GB_NO_TENSOR)
        return true;
    uint32_t *spans = gb_exec_input(exec, in->cross_spans, status);
    for (uint32_t s = 0; spans && s < in->written.sequences; s++) {
        span_of(written, &in->written, in->texts, s, spans + (size_t)s * 4);
        span_of(given, &in->given, in->texts, s, spans + (size_t)s * 4 + 2);
    }
    return spans && fill_rows(exec, &in->given, record->lm, given, in->texts, status);
}

gb_language_teaching gb_language_teaching_declare(gb_tape *tape, const gb_language *lm,
                                                  const gb_language_sizes *sizes,
                                                  const gb_language_pairs *pairs, bool gradients,
                                                  bool mean)
{
    bool encoder = lm->config.layers > 0;
    uint32_t fill = most_fillers(sizes->written_rows, sizes->longest_written);
    if (encoder && most_fillers(sizes->given_rows, sizes->longest_given) > fill)
        fill = most_fillers(sizes->given_rows, sizes->longest_given);
    uint32_t sequences = sizes->texts + fill;
    gb_language_teaching in = {.cross_spans = GB_NO_TENSOR, .texts = sizes->texts};
    if (encoder) {
        in.given = gb_language_rows_declare(tape, lm, true, sizes->given_rows, sequences,
                                            sizes->longest_given, gradients);
        in.cross_spans = gb_tape_input(tape, "cross spans", GB_U32, sequences, 4);
    }
    in.written = gb_language_rows_declare(tape, lm, false, sizes->written_rows, sequences,
                                          sizes->longest_written, gradients);
    in.labels = gb_tape_input(tape, "labels", GB_U32, sizes->written_rows, 1);
    in.weights = gb_tape_input(tape, "label weights", GB_F32, sizes->written_rows, 1);
    const teaching_record record = {in, lm, pairs, mean};
    gb_tape_fill_by(tape, fill_teaching, &record, sizeof record);
    return in;
}
