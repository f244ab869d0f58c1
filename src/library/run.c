/* Runs of the public interface, and measuring them. */
#include "private.h"

#include <gabbro/eval.h>

#include <stdlib.h>
#include <string.h>

struct gabbro_run {
    gb_run run;           /* rankings */
    gb_run_names names;   /* ids of queries and passages */
    gb_map *queries;      /* those that have a ranking */
    pthread_mutex_t lock; /* one call at a time: all of it grows, but for bytes of ids */
};

/* Functions that look at a constant run have to wait for those that add to it, too. */
static void lock(const gabbro_run *r)
{
    pthread_mutex_lock(&((gabbro_run *)r)->lock);
}

static void unlock(const gabbro_run *r)
{
    pthread_mutex_unlock(&((gabbro_run *)r)->lock);
}

static gabbro_run *create(gb_status *status)
{
    gabbro_run *r = gb_alloc(1, sizeof *r, status);
    if (!r)
        return NULL;
    pthread_mutex_init(&r->lock, NULL);
    if (gb_run_names_create(&r->names, status) && (r->queries = gb_map_create(status)))
        return r;
    gabbro_run_close(r);
    return NULL;
}

void gabbro_run_close(gabbro_run *r)
{
    if (!r)
        return;
    gb_run_free(&r->run);
    gb_run_names_free(&r->names);
    gb_map_destroy(r->queries);
    pthread_mutex_destroy(&r->lock);
    free(r);
}

gabbro_run *gabbro_run_create(gabbro_status *status)
{
    library_call call = library_begin();
    gabbro_run *r = create(&call.status);
    library_end(r != NULL, &call, status);
    return r;
}

/* A name of a file or a measure is needed. */
static bool is_named(const char *name, const char *what, gb_status *status)
{
    return name || gb_fail(status, GB_USAGE, NULL, NULL, "no %s is named", what);
}

static bool note_queries(gabbro_run *r, gb_status *status)
{
    for (size_t i = 0; i < r->run.list_count; i++) {
        size_t length;
        const char *id = gb_names_get(r->names.queries, r->run.lists[i].query, &length);
        if (!gb_map_set(r->queries, id, length, (uint32_t)i, status))
            return false;
    }
    return true;
}

gabbro_run *gabbro_run_read(const char *path, gabbro_status *status)
{
    library_call call = library_begin();
    gabbro_run *r = create(&call.status);
    if (library_end(r && is_named(path, "run", &call.status) &&
                        gb_run_read(path, GB_RUN_AUTO, &r->names, &r->run, NULL, &call.status) &&
                        note_queries(r, &call.status),
                    &call, status))
        return r;
    gabbro_run_close(r);
    return NULL;
}

/* ---- writing ---- */

static bool is_id(const char *id, bool is_query)
{
    return id && !gb_id_fault(id, is_query) && gb_utf8_valid(id, strlen(id));
}

static bool fill(gabbro_run *r, const char *const *passages, const double *scores, size_t count,
                 gb_hit *hits, gb_status *status)
{
    gb_map *seen = gb_map_create(status);
    bool ok = seen != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        if (!is_id(passages[i], false) || scores[i] != scores[i])
            ok = gb_fail(status, GB_USAGE, NULL, "an id is one word, a score a number",
                         "hit %zu has no id or no score", i);
        else if (gb_map_get(seen, passages[i], strlen(passages[i])) != GB_MAP_NONE)
            ok = gb_fail(status, GB_USAGE, passages[i], NULL, "the passage is there twice");
        hits[i].score = scores[i];
        ok = ok && gb_map_set(seen, passages[i], strlen(passages[i]), 0, status) &&
             gb_names_row(r->names.passages, passages[i], strlen(passages[i]), &hits[i].passage,
                          status);
    }
    gb_map_destroy(seen);
    return ok;
}

static bool add(gabbro_run *r, const char *query, const char *const *passages, const double *scores,
                size_t count, gb_status *status)
{
    uint32_t row;
    if (!is_id(query, true) || count > UINT32_MAX)
        return gb_fail(status, GB_USAGE, NULL, "an id is one word and begins with no #",
                       "the query has no id");
    if (gb_map_get(r->queries, query, strlen(query)) != GB_MAP_NONE)
        return gb_fail(status, GB_USAGE, query, NULL, "the query has a ranking already");
    gb_hit *hits = gb_alloc(count, sizeof *hits, status);
    bool ok = hits && fill(r, passages, scores, count, hits, status) &&
              gb_names_row(r->names.queries, query, strlen(query), &row, status) &&
              gb_run_add(&r->run, row, hits, (uint32_t)count, status) &&
              gb_map_set(r->queries, query, strlen(query), (uint32_t)r->run.list_count - 1, status);
    free(hits);
    return ok;
}

