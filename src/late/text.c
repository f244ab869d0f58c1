/* Texts of late interaction in a batch: markers, the [MASK]s that fill queries up, and which tokens
 * take part in scores. */
#include <gabbro/late.h>

#include <stdlib.h>
#include <string.h>

static const gb_late_marker *marker_of(const gb_late *late, gb_late_side side)
{
    return side == GB_LATE_QUERY ? &late->settings->query : &late->settings->passage;
}

uint32_t gb_late_longest(const gb_late *late, gb_late_side side)
{
    return side == GB_LATE_QUERY ? late->settings->query_length : late->settings->passage_length;
}

static bool is_expanded(const gb_late *late, gb_late_side side)
{
    return side == GB_LATE_QUERY && late->settings->expand;
}

/* Ids of a text that fit beside its special tokens. */
static size_t fitting(const gb_late *late, gb_late_side side, size_t length)
{
    size_t most = gb_late_longest(late, side) - 2 - (marker_of(late, side)->id != GB_MAP_NONE);
    return length < most ? length : most;
}

bool gb_late_add(const gb_late *late, gb_late_side side, const uint32_t *ids, size_t length,
                 gb_batch *batch, gb_status *status)
{
    const gb_late_marker *marker = marker_of(late, side);
    size_t before = 1 + (marker->id != GB_MAP_NONE), rows;
    length = fitting(late, side, length);
    rows = is_expanded(late, side) ? gb_late_longest(late, side) : before + length + 1;
    uint32_t first;
    if (!gb_batch_reserve(batch, rows, &first, status))
        return false;
    uint32_t *to = batch->ids + first;
    to[0] = late->specials.cls;
    if (before == 2)
        to[1] = marker->id;
    if (length)
        memcpy(to + before, ids, sizeof *ids * length);
    to[before + length] = late->specials.sep;
    for (size_t i = before + length + 1; i < rows; i++)
        to[i] = late->specials.mask;
    return true;
}

/* ---- which tokens take part ---- */

static int by_id(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;
    return (x > y) - (x < y);
}

static bool is_skipped(const gb_late *late, gb_late_side side, uint32_t id)
{
    const gb_late_settings *s = late->settings;
    return side == GB_LATE_PASSAGE && s->skipped_count &&
           bsearch(&id, s->skipped, s->skipped_count, sizeof id, by_id);
}

void gb_late_tags(const gb_late *late, gb_late_side side, const uint32_t *ids, uint32_t rows,
                  uint32_t *tags)
{
    bool coil = late->settings->kind == GB_LATE_COIL;
    for (uint32_t r = 0; r < rows; r++)
        if (coil)
            tags[r] = r == 0 || r + 1 == rows ? GB_NO_ROW : ids[r];
        else
            tags[r] = is_skipped(late, side, ids[r]) ? GB_NO_ROW : 0;
}

uint32_t gb_late_kept(const gb_late *late, gb_late_side side, const uint32_t *ids, size_t length)
{
    bool coil = late->settings->kind == GB_LATE_COIL;
    length = fitting(late, side, length);
    if (is_expanded(late, side))
        return gb_late_longest(late, side);
    uint32_t kept = coil ? 0 : 2 + (marker_of(late, side)->id != GB_MAP_NONE);
    for (size_t i = 0; i < length; i++)
        kept += coil || !is_skipped(late, side, ids[i]);
    return kept;
}

/* ---- what sees what ---- */

typedef struct mask_record {
    gb_batch_inputs in;    /* with the sequences as they are filled */
    gb_tensor plain;       /* the sequences as gb_batch_declare fills them */
    const gb_batch *batch; /* of texts */
    uint32_t mask;         /* id of [MASK] */
} mask_record;

/* Rows of a text before the [MASK]s that fill it up, which stand behind [SEP]. */
static uint32_t seen_rows(const mask_record *record, uint32_t text)
{
    const gb_batch *batch = record->batch;
    uint32_t first = batch->starts[text], end = batch->starts[text + 1];
    while (end > first && batch->ids[end - 1] == record->mask)
        end--;
    return end - first;
}

/* As keys, what is seen of a text and its [MASK]s are two sequences, and all rows of the text are
 * queries of the first. */
static bool fill_masks(const void *record_, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const mask_record *record = record_;
    const gb_batch_inputs *in = &record->in;
    const gb_batch *batch = record->batch;
    const uint32_t *plain = gb_executable_input(exec, record->plain, status);
    uint32_t *words = plain ? gb_executable_input(exec, in->sequences, status) : NULL;
    if (!words)
        return false;
    const uint32_t *starts = plain + GB_SEQUENCES_HEADER;
    uint32_t count = 2 * in->count + GB_PAD_SEQUENCES;
    uint32_t *keys = words + GB_SEQUENCES_HEADER, *queries = keys + count + 1;
    uint32_t *rows = queries + count + 1;
    memcpy(words, plain, sizeof *words * GB_SEQUENCES_HEADER);
    for (uint32_t t = 0; t < in->count; t++) {
        keys[2 * t] = queries[2 * t] = starts[t];
        keys[2 * t + 1] = starts[t] + (t < batch->count ? seen_rows(record, t) : 0);
        queries[2 * t + 1] = starts[t + 1];
    }
    for (uint32_t s = 0; s <= GB_PAD_SEQUENCES; s++)
        keys[2 * in->count + s] = queries[2 * in->count + s] = starts[in->count + s];
    for (uint32_t r = 0; r < in->rows; r++)
        rows[r] = r;
    return true;
}

gb_batch_inputs gb_late_batch_declare(gb_builder *builder, const gb_bert_config *config,
                                      const gb_late *late, uint32_t rows, uint32_t count,
                                      const gb_batch *batch, uint64_t seed)
{
    gb_batch_inputs in = gb_batch_declare(builder, config, rows, count, batch, seed);
    if (!late->settings->expand || late->settings->attend)
        return in;
    mask_record record = {.plain = in.sequences, .batch = batch, .mask = late->specials.mask};
    in.sequences = gb_selection_input(builder->tape, "sequences with unseen masks",
                                      2 * count + GB_PAD_SEQUENCES, rows);
    in.selected = true;
    record.in = in;
    gb_tape_fill_by(builder->tape, fill_masks, &record, sizeof record);
    return in;
}
