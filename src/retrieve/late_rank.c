/* The index of a retriever of late interaction, and its rankings. */
#include "late.h"
#include "search.h"

#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 1024 }; /* queries whose vectors are in memory */

/* ---- the index ---- */

/* Where tags go. */
typedef struct tag_list {
    uint32_t *tags; /* of all tokens */
    size_t count;   /* so far */
} tag_list;

static bool take_tags(void *ctx, const uint32_t *tags, uint32_t count)
{
    tag_list *list = ctx;
    memcpy(list->tags + list->count, tags, sizeof *tags * count);
    list->count += count;
    return true;
}

/* Tags of all tokens; COIL alone has any. */
static bool make_tags(const gb_retriever *r, gb_late_side side, const gb_encode_rows *texts,
                      uint32_t tokens, uint32_t **tags, gb_status *status)
{
    if (r->late.settings.kind != GB_LATE_COIL)
        return true;
    tag_list list = {.tags = *tags = gb_alloc((size_t)tokens + 1, sizeof **tags, status)};
    return list.tags && retrieve_late_tags(r, side, texts, take_tags, &list, status);
}

bool retrieve_late_index(gb_retriever *r, const gb_vector_file *file, gb_status *status)
{
    retrieve_late *late = &r->late;
    bool coil = late->settings.kind == GB_LATE_COIL;
    const gb_encode_rows texts = {.tokens = r->tokens.passages,
                                  .count = (uint32_t)gb_row_file_count(r->tokens.passages),
                                  .label = "encode passages"};
    char *whole = gb_format(status, "%s.whole", file->path);
    bool ok =
        whole && (late->starts = retrieve_late_starts(r, GB_LATE_PASSAGE, &texts, status)) &&
        make_tags(r, GB_LATE_PASSAGE, &texts, late->starts[texts.count], &late->tags, status) &&
        retrieve_late_write(r, GB_LATE_PASSAGE, &texts, late->starts, file, whole, NULL, status) &&
        (r->passages = gb_npy_open(&file->path, 1, status)) &&
        (!coil || (late->whole = gb_npy_open((const char *const *)&whole, 1, status)));
    free(whole);
    return ok;
}

/* ---- ranking ---- */

/* Vectors of some queries in memory. */
typedef struct query_vectors {
    gb_token_vectors all;    /* to search with */
    uint32_t *starts, *tags; /* its arrays */
    float *tokens, *whole;   /* its vectors */
} query_vectors;

static void query_vectors_free(query_vectors *q)
{
    free(q->starts);
    free(q->tags);
    free(q->tokens);
    free(q->whole);
}

static bool encode_queries(const gb_retriever *r, gb_late_encoder *encoder,
                           const gb_encode_rows *queries, query_vectors *q, gb_status *status)
{
    bool coil = r->late.settings.kind == GB_LATE_COIL;
    uint32_t width = r->late.settings.width, hidden = coil ? r->model.config.hidden_size : 0;
    if (!(q->starts = retrieve_late_starts(r, GB_LATE_QUERY, queries, status)))
        return false;
    uint32_t rows = q->starts[queries->count];
    q->tokens = gb_alloc((size_t)rows * width + 1, sizeof *q->tokens, status);
    q->whole = gb_alloc((size_t)queries->count * hidden + 1, sizeof *q->whole, status);
    if (!q->tokens || !q->whole || !make_tags(r, GB_LATE_QUERY, queries, rows, &q->tags, status) ||
        !gb_late_encoder_run(encoder, queries, q->tokens, q->whole, NULL, status))
        return false;
    q->all = (gb_token_vectors){.tokens = {.rows = rows, .width = width, .values = q->tokens},
                                .starts = q->starts,
                                .tags = q->tags,
                                .whole = {.rows = queries->count, .width = hidden},
                                .texts = queries->count};
    q->all.whole.values = q->whole;
    return true;
}

static bool rank_some(const gb_retriever *r, gb_late_encoder *encoder, const gb_encode_rows *some,
                      uint32_t k, const gb_found *found, gb_status *status)
{
    const gb_token_vectors passages = {.tokens = gb_npy_vectors(r->passages),
                                       .starts = r->late.starts,
                                       .tags = r->late.tags,
                                       .whole = r->late.whole ? gb_npy_vectors(r->late.whole)
                                                              : (gb_vectors){0},
                                       .texts = (uint32_t)gb_row_file_count(r->tokens.passages)};
    query_vectors q = {0};
    bool ok = encode_queries(r, encoder, some, &q, status) &&
              gb_token_search(r->how.device, &q.all, &passages, k, found, status);
    query_vectors_free(&q);
    return ok;
}

/* Every rank has found the passages of its queries; all get all. */
static bool exchange(gb_ranks *ranks, uint32_t queries, uint32_t k, const gb_found *found,
                     gb_status *status)
{
    uint32_t count = gb_ranks_count(ranks);
    if (count == 1)
        return true;
    size_t *ends = gb_alloc(count, sizeof *ends, status);
    for (uint32_t r = 0; ends && r < count; r++) {
        uint32_t first, own;
        gb_ranks_range(r, count, queries, &first, &own);
        ends[r] = (size_t)(first + own) * k * sizeof(float);
    }
    bool ok = ends && gb_ranks_gather(ranks, found->rows, ends, status) &&
              gb_ranks_gather(ranks, found->scores, ends, status);
    free(ends);
    return ok;
}

bool retrieve_late_rank(gb_retriever *r, const gb_encode_rows *queries, uint32_t depth, gb_run *run,
                        gb_status *status)
{
    uint32_t passages = (uint32_t)gb_row_file_count(r->tokens.passages), first, own;
    uint32_t k = depth < passages ? depth : passages;
    size_t cells = (size_t)queries->count * k + 1;
    const gb_found found = {gb_alloc(cells, sizeof *found.rows, status),
                            gb_alloc(cells, sizeof *found.scores, status)};
    gb_late_encoder *encoder =
        found.rows && found.scores ? retrieve_late_encoder(r, GB_LATE_QUERY, status) : NULL;
    bool ok = encoder != NULL;
    gb_ranks_range(gb_ranks_rank(r->how.ranks), gb_ranks_count(r->how.ranks), queries->count,
                   &first, &own);
    for (uint32_t q = first, end = first + own; ok && q < end; q += AT_ONCE) {
        gb_encode_rows some = *queries;
        some.first += q;
        some.count = end - q < AT_ONCE ? end - q : AT_ONCE;
        const gb_found here = retrieve_search_from(&found, q, k);
        ok = rank_some(r, encoder, &some, k, &here, status);
    }
    ok = ok && exchange(r->how.ranks, queries->count, k, &found, status) &&
         retrieve_add_lists(queries, k, &found, run, status);
    free(found.rows);
    free(found.scores);
    return ok;
}
