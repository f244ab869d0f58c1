/* Rows of a batch that are read behind the last layer, so that it need not compute the others. */
#include <gabbro/nn.h>

#include <stdlib.h>
#include <string.h>

void gb_selected_rows_free(gb_selected_rows *list)
{
    free(list->rows);
    *list = (gb_selected_rows){0};
}

/* The rows of two ascending lists; their number is returned. rows: where they are put, or NULL. */
static uint32_t merge(const uint32_t *a, uint32_t a_count, const uint32_t *b, uint32_t b_count,
                      uint32_t *rows)
{
    uint32_t count = 0;
    for (uint32_t i = 0, j = 0; i < a_count || j < b_count; count++) {
        uint32_t row = j == b_count || (i < a_count && a[i] <= b[j]) ? a[i] : b[j];
        if (rows)
            rows[count] = row;
        i += i < a_count && a[i] == row;
        j += j < b_count && b[j] == row;
    }
    return count;
}

bool gb_selected_rows_list(gb_selected_rows *list, const uint32_t *a, uint32_t a_count,
                           const uint32_t *b, uint32_t b_count, gb_status *status)
{
    list->count = merge(a, a_count, b, b_count, NULL);
    if (!gb_grow(&list->rows, &list->capacity, list->count + 1, sizeof *list->rows, status))
        return false;
    merge(a, a_count, b, b_count, list->rows);
    return true;
}

bool gb_selected_rows_pooled(gb_selected_rows *list, const gb_batch *texts, gb_pooling kind,
                             gb_status *status)
{
    if (!gb_selected_rows_list(list, texts->starts, texts->count, NULL, 0, status))
        return false;
    for (uint32_t i = 0; kind == GB_POOLING_LAST && i < texts->count; i++)
        list->rows[i] = texts->starts[i + 1] - 1;
    return true;
}

uint32_t gb_selected_rows_bucket(const uint32_t *a, uint32_t a_count, const uint32_t *b,
                                 uint32_t b_count, uint32_t rows)
{
    uint32_t bucket = gb_bucket_rows(merge(a, a_count, b, b_count, NULL));
    return 4 * (uint64_t)bucket > 3 * (uint64_t)rows ? rows : bucket;
}

typedef struct read_record {
    gb_batch_inputs in;           /* whose `read` is filled */
    const gb_batch *batch;        /* what it is a batch of */
    const gb_selected_rows *list; /* rows of it */
} read_record;

/* What only fills the list up belongs to the padding's sequences. */
static void fill_slots(const read_record *record, uint32_t *slots)
{
    const gb_batch_inputs *in = &record->in;
    const gb_selected_rows *list = record->list;
    const gb_batch *batch = record->batch;
    uint32_t *rows = slots + in->count + GB_PAD_SEQUENCES + 1, at = 0;
    uint64_t rest = in->read.count - list->count;
    for (uint32_t s = 0; s < in->count; s++) {
        slots[s] = at;
        while (s < batch->count && at < list->count && list->rows[at] < batch->starts[s + 1])
            at++;
    }
    for (uint32_t s = 0; s <= GB_PAD_SEQUENCES; s++)
        slots[in->count + s] = list->count + (uint32_t)(rest * s / GB_PAD_SEQUENCES);
    for (uint32_t i = 0; i < in->read.count; i++)
        rows[i] = i < list->count ? list->rows[i] : in->rows - 1;
}

static bool fill_read(const void *record_, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const read_record *record = record_;
    const gb_batch_inputs *in = &record->in;
    uint32_t *sequences = gb_executable_input(exec, in->sequences, status);
    uint32_t *selected = gb_executable_input(exec, in->read_sequences, status);
    if (!sequences || !selected ||
        !gb_selection_fill(exec, &in->read, record->list->rows, record->list->count, 0, status))
        return false;
    uint32_t words = GB_SEQUENCES_HEADER + in->count + GB_PAD_SEQUENCES + 1;
    memcpy(selected, sequences, sizeof *selected * words); /* filled before: it was declared so */
    fill_slots(record, selected + words);
    return true;
}

void gb_selected_rows_declare(gb_builder *builder, gb_batch_inputs *in, uint32_t bucket,
                              const gb_batch *batch, const gb_selected_rows *list)
{
    in->read = (gb_selection){
        .index = gb_tape_input(builder->tape, "rows read", GB_U32, 1, bucket),
        .inverse = gb_tape_input(builder->tape, "slot of rows read", GB_U32, 1, in->rows),
        .count = bucket,
        .rows = in->rows};
    in->read_sequences = gb_selection_input(builder->tape, "sequences of rows read",
                                            in->count + GB_PAD_SEQUENCES, bucket);
    const read_record record = {*in, batch, list};
    gb_tape_fill_by(builder->tape, fill_read, &record, sizeof record);
}
