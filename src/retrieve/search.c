/* Exact inner-product search: passages stream through the device in blocks, a group of queries
 * stays there; each block's best are picked on the device and merged on the host. */
#include "search.h"

#include <gabbro/ops.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define QUERY_BLOCK   512                  /* default */
#define PASSAGE_BLOCK 8192                 /* default */
#define SCORES_BYTES  ((uint64_t)32 << 20) /* of one block of scores */
#define OPERAND_BYTES ((uint64_t)64 << 20) /* of passages in a block, queries, results */
#define LARGEST_WIDTH 16384
#define GROUP_BLOCKS  16 /* query blocks of a group at most */

/* Queries of a block are a multiple of this. Wide products with few tiles are split along the
 * width; with 512 rows there are so many tiles that they are not, and no sum depends on the block
 * sizes. */
static uint32_t query_step(uint32_t width)
{
    return width < 1024 ? 64 : 512;
}

/* Sizes that the shapes of the vectors lead to. */
typedef struct blocks {
    uint32_t queries;  /* rows of a query block */
    uint32_t passages; /* rows of a passage block */
    uint32_t k;        /* results of a query in one block */
    uint32_t count;    /* query blocks of a group */
} blocks;

/* A recorded search of one group of queries in one block of passages. */
typedef struct searcher {
    const gb_vectors *passages;      /* what is searched */
    uint32_t k;                      /* results wanted */
    blocks size;                     /* block sizes */
    uint32_t ld;                     /* floats from vector to vector on the device */
    uint32_t width;                  /* of a vector */
    gb_tensor input;                 /* the block of passages */
    gb_tensor values[GROUP_BLOCKS];  /* best scores of a query block */
    gb_tensor columns[GROUP_BLOCKS]; /* and where */
    gb_executable *exec;             /* scores and top k of every block of queries, its parameter */
    float *group;                    /* queries of the group as the device has them */
    uint64_t *best;                  /* [queries of the group, k] keys, falling */
    uint64_t *found;                 /* [2 * size.k] keys of one query, and room to sort them */
} searcher;

/* ---- keys: one number that orders results ---- */

/* Greater for a greater score, then for a lower row; NaN is below every number, -0 equals 0. */
static uint64_t key_of(float score, uint32_t row)
{
    uint32_t bits = gb_float_bits(score);
    uint32_t order = isnan(score) ? 0
                     : score == 0 ? 1u << 31
                     : bits >> 31 ? ~bits
                                  : bits | 1u << 31;
    return (uint64_t)order << 32 | (uint32_t)~row;
}

static float score_of(uint64_t key)
{
    uint32_t order = (uint32_t)(key >> 32);
    return order == 0 ? NAN : gb_bits_float(order >> 31 ? order & ~(1u << 31) : ~order);
}

/* Sort keys in falling order, byte by byte from the last; bytes that all share cost one look. */
static void sort_keys(uint64_t *keys, uint64_t *room, uint32_t count)
{
    uint64_t *from = keys, *to = room;
    for (uint32_t shift = 0; shift < 64 && count > 1; shift += 8) {
        uint32_t starts[257] = {0};
        for (uint32_t i = 0; i < count; i++)
            starts[256 - (from[i] >> shift & 255)]++;
        if (starts[256 - (from[0] >> shift & 255)] == count)
            continue;
        for (uint32_t b = 1; b <= 256; b++)
            starts[b] += starts[b - 1];
        for (uint32_t i = 0; i < count; i++)
            to[starts[255 - (from[i] >> shift & 255)]++] = from[i];
        uint64_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != keys)
        memcpy(keys, from, count * sizeof *keys);
}

/* Put `found` sorted keys into the `have` sorted keys of best, keeping the `keep` greatest. */
static void merge_keys(uint64_t *best, uint32_t have, const uint64_t *found, uint32_t count,
                       uint32_t keep)
{
    uint64_t surplus = (uint64_t)have + count > keep ? (uint64_t)have + count - keep : 0;
    for (; surplus; surplus--) {
        if (!count || (have && best[have - 1] < found[count - 1]))
            have--;
        else
            count--;
    }
    for (uint32_t at = have + count; count;) {
        at--;
        best[at] = have && best[have - 1] < found[count - 1] ? best[--have] : found[--count];
    }
}

/* ---- sizes ---- */

static uint32_t round_up(uint32_t value, uint32_t step)
{
    return (uint32_t)(((uint64_t)value + step - 1) / step * step);
}

static uint32_t least(uint64_t a, uint64_t b)
{
    return (uint32_t)(a < b ? a : b);
}

