/* Vectors of many texts, in batches; no text is padded, so none need be sorted. */
#include <gabbro/nn.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define BATCH_ROWS      2048 /* tokens of a batch */
#define BATCH_SEQUENCES 128  /* texts of a batch */

/* Where the vectors of a batch go. */
typedef struct members {
    uint64_t ticket;                 /* of its run */
    uint32_t count;                  /* texts */
    uint32_t texts[BATCH_SEQUENCES]; /* numbers of the texts among those wanted */
} members;

struct gb_encoder {
    gb_encoder_params how; /* as created */
    gb_executable *exec;   /* forward pass */
    uint32_t max_rows;     /* of a batch */
    gb_tensor vectors;     /* [BATCH_SEQUENCES, width] */
    gb_batch batch;        /* batch being filled */
    gb_selected_rows read; /* first rows of its texts, where they become vectors */
    members filling;       /* its texts */
    members running;       /* those of the batch before it, which the device may work on */
    gb_padding padding;    /* of all batches */
    uint32_t left_out;     /* first tokens of texts, of no mean */
    uint32_t width;        /* floats of a vector */
    float *kept;           /* [width] a vector that is cut; NULL: they are whole */
    gb_vector_fn *take;    /* gets the vectors of a run */
    void *ctx;             /* its first argument */
};
typedef struct gb_encoder encoder;

static bool build(void *self, gb_tape *tape, gb_status *status)
{
    (void)status;
    encoder *e = self;
    const gb_bert *bert = e->how.bert;
    uint32_t max_length = e->how.max_length;
    gb_builder builder = gb_builder_forward(tape, &bert->config, max_length);
    builder.padding = &e->padding;
    e->max_rows = e->how.batch_rows         ? e->how.batch_rows
                  : BATCH_ROWS > max_length ? BATCH_ROWS
                                            : gb_bucket_rows(max_length);
    gb_batch_inputs in =
        gb_batch_declare(&builder, &bert->config, e->max_rows, BATCH_SEQUENCES, &e->batch, 0);
    gb_tensor pooled;
    if (e->how.sentence.pooling == GB_POOLING_TERMS) {
        gb_tensor h = gb_bert_encode(&builder, bert, &in, 0, NULL);
        e->vectors = gb_bert_term_weights(&builder, bert, h,
                                          gb_texts_declare(&builder, BATCH_SEQUENCES, &e->batch));
        gb_tape_output(tape, e->vectors);
        return true;
    }
    if (e->how.sentence.pooling == GB_POOLING_MEAN) {
        const gb_pooling_params how = {.kind = GB_POOLING_MEAN,
                                       .texts = BATCH_SEQUENCES,
                                       .rows = e->max_rows,
                                       .max_length = max_length,
                                       .skip = &e->left_out};
        gb_pooling_inputs pooling = gb_pooling_declare(&builder, &how, &e->batch);
        pooled = gb_pooling_apply(&builder, gb_bert_encode(&builder, bert, &in, 0, NULL), &pooling);
    } else {
        gb_selected_rows_declare(&builder, &in, BATCH_SEQUENCES, &e->batch, &e->read);
        pooled = gb_bert_encode_rows(&builder, bert, &in);
    }
    e->vectors = gb_sentence_vectors(&builder, bert, e->how.sentence.normalize, pooled);
    gb_tape_output(tape, e->vectors);
    return true;
}

void gb_vector_cut(float *vector, uint32_t dims, bool unit)
{
    double square = 0;
    for (uint32_t i = 0; i < dims; i++)
        square += (double)vector[i] * (double)vector[i];
    for (uint32_t i = 0; unit && square > 0 && i < dims; i++)
        vector[i] = (float)((double)vector[i] / sqrt(square));
}

/* The beginning of a vector, where less than all of it is wanted. */
static const float *cut(encoder *e, const float *vector)
{
    if (!e->kept)
        return vector;
    memcpy(e->kept, vector, sizeof *vector * e->width);
    gb_vector_cut(e->kept, e->width, e->how.sentence.normalize);
    return e->kept;
}

/* Put the vectors of the batch that was run last in place. */
static bool collect(encoder *e, gb_status *status)
{
    if (!e->running.count)
        return true;
    uint32_t ld = gb_tape_tensor(gb_executable_tape(e->exec), e->vectors)->ld;
    const float *vectors = gb_executable_output(e->exec, e->running.ticket, e->vectors, status);
    bool ok = vectors != NULL;
    for (uint32_t i = 0; ok && i < e->running.count; i++)
        ok = e->take(e->ctx, e->running.texts[i], cut(e, vectors + (size_t)i * ld), status);
    e->running.count = 0;
    return ok;
}

