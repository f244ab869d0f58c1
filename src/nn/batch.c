/* Packed batches: built on the host, declared on a tape, filled before a run. */
#include "fill_batch.h"
#include "layers.h"

#include <stdlib.h>
#include <string.h>

void gb_batch_reset(gb_batch *batch)
{
    batch->rows = batch->count = batch->labelled = batch->row0 = 0;
}

void gb_batch_free(gb_batch *batch)
{
    free(batch->ids);
    free(batch->positions);
    free(batch->labels);
    free(batch->starts);
    free(batch->seconds);
    *batch = (gb_batch){0};
}

/* Room for so many tokens and sequences in all. */
static bool make_room(gb_batch *batch, size_t rows, size_t count, gb_status *status)
{
    return gb_grow(&batch->ids, &batch->id_capacity, rows, sizeof *batch->ids, status) &&
           gb_grow(&batch->positions, &batch->position_capacity, rows, sizeof *batch->positions,
                   status) &&
           gb_grow(&batch->labels, &batch->label_capacity, rows, sizeof *batch->labels, status) &&
           gb_grow(&batch->starts, &batch->start_capacity, count + 1, sizeof *batch->starts,
                   status) &&
           gb_grow(&batch->seconds, &batch->second_capacity, count, sizeof *batch->seconds, status);
}

bool gb_batch_reserve(gb_batch *batch, size_t length, uint32_t *first, gb_status *status)
{
    size_t rows = batch->rows + length;
    if (!make_room(batch, rows, batch->count + 1, status))
        return false;
    *first = batch->rows;
    for (size_t i = 0; i < length; i++) {
        batch->positions[*first + i] = (uint32_t)i;
        batch->labels[*first + i] = GB_IGNORE;
    }
    batch->starts[batch->count] = *first;
    batch->rows = (uint32_t)rows;
    batch->seconds[batch->count] = batch->rows;
    batch->starts[++batch->count] = batch->rows;
    return true;
}

bool gb_batch_add(gb_batch *batch, const gb_special_ids *specials, const uint32_t *ids,
                  const int32_t *labels, size_t length, uint32_t max_length, gb_status *status)
{
    if (length + 2 > max_length)
        length = max_length - 2;
    uint32_t first;
    if (!gb_batch_reserve(batch, length + 2, &first, status))
        return false;
    batch->ids[first] = specials->cls;
    batch->ids[first + length + 1] = specials->sep;
    for (size_t i = 0; i < length; i++) {
        batch->ids[first + 1 + i] = ids[i];
        batch->labels[first + 1 + i] = labels ? labels[i] : GB_IGNORE;
        batch->labelled += labels && labels[i] != GB_IGNORE;
    }
    return true;
}