bool gabbro_run_add(gabbro_run *r, const char *query, const char *const *passages,
                    const double *scores, size_t count, gabbro_status *status)
{
    library_call call = library_begin();
    lock(r);
    bool ok = add(r, query, passages, scores, count, &call.status);
    unlock(r);
    return library_end(ok, &call, status);
}

bool gabbro_run_write(gabbro_run *r, const char *path, const char *tag, gabbro_status *status)
{
    library_call call = library_begin();
    const gb_run_style style = {.tag = tag};
    bool named = is_named(path, "file", &call.status) &&
                 (!tag || is_id(tag, false) ||
                  gb_fail(&call.status, GB_USAGE, NULL, NULL, "a tag is one word"));
    lock(r);
    bool ok = named && gb_run_write(&r->run, &r->names, &style, path, &call.status);
    unlock(r);
    return library_end(ok, &call, status);
}

/* ---- looking at it ---- */

size_t gabbro_run_queries(const gabbro_run *r)
{
    lock(r);
    size_t count = r->run.list_count;
    unlock(r);
    return count;
}

const char *gabbro_run_query(const gabbro_run *r, size_t query, size_t *length, size_t *hits)
{
    lock(r);
    const gb_run_list *list = &r->run.lists[query];
    *hits = list->count;
    const char *id = gb_names_get(r->names.queries, list->query, length);
    unlock(r);
    return id;
}

const char *gabbro_run_hit(const gabbro_run *r, size_t query, size_t rank, size_t *length,
                           double *score)
{
    lock(r);
    const gb_hit *hit = &r->run.hits[r->run.lists[query].first + rank];
    const char *id = ""; /* an empty rank of MS MARCO's runs has no passage */
    *score = hit->score;
    *length = 0;
    if (hit->passage != GB_NO_PASSAGE)
        id = gb_names_get(r->names.passages, hit->passage, length);
    unlock(r);
    return id;
}

/* ---- measuring ---- */

static void give_values(const gabbro_run *r, const gb_evaluation *e, gabbro_value_fn *each,
                        void *context)
{
    for (size_t i = 0; each && i < e->query_count; i++) {
        size_t length;
        const char *id = gb_names_get(r->names.queries, e->queries[i], &length);
        each(context, id, length, e->values[i]);
    }
}

static bool measure(gabbro_run *r, const char *path, const char *name,
                    const gabbro_measure_params *how, gb_evaluation *evaluation, gb_status *status)
{
    gb_metrics metrics = {0};
    gb_qrels qrels = {0};
    gb_eval_params params = GB_EVAL_TREC;
    if (how->level)
        params.level = how->level;
    params.complete = how->complete;
    params.metrics = &metrics;
    if (how->level < 0)
        return gb_fail(status, GB_USAGE, NULL, "give 1 or more",
                       "the smallest relevant grade is %d", how->level);
    bool ok = is_named(path, "file of judgements", status) && is_named(name, "measure", status) &&
              gb_metrics_add(&metrics, name, status);
    if (ok && metrics.count != 1)
        ok = gb_fail(status, GB_USAGE, name, "one, such as ndcg_cut_10",
                     "it stands for %zu measures", metrics.count);
    ok = ok && gb_qrels_read(path, &r->names, &qrels, status) &&
         gb_evaluate(&r->run, &qrels, &r->names, &params, evaluation, status);
    free(qrels.rows);
    free(metrics.items);
    return ok;
}

bool gabbro_measure(gabbro_run *r, const char *qrels, const char *name,
                    const gabbro_measure_params *params, gabbro_value_fn *each, void *context,
                    double *value, gabbro_status *status)
{
    library_call call = library_begin();
    gabbro_measure_params how;
    gb_evaluation evaluation = {0};
    library_params(&how, sizeof how, params);
    lock(r);
    bool ok = measure(r, qrels, name, &how, &evaluation, &call.status);
    ok = library_end(ok, &call, status); /* `each` is the caller's, and so is its locale */
    if (ok) {
        *value = evaluation.totals[0];
        give_values(r, &evaluation, each, context);
    }
    unlock(r);
    gb_evaluation_free(&evaluation);
    return ok;
}
