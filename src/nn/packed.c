/* Packed batches: built on the host, declared on a tape, filled before a run. */
#include <gabbro/nn.h>
#include <gabbro/padding.h>

#include <stdlib.h>
#include <string.h>

void gb_packed_reset(gb_packed *packed)
{
    packed->rows = packed->count = packed->labelled = packed->row0 = 0;
}

void gb_packed_free(gb_packed *packed)
{
    free(packed->ids);
    free(packed->positions);
    free(packed->labels);
    free(packed->starts);
    *packed = (gb_packed){0};
}

/* Room for so many tokens and sequences in all. */
static bool make_room(gb_packed *packed, size_t rows, size_t count, gb_status *status)
{
    return gb_grow(&packed->ids, &packed->id_capacity, rows, sizeof *packed->ids, status) &&
           gb_grow(&packed->positions, &packed->position_capacity, rows, sizeof *packed->positions,
                   status) &&
           gb_grow(&packed->labels, &packed->label_capacity, rows, sizeof *packed->labels,
                   status) &&
           gb_grow(&packed->starts, &packed->start_capacity, count + 1, sizeof *packed->starts,
                   status);
}

bool gb_packed_begin(gb_packed *packed, size_t length, uint32_t *first, gb_status *status)
{
    size_t rows = packed->rows + length;
    if (!make_room(packed, rows, packed->count + 1, status))
        return false;
    *first = packed->rows;
    for (size_t i = 0; i < length; i++) {
        packed->positions[*first + i] = (uint32_t)i;
        packed->labels[*first + i] = GB_IGNORE;
    }
    packed->starts[packed->count] = *first;
    packed->rows = (uint32_t)rows;
    packed->starts[++packed->count] = packed->rows;
    return true;
}

bool gb_packed_add(gb_packed *packed, const gb_special_ids *specials, const uint32_t *ids,
                   const int32_t *labels, size_t length, uint32_t longest, gb_status *status)
{
    if (length + 2 > longest)
        length = longest - 2;
    uint32_t first;
    if (!gb_packed_begin(packed, length + 2, &first, status))
        return false;
    packed->ids[first] = specials->cls;
    packed->ids[first + length + 1] = specials->sep;
    for (size_t i = 0; i < length; i++) {
        packed->ids[first + 1 + i] = ids[i];
        packed->labels[first + 1 + i] = labels ? labels[i] : GB_IGNORE;
        packed->labelled += labels && labels[i] != GB_IGNORE;
    }
    return true;
}

bool gb_packed_part(const gb_packed *whole, uint32_t first, uint32_t count, gb_packed *part,
                    gb_status *status)
{
    uint32_t row0 = whole->starts[first], rows = whole->starts[first + count] - row0;
    gb_packed_reset(part);
    if (!make_room(part, rows, count, status))
        return false;
    memcpy(part->ids, whole->ids + row0, sizeof *part->ids * rows);
    memcpy(part->positions, whole->positions + row0, sizeof *part->positions * rows);
    memcpy(part->labels, whole->labels + row0, sizeof *part->labels * rows);
    for (uint32_t s = 0; s <= count; s++)
        part->starts[s] = whole->starts[first + s] - row0;
    for (uint32_t r = 0; r < rows; r++)
        part->labelled += part->labels[r] != GB_IGNORE;
    part->rows = rows;
    part->count = count;
    part->row0 = row0;
    return true;
}

uint32_t gb_bucket_rows(uint32_t rows)
{
    uint32_t step = 64;
    while (step * 16 < rows)
        step *= 2;
    return (rows + step - 1) / step * step;
}

gb_packed_inputs gb_packed_declare(gb_net *net, const gb_bert_config *config, uint32_t rows,
                                   uint32_t count)
{
    gb_tape *tape = net->tape;
    return (gb_packed_inputs){
        .ids = gb_tape_input(tape, "ids", GB_U32, 1, rows),
        .positions = gb_tape_input(tape, "positions", GB_U32, 1, rows),
        .sequences = gb_sequences_input(tape, "sequences", count + GB_PAD_SEQUENCES),
        .by_id = gb_order_input(tape, "rows by id", config->vocab_size, rows),
        .by_position = gb_order_input(tape, "rows by position", config->max_positions, rows),
        .rows = rows,
        .count = count,
    };
}

bool gb_order_fill(gb_exec *exec, const gb_order *order, const uint32_t *ids, uint32_t rows,
                   uint32_t entries, gb_status *status)
{
    if (order->starts == GB_NO_TENSOR)
        return true;
    uint32_t *starts = gb_exec_input(exec, order->starts, status);
    uint32_t *list = starts ? gb_exec_input(exec, order->order, status) : NULL;
    if (list)
        gb_fill_order(ids, rows, entries, starts, list);
    return list != NULL;
}

/* The padding behind the batch: sequences of [PAD] at position 0; the lists of rows leave it out of
 * the embedding gradients. */