bool gb_batch_slice(const gb_batch *whole, uint32_t first, uint32_t count, gb_batch *part,
                    gb_status *status)
{
    uint32_t row0 = whole->starts[first], rows = whole->starts[first + count] - row0;
    gb_batch_reset(part);
    if (!make_room(part, rows, count, status))
        return false;
    memcpy(part->ids, whole->ids + row0, sizeof *part->ids * rows);
    memcpy(part->positions, whole->positions + row0, sizeof *part->positions * rows);
    memcpy(part->labels, whole->labels + row0, sizeof *part->labels * rows);
    for (uint32_t s = 0; s <= count; s++)
        part->starts[s] = whole->starts[first + s] - row0;
    for (uint32_t s = 0; s < count; s++)
        part->seconds[s] = whole->seconds[first + s] - row0;
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

bool gb_row_index_fill(gb_executable *exec, const gb_row_index *order, const uint32_t *ids,
                       uint32_t rows, uint32_t entries, gb_status *status)
{
    if (order->starts == GB_NO_TENSOR)
        return true;
    uint32_t *starts = gb_executable_input(exec, order->starts, status);
    uint32_t *list = starts ? gb_executable_input(exec, order->order, status) : NULL;
    if (list)
        gb_row_index_sort(ids, rows, entries, starts, list);
    return list != NULL;
}

/* ---- a batch ---- */

typedef struct batch_record {
    gb_batch_inputs in;      /* filled */
    const gb_batch *batch;   /* from */
    gb_padding *padding;     /* counts its rows, or NULL */
    uint32_t pad_token;      /* behind the batch */
    uint32_t ids, positions; /* in the model */
    uint32_t first_position; /* of a text */
    uint32_t max_length;     /* tokens of a text */
    uint32_t buckets;        /* of distances, or 0 */
    uint64_t seed;           /* of the dropout */
} batch_record;

static void fill_tokens(const batch_record *record, uint32_t *ids, uint32_t *positions)
{
    const gb_batch *batch = record->batch;
    memcpy(ids, batch->ids, sizeof *ids * batch->rows);
    for (uint32_t r = 0; r < batch->rows; r++)
        positions[r] = batch->positions[r] + record->first_position;
    for (uint32_t r = batch->rows; r < record->in.rows; r++) {
        ids[r] = record->pad_token;
        positions[r] = 0;
    }
}

static void fill_sequences(const batch_record *record, uint32_t step, uint32_t *sequences)
{
    const gb_batch *batch = record->batch;
    uint32_t count = record->in.count, *starts = sequences + GB_SEQUENCES_HEADER;
    uint64_t padding = record->in.rows - batch->rows;
    sequences[0] = (uint32_t)record->seed;
    sequences[1] = (uint32_t)(record->seed >> 32);
    sequences[2] = step;
    sequences[3] = batch->row0;
    memcpy(starts, batch->starts, sizeof *starts * batch->count);
    for (uint32_t s = batch->count; s <= count; s++)
        starts[s] = batch->rows;
    for (uint32_t s = 1; s <= GB_PAD_SEQUENCES; s++)
        starts[count + s] = batch->rows + (uint32_t)(padding * s / GB_PAD_SEQUENCES);
}

/* Sequences of a program whose padding is cut so that none is longer than a text. */
static uint32_t span_count(const gb_batch_inputs *in, uint32_t max_length)
{
    return in->count + in->rows / max_length + 1;
}

/* Rows of every sequence, of its queries and of its keys. */
static void fill_spans(const gb_batch *batch, const gb_batch_inputs *in, uint32_t count,
                       uint32_t *spans)
{
    uint32_t fillers = count - in->count;
    uint64_t padding = in->rows - batch->rows;
    for (uint32_t s = 0; s < count; s++, spans += 4) {
        uint32_t i = s - in->count, first = batch->rows, end = batch->rows;
        if (s < batch->count) {
            first = batch->starts[s];
            end = batch->starts[s + 1];
        } else if (s >= in->count) {
            first += (uint32_t)(padding * i / fillers);
            end += (uint32_t)(padding * (i + 1) / fillers);
        }
        spans[0] = spans[2] = first;
        spans[1] = spans[3] = end - first;
    }
}

static bool fill_distances(const batch_record *record, gb_executable *exec, gb_status *status)
{
    const gb_batch_inputs *in = &record->in;
    uint32_t count = 2 * record->max_length - 1;
    uint32_t *spans = gb_executable_input(exec, in->spans, status);
    uint32_t *buckets = spans ? gb_executable_input(exec, in->buckets, status) : NULL;
    if (!buckets)
        return false;
    fill_spans(record->batch, in, span_count(in, record->max_length), spans);
    for (uint32_t i = 0; i < count; i++)
        buckets[i] = gb_distance_bucket((int32_t)i - (int32_t)record->max_length + 1, true,
                                        record->buckets, GB_FARTHEST);
    return gb_row_index_fill(exec, &in->by_bucket, buckets, count, record->buckets, status);
}

/* What attention with a bias by distance needs of a batch. */
static void declare_distances(gb_builder *builder, const gb_bert_config *config,
                              gb_batch_inputs *in)
{
    uint32_t distances = 2 * builder->max_length - 1;
    in->spanned = true;
    in->spans =
        gb_tape_input(builder->tape, "spans", GB_U32, span_count(in, builder->max_length), 4);
    in->buckets = gb_tape_input(builder->tape, "buckets", GB_U32, 1, distances);
    in->by_bucket =
        gb_row_index_input(builder->tape, "distances by bucket", config->buckets, distances);
}

/* The padding behind the batch: sequences of [PAD] at position 0; the lists of rows leave it out of
 * the embedding gradients. */
static bool fill_batch(const void *record_, gb_executable *exec, uint32_t step, gb_status *status)
{
    const batch_record *record = record_;
    const gb_batch_inputs *in = &record->in;
    const gb_batch *batch = record->batch;
    uint32_t *ids = gb_executable_input(exec, in->ids, status);
    uint32_t *positions = ids ? gb_executable_input(exec, in->positions, status) : NULL;
    uint32_t *sequences = positions ? gb_executable_input(exec, in->sequences, status) : NULL;
    if (!sequences)
        return false;
    if (batch->rows > in->rows || batch->count > in->count)
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "a batch of %u rows in a bucket of %u",
                       batch->rows, in->rows);
    fill_tokens(record, ids, positions);
    fill_sequences(record, step, sequences);
    if (record->padding) {
        record->padding->used += batch->rows;
        record->padding->computed += in->rows;
    }
    return gb_row_index_fill(exec, &in->by_id, batch->ids, batch->rows, record->ids, status) &&
           gb_row_index_fill(exec, &in->by_position,
                             record->first_position ? positions : batch->positions, batch->rows,
                             record->positions, status) &&
           (!in->spanned || fill_distances(record, exec, status));
}

