/* Rankings scored anew by a cross-encoder, in the order of its scores. */
#include "private.h"

#include <gabbro/artifact.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK_PAIRS 256 /* scored between two notes of how far it is */

/* A run that is written: one for the runs that were given, or one for each split of an evaluation.
 */
typedef struct ranked {
    char *name;       /* in the artifact: run.trec, or runs/SPLIT.trec */
    gb_run run;       /* passages to score, then by their scores */
    size_t first_hit; /* of it, among those of all */
} ranked;

typedef struct rerank {
    const gb_rerank_params *how;  /* settings */
    gb_maker *maker;              /* whose artifact is filled */
    gb_collection *collection;    /* of the texts */
    gb_run_names names;           /* its ids */
    gb_tokens tokens;             /* its texts */
    gb_model_input model;         /* cross-encoder */
    gb_params *params;            /* parameters */
    gb_bert bert;                 /* encoder */
    gb_pair_head head;            /* and what makes scores of its states */
    float *values;                /* of the parameters */
    gb_pair_scorer_params scorer; /* how they are made */
    ranked *runs;                 /* [count] what is written */
    size_t count, capacity;       /* runs */
    gb_text_pair *pairs;          /* [pair_count] of all of them */
    uint32_t pair_count;          /* pairs */
} rerank;

/* ---- what is scored ---- */

static bool listed(const gb_hit *hits, uint32_t count, uint32_t passage)
{
    for (uint32_t i = 0; i < count; i++)
        if (hits[i].passage == passage)
            return true;
    return false;
}

/* A list being made. */
typedef struct candidates {
    gb_hit *hits;    /* [count] passages */
    uint32_t count;  /* of them */
    size_t capacity; /* allocated */
} candidates;

static bool add_passage(candidates *list, uint32_t passage, gb_status *status)
{
    if (passage == GB_NO_PASSAGE || listed(list->hits, list->count, passage))
        return true;
    if (!gb_grow(&list->hits, &list->capacity, list->count + 1, sizeof *list->hits, status))
        return false;
    list->hits[list->count++] = (gb_hit){.passage = passage};
    return true;
}

/* What the lists of a query are made of. */
typedef struct sources {
    const gb_run *runs;     /* [count] of which the first passages are taken */
    size_t count;           /* runs */
    const gb_run_list *own; /* list of the query in the run at `at`, or NULL */
    size_t at;              /* see there */
    gb_qrels qrels;         /* of which the relevant passages are taken */
} sources;

/* First passages of the runs for a query, and those judged relevant. */
static bool add_query(const rerank *r, const sources *of, uint32_t query, candidates *list,
                      gb_run *out, gb_status *status)
{
    const gb_qrels *qrels = &of->qrels;
    bool ok = true;
    list->count = 0;
    for (size_t i = 0; of->own && i < of->count; i++) {
        const gb_run_list *from = i == of->at ? of->own : gb_run_find(&of->runs[i], query);
        for (uint32_t h = 0; ok && from && h < from->count && h < r->how->depth; h++)
            ok = add_passage(list, of->runs[i].hits[from->first + h].passage, status);
    }
    for (size_t i = gb_qrels_first(qrels, query);
         ok && i < qrels->count && qrels->rows[i].query == query; i++)
        if (qrels->rows[i].grade > 0)
            ok = add_passage(list, qrels->rows[i].passage, status);
    return ok && (!list->count || gb_run_add(out, query, list->hits, list->count, status));
}

