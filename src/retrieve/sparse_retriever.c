/* A retriever whose vectors are sparse: files of its passages' vectors, one of each rank, and exact
 * search by an index of impacts that is built from them for the queries at hand. */
#include "retriever.h"
#include "search.h"
#include "sparse.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define INDEX_BYTES ((uint64_t)1 << 30) /* of postings at once */

static bool open_source(const gb_retriever *r, gb_text_kind kind, sparse_source *source,
                        gb_status *status)
{
    const gb_sparse_settings *how = &r->how.sparse;
    bool query = kind == GB_TEXT_QUERY;
    *source = (sparse_source){.specials = r->specials,
                              .max_length = query ? r->tokens.max_query : r->tokens.max_passage,
                              .most = query ? how->query_terms : how->passage_terms,
                              .least = how->least_weight};
    source->weights = query ? r->query_weights : NULL;
    if (source->weights)
        return true;
    return (source->encoder = retrieve_encoder(r, kind, status));
}

char *retrieve_sparse_file_of(const char *path, uint32_t rank, uint32_t ranks, gb_status *status)
{
    return gb_format(status, "%s.%u-of-%u", path, rank, ranks);
}

/* That of this rank; caller frees. */
static char *file_of(const char *path, const gb_ranks *ranks, gb_status *status)
{
    return retrieve_sparse_file_of(path, gb_ranks_rank(ranks), gb_ranks_count(ranks), status);
}

bool retrieve_sparse_write(const gb_retriever *r, gb_text_kind kind, const gb_encode_rows *texts,
                           const gb_vector_file *file, gb_padding *padding, gb_status *status)
{
    gb_ranks *ranks = r->how.ranks;
    gb_encode_rows own = *texts;
    uint32_t first;
    sparse_source source = {0};
    gb_ranks_range(gb_ranks_rank(ranks), gb_ranks_count(ranks), texts->count, &first, &own.count);
    own.first += first;
    char *path = file_of(file->path, ranks, status);
    const gb_vector_file own_file = {.path = path, .journal = file->journal};
    bool ok = path && open_source(r, kind, &source, status);
    gb_padding before = source.encoder ? gb_encoder_padding(source.encoder) : (gb_padding){0};
    ok = ok &&
         retrieve_sparse_file_write(&own_file, &own, gb_retriever_width(r), &source, status) &&
         retrieve_wait_for_ranks(ranks, status);
    if (ok && padding)
        *padding = source.encoder
                       ? retrieve_padding_since(gb_encoder_padding(source.encoder), before)
                       : (gb_padding){0};
    retrieve_sparse_source_free(&source);
    free(path);
    return ok;
}

/* ---- vectors in memory ---- */

/* Where they are written to. */
typedef struct matrix {
    float *values;  /* [texts, width] */
    uint32_t width; /* floats of a vector */
} matrix;

static bool take_dense(void *ctx, uint32_t text, const sparse_term *terms, uint32_t count,
                       gb_status *status)
{
    (void)status;
    const matrix *to = ctx;
    float *row = to->values + (size_t)text * to->width;
    memset(row, 0, sizeof *row * to->width);
    for (uint32_t i = 0; i < count; i++)
        row[terms[i].id] = terms[i].weight;
    return true;
}

bool retrieve_sparse_encode(const gb_retriever *r, gb_text_kind kind, const gb_encode_rows *texts,
                            float *vectors, gb_status *status)
{
    matrix to = {vectors, gb_retriever_width(r)};
    sparse_source source = {0};
    bool ok = open_source(r, kind, &source, status) &&
              retrieve_sparse_each(&source, texts, take_dense, &to, status);
    retrieve_sparse_source_free(&source);
    return ok;
}

/* ---- ranking ---- */

/* A search for some queries in this rank's passages. */
typedef struct ranking {
    gb_impacts search;        /* index */
    bool *used;               /* [vocabulary] a query has the term */
    uint32_t first, passages; /* rows of this rank */
} ranking;

static bool take_query(void *ctx, uint32_t text, const sparse_term *terms, uint32_t count,
                       gb_status *status)
{
    ranking *k = ctx;
    bool ok = true;
    (void)text;
    for (uint32_t i = 0; ok && i < count; i++) {
        k->used[terms[i].id] = true;
        ok = gb_impacts_add(&k->search.queries, terms[i].id, terms[i].weight, status);
    }
    k->search.queries.end++;
    return ok;
}

/* The queries' vectors, from the model. */
static bool add_queries(const gb_retriever *r, const gb_encode_rows *queries, ranking *k,
                        gb_status *status)
{
    sparse_source source = {0};
    bool ok = open_source(r, GB_TEXT_QUERY, &source, status) &&
              retrieve_sparse_each(&source, queries, take_query, k, status);
    retrieve_sparse_source_free(&source);
    return ok && gb_impacts_begin(&k->search, status);
}

