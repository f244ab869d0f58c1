/* Ranks, projects and draws a query and its candidates as several models see them. */
#include "gabbro/figures.h"
#include "gabbro/retrieve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The query and what is judged for it. */
typedef struct question {
    gb_collection *collection; /* open */
    gb_qrels qrels;            /* of the split */
    const char *split;         /* name */
    uint32_t query;            /* row */
} question;

static const char *split_of(const gb_collection *collection, const gb_candidates_params *o)
{
    if (o->split)
        return o->split;
    return gb_collection_has_split(collection, "dl19") ? "dl19" : "dev";
}

/* The query of the given id, or a seeded draw among those with a relevant passage. */
static bool choose_query(question *q, const gb_candidates_params *o, gb_status *status)
{
    uint32_t count = 0, last = UINT32_MAX, wanted = UINT32_MAX;
    for (int round = 0; round < 2; round++) {
        uint32_t seen = 0;
        last = UINT32_MAX;
        for (size_t i = 0; i < q->qrels.count; i++) {
            const gb_qrel *judged = &q->qrels.rows[i];
            size_t length;
            const char *id = gb_row_file_row(q->collection->query_ids, judged->query, &length);
            bool fits = o->query ? strlen(o->query) == length && !memcmp(id, o->query, length)
                                 : judged->grade > 0;
            if (!fits || judged->query == last)
                continue;
            last = judged->query;
            if (seen++ == wanted)
                q->query = judged->query;
        }
        count = seen;
        if (!count)
            return gb_fail(status, GB_USAGE, q->split, "see qrels/ of the collection",
                           o->query ? "the split judges no query \"%s\""
                                    : "no query has a relevant "
                                      "passage%s",
                           o->query ? o->query : "");
        gb_rng rng = gb_rng_make(o->tsne.seed, GB_RNG_SPLIT, 1, 0);
        wanted = gb_rng_below(&rng, count);
    }
    return true;
}

static int32_t grade_of(const question *q, uint32_t passage)
{
    for (size_t i = 0; i < q->qrels.count; i++)
        if (q->qrels.rows[i].query == q->query && q->qrels.rows[i].passage == passage)
            return q->qrels.rows[i].grade;
    return 0;
}

/* From which grade on a passage answers: 2 where the query has such grades, as TREC counts. */
static int32_t relevant_grade(const question *q)
{
    int32_t highest = 0;
    for (size_t i = 0; i < q->qrels.count; i++)
        if (q->qrels.rows[i].query == q->query && q->qrels.rows[i].grade > highest)
            highest = q->qrels.rows[i].grade;
    return highest > 1 ? 2 : 1;
}

/* ---- one model ---- */

/* What a gb_scatter points to, in the arena. */
typedef struct points {
    uint32_t count;     /* points so far, the query among them */
    uint32_t *passages; /* of the points behind the query */
    const char **ids;   /* shown */
    const char **texts; /* the same, to be read */
    uint32_t *ranks;    /* from 1; 0: none */
    int32_t *grades;    /* judged */
    double *distances;  /* from the query */
    float *vectors;     /* [count, H] */
} points;

static const char *id_at(const gb_row_file *file, uint32_t row, gb_arena *arena, gb_status *status)
{
    size_t length;
    const char *id = gb_row_file_row(file, row, &length);
    return gb_arena_strdup(arena, id, length, status);
}

static bool make_points(points *p, uint32_t most, uint32_t width, gb_arena *arena,
                        gb_status *status)
{
    return (p->passages = gb_arena_alloc(arena, most * sizeof *p->passages, status)) &&
           (p->ids = gb_arena_alloc(arena, most * sizeof *p->ids, status)) &&
           (p->texts = gb_arena_alloc(arena, most * sizeof *p->texts, status)) &&
           (p->ranks = gb_arena_alloc(arena, most * sizeof *p->ranks, status)) &&
           (p->grades = gb_arena_alloc(arena, most * sizeof *p->grades, status)) &&
           (p->distances = gb_arena_alloc(arena, most * sizeof *p->distances, status)) &&
           (p->vectors = gb_arena_alloc(arena, (size_t)most * width * sizeof *p->vectors, status));
}

static bool add_point(points *p, const question *q, const gb_retriever *retriever, uint32_t passage,
                      uint32_t rank, gb_arena *arena, gb_status *status)
{
    uint32_t width = gb_retriever_width(retriever);
    for (uint32_t i = 1; i < p->count; i++)
        if (p->passages[i] == passage)
            return true;
    gb_vectors all = gb_retriever_passages(retriever);
    const float *vector = all.read(all.context, passage, 1, status);
    if (!vector)
        return false;
    uint32_t at = p->count++;
    double sum = 0;
    for (uint32_t k = 0; k < width; k++)
        sum += pow((double)vector[k] - (double)p->vectors[k], 2);
    memcpy(p->vectors + (size_t)at * width, vector, width * sizeof *vector);
    p->passages[at] = passage;
    p->ranks[at] = rank;
    p->grades[at] = grade_of(q, passage);
    p->distances[at] = sqrt(sum);
    gb_text text = {0};
    gb_collection_passage(q->collection, passage, &text);
    p->texts[at] = text.failed ? NULL : gb_arena_strdup(arena, text.data, text.length, status);
    gb_text_free(&text);
    return p->texts[at] &&
           (p->ids[at] = id_at(q->collection->passage_ids, passage, arena, status)) != NULL;
}

