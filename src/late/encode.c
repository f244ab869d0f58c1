/* Vectors of the tokens of many texts, in batches. */
#include <gabbro/late.h>

#include <stdlib.h>
#include <string.h>

#define BATCH_ROWS      2048 /* tokens of a batch */
#define BATCH_SEQUENCES 128  /* texts of a batch */

/* What becomes of a batch. */
typedef struct late_batch {
    uint64_t ticket; /* of its run */
    uint32_t texts;  /* in it; 0: there is none */
    uint32_t *rows;  /* [kept] rows of the batch that take part */
    uint32_t *tags;  /* [kept] theirs */
    uint32_t kept;   /* how many */
} late_batch;

struct gb_late_encoder {
    gb_late_encoder_params how;  /* as created */
    gb_executable *exec;         /* forward pass */
    uint32_t max_rows;           /* of a batch */
    gb_tensor tokens, cls;       /* [max_rows, width]; of COIL [BATCH_SEQUENCES, H] */
    gb_batch batch;              /* batch being filled */
    late_batch filling;          /* its tokens */
    late_batch running;          /* those of the batch before it */
    uint32_t *tags;              /* scratch [max_rows] */
    gb_padding padding;          /* of all batches */
    float *to_tokens, *to_whole; /* where the next vectors go */
    uint32_t *to_tags;           /* or NULL */
};
typedef gb_late_encoder encoder;

static bool has_whole(const encoder *e)
{
    return e->how.late->settings->kind == GB_LATE_COIL;
}

static bool build(void *self, gb_tape *tape, gb_status *status)
{
    (void)status;
    encoder *e = self;
    const gb_bert *bert = e->how.bert;
    gb_builder builder =
        gb_builder_forward(tape, &bert->config, gb_late_longest(e->how.late, e->how.side));
    builder.padding = &e->padding;
    gb_batch_inputs in = gb_late_batch_declare(&builder, &bert->config, e->how.late, e->max_rows,
                                               BATCH_SEQUENCES, &e->batch, 0);
    gb_tensor h = gb_bert_encode(&builder, bert, &in, 0, NULL);
    e->tokens = gb_late_vectors(&builder, e->how.late, h);
    gb_tape_output(tape, e->tokens);
    e->cls = GB_NO_TENSOR;
    if (has_whole(e)) {
        gb_selection first =
            gb_first_rows_declare(&builder, BATCH_SEQUENCES, e->max_rows, &e->batch, 0);
        e->cls = gb_selection_gather(&builder, h, &first);
        gb_tape_output(tape, e->cls);
    }
    return true;
}

/* Hands the vectors of the batch that was run last on. */
static bool collect(encoder *e, gb_status *status)
{
    late_batch *b = &e->running;
    if (!b->texts)
        return true;
    const gb_tape *tape = gb_executable_tape(e->exec);
    uint32_t width = e->how.late->settings->width, ld = gb_tape_tensor(tape, e->tokens)->ld;
    const float *tokens = gb_executable_output(e->exec, b->ticket, e->tokens, status);
    if (!tokens)
        return false;
    for (uint32_t i = 0; i < b->kept; i++, e->to_tokens += width)
        memcpy(e->to_tokens, tokens + (size_t)b->rows[i] * ld, sizeof *tokens * width);
    if (e->to_tags) {
        memcpy(e->to_tags, b->tags, sizeof *b->tags * b->kept);
        e->to_tags += b->kept;
    }
    if (has_whole(e)) {
        uint32_t h = e->how.bert->config.hidden_size, cls_ld = gb_tape_tensor(tape, e->cls)->ld;
        const float *cls = gb_executable_output(e->exec, b->ticket, e->cls, status);
        if (!cls)
            return false;
        for (uint32_t t = 0; t < b->texts; t++, e->to_whole += h)
            memcpy(e->to_whole, cls + (size_t)t * cls_ld, sizeof *cls * h);
    }
    b->texts = 0;
    return true;
}

