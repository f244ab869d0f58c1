/* Exact search of sparse vectors: an inverted index of impacts, in as many parts as memory asks
 * for. Each part is searched for all queries before the next is read; the best of all parts remain.
 */
#include "best.h"

#include <gabbro/ops.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define POSTING_BYTES 16 /* term, text, weight, place in the order of terms */

/* Sparse vectors in a row: terms with their weights. */
typedef struct vectors {
    uint32_t *terms;      /* [count] */
    uint32_t *rows;       /* [count] which vector */
    float *weights;       /* [count] */
    size_t count;         /* in use */
    size_t capacities[3]; /* allocated, of each array */
    uint32_t first, end;  /* vectors [first, end) of all */
} vectors;

typedef struct search {
    const gb_impacts_params *params; /* of the caller */
    const gb_run_names *names;       /* of the caller, growing */
    gb_map *terms;                   /* term -> number */
    uint32_t term_count;             /* different terms */
    vectors queries;                 /* all */
    vectors part;                    /* passages of this part */
    uint32_t *starts, *order;        /* postings of the part by term */
    uint32_t *query_starts;          /* [queries + 1] */
    gb_hit *hits;                    /* [queries, depth] best so far */
    uint32_t *found;                 /* [queries] how many of them */
    uint32_t parts;                  /* searched */
} search;

static void free_vectors(vectors *v)
{
    free(v->terms);
    free(v->rows);
    free(v->weights);
}

static bool add_posting(vectors *v, uint32_t term, float weight, gb_status *status)
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

/* Number of a term; a new one where it is unknown and `grow`, otherwise GB_MAP_NONE. */
static bool term_number(search *s, const char *term, bool grow, uint32_t *number, gb_status *status)
{
    size_t length = strlen(term);
    *number = gb_map_get(s->terms, term, length);
    if (*number != GB_MAP_NONE || !grow)
        return true;
    *number = s->term_count++;
    return gb_map_set(s->terms, term, length, *number, status);
}

/* The vector of a line: {"id": "p1", "vector": {"term": weight}}, as the next of `v`. */
static bool add_vector(search *s, vectors *v, gb_names *names, bool grow, const gb_lines *lines,
                       const json_t *object, gb_status *status)
{
    const char *path = gb_lines_path(lines), *id = gb_json_text(object, "id"), *term;
    const json_t *vector = json_object_get(object, "vector");
    json_t *value;
    uint32_t row;
    if (!*id || !json_is_object(vector))
        return gb_lines_fail(lines, status,
                             "a line is {\"id\": \"p1\", \"vector\": {\"term\": 1.5}}",
                             "no \"id\", or no \"vector\" of terms");
    if (!gb_names_row(names, id, strlen(id), &row, status))
        return false;
    if (row != v->end)
        return gb_lines_fail(lines, status, "ids must be unique", "\"%.80s\" comes twice", id);
    json_object_foreach((json_t *)vector, term, value)
    {
        double weight = -1;
        uint32_t number;
        if (!gb_json_get_real(vector, term, path, &weight, status))
            return false;
        if (!(weight >= 0 && (float)weight < INFINITY))
            return gb_lines_fail(lines, status, "weights are numbers from 0 on",
                                 "the weight of \"%.80s\" is %g", term, weight);
        if (!term_number(s, term, grow, &number, status) ||
            ((float)weight > 0 && number != GB_MAP_NONE &&
             !add_posting(v, number, (float)weight, status)))
            return false;
    }
    v->end++;
    return true;
}

/* ---- one part ---- */

static void search_query(const search *s, uint32_t query, retrieve_scores *scores)
{
    const vectors *q = &s->queries, *p = &s->part;
    for (uint32_t i = s->query_starts[query]; i < s->query_starts[query + 1]; i++)
        for (uint32_t k = s->starts[q->terms[i]]; k < s->starts[q->terms[i] + 1]; k++) {
            uint32_t posting = s->order[k];
            retrieve_gain(scores, p->rows[posting],
                          (double)q->weights[i] * (double)p->weights[posting]);
        }
    uint32_t depth = s->params->depth;
    s->found[query] =
        retrieve_best(scores, p->first, s->hits + (size_t)query * depth, s->found[query], depth);
}