bool gb_packed_fill(gb_exec *exec, const gb_packed_inputs *in, const gb_packed *packed,
                    const gb_bert_config *config, uint64_t seed, uint32_t step, gb_status *status)
{
    uint32_t *ids = gb_exec_input(exec, in->ids, status);
    uint32_t *positions = ids ? gb_exec_input(exec, in->positions, status) : NULL;
    uint32_t *sequences = positions ? gb_exec_input(exec, in->sequences, status) : NULL;
    if (!sequences)
        return false;
    if (packed->rows > in->rows || packed->count > in->count)
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "a batch of %u rows in a bucket of %u",
                       packed->rows, in->rows);
    memcpy(ids, packed->ids, sizeof *ids * packed->rows);
    memcpy(positions, packed->positions, sizeof *positions * packed->rows);
    for (uint32_t r = packed->rows; r < in->rows; r++) {
        ids[r] = config->pad_token_id;
        positions[r] = 0;
    }
    sequences[0] = (uint32_t)seed;
    sequences[1] = (uint32_t)(seed >> 32);
    sequences[2] = step;
    sequences[3] = packed->row0;
    memcpy(sequences + GB_SEQUENCES_HEADER, packed->starts,
           sizeof *sequences * (packed->count + 1));
    for (uint32_t s = packed->count + 1; s <= in->count; s++)
        sequences[GB_SEQUENCES_HEADER + s] = packed->rows;
    uint64_t padding = in->rows - packed->rows;
    for (uint32_t s = 1; s <= GB_PAD_SEQUENCES; s++)
        sequences[GB_SEQUENCES_HEADER + in->count + s] =
            packed->rows + (uint32_t)(padding * s / GB_PAD_SEQUENCES);
    gb_exec_note_rows(exec, packed->rows, in->rows);
    return gb_order_fill(exec, &in->by_id, packed->ids, packed->rows, config->vocab_size, status) &&
           gb_order_fill(exec, &in->by_position, packed->positions, packed->rows,
                         config->max_positions, status);
}

gb_rows_inputs gb_rows_declare(gb_net *net, uint32_t count, uint32_t rows)
{
    return (gb_rows_inputs){.index = gb_tape_input(net->tape, "picked rows", GB_U32, 1, count),
                            .inverse = gb_tape_input(net->tape, "place of rows", GB_U32, 1, rows),
                            .count = count,
                            .rows = rows};
}

bool gb_rows_fill(gb_exec *exec, const gb_rows_inputs *in, const uint32_t *picked,
                  uint32_t picked_count, gb_status *status)
{
    return gb_rows_fill_at(exec, in, picked, picked_count, 0, status);
}

bool gb_rows_fill_at(gb_exec *exec, const gb_rows_inputs *in, const uint32_t *picked,
                     uint32_t picked_count, uint32_t first, gb_status *status)
{
    uint32_t *index = gb_exec_input(exec, in->index, status);
    uint32_t *inverse = index ? gb_exec_input(exec, in->inverse, status) : NULL;
    if (!inverse)
        return false;
    if (first + picked_count > in->count)
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "%u rows picked, %u expected",
                       first + picked_count, in->count);
    for (uint32_t r = 0; r < in->rows; r++)
        inverse[r] = GB_NO_ROW;
    for (uint32_t i = 0; i < in->count; i++) {
        index[i] = i >= first && i - first < picked_count ? picked[i - first] : GB_NO_ROW;
        if (index[i] != GB_NO_ROW)
            inverse[index[i]] = i;
    }
    return true;
}

bool gb_rows_fill_range(gb_exec *exec, const gb_rows_inputs *in, uint32_t first, gb_status *status)
{
    uint32_t *index = gb_exec_input(exec, in->index, status);
    uint32_t *inverse = index ? gb_exec_input(exec, in->inverse, status) : NULL;
    if (!inverse)
        return false;
    for (uint32_t r = 0; r < in->rows; r++)
        inverse[r] = r >= first && r - first < in->count ? r - first : GB_NO_ROW;
    for (uint32_t i = 0; i < in->count; i++)
        index[i] = first + i;
    return true;
}

gb_tensor gb_rows_gather(gb_net *net, gb_tensor x, const gb_rows_inputs *in)
{
    return gb_gather_rows(net->tape, x, in->index, in->inverse);
}

gb_spread_inputs gb_spread_declare(gb_net *net, uint32_t rows, uint32_t count)
{
    return (gb_spread_inputs){
        .sequence = gb_tape_input(net->tape, "sequence of rows", GB_U32, 1, rows),
        .by_sequence = gb_order_input(net->tape, "rows by sequence", count, rows),
        .rows = rows,
        .count = count};
}

bool gb_spread_fill(gb_exec *exec, const gb_spread_inputs *in, const gb_packed *packed,
                    gb_status *status)
{
    uint32_t *sequence = gb_exec_input(exec, in->sequence, status);
    if (!sequence)
        return false;
    if (packed->rows > in->rows || packed->count > in->count)
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "%u sequences of %u rows in a bucket of %u",
                       packed->count, packed->rows, in->rows);
    for (uint32_t s = 0; s < packed->count; s++)
        for (uint32_t r = packed->starts[s]; r < packed->starts[s + 1]; r++)
            sequence[r] = s;
    for (uint32_t r = packed->rows; r < in->rows; r++)
        sequence[r] = GB_NO_ROW;
    return gb_order_fill(exec, &in->by_sequence, sequence, in->rows, in->count, status);
}

gb_tensor gb_spread(gb_net *net, gb_tensor x, const gb_spread_inputs *in, gb_tensor addend)
{
    return gb_look_up(net->tape, x, in->sequence, in->by_sequence, addend);
}
