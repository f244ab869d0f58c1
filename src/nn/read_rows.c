/* Rows of a batch that are read behind the last layer, so that it need not compute the others. */
#include <gabbro/nn.h>

#include <stdlib.h>

void gb_read_rows_free(gb_read_rows *list)
{
    free(list->rows);
    *list = (gb_read_rows){0};
}

static bool append(gb_read_rows *list, uint32_t row, gb_status *status)
{
    if (!gb_grow(&list->rows, &list->capacity, list->count + 1, sizeof *list->rows, status))
        return false;
    list->rows[list->count++] = row;
    return true;
}

bool gb_read_rows_list(gb_read_rows *list, const uint32_t *a, uint32_t a_count, const uint32_t *b,
                       uint32_t b_count, gb_status *status)
{
    list->count = 0;
    for (uint32_t i = 0, j = 0; i < a_count || j < b_count;) {
        uint32_t row = j == b_count || (i < a_count && a[i] <= b[j]) ? a[i] : b[j];
        uint32_t last = list->count ? list->rows[list->count - 1] : row + 1;
        if (((row ^ last) & 1) == 0 && !append(list, row - 1, status))
            return false;
        if (!append(list, row, status))
            return false;
        i += i < a_count && a[i] == row;
        j += j < b_count && b[j] == row;
    }
    return true;
}

uint32_t gb_read_rows_bucket(const gb_read_rows *list, uint32_t rows)
{
    uint32_t bucket = gb_bucket_rows(list->count);
    return 4 * (uint64_t)bucket > 3 * (uint64_t)rows ? rows : bucket;
}

void gb_read_rows_declare(gb_net *net, gb_packed_inputs *in, uint32_t bucket)
{
    if (bucket >= in->rows)
        return;
    in->read = (gb_rows_inputs){
        .index = gb_tape_input(net->tape, "rows read", GB_U32, 1, bucket),
        .inverse = gb_tape_input(net->tape, "place of rows read", GB_U32, 1, in->rows),
        .count = bucket,
        .rows = in->rows};
    in->read_by_sequence =
        gb_picked_input(net->tape, "rows read by sequence", in->sequences, bucket, in->rows);
    in->read_by_block = gb_row_blocks_input(net->tape, "rows read by block", in->rows);
}

/* The places behind the list belong to the padding's sequences, with a row that none of them has
 * for its own: see gb_picked_input. */
static void fill_picked(const gb_packed_inputs *in, const gb_packed *packed,
                        const gb_read_rows *list, uint32_t *picked)
{
    uint32_t sequences = in->count + GB_PAD_SEQUENCES, *rows = picked + sequences + 1;
    uint32_t *places = rows + in->read.count, at = 0, rest = in->read.count - list->count;
    for (uint32_t s = 0; s < in->count; s++) {
        picked[s] = at;
        while (s < packed->count && at < list->count && list->rows[at] < packed->starts[s + 1])
            at++;
    }
    for (uint64_t s = 0; s <= GB_PAD_SEQUENCES; s++)
        picked[in->count + s] = list->count + (uint32_t)(rest * s / GB_PAD_SEQUENCES);
    for (uint32_t r = 0; r < in->rows; r++)
        places[r] = GB_NO_ROW;
    for (uint32_t i = 0; i < in->read.count; i++)
        rows[i] = i < list->count ? list->rows[i] : in->rows - 1;
    for (uint32_t i = 0; i < list->count; i++)
        places[list->rows[i]] = i;
}

bool gb_read_rows_fill(gb_exec *exec, const gb_packed_inputs *in, const gb_packed *packed,
                       const gb_read_rows *list, gb_status *status)
{
    if (!in->read.count)
        return true;
    uint32_t *picked = gb_exec_input(exec, in->read_by_sequence, status);
    uint32_t *blocks = gb_exec_input(exec, in->read_by_block, status);
    if (!picked || !blocks || !gb_rows_fill(exec, &in->read, list->rows, list->count, status))
        return false;
    fill_picked(in, packed, list, picked);
    gb_row_blocks_fill(list->rows, list->count, in->read.count, in->rows, blocks);
    return true;
}