/* Searches the part for all queries and empties it. */
static bool search_part(search *s, gb_status *status)
{
    vectors *p = &s->part;
    retrieve_scores scores = {0};
    s->order = gb_alloc(p->count, sizeof *s->order, status);
    bool ok = s->order && retrieve_scores_make(&scores, p->end - p->first, status);
    if (ok)
        gb_row_index_sort(p->terms, (uint32_t)p->count, s->term_count, s->starts, s->order);
    for (uint32_t query = 0; ok && query < s->queries.end; query++) {
        ok = !gb_interrupted() ||
             gb_fail(status, GB_INTERRUPTED, NULL, "run it again", "stopped by a signal");
        if (ok)
            search_query(s, query, &scores);
    }
    retrieve_scores_free(&scores);
    free(s->order);
    s->order = NULL;
    p->count = 0;
    p->first = p->end;
    s->parts++;
    return ok;
}

/* ---- the whole ---- */

static bool take_query(void *ctx, const gb_lines *lines, const json_t *object, gb_status *status)
{
    search *s = ctx;
    return add_vector(s, &s->queries, s->names->queries, true, lines, object, status);
}

/* Terms that no query has are left out: they cannot score. */
static bool take_passage(void *ctx, const gb_lines *lines, const json_t *object, gb_status *status)
{
    search *s = ctx;
    uint64_t most = s->params->memory_bytes / POSTING_BYTES;
    if (!add_vector(s, &s->part, s->names->passages, false, lines, object, status))
        return false;
    bool full = s->part.count >= most || s->part.count >= UINT32_MAX / 2;
    return !full || search_part(s, status);
}

static bool prepare(search *s, gb_status *status)
{
    const vectors *q = &s->queries;
    if (!q->end)
        return gb_fail(status, GB_DATA, s->params->queries, NULL, "no queries");
    s->starts = gb_alloc((size_t)s->term_count + 1, sizeof *s->starts, status);
    s->query_starts = gb_alloc((size_t)q->end + 1, sizeof *s->query_starts, status);
    s->hits = gb_alloc((size_t)q->end * s->params->depth, sizeof *s->hits, status);
    s->found = gb_alloc(q->end, sizeof *s->found, status);
    if (!s->starts || !s->query_starts || !s->hits || !s->found)
        return false;
    for (size_t i = 0; i < q->count; i++)
        s->query_starts[q->rows[i] + 1]++;
    for (uint32_t query = 0; query < q->end; query++)
        s->query_starts[query + 1] += s->query_starts[query];
    return true;
}

static bool search_all(search *s, gb_run *run, gb_status *status)
{
    bool ok = gb_jsonl_each(gb_lines_open(s->params->queries, status), take_query, s, status) &&
              prepare(s, status) &&
              gb_jsonl_each(gb_lines_open(s->params->passages, status), take_passage, s, status) &&
              (s->part.end == s->part.first || search_part(s, status));
    if (ok && !s->part.end)
        ok = gb_fail(status, GB_DATA, s->params->passages, NULL, "no passages");
    for (uint32_t query = 0; ok && query < s->queries.end; query++)
        ok = gb_run_add(run, query, s->hits + (size_t)query * s->params->depth, s->found[query],
                        status);
    return ok;
}

bool gb_impacts_search(const gb_impacts_params *params, const gb_run_names *names, gb_run *run,
                       uint32_t *parts, gb_status *status)
{
    search s = {.params = params, .names = names, .terms = gb_map_create(status)};
    bool ok = s.terms && search_all(&s, run, status);
    *parts = s.parts;
    gb_map_destroy(s.terms);
    free_vectors(&s.queries);
    free_vectors(&s.part);
    free(s.starts);
    free(s.query_starts);
    free(s.hits);
    free(s.found);
    return ok;
}