/* Queries of the runs in their order, each once, then judged ones that no run has. */
static bool unite(const rerank *r, const gb_run *runs, size_t count, gb_run *out, gb_status *status)
{
    uint32_t queries = (uint32_t)gb_row_file_count(r->collection->queries);
    sources of = {.runs = runs, .count = count};
    candidates list = {0};
    bool *seen = gb_alloc(queries ? queries : 1, sizeof *seen, status);
    bool ok = seen && (!r->how->judged ||
                       gb_collection_qrels(r->collection, r->how->judged, &of.qrels, status));
    for (of.at = 0; ok && of.at < count; of.at++)
        for (size_t l = 0; ok && l < runs[of.at].list_count; l++) {
            of.own = &runs[of.at].lists[l];
            ok = seen[of.own->query] || add_query(r, &of, of.own->query, &list, out, status);
            seen[of.own->query] = true;
        }
    of.own = NULL;
    for (size_t j = 0; ok && j < of.qrels.count; j++) {
        uint32_t query = of.qrels.rows[j].query;
        ok = seen[query] || add_query(r, &of, query, &list, out, status);
        seen[query] = true;
    }
    free(seen);
    free(list.hits);
    free(of.qrels.rows);
    return ok;
}

static bool add_output(rerank *r, const char *name, const gb_run *runs, size_t count,
                       gb_status *status)
{
    if (!gb_grow(&r->runs, &r->capacity, r->count + 1, sizeof *r->runs, status))
        return false;
    ranked *to = &r->runs[r->count++];
    *to = (ranked){.name = gb_strdup(name, status)};
    return to->name && unite(r, runs, count, &to->run, status);
}

/* The runs that an evaluation kept. */
static bool read_evaluation(rerank *r, const char *folder, gb_status *status)
{
    gb_splits splits = {0};
    bool ok = gb_splits_open(r->collection, &splits, status);
    for (size_t i = 0; ok && i < splits.count; i++) {
        gb_run run = {0};
        char *name = gb_format(status, "runs/%s.trec", splits.items[i].name);
        ok = name && retrieve_read_kept(folder, splits.items[i].name, &r->names, &run, status) &&
             add_output(r, name, &run, 1, status);
        gb_run_free(&run);
        free(name);
    }
    gb_splits_free(&splits);
    if (ok)
        gb_warn_of_short_runs(folder, r->how->depth);
    return ok;
}

bool retrieve_read_run(const char *named, const gb_run_names *names, gb_run *run, gb_status *status)
{
    return gb_dir_exists(named) ? gb_run_read_artifact(named, names, run, status)
                                : gb_run_read(named, GB_RUN_AUTO, names, run, NULL, status) &&
                                      gb_run_sort(run, status);
}

static bool is_evaluation(const char *named)
{
    char *runs = gb_path_join(NULL, named, "runs");
    bool is = runs && gb_dir_exists(runs);
    free(runs);
    return is;
}

static bool read_runs(rerank *r, gb_status *status)
{
    const gb_words *named = &r->how->runs;
    if (named->count == 1 && is_evaluation(named->items[0]))
        return read_evaluation(r, named->items[0], status);
    gb_run *runs = gb_alloc(named->count, sizeof *runs, status);
    bool ok = runs != NULL;
    for (size_t i = 0; ok && i < named->count; i++)
        ok = is_evaluation(named->items[i])
                 ? gb_fail(status, GB_USAGE, named->items[i], "rerank it alone",
                           "an evaluation has runs of several splits, and is given with others")
                 : retrieve_read_run(named->items[i], &r->names, &runs[i], status);
    ok = ok && add_output(r, "run.trec", runs, named->count, status);
    for (size_t i = 0; runs && i < named->count; i++)
        gb_run_free(&runs[i]);
    free(runs);
    return ok;
}

static bool list_pairs(rerank *r, gb_status *status)
{
    size_t total = 0;
    for (size_t i = 0; i < r->count; i++)
        total += r->runs[i].run.hit_count;
    if (total >= UINT32_MAX || !total)
        return gb_fail(status, GB_DATA, NULL, total ? "rerank fewer queries" : "give another run",
                       "the runs have %zu passages of queries", total);
    r->pairs = gb_alloc(total, sizeof *r->pairs, status);
    for (size_t i = 0; r->pairs && i < r->count; i++) {
        const gb_run *run = &r->runs[i].run;
        r->runs[i].first_hit = r->pair_count;
        for (size_t l = 0; l < run->list_count; l++)
            for (uint32_t h = 0; h < run->lists[l].count; h++)
                r->pairs[r->pair_count++] =
                    (gb_text_pair){run->lists[l].query, run->hits[run->lists[l].first + h].passage};
    }
    return r->pairs;
}