/* The query, the model's best passages, and, if wanted, the relevant ones not among them. */
static bool collect(points *p, const question *q, gb_retriever *retriever,
                    const gb_candidates_params *o, gb_arena *arena, gb_status *status)
{
    uint32_t width = gb_retriever_width(retriever), relevant = 0;
    gb_run run = {0};
    const gb_encode_rows query = {.tokens = gb_retriever_tokens(retriever)->queries,
                                  .first = q->query,
                                  .count = 1,
                                  .label = "encode queries"};
    for (size_t i = 0; i < q->qrels.count; i++)
        relevant += q->qrels.rows[i].query == q->query;
    bool ok = make_points(p, o->depth + relevant + 1, width, arena, status) &&
              gb_retriever_encode(retriever, GB_TEXT_QUERY, &query, p->vectors, status) &&
              gb_retriever_rank(retriever, &query, o->depth, &run, status);
    if (ok) {
        p->ids[0] = id_at(q->collection->query_ids, q->query, arena, status);
        p->texts[0] = id_at(q->collection->queries, q->query, arena, status);
        p->count = 1;
        ok = p->ids[0] && p->texts[0];
    }
    const gb_run_list *list = ok ? gb_run_find(&run, q->query) : NULL;
    for (uint32_t h = 0; ok && list && h < list->count; h++)
        ok = add_point(p, q, retriever, run.hits[list->first + h].passage, h + 1, arena, status);
    for (size_t i = 0; ok && o->missed && i < q->qrels.count; i++)
        if (q->qrels.rows[i].query == q->query && q->qrels.rows[i].grade > 0)
            ok = add_point(p, q, retriever, q->qrels.rows[i].passage, 0, arena, status);
    gb_run_free(&run);
    return ok;
}

static bool scatter_model(gb_scatter *scatter, const gb_candidates_params *o, size_t index,
                          const question *q, gb_maker *maker, gb_arena *arena, gb_status *status)
{
    points p = {0};
    char name[32]; /* of this model's vectors */
    snprintf(name, sizeof name, "passages-%zu", index);
    double *plane = NULL, *components = NULL, *shares = NULL;
    gb_retriever *retriever =
        gb_retriever_of(maker, o->models[index], o->tokens, q->collection, NULL, name, status);
    uint32_t width = retriever ? gb_retriever_width(retriever) : 0;
    bool sparse = retriever && gb_retriever_is_sparse(retriever);
    if (sparse)
        gb_fail(status, GB_USAGE, o->models[index], "give a dense retriever",
                "vectors of term weights are not drawn");
    bool ok =
        retriever && !sparse && collect(&p, q, retriever, o, arena, status) &&
        (plane = gb_arena_alloc(arena, 2 * (size_t)p.count * sizeof *plane, status)) &&
        (components = gb_arena_alloc(arena, 3 * (size_t)p.count * sizeof *components, status)) &&
        (shares = gb_arena_alloc(arena, 3 * sizeof *shares, status)) &&
        gb_tsne(p.vectors, p.count, width, &o->tsne, plane, &scatter->divergence, status) &&
        gb_pca(p.vectors, p.count, width, 3, components, shares, status);
    scatter->model = o->names[index];
    scatter->count = p.count;
    scatter->ids = p.ids;
    scatter->texts = p.texts;
    scatter->relevant = relevant_grade(q);
    scatter->ranks = p.ranks;
    scatter->grades = p.grades;
    scatter->distances = p.distances;
    scatter->plane = plane;
    scatter->components = components;
    scatter->shares = shares;
    gb_retriever_close(retriever);
    return ok;
}

static bool about(const question *q, const gb_candidates_params *o, gb_text *out, gb_status *status)
{
    size_t length, id_length;
    const char *text = gb_row_file_row(q->collection->queries, q->query, &length);
    const char *id = gb_row_file_row(q->collection->query_ids, q->query, &id_length);
    gb_text_printf(out,
                   "Query %.*s of %s, %s: \"%.*s\". The %u best passages of each model%s; "
                   "perplexity %g (at most a third of the other points), %u iterations, seed %llu. "
                   "Distances are Euclidean, in the model's own space.",
                   (int)id_length, id, q->collection->name, q->split, (int)length, text, o->depth,
                   o->missed ? " and the relevant ones it did not find" : "", o->tsne.perplexity,
                   o->tsne.iterations, (unsigned long long)o->tsne.seed);
    return !out->failed || gb_fail_memory(status, "drawing candidates");
}

bool gb_candidates_draw(const gb_candidates_params *o, gb_maker *maker, gb_status *status)
{
    question q = {.collection = gb_open_collection(o->collection, status)};
    gb_arena *arena = gb_arena_create(1 << 20, status);
    gb_scatter *scatters = gb_alloc(o->model_count, sizeof *scatters, status);
    gb_text words = {0};
    bool ok = q.collection && arena && scatters && gb_maker_device(maker, status);
    if (ok) {
        q.split = split_of(q.collection, o);
        ok = gb_collection_qrels(q.collection, q.split, &q.qrels, status) &&
             choose_query(&q, o, status);
    }
    for (size_t m = 0; ok && m < o->model_count; m++)
        ok = scatter_model(&scatters[m], o, m, &q, maker, arena, status);
    ok = ok && about(&q, o, &words, status) &&
         gb_scatter_write(scatters, o->model_count, words.data, gb_maker_folder(maker), status);
    gb_text_free(&words);
    free(scatters);
    free(q.qrels.rows);
    gb_collection_close(q.collection);
    gb_arena_destroy(arena);
    return ok;
}