/* The passages' vectors, from this rank's file. Terms that no query has are left out: they cannot
 * score. */
static bool add_passages(const gb_retriever *r, ranking *k, gb_status *status)
{
    sparse_reader reader = {0};
    uint32_t count;
    char *path = file_of(r->sparse_index, r->how.ranks, status);
    bool ok = path && retrieve_sparse_reader_open(&reader, path, k->search.term_count, status);
    gb_progress progress;
    gb_progress_begin(&progress, "search", "passages", k->passages, 0);
    for (uint32_t p = 0; ok && p < k->passages; p++) {
        ok = retrieve_sparse_reader_next(&reader, &count, status);
        for (uint32_t i = 0; ok && i < count; i++)
            ok = !k->used[reader.terms[i].id] || gb_impacts_add(&k->search.part, reader.terms[i].id,
                                                                reader.terms[i].weight, status);
        ok = ok && gb_impacts_passage(&k->search, status);
        gb_progress_update(&progress, p, NULL);
    }
    ok = ok && gb_impacts_end(&k->search, status);
    if (ok)
        gb_progress_end(&progress, k->passages, NULL);
    retrieve_sparse_reader_close(&reader);
    free(path);
    return ok;
}

/* The lists of this rank, as they are exchanged. */
static void fill_found(const gb_impacts *search, const gb_found *found)
{
    for (uint32_t q = 0; q < search->queries.end; q++)
        for (uint32_t i = 0; i < search->depth; i++) {
            size_t at = (size_t)q * search->depth + i;
            bool there = i < search->found[q];
            found->rows[at] = there ? search->hits[at].passage : GB_NO_ROW;
            found->scores[at] = there ? (float)search->hits[at].score : -INFINITY;
        }
}

static bool add_lists(const gb_encode_rows *queries, const gb_found *found, gb_impacts *search,
                      gb_run *run, gb_status *status)
{
    bool ok = true;
    for (uint32_t q = 0; ok && q < queries->count; q++) {
        uint32_t query = queries->first + q, count = 0;
        size_t at = (size_t)q * search->depth;
        for (; count < search->depth && found->rows[at + count] != GB_NO_ROW; count++)
            search->hits[at + count] =
                (gb_hit){found->rows[at + count], (double)found->scores[at + count]};
        ok = gb_run_add(run, queries->rows ? queries->rows[query] : query, search->hits + at, count,
                        status);
    }
    return ok;
}

/* As many queries at a time as the results of these lie in memory. */
static bool rank_some(gb_retriever *r, const gb_encode_rows *queries, uint32_t depth, gb_run *run,
                      gb_status *status)
{
    uint32_t total = (uint32_t)gb_row_file_count(r->tokens.passages);
    ranking k = {.search = {.depth = depth < total ? depth : total,
                            .memory_bytes = INDEX_BYTES,
                            .term_count = gb_retriever_width(r)},
                 .used = gb_alloc(gb_retriever_width(r), sizeof *k.used, status)};
    size_t cells = (size_t)queries->count * k.search.depth;
    const gb_found found = {gb_alloc(cells, sizeof *found.rows, status),
                            gb_alloc(cells, sizeof *found.scores, status)};
    gb_ranks_range(gb_ranks_rank(r->how.ranks), gb_ranks_count(r->how.ranks), total, &k.first,
                   &k.passages);
    bool ok = k.used && found.rows && found.scores && add_queries(r, queries, &k, status) &&
              add_passages(r, &k, status);
    if (ok)
        fill_found(&k.search, &found);
    ok = ok &&
         retrieve_search_exchange(r->how.ranks, total, k.search.depth, queries->count, &found,
                                  status) &&
         add_lists(queries, &found, &k.search, run, status);
    gb_impacts_free(&k.search);
    free(k.used);
    free(found.rows);
    free(found.scores);
    return ok;
}

#define MOST_CELLS (32u << 20) /* results at a time */

bool retrieve_sparse_rank(gb_retriever *r, const gb_encode_rows *queries, uint32_t depth,
                          gb_run *run, gb_status *status)
{
    uint32_t most = depth < MOST_CELLS ? MOST_CELLS / (depth ? depth : 1) : 1;
    bool ok = true;
    for (uint32_t done = 0; ok && done < queries->count; done += most) {
        gb_encode_rows some = *queries;
        some.first += done;
        some.count = queries->count - done < most ? queries->count - done : most;
        ok = rank_some(r, &some, depth, run, status);
    }
    return ok;
}