static blocks choose_blocks(const gb_vectors *queries, const gb_vectors *passages,
                            const gb_search_params *params)
{
    uint64_t row_bytes = (uint64_t)round_up(passages->width, 4) * 4;
    blocks size;
    uint32_t step = query_step(passages->width);
    uint32_t wanted = params->passage_block ? params->passage_block : PASSAGE_BLOCK;
    size.passages = least(least(wanted, passages->rows),
                          least(OPERAND_BYTES / row_bytes, SCORES_BYTES / 4 / step));
    wanted = params->query_block ? params->query_block : QUERY_BLOCK;
    uint32_t most = least(OPERAND_BYTES / row_bytes, SCORES_BYTES / 4 / size.passages);
    size.queries = least(round_up(least(wanted, queries->rows), step), most / step * step);
    size.k = least(params->k, size.passages);
    uint64_t block_bytes = size.queries * (8ull * size.k > row_bytes ? 8ull * size.k : row_bytes);
    size.count = least((queries->rows + size.queries - 1ull) / size.queries,
                       OPERAND_BYTES / block_bytes ? OPERAND_BYTES / block_bytes : 1);
    if (size.count > GROUP_BLOCKS)
        size.count = GROUP_BLOCKS;
    return size;
}

/* ---- the recorded search ---- */

static void searcher_free(searcher *s)
{
    gb_executable_destroy(s->exec);
    free(s->group);
    free(s->best);
    free(s->found);
}

/* The queries of a group. */
static bool declare(void *self, gb_params *params, gb_status *status)
{
    const searcher *s = self;
    return gb_params_add_state(params, "queries", s->size.queries * s->size.count, s->width, 0,
                               status) != UINT32_MAX;
}

static bool build(void *self, gb_tape *tape, gb_status *status)
{
    (void)status;
    searcher *s = self;
    s->input = gb_tape_input(tape, "passages", GB_F32, s->size.passages, s->width);
    gb_tensor queries = gb_tape_param(tape, 0);
    for (uint32_t b = 0; b < s->size.count; b++) {
        gb_tensor block = gb_tape_view(tape, queries, b * s->size.queries, s->size.queries);
        gb_tensor scores = gb_matmul(tape, GB_NT, block, s->input);
        gb_top_k(tape, scores, s->size.k, &s->values[b], &s->columns[b]);
        gb_tape_output(tape, s->values[b]);
        gb_tape_output(tape, s->columns[b]);
    }
    return true;
}

static bool searcher_make(searcher *s, gb_device *device, const gb_vectors *queries,
                          gb_status *status)
{
    uint32_t rows = s->size.queries * s->size.count;
    const gb_executable_params program = {
        .name = "search", .device = device, .declare = declare, .build = build, .self = s};
    s->width = queries->width;
    s->ld = round_up(queries->width, 4);
    if (!(s->exec = gb_executable_build(&program, status)))
        return false;
    uint64_t floats = gb_params_floats(gb_tape_params(gb_executable_tape(s->exec)));
    return (s->group = gb_alloc(floats, sizeof *s->group, status)) &&
           (s->best = gb_alloc(rows, s->k * sizeof *s->best, status)) &&
           (s->found = gb_alloc(s->size.k, 2 * sizeof *s->found, status));
}

bool retrieve_copy_rows(const gb_vectors *from, uint32_t first, uint32_t count, uint32_t ld,
                        float *to, gb_status *status)
{
    const float *rows = from->values ? from->values + (size_t)first * from->width
                                     : from->read(from->context, first, count, status);
    if (!rows)
        return false;
    if (ld == from->width) {
        memcpy(to, rows, (size_t)count * ld * sizeof *to);
        return true;
    }
    for (uint32_t r = 0; r < count; r++)
        memcpy(to + (size_t)r * ld, rows + (size_t)r * from->width, from->width * sizeof *to);
    return true;
}

/* ---- running it ---- */

/* A block of passages on its way through the device. */
typedef struct pass {
    uint64_t ticket; /* of its run; 0: none */
    uint32_t first;  /* row of its first passage */
    uint32_t seen;   /* rows before this one were in earlier blocks */
} pass;

/* Merge the results of a pass into the best of the group's first `queries` queries. */
static bool collect(searcher *s, const pass *p, uint32_t queries, gb_status *status)
{
    uint32_t have = p->seen < s->k ? p->seen : s->k, k = s->size.k;
    for (uint32_t b = 0; b * s->size.queries < queries && b < s->size.count; b++) {
        const float *values = gb_executable_output(s->exec, p->ticket, s->values[b], status);
        const uint32_t *columns =
            values ? gb_executable_output(s->exec, p->ticket, s->columns[b], status) : NULL;
        if (!columns)
            return false;
        uint32_t ld = gb_tape_tensor(gb_executable_tape(s->exec), s->values[b])->ld;
        for (uint32_t r = 0; r < s->size.queries && b * s->size.queries + r < queries; r++) {
            uint64_t *best = s->best + (size_t)(b * s->size.queries + r) * s->k;
            uint64_t worst = have == s->k ? best[s->k - 1] : 0;
            uint32_t count = 0;
            for (uint32_t i = 0; i < k; i++) {
                uint32_t row = p->first + columns[(size_t)r * k + i];
                uint64_t key = key_of(values[(size_t)r * ld + i], row);
                s->found[count] = key;
                count += row >= p->seen && key > worst;
            }
            sort_keys(s->found, s->found + k, count);
            merge_keys(best, have, s->found, count, s->k);
        }
    }
    return true;
}