static bool flush(encoder *e, gb_status *status)
{
    if (!e->filling.texts)
        return true;
    if (!gb_executable_submit(e->exec, 0, &e->filling.ticket, status) || !collect(e, status))
        return false;
    late_batch free_one = e->running;
    e->running = e->filling;
    e->filling = free_one;
    e->filling.texts = e->filling.kept = 0;
    gb_batch_reset(&e->batch);
    return true;
}

static bool add_text(encoder *e, const gb_encode_rows *texts, uint32_t index, gb_status *status)
{
    size_t length;
    const uint32_t *ids = gb_encode_text(texts, index, &length);
    uint32_t longest = gb_late_longest(e->how.late, e->how.side);
    if ((e->batch.rows + longest > e->max_rows || e->filling.texts == BATCH_SEQUENCES) &&
        !flush(e, status))
        return false;
    uint32_t first = e->batch.rows;
    if (!gb_late_add(e->how.late, e->how.side, ids, length, &e->batch, status))
        return false;
    late_batch *b = &e->filling;
    uint32_t rows = e->batch.rows - first;
    gb_late_tags(e->how.late, e->how.side, e->batch.ids + first, rows, e->tags);
    for (uint32_t r = 0; r < rows; r++) {
        if (e->tags[r] == GB_NO_ROW)
            continue;
        b->rows[b->kept] = first + r;
        b->tags[b->kept++] = e->tags[r];
    }
    b->texts++;
    return true;
}

bool gb_late_encoder_run(gb_late_encoder *e, const gb_encode_rows *texts, float *tokens,
                         float *whole, uint32_t *tags, gb_status *status)
{
    gb_progress progress;
    e->to_tokens = tokens;
    e->to_whole = whole;
    e->to_tags = tags;
    e->filling.texts = e->filling.kept = e->running.texts = 0;
    gb_batch_reset(&e->batch);
    if (texts->label)
        gb_progress_begin(&progress, texts->label, "texts", texts->count, 0);
    for (uint32_t i = 0; i < texts->count; i++) {
        if (gb_interrupted())
            return gb_fail(status, GB_INTERRUPTED, texts->label ? texts->label : "encode",
                           "run the same command again", "stopped");
        if (!add_text(e, texts, i, status))
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

static bool make_room(encoder *e, gb_status *status)
{
    uint32_t longest = gb_late_longest(e->how.late, e->how.side);
    e->max_rows = BATCH_ROWS > longest ? BATCH_ROWS : gb_bucket_rows(longest);
    late_batch *both[] = {&e->filling, &e->running};
    for (int i = 0; i < 2; i++)
        if (!(both[i]->rows = gb_alloc(e->max_rows, sizeof *both[i]->rows, status)) ||
            !(both[i]->tags = gb_alloc(e->max_rows, sizeof *both[i]->tags, status)))
            return false;
    return (e->tags = gb_alloc(e->max_rows, sizeof *e->tags, status)) != NULL;
}

gb_late_encoder *gb_late_encoder_create(const gb_late_encoder_params *params, gb_status *status)
{
    encoder *e = gb_alloc(1, sizeof *e, status);
    if (!e)
        return NULL;
    e->how = *params;
    const gb_executable_params program = {.name = "encode tokens",
                                          .state = params->state,
                                          .device = params->device,
                                          .params = params->params,
                                          .values = params->values,
                                          .build = build,
                                          .self = e};
    if (make_room(e, status) && (e->exec = gb_executable_build(&program, status)))
        return e;
    gb_late_encoder_destroy(e);
    return NULL;
}

gb_padding gb_late_encoder_padding(const gb_late_encoder *e)
{
    return e->padding;
}

void gb_late_encoder_destroy(gb_late_encoder *e)
{
    if (!e)
        return;
    gb_executable_destroy(e->exec);
    gb_batch_free(&e->batch);
    free(e->filling.rows);
    free(e->filling.tags);
    free(e->running.rows);
    free(e->running.tags);
    free(e->tags);
    free(e);
}
