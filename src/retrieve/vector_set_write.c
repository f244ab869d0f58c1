/* A set of vectors as one folder, and the run that a search of it gives. */
#include "search.h"

#include <gabbro/ops.h>
#include <gabbro/retrieve.h>

#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 8192 }; /* vectors in memory */

static bool write_vectors(const gb_vectors *v, const char *path, gb_status *status)
{
    char header[GB_NPY_HEADER];
    gb_out *out = gb_out_open(path, status);
    bool ok = out != NULL;
    gb_npy_header(v->rows, v->width, header);
    if (ok)
        fwrite(header, 1, sizeof header, gb_out_stream(out));
    for (uint32_t first = 0; ok && first < v->rows; first += AT_ONCE) {
        uint32_t count = v->rows - first < AT_ONCE ? v->rows - first : AT_ONCE;
        const float *rows = v->read(v->context, first, count, status);
        ok = rows != NULL;
        if (ok)
            fwrite(rows, sizeof *rows, (size_t)count * v->width, gb_out_stream(out));
    }
    if (ok)
        return gb_out_commit(out, status);
    gb_out_abandon(out);
    return false;
}

static bool write_ids(const gb_vector_set *set, const char *path, gb_status *status)
{
    gb_out *out = gb_out_open(path, status);
    for (uint32_t i = 0; out && i < set->vectors.rows; i++) {
        size_t length;
        const char *id = gb_vector_set_id(set, i, &length);
        fwrite(id, 1, length, gb_out_stream(out));
        fputc('\n', gb_out_stream(out));
    }
    return out && gb_out_commit(out, status);
}

bool gb_vector_set_write(const gb_vector_set *set, const char *folder, gb_status *status)
{
    char *vectors = gb_path_join(status, folder, "vectors.npy");
    char *ids = gb_path_join(status, folder, "ids.txt");
    bool ok = vectors && ids && write_vectors(&set->vectors, vectors, status) &&
              write_ids(set, ids, status);
    free(vectors);
    free(ids);
    return ok;
}

/* Row of an id among the names of a run. */
static bool name_row(gb_names *names, const gb_vector_set *set, uint32_t row, uint32_t *name,
                     gb_status *status)
{
    size_t length;
    const char *id = gb_vector_set_id(set, row, &length);
    return gb_names_row(names, id, length, name, status);
}

/* A search whose results are written. */
typedef struct searched {
    const gb_vector_set *queries, *passages; /* what was searched for, and where */
    uint32_t k;                              /* results of a query */
    gb_found found;                          /* results */
    gb_run_names names;                      /* ids; only of passages that were found */
    gb_run run;                              /* the lists in the order of the queries */
} searched;

/* hits [k] */
static bool add_list(searched *s, uint32_t row, gb_hit *hits, gb_status *status)
{
    const gb_found found = retrieve_search_from(&s->found, row, s->k);
    uint32_t query, count = 0;
    bool ok = name_row(s->names.queries, s->queries, row, &query, status);
    if (ok && query != row)
        ok = gb_fail(status, GB_DATA, NULL, "ids.txt names every query once",
                     "a query is there twice");
    for (; ok && count < s->k && found.rows[count] != GB_NO_ROW; count++) {
        hits[count].score = found.scores[count];
        ok = name_row(s->names.passages, s->passages, found.rows[count], &hits[count].passage,
                      status);
    }
    return ok && gb_run_add(&s->run, query, hits, count, status);
}

static bool write_lists(searched *s, const char *path, gb_status *status)
{
    gb_hit *hits = gb_alloc(s->k, sizeof *hits, status);
    bool ok = hits && gb_run_names_create(&s->names, status);
    for (uint32_t q = 0; ok && q < s->queries->vectors.rows; q++)
        ok = add_list(s, q, hits, status);
    ok = ok && gb_run_write(&s->run, &s->names, &(gb_run_style){0}, path, status);
    gb_run_free(&s->run);
    gb_run_names_free(&s->names);
    free(hits);
    return ok;
}

bool gb_vector_set_search(gb_device *device, const gb_vector_set *queries,
                          const gb_vector_set *passages, const gb_search_params *params,
                          const char *path, gb_status *status)
{
    if (*queries->model && *passages->model && strcmp(queries->model, passages->model))
        return gb_fail(status, GB_DATA, queries->folder, "encode both with one retriever",
                       "queries by %s, passages by %s", queries->model, passages->model);
    gb_search_params how = *params;
    how.k = params->k < passages->vectors.rows ? params->k : passages->vectors.rows;
    size_t cells = (size_t)queries->vectors.rows * how.k;
    searched s = {.queries = queries,
                  .passages = passages,
                  .k = how.k,
                  .found = {gb_alloc(cells, sizeof *s.found.rows, status),
                            gb_alloc(cells, sizeof *s.found.scores, status)}};
    bool ok = s.found.rows && s.found.scores &&
              gb_search(device, &queries->vectors, &passages->vectors, &how, &s.found, status) &&
              (gb_ranks_rank(params->ranks) || write_lists(&s, path, status));
    free(s.found.rows);
    free(s.found.scores);
    return ok;
}
