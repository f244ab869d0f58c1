/* The run that a search of token vectors gives, of all passages or of those that another run has
 * found. */
#include "private.h"

#include <gabbro/ops.h>

#include <stdlib.h>
#include <string.h>

static bool search_all(gb_device *device, const gb_token_set *queries, const gb_token_set *passages,
                       uint32_t depth, gb_run *run, gb_status *status)
{
    uint32_t k = depth < passages->vectors.texts ? depth : passages->vectors.texts;
    size_t cells = (size_t)queries->vectors.texts * k;
    const gb_found found = {gb_alloc(cells, sizeof *found.rows, status),
                            gb_alloc(cells, sizeof *found.scores, status)};
    gb_hit *hits = gb_alloc(k, sizeof *hits, status);
    bool ok = found.rows && found.scores && hits &&
              gb_token_search(device, &queries->vectors, &passages->vectors, k, &found, status);
    for (uint32_t q = 0; ok && q < queries->vectors.texts; q++) {
        for (size_t i = 0, at = (size_t)q * k; i < k; i++)
            hits[i] = (gb_hit){found.rows[at + i], found.scores[at + i]};
        ok = gb_run_add(run, q, hits, k, status);
    }
    free(found.rows);
    free(found.scores);
    free(hits);
    return ok;
}

/* The passages of one list, and where their scores go. */
typedef struct candidates {
    uint32_t *rows; /* [count] passages */
    gb_hit *hits;   /* [count] */
    uint32_t done;  /* scored so far */
} candidates;

static void take_scores(void *context, uint32_t query, const uint32_t *rows, const float *scores,
                        uint32_t count)
{
    candidates *c = context;
    (void)query;
    for (uint32_t i = 0; i < count; i++)
        c->hits[c->done++] = (gb_hit){rows[i], scores[i]};
}

static bool score_list(gb_token_scorer *scorer, const gb_run *from, const gb_run_list *list,
                       candidates *c, gb_status *status)
{
    for (uint32_t i = 0; i < list->count; i++)
        c->rows[i] = from->hits[list->first + i].passage;
    c->done = 0;
    if (!gb_token_score(scorer, list->query, 1, c->rows, list->count, take_scores, c, status))
        return false;
    gb_hits_sort(c->hits, list->count);
    return true;
}

/* Everything that a run names has vectors. */
static bool check_named(const gb_run_names *names, const gb_token_set *queries,
                        const gb_token_set *passages, const char *path, gb_status *status)
{
    gb_names *both[] = {names->queries, names->passages};
    const gb_token_set *sets[] = {queries, passages};
    for (int i = 0; i < 2; i++) {
        size_t length;
        uint32_t first = sets[i]->vectors.texts;
        if (gb_names_count(both[i]) == first)
            continue;
        const char *id = gb_names_get(both[i], first, &length);
        return gb_fail(status, GB_DATA, path, "rerank a run of the same queries and passages",
                       "%u %s have no vectors in %s, the first %.*s",
                       gb_names_count(both[i]) - first, i ? "passages" : "queries", sets[i]->folder,
                       (int)length, id);
    }
    return true;
}

static bool rerank(gb_device *device, const gb_token_set *queries, const gb_token_set *passages,
                   const gb_run *from, uint32_t depth, gb_run *run, gb_status *status)
{
    size_t most = 0;
    for (size_t l = 0; l < from->list_count; l++)
        most = from->lists[l].count > most ? from->lists[l].count : most;
    candidates c = {gb_alloc(most, sizeof *c.rows, status), gb_alloc(most, sizeof *c.hits, status),
                    0};
    gb_token_scorer *scorer =
        c.rows && c.hits
            ? gb_token_scorer_create(device, &queries->vectors, &passages->vectors, 1, status)
            : NULL;
    bool ok = scorer != NULL;
    for (size_t l = 0; ok && l < from->list_count; l++) {
        const gb_run_list *list = &from->lists[l];
        ok =
            score_list(scorer, from, list, &c, status) &&
            gb_run_add(run, list->query, c.hits, list->count < depth ? list->count : depth, status);
    }
    gb_token_scorer_destroy(scorer);
    free(c.rows);
    free(c.hits);
    return ok;
}

bool gb_token_set_search(gb_device *device, const gb_token_set *queries,
                         const gb_token_set *passages, uint32_t depth, const char *candidates_path,
                         const char *path, gb_status *status)
{
    if (*queries->model && *passages->model && strcmp(queries->model, passages->model) != 0)
        return gb_fail(status, GB_DATA, queries->folder, "encode both with one retriever",
                       "queries by %s, passages by %s", queries->model, passages->model);
    gb_run_names names = {0};
    gb_run from = {0}, run = {0};
    bool ok = gb_run_names_create(&names, status) &&
              retrieve_name_all(names.queries, queries->folder, queries->names,
                                queries->vectors.texts, true, status) &&
              retrieve_name_all(names.passages, passages->folder, passages->names,
                                passages->vectors.texts, false, status);
    if (ok && candidates_path)
        ok = retrieve_read_run(candidates_path, &names, &from, status) &&
             check_named(&names, queries, passages, candidates_path, status) &&
             rerank(device, queries, passages, &from, depth, &run, status);
    else if (ok)
        ok = search_all(device, queries, passages, depth, &run, status);
    ok = ok && gb_run_write(&run, &names, &(gb_run_style){0}, path, status);
    gb_run_free(&from);
    gb_run_free(&run);
    gb_run_names_free(&names);
    return ok;
}