/* ---- opening ---- */

static bool open_texts(rerank *r, uint32_t kinds, gb_status *status)
{
    const gb_rerank_params *how = r->how;
    return (r->collection = gb_open_collection(how->collection, status)) &&
           gb_open_tokens(how->tokens, r->collection, &r->tokens, status) &&
           gb_model_input_open_kinds(&r->model, how->model, kinds, &r->tokens, status) &&
           gb_run_names_of(r->collection, &r->names, status) && read_runs(r, status) &&
           list_pairs(r, status);
}

static bool settle_lengths(rerank *r, gb_status *status)
{
    uint32_t longest, needed = r->tokens.max_query + r->tokens.max_passage - 1;
    if (!gb_folder_pair_length(r->model.folder, &longest, status))
        return false;
    r->scorer = (gb_pair_scorer_params){.bert = &r->bert,
                                        .head = &r->head,
                                        .specials = gb_vocab_specials(r->model.vocab),
                                        .queries = r->tokens.queries,
                                        .passages = r->tokens.passages,
                                        .max_query_length = r->tokens.max_query,
                                        .max_passage_length = r->tokens.max_passage,
                                        .max_length = needed < longest ? needed : longest};
    if (needed > longest)
        gb_log(GB_LOG_INFO, "pairs have up to %u tokens, the model reads %u: longer ones are cut",
               needed, longest);
    return true;
}

static bool open_model(rerank *r, gb_status *status)
{
    bool ok = (r->params = gb_params_create(status)) &&
              gb_bert_declare(r->params, &r->model.config, false, &r->bert, status) &&
              gb_pair_head_declare(r->params, &r->model.config, &r->head, status) &&
              (r->values = gb_model_input_values(r->model.folder, r->params, status));
    r->scorer.params = r->params;
    r->scorer.values = r->values;
    return ok;
}

static void close_all(rerank *r)
{
    for (size_t i = 0; i < r->count; i++) {
        gb_run_free(&r->runs[i].run);
        free(r->runs[i].name);
    }
    free(r->runs);
    free(r->pairs);
    free(r->values);
    if (r->params)
        gb_bert_free(&r->bert);
    gb_params_destroy(r->params);
    gb_model_input_close(&r->model);
    gb_run_names_free(&r->names);
    gb_tokens_close(&r->tokens);
    gb_collection_close(r->collection);
}

/* ---- scores ---- */

/* What a rank makes its part of. */
typedef struct scoring {
    gb_pair_scorer *scorer;    /* does it */
    const gb_text_pair *pairs; /* of this rank */
} scoring;

static bool score_some(void *self, uint32_t first, uint32_t count, float *scores, gb_status *status)
{
    const scoring *s = self;
    return gb_pair_scorer_run(s->scorer, s->pairs + first, count, scores, status);
}