gb_batch_inputs gb_batch_declare(gb_builder *builder, const gb_bert_config *config, uint32_t rows,
                                 uint32_t count, const gb_batch *batch, uint64_t seed)
{
    gb_tape *tape = builder->tape;
    uint32_t positions = config->max_positions + config->position_offset;
    batch_record record = {
        .in = {.ids = gb_tape_input(tape, "ids", GB_U32, 1, rows),
               .positions = gb_tape_input(tape, "positions", GB_U32, 1, rows),
               .sequences = gb_sequences_input(tape, "sequences", count + GB_PAD_SEQUENCES),
               .by_id = gb_row_index_input(tape, "rows by id", config->vocab_size, rows),
               .by_position = config->theta > 0
                                  ? (gb_row_index){GB_NO_TENSOR, GB_NO_TENSOR}
                                  : gb_row_index_input(tape, "rows by position", positions, rows),
               .rows = rows,
               .count = count},
        .batch = batch,
        .padding = builder->padding,
        .pad_token = config->pad_token_id,
        .ids = config->vocab_size,
        .positions = positions,
        .first_position = config->position_offset,
        .max_length = builder->max_length,
        .buckets = config->buckets,
        .seed = seed};
    if (config->buckets)
        declare_distances(builder, config, &record.in);
    if (config->theta > 0)
        nn_modern_inputs(builder, config, batch, &record.in);
    gb_tape_fill_by(tape, fill_batch, &record, sizeof record);
    return record.in;
}

/* ---- rows of it ---- */

uint32_t nn_packed_left(const gb_batch *batch, uint32_t first, uint32_t max_count)
{
    uint32_t left = batch->count > first ? batch->count - first : 0;
    return left < max_count ? left : max_count;
}

gb_selection gb_selection_declare(gb_builder *builder, uint32_t count, uint32_t rows)
{
    return (gb_selection){.index = gb_tape_input(builder->tape, "selected rows", GB_U32, 1, count),
                          .inverse = gb_tape_input(builder->tape, "place of rows", GB_U32, 1, rows),
                          .count = count,
                          .rows = rows};
}

bool gb_selection_fill(gb_executable *exec, const gb_selection *in, const uint32_t *selected,
                       uint32_t selected_count, uint32_t first, gb_status *status)
{
    uint32_t *index = gb_executable_input(exec, in->index, status);
    uint32_t *inverse = index ? gb_executable_input(exec, in->inverse, status) : NULL;
    if (!inverse)
        return false;
    if (first + selected_count > in->count)
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "%u rows selected, %u expected",
                       first + selected_count, in->count);
    for (uint32_t r = 0; r < in->rows; r++)
        inverse[r] = GB_NO_ROW;
    for (uint32_t i = 0; i < in->count; i++) {
        index[i] = i >= first && i - first < selected_count ? selected[i - first] : GB_NO_ROW;
        if (index[i] != GB_NO_ROW)
            inverse[index[i]] = i;
    }
    return true;
}

typedef struct rows_record {
    gb_selection in;       /* filled */
    const gb_batch *batch; /* of first rows */
    uint32_t first;        /* text, or row */
} rows_record;

static bool fill_first_rows(const void *record_, gb_executable *exec, uint32_t step,
                            gb_status *status)
{
    (void)step;
    const rows_record *record = record_;
    uint32_t texts = nn_packed_left(record->batch, record->first, record->in.count);
    return gb_selection_fill(exec, &record->in, record->batch->starts + record->first, texts, 0,
                             status);
}