/* Search one group: a block runs on the device while the one before it is merged here. */
static bool search_group(searcher *s, uint32_t queries, gb_progress *progress, uint64_t done,
                         gb_status *status)
{
    uint32_t total = s->passages->rows, block = s->size.passages;
    pass last = {0};
    for (uint32_t seen = 0; seen < total;) {
        /* The last block overlaps the one before it, so that all have one shape. */
        pass now = {.first = total - seen < block ? total - block : seen, .seen = seen};
        float *input = gb_executable_input(s->exec, s->input, status);
        if (!input || !retrieve_copy_rows(s->passages, now.first, block, s->ld, input, status) ||
            !gb_executable_run(s->exec, &now.ticket, status) ||
            (last.ticket && !collect(s, &last, queries, status)))
            return false;
        if (gb_interrupted())
            return gb_fail(status, GB_INTERRUPTED, "search", "run the same command again",
                           "interrupted");
        seen = now.first + block;
        last = now;
        if (progress)
            gb_progress_update(progress, done + seen, NULL);
    }
    return collect(s, &last, queries, status);
}

static void give_results(const searcher *s, uint32_t queries, uint32_t *rows, float *scores)
{
    uint32_t have = s->passages->rows < s->k ? s->passages->rows : s->k;
    for (uint32_t q = 0; q < queries; q++)
        for (uint32_t i = 0; i < s->k; i++) {
            size_t at = (size_t)q * s->k + i;
            rows[at] = i < have ? ~(uint32_t)s->best[at] : GB_NO_ROW;
            scores[at] = i < have ? score_of(s->best[at]) : -INFINITY;
        }
}

static bool search_all(searcher *s, const gb_vectors *queries, const gb_search_params *params,
                       uint32_t *rows, float *scores, gb_status *status)
{
    uint32_t group = s->size.queries * s->size.count;
    uint32_t groups = (uint32_t)((queries->rows + (uint64_t)group - 1) / group);
    gb_progress progress;
    if (!params->quiet)
        gb_progress_begin(&progress, params->label ? params->label : "search", "passages",
                          (uint64_t)groups * s->passages->rows, 0);
    for (uint32_t g = 0; g < groups; g++) {
        uint32_t first = g * group, left = queries->rows - first;
        uint32_t count = left < group ? left : group;
        if (!retrieve_copy_rows(queries, first, count, s->ld, s->group, status) ||
            !gb_state_write(gb_executable_state(s->exec), GB_ARENA_PARAMS, s->group, status) ||
            !search_group(s, count, params->quiet ? NULL : &progress,
                          (uint64_t)g * s->passages->rows, status))
            return false;
        give_results(s, count, rows + (size_t)first * s->k, scores + (size_t)first * s->k);
    }
    if (!params->quiet)
        gb_progress_end(&progress, (uint64_t)groups * s->passages->rows, NULL);
    return true;
}

bool retrieve_search_whole(gb_device *device, const gb_vectors *queries, const gb_vectors *passages,
                           const gb_search_params *params, const gb_found *found, gb_status *status)
{
    if (!queries->rows || !params->k)
        return true;
    if (!passages->rows) {
        for (size_t i = 0; i < (size_t)queries->rows * params->k; i++) {
            found->rows[i] = GB_NO_ROW;
            found->scores[i] = -INFINITY;
        }
        return true;
    }
    if (queries->width != passages->width)
        return gb_fail(status, GB_DATA, "search",
                       "encode queries and passages with the same model and the same --dims",
                       "queries have %u dimensions and passages %u; they must be equal",
                       queries->width, passages->width);
    if (!queries->width || queries->width > LARGEST_WIDTH)
        return gb_fail(status, GB_DATA, "search", NULL, "vectors have %u dimensions, not 1 to %u",
                       queries->width, LARGEST_WIDTH);
    searcher s = {
        .passages = passages, .k = params->k, .size = choose_blocks(queries, passages, params)};
    bool ok = searcher_make(&s, device, queries, status) &&
              search_all(&s, queries, params, found->rows, found->scores, status);
    searcher_free(&s);
    return ok;
}