/* Hand the batch to the device, and while it works collect the batch before. */
static bool flush(encoder *e, gb_status *status)
{
    if (!e->filling.count)
        return true;
    const gb_batch *batch = &e->batch;
    if (!gb_selected_rows_pooled(&e->read, batch, e->how.sentence.pooling, status) ||
        !gb_executable_submit(e->exec, 0, &e->filling.ticket, status) || !collect(e, status))
        return false;
    e->running = e->filling;
    e->filling.count = 0;
    gb_batch_reset(&e->batch);
    return true;
}

const uint32_t *gb_encode_text(const gb_encode_rows *texts, uint32_t index, size_t *length)
{
    uint32_t row = texts->first + index;
    if (texts->rows)
        row = texts->rows[row];
    if (texts->tokens)
        return gb_row_file_row(texts->tokens, row, length);
    *length = texts->starts[row + 1] - texts->starts[row];
    return texts->ids + texts->starts[row];
}

static bool encode_all(encoder *e, const gb_encode_rows *texts, gb_status *status)
{
    gb_progress progress;
    uint32_t max_length = e->how.max_length;
    if (texts->label)
        gb_progress_begin(&progress, texts->label, "texts", texts->count, 0);
    for (uint32_t i = 0; i < texts->count; i++) {
        size_t length;
        const uint32_t *ids = gb_encode_text(texts, i, &length);
        uint32_t tokens = length + 2 > max_length ? max_length : (uint32_t)length + 2;
        bool full = e->batch.rows + tokens > e->max_rows || e->filling.count == BATCH_SEQUENCES;
        if (full && !flush(e, status))
            return false;
        if (gb_interrupted())
            return gb_fail(status, GB_INTERRUPTED, texts->label ? texts->label : "encode",
                           "run the same command again", "stopped");
        e->filling.texts[e->filling.count++] = i;
        if (!gb_batch_add(&e->batch, &e->how.specials, ids, NULL, length, max_length, status))
            return false;
        if (texts->label)
            gb_progress_update(&progress, i, NULL);
    }
    if (!flush(e, status) || !collect(e, status))
        return false;
    if (texts->label)
        gb_progress_end(&progress, texts->count, NULL);
    return true;
}

gb_encoder *gb_encoder_create(const gb_encoder_params *params, gb_status *status)
{
    encoder *e = gb_alloc(1, sizeof *e, status);
    if (!e)
        return NULL;
    e->how = *params;
    const gb_bert_config *config = &params->bert->config;
    e->width =
        params->sentence.pooling == GB_POOLING_TERMS ? config->vocab_size : config->hidden_size;
    bool cuts = params->dims && params->dims < e->width;
    e->width = cuts ? params->dims : e->width;
    if (cuts && !(e->kept = gb_alloc(e->width, sizeof *e->kept, status))) {
        gb_encoder_destroy(e);
        return NULL;
    }
    const gb_executable_params program = {.name = "encode",
                                          .state = params->state,
                                          .device = params->device,
                                          .params = params->params,
                                          .values = params->values,
                                          .build = build,
                                          .self = e};
    if ((e->exec = gb_executable_build(&program, status)))
        return e;
    gb_encoder_destroy(e);
    return NULL;
}

uint32_t gb_encoder_width(const gb_encoder *e)
{
    return e->width;
}

void gb_encoder_leave_out(gb_encoder *e, uint32_t tokens)
{
    e->left_out = tokens;
}

bool gb_encoder_each(gb_encoder *e, const gb_encode_rows *texts, gb_vector_fn *take, void *ctx,
                     gb_status *status)
{
    e->take = take;
    e->ctx = ctx;
    e->filling.count = e->running.count = 0;
    gb_batch_reset(&e->batch);
    return encode_all(e, texts, status);
}

/* Where vectors are written to. */
typedef struct matrix {
    float *values;  /* [texts, width] */
    uint32_t width; /* floats of a vector */
} matrix;

static bool put(void *ctx, uint32_t text, const float *vector, gb_status *status)
{
    (void)status;
    const matrix *to = ctx;
    memcpy(to->values + (size_t)text * to->width, vector, sizeof *vector * to->width);
    return true;
}

bool gb_encoder_run(gb_encoder *e, const gb_encode_rows *texts, float *out, gb_status *status)
{
    matrix to = {out, e->width};
    return gb_encoder_each(e, texts, put, &to, status);
}

gb_padding gb_encoder_padding(const gb_encoder *e)
{
    return e->padding;
}

void gb_encoder_destroy(gb_encoder *e)
{
    if (!e)
        return;
    gb_executable_destroy(e->exec);
    gb_batch_free(&e->batch);
    gb_selected_rows_free(&e->read);
    free(e->kept);
    free(e);
}

bool gb_encode(const gb_encoder_params *params, const gb_encode_rows *texts, float *out,
               gb_status *status)
{
    encoder *e = gb_encoder_create(params, status);
    bool ok = e && gb_encoder_run(e, texts, out, status);
    gb_encoder_destroy(e);
    return ok;
}
