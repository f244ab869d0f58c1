/* Rows of a batch that are read behind the last layer, so that it need not compute the others. */
#include <gabbro/nn.h>

#include <stdlib.h>

void gb_selected_rows_free(gb_selected_rows *list)
{
    free(list->rows);
    *list = (gb_selected_rows){0};
}

/* The rows of two ascending lists, with the rows between two of a kind; their number is returned.
 * rows: where they are put, or NULL. */
static uint32_t merge(const uint32_t *a, uint32_t a_count, const uint32_t *b, uint32_t b_count,
                      uint32_t *rows)
{
    uint32_t count = 0, last = 0;
    for (uint32_t i = 0, j = 0; i < a_count || j < b_count;) {
        uint32_t row = j == b_count || (i < a_count && a[i] <= b[j]) ? a[i] : b[j];
        bool alike = count && ((row ^ last) & 1) == 0;
        if (rows && alike)
            rows[count] = row - 1;
        count += alike;
        if (rows)
            rows[count] = row;
        count++;
        last = row;
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

uint32_t gb_selected_rows_bucket(const uint32_t *a, uint32_t a_count, const uint32_t *b,
                                 uint32_t b_count, uint32_t rows)
{
    uint32_t bucket = gb_bucket_rows(merge(a, a_count, b, b_count, NULL));
    return 4 * (uint64_t)bucket > 3 * (uint64_t)rows ? rows : bucket;
}

/* The places behind the list belong to the padding's sequences, with a row that none of them has
 * for its own: see gb_selected_input. */
static void fill_selected(const gb_batch_inputs *in, const gb_batch *packed,
                          const gb_selected_rows *list, uint32_t *selected)
{
    uint32_t sequences = in->count + GB_PAD_SEQUENCES, *rows = selected + sequences + 1;
    uint32_t *slots = rows + in->read.count, at = 0, rest = in->read.count - list->count;
    for (uint32_t s = 0; s < in->count; s++) {
        selected[s] = at;
        while (s < packed->count && at < list->count && list->rows[at] < packed->starts[s + 1])
            at++;
    }
    for (uint64_t s = 0; s <= GB_PAD_SEQUENCES; s++)
        selected[in->count + s] = list->count + (uint32_t)(rest * s / GB_PAD_SEQUENCES);
    for (uint32_t r = 0; r < in->rows; r++)
        slots[r] = GB_NO_ROW;
    for (uint32_t i = 0; i < in->read.count; i++)
        rows[i] = i < list->count ? list->rows[i] : in->rows - 1;
    for (uint32_t i = 0; i < list->count; i++)
        slots[list->rows[i]] = i;
}

typedef struct read_record {
    gb_batch_inputs in;           /* whose `read` is filled */
    const gb_batch *batch;        /* what it is a batch of */
    const gb_selected_rows *list; /* rows of it */
} read_record;

static bool fill_read(const void *record_, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const read_record *record = record_;
    const gb_batch_inputs *in = &record->in;
    const gb_selected_rows *list = record->list;
    uint32_t *selected = gb_executable_input(exec, in->selected_by_sequence, status);
    uint32_t *blocks = gb_executable_input(exec, in->selected_by_block, status);
    if (!selected || !blocks ||
        !gb_selection_fill(exec, &in->read, list->rows, list->count, 0, status))
        return false;
    fill_selected(in, record->batch, list, selected);
    gb_row_blocks_fill(list->rows, list->count, in->read.count, in->rows, blocks);
    return true;
}

void gb_selected_rows_declare(gb_builder *builder, gb_batch_inputs *in, uint32_t bucket,
                              const gb_batch *batch, const gb_selected_rows *list)
{
    if (bucket >= in->rows)
        return;
    in->read = (gb_selection){
        .index = gb_tape_input(builder->tape, "rows read", GB_U32, 1, bucket),
        .inverse = gb_tape_input(builder->tape, "place of rows read", GB_U32, 1, in->rows),
        .count = bucket,
        .rows = in->rows};
    in->selected_by_sequence =
        gb_selected_input(builder->tape, "rows read by sequence", in->sequences, bucket, in->rows);
    in->selected_by_block = gb_row_blocks_input(builder->tape, "rows read by block", in->rows);
    const read_record record = {*in, batch, list};
    gb_tape_fill_by(builder->tape, fill_read, &record, sizeof record);
}
