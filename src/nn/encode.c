/* Vectors of many texts, in packed batches; no text is padded, so none need be sorted. */
#include <gabbro/encoding.h>

#include <stdlib.h>
#include <string.h>

#define BATCH_ROWS      2048 /* tokens of a batch */
#define BATCH_SEQUENCES 128  /* texts of a batch */

struct gb_encoder {
    const gb_bert *bert;               /* the model */
    const gb_special_ids *specials;    /* ids around every text */
    const gb_table *tokens;            /* texts as ids */
    const uint32_t *rows;              /* texts wanted */
    uint32_t first;                    /* of them, or without them row of the first text */
    gb_state *state;                   /* parameters */
    const gb_sentence_settings *how;   /* pooling */
    uint32_t longest;                  /* tokens of a text */
    gb_tape *tape;                     /* forward pass */
    gb_exec *exec;                     /* recorded */
    gb_packed_inputs in;               /* the batch */
    gb_pooling_inputs pooling;         /* its vectors */
    gb_tensor vectors;                 /* [BATCH_SEQUENCES, H] */
    gb_packed packed;                  /* batch being filled */
    uint32_t members[BATCH_SEQUENCES]; /* texts of the batch */
    float *out;                        /* [count, H] */
};
typedef struct gb_encoder encoder;

static bool build(encoder *e, const gb_params *params, gb_status *status)
{
    e->tape = gb_tape_create(params, "encode", status);
    if (!e->tape)
        return false;
    gb_net net = {
        .tape = e->tape, .eps = (float)e->bert->config.layer_norm_eps, .longest = e->longest};
    uint32_t rows = BATCH_ROWS > e->longest ? BATCH_ROWS : gb_bucket_rows(e->longest);
    e->in = gb_packed_declare(&net, &e->bert->config, rows, BATCH_SEQUENCES);
    e->pooling = gb_pooling_declare(&net, e->how->pooling, BATCH_SEQUENCES, rows, e->longest);
    gb_tensor pooled =
        e->pooling.mean
            ? gb_pooling_apply(&net, gb_bert_encode(&net, e->bert, &e->in, 0, NULL), &e->pooling)
            : gb_bert_encode_rows(&net, e->bert, &e->in, &e->pooling.cls);
    e->vectors = gb_sentence_vectors(&net, e->bert, e->how->normalize, pooled);
    gb_tape_output(e->tape, e->vectors);
    e->exec = gb_exec_create(e->state, e->tape, status);
    return e->exec != NULL;
}

/* Run the batch and put its vectors in place. */
static bool flush(encoder *e, gb_status *status)
{
    uint32_t count = e->packed.count, h = e->bert->config.hidden_size;
    if (!count)
        return true;
    uint64_t ticket;
    if (!gb_packed_fill(e->exec, &e->in, &e->packed, &e->bert->config, 0, 0, status) ||
        !gb_pooling_fill(e->exec, &e->pooling, e->packed.starts, count, status) ||
        !gb_exec_run(e->exec, &ticket, status))
        return false;
    const float *vectors = gb_exec_output(e->exec, ticket, e->vectors, status);
    if (!vectors)
        return false;
    uint32_t ld = gb_tape_tensor(e->tape, e->vectors)->ld;
    for (uint32_t i = 0; i < count; i++)
        memcpy(e->out + (size_t)e->members[i] * h, vectors + (size_t)i * ld, sizeof(float) * h);
    gb_packed_reset(&e->packed);
    return true;
}

static bool encode_all(encoder *e, uint32_t count, const char *label, gb_status *status)
{
    gb_progress progress;
    if (label)
        gb_progress_begin(&progress, label, "texts", count, 0);
    for (uint32_t i = 0; i < count; i++) {
        size_t length;
        const uint32_t *ids =
            gb_table_row(e->tokens, e->rows ? e->rows[e->first + i] : e->first + i, &length);
        uint32_t tokens = length + 2 > e->longest ? e->longest : (uint32_t)length + 2;
        if ((e->packed.rows + tokens > e->in.rows || e->packed.count == BATCH_SEQUENCES) &&
            !flush(e, status))
            return false;
        if (gb_interrupted())
            return gb_fail(status, GB_INTERRUPTED, label ? label : "encode",
                           "run the same command again", "stopped");
        e->members[e->packed.count] = i;
        if (!gb_packed_add(&e->packed, e->specials, ids, NULL, length, e->longest, status))
            return false;
        if (label)
            gb_progress_update(&progress, i, NULL);
    }
    if (!flush(e, status))
        return false;
    if (label)
        gb_progress_end(&progress, count, NULL);
    return true;
}

gb_encoder *gb_encoder_create(gb_device *device, const gb_bert *bert, const gb_params *params,
                              const float *values, const gb_sentence_settings *how,
                              const gb_special_ids *specials, uint32_t longest, gb_status *status)
{
    encoder *e = gb_alloc(1, sizeof *e, status);
    if (!e)
        return NULL;
    e->bert = bert;
    e->specials = specials;
    e->how = how;
    e->longest = longest;
    e->state = gb_state_create(device, params, false, status);
    if (e->state && gb_state_write(e->state, GB_ARENA_PARAMS, values, status) &&
        build(e, params, status))
        return e;
    gb_encoder_destroy(e);
    return NULL;
}

bool gb_encoder_run(gb_encoder *e, const gb_table *tokens, const uint32_t *rows, uint32_t first,
                    uint32_t count, const char *label, float *out, gb_status *status)
{
    e->tokens = tokens;
    e->rows = rows;
    e->first = first;
    e->out = out;
    gb_packed_reset(&e->packed);
    return encode_all(e, count, label, status);
}

gb_padding gb_encoder_padding(const gb_encoder *e)
{
    return gb_exec_padding(e->exec);
}

void gb_encoder_destroy(gb_encoder *e)
{
    if (!e)
        return;
    gb_exec_destroy(e->exec);
    gb_tape_destroy(e->tape);
    gb_packed_free(&e->packed);
    gb_state_destroy(e->state);
    free(e);
}

bool gb_encode_sentences(gb_device *device, const gb_bert *bert, const gb_params *params,
                         const float *values, const gb_sentence_settings *how,
                         const gb_special_ids *specials, const gb_table *tokens,
                         const uint32_t *rows, uint32_t count, uint32_t longest, const char *label,
                         float *out, gb_status *status)
{
    encoder *e = gb_encoder_create(device, bert, params, values, how, specials, longest, status);
    bool ok = e && gb_encoder_run(e, tokens, rows, 0, count, label, out, status);
    gb_encoder_destroy(e);
    return ok;
}

bool gb_encode(gb_device *device, const gb_bert *bert, const gb_params *params, const float *values,
               const gb_special_ids *specials, const gb_table *tokens, const uint32_t *rows,
               uint32_t count, uint32_t longest, const char *label, float *out, gb_status *status)
{
    const gb_sentence_settings cls = {.pooling = GB_POOLING_CLS};
    return gb_encode_sentences(device, bert, params, values, &cls, specials, tokens, rows, count,
                               longest, label, out, status);
}