gb_selection gb_first_rows_declare(gb_builder *builder, uint32_t count, uint32_t rows,
                                   const gb_batch *batch, uint32_t first)
{
    const rows_record record = {gb_selection_declare(builder, count, rows), batch, first};
    gb_tape_fill_by(builder->tape, fill_first_rows, &record, sizeof record);
    return record.in;
}

static bool fill_last_rows(const void *record_, gb_executable *exec, uint32_t step,
                           gb_status *status)
{
    (void)step;
    const rows_record *record = record_;
    const uint32_t *starts = record->batch->starts + record->first;
    uint32_t texts = nn_packed_left(record->batch, record->first, record->in.count);
    uint32_t *index = gb_executable_input(exec, record->in.index, status);
    uint32_t *inverse = index ? gb_executable_input(exec, record->in.inverse, status) : NULL;
    if (!inverse || !gb_selection_fill(exec, &record->in, starts, 0, 0, status))
        return false;
    for (uint32_t i = 0; i < texts; i++) {
        index[i] = starts[i + 1] - 1;
        inverse[index[i]] = i;
    }
    return true;
}

gb_selection gb_last_rows_declare(gb_builder *builder, uint32_t count, uint32_t rows,
                                  const gb_batch *batch, uint32_t first)
{
    const rows_record record = {gb_selection_declare(builder, count, rows), batch, first};
    gb_tape_fill_by(builder->tape, fill_last_rows, &record, sizeof record);
    return record.in;
}

static bool fill_range(const void *record_, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const rows_record *record = record_;
    const gb_selection *in = &record->in;
    uint32_t *index = gb_executable_input(exec, in->index, status);
    uint32_t *inverse = index ? gb_executable_input(exec, in->inverse, status) : NULL;
    if (!inverse)
        return false;
    for (uint32_t r = 0; r < in->rows; r++)
        inverse[r] =
            r >= record->first && r - record->first < in->count ? r - record->first : GB_NO_ROW;
    for (uint32_t i = 0; i < in->count; i++)
        index[i] = record->first + i;
    return true;
}

gb_selection gb_row_range_declare(gb_builder *builder, uint32_t count, uint32_t rows,
                                  uint32_t first)
{
    const rows_record record = {gb_selection_declare(builder, count, rows), NULL, first};
    gb_tape_fill_by(builder->tape, fill_range, &record, sizeof record);
    return record.in;
}

gb_tensor gb_selection_gather(gb_builder *builder, gb_tensor x, const gb_selection *in)
{
    return gb_gather_rows(builder->tape, x, in->index, in->inverse);
}

/* ---- a vector of each text to its rows ---- */

typedef struct spread_record {
    gb_broadcast_inputs in; /* filled */
    const gb_batch *batch;  /* from */
} spread_record;

static bool fill_spread(const void *record_, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const spread_record *record = record_;
    const gb_broadcast_inputs *in = &record->in;
    const gb_batch *batch = record->batch;
    uint32_t *sequence = gb_executable_input(exec, in->sequence, status);
    if (!sequence)
        return false;
    if (batch->rows > in->rows || batch->count > in->count)
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "%u sequences of %u rows in a bucket of %u",
                       batch->count, batch->rows, in->rows);
    for (uint32_t s = 0; s < batch->count; s++)
        for (uint32_t r = batch->starts[s]; r < batch->starts[s + 1]; r++)
            sequence[r] = s;
    for (uint32_t r = batch->rows; r < in->rows; r++)
        sequence[r] = GB_NO_ROW;
    return gb_row_index_fill(exec, &in->by_sequence, sequence, in->rows, in->count, status);
}

gb_broadcast_inputs gb_broadcast_declare(gb_builder *builder, uint32_t rows, uint32_t count,
                                         const gb_batch *batch)
{
    const spread_record record = {
        .in = {.sequence = gb_tape_input(builder->tape, "sequence of rows", GB_U32, 1, rows),
               .by_sequence = gb_row_index_input(builder->tape, "rows by sequence", count, rows),
               .rows = rows,
               .count = count},
        .batch = batch};
    gb_tape_fill_by(builder->tape, fill_spread, &record, sizeof record);
    return record.in;
}

gb_tensor gb_broadcast(gb_builder *builder, gb_tensor x, const gb_broadcast_inputs *in,
                       gb_tensor addend)
{
    return gb_lookup_rows(builder->tape, x, in->sequence, in->by_sequence, addend);
}