/* Scores of all pairs into a file that a killed command continues. */
static bool write_scores(rerank *r, const char *path, gb_status *status)
{
    gb_ranks *ranks = r->maker->ranks;
    char *journal = gb_maker_rank_file(r->maker, "scored", gb_ranks_rank(r->maker->ranks), status);
    r->scorer.device = journal ? gb_maker_device(r->maker, status) : NULL;
    scoring s = {.scorer = r->scorer.device ? gb_pair_scorer_create(&r->scorer, status) : NULL};
    const gb_vector_file file = {.path = path, .journal = journal};
    retrieve_part part = {.file = &file,
                          .label = "rerank",
                          .unit = "pairs",
                          .chunk = CHUNK_PAIRS,
                          .rows = r->pair_count,
                          .width = 1,
                          .make = score_some,
                          .self = &s};
    double start_s = gb_now_s();
    gb_ranks_range(gb_ranks_rank(ranks), gb_ranks_count(ranks), r->pair_count, &part.at,
                   &part.count);
    s.pairs = r->pairs + part.at;
    bool ok = s.scorer && retrieve_write_part(&part, status) && gb_maker_wait(r->maker, status);
    if (ok) {
        gb_padding padding = gb_pair_scorer_padding(s.scorer);
        json_t *times = json_pack("{s:f}", "work_s", gb_now_s() - start_s);
        gb_note_padding(times, padding.used, padding.computed);
        json_object_set_new(r->maker->facts, "times", times);
    }
    gb_pair_scorer_destroy(s.scorer);
    free(journal);
    return ok;
}

/* ---- rankings ---- */

/* Gives a run its scores. Of no number nothing can be ranked. */
static bool rank_run(const rerank *r, ranked *to, const float *scores, gb_status *status)
{
    gb_run *run = &to->run;
    for (size_t h = 0; h < run->hit_count; h++) {
        double score = scores[to->first_hit + h];
        if (!isfinite(score))
            return gb_fail(status, GB_DATA, r->how->model, "give another cross-encoder",
                           "the score of a pair is %g", score);
        run->hits[h].score = r->how->form ? 1 / (1 + exp(-score)) : score;
    }
    for (size_t l = 0; l < run->list_count; l++)
        if (run->lists[l].count)
            gb_hits_sort(run->hits + run->lists[l].first, run->lists[l].count);
    return true;
}

static bool write_runs(rerank *r, const char *path, gb_status *status)
{
    gb_npy *npy = gb_npy_open(&path, 1, status);
    gb_vectors all = npy ? gb_npy_vectors(npy) : (gb_vectors){0};
    const float *scores = npy ? all.read(all.context, 0, all.rows, status) : NULL;
    char *folder = gb_maker_file(r->maker, "runs", status);
    bool ok = scores && folder &&
              (strcmp(r->runs[0].name, "run.trec") == 0 || gb_make_dirs(folder, status));
    for (size_t i = 0; ok && i < r->count; i++) {
        char *to = gb_maker_file(r->maker, r->runs[i].name, status);
        ok = to && rank_run(r, &r->runs[i], scores, status) &&
             gb_run_write(&r->runs[i].run, &r->names, &(gb_run_style){0}, to, status);
        free(to);
    }
    free(folder);
    gb_npy_close(npy);
    return ok;
}

bool gb_rerank(gb_maker *maker, const gb_rerank_params *params, gb_status *status)
{
    rerank r = {.how = params, .maker = maker};
    char *path = gb_maker_resume_file(maker, "scores.npy", status);
    bool ok = path && open_texts(&r, GB_FOLDER_CROSS_ENCODER, status) &&
              settle_lengths(&r, status) && open_model(&r, status) &&
              write_scores(&r, path, status) &&
              (!gb_maker_leads(maker) || write_runs(&r, path, status));
    if (ok)
        json_object_set_new(maker->facts, "pairs", json_integer(r.pair_count));
    close_all(&r);
    free(path);
    return ok;
}

bool gb_rerank_print_cost(const gb_rerank_params *params, FILE *out, gb_status *status)
{
    rerank r = {.how = params};
    /* A plan has an encoder of that size in the place of a cross-encoder. */
    bool ok = open_texts(&r, GB_FOLDER_CROSS_ENCODER | GB_FOLDER_ENCODER, status) &&
              settle_lengths(&r, status);
    if (ok)
        fprintf(out, "pairs=%u pair_flops=%.6g\n", r.pair_count,
                gb_pair_flops(&r.scorer, &r.model.config, r.pairs, r.pair_count) / r.pair_count);
    close_all(&r);
    return ok;
}
