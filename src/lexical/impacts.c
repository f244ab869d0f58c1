/* Exact search of sparse vectors: an inverted index of impacts, in as many parts as memory asks
 * for. */
#include "best.h"

#include <gabbro/ops.h>

#include <stdlib.h>

#define POSTING_BYTES 16 /* term, text, weight, place in the order of terms */

static void free_vectors(gb_impacts_vectors *v)
{
    free(v->terms);
    free(v->rows);
    free(v->weights);
}

void gb_impacts_free(gb_impacts *s)
{
    free_vectors(&s->queries);
    free_vectors(&s->part);
    free(s->starts);
    free(s->order);
    free(s->query_starts);
    free(s->hits);
    free(s->found);
}

bool gb_impacts_add(gb_impacts_vectors *v, uint32_t term, float weight, gb_status *status)
{
    if (!gb_grow(&v->terms, &v->capacities[0], v->count + 1, sizeof *v->terms, status) ||
        !gb_grow(&v->rows, &v->capacities[1], v->count + 1, sizeof *v->rows, status) ||
        !gb_grow(&v->weights, &v->capacities[2], v->count + 1, sizeof *v->weights, status))
        return false;
    v->terms[v->count] = term;
    v->rows[v->count] = v->end - v->first;
    v->weights[v->count++] = weight;
    return true;
}

bool gb_impacts_begin(gb_impacts *s, gb_status *status)
{
    const gb_impacts_vectors *q = &s->queries;
    s->starts = gb_alloc((size_t)s->term_count + 1, sizeof *s->starts, status);
    s->query_starts = gb_alloc((size_t)q->end + 1, sizeof *s->query_starts, status);
    s->hits = gb_alloc((size_t)q->end * s->depth, sizeof *s->hits, status);
    s->found = gb_alloc(q->end, sizeof *s->found, status);
    if (!s->starts || !s->query_starts || !s->hits || !s->found)
        return false;
    for (size_t i = 0; i < q->count; i++)
        s->query_starts[q->rows[i] + 1]++;
    for (uint32_t query = 0; query < q->end; query++)
        s->query_starts[query + 1] += s->query_starts[query];
    return true;
}

static void search_query(const gb_impacts *s, uint32_t query, lexical_scores *scores)
{
    const gb_impacts_vectors *q = &s->queries, *p = &s->part;
    for (uint32_t i = s->query_starts[query]; i < s->query_starts[query + 1]; i++)
        for (uint32_t k = s->starts[q->terms[i]]; k < s->starts[q->terms[i] + 1]; k++) {
            uint32_t posting = s->order[k];
            lexical_gain(scores, p->rows[posting],
                         (double)q->weights[i] * (double)p->weights[posting]);
        }
    s->found[query] = lexical_best(scores, p->first, s->hits + (size_t)query * s->depth,
                                   s->found[query], s->depth);
}

/* Searches the part for all queries and empties it. */
static bool search_part(gb_impacts *s, gb_status *status)
{
    gb_impacts_vectors *p = &s->part;
    lexical_scores scores = {0};
    s->order = gb_alloc(p->count, sizeof *s->order, status);
    bool ok = s->order && lexical_scores_make(&scores, p->end - p->first, status);
    if (ok)
        gb_row_index_sort(p->terms, (uint32_t)p->count, s->term_count, s->starts, s->order);
    for (uint32_t query = 0; ok && query < s->queries.end; query++) {
        ok = gb_not_interrupted(NULL, status);
        if (ok)
            search_query(s, query, &scores);
    }
    lexical_scores_free(&scores);
    free(s->order);
    s->order = NULL;
    p->count = 0;
    p->first = p->end;
    s->parts++;
    return ok;
}

bool gb_impacts_passage(gb_impacts *s, gb_status *status)
{
    s->part.end++;
    bool full = s->part.count >= s->memory_bytes / POSTING_BYTES || s->part.count >= UINT32_MAX / 2;
    return !full || search_part(s, status);
}

bool gb_impacts_end(gb_impacts *s, gb_status *status)
{
    return s->part.end == s->part.first || search_part(s, status);
}
