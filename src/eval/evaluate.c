/* Runs against judgements: sort each list, join the grades, measure, put the queries together. */
#include <gabbro/eval.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TIE_RANKS 10 /* ties are counted when they touch these first ranks */

/* A hit on its way to a rank. */
typedef struct ranked {
    double score;     /* of the run */
    uint32_t passage; /* row or GB_NO_PASSAGE */
    uint32_t place;   /* in the list */
    int32_t grade;    /* or GB_UNJUDGED */
} ranked;

/* Everything one evaluation works with. */
typedef struct evaluator {
    const gb_run *run;            /* lists */
    const gb_run_names *names;    /* ids */
    const gb_eval_params *params; /* form */
    ranked *hits;                 /* scratch of the longest list */
    int32_t *grades;              /* scratch, same size */
    int32_t *ideal;               /* scratch of the most judgements a query */
    gb_evaluation *out;           /* counters go here */
} evaluator;

static int by_query(const void *a, const void *b)
{
    const gb_run_list *x = a, *y = b;
    return (x->query > y->query) - (x->query < y->query);
}

static int by_passage(const void *a, const void *b)
{
    const gb_qrel *x = a, *y = b;
    return (x->passage > y->passage) - (x->passage < y->passage);
}

static int descending(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x < y) - (x > y);
}

static int by_rank(const void *a, const void *b, void *context)
{
    const ranked *x = a, *y = b;
    const evaluator *e = context;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    gb_ties ties = e->params->ties;
    if ((ties == GB_TIES_BEST || ties == GB_TIES_WORST) && x->grade != y->grade)
        return (x->grade > y->grade) == (ties == GB_TIES_BEST) ? -1 : 1;
    if (ties == GB_TIES_TREC || ties == GB_TIES_ASCENDING) {
        int order =
            x->passage == y->passage || x->passage == GB_NO_PASSAGE || y->passage == GB_NO_PASSAGE
                ? 0
                : gb_names_compare(e->names->passages, x->passage, y->passage);
        if (order)
            return ties == GB_TIES_TREC ? -order : order;
    }
    return (x->place > y->place) - (x->place < y->place);
}

static int32_t grade_of(const gb_qrel *rows, size_t count, uint32_t passage)
{
    gb_qrel key = {.passage = passage};
    const gb_qrel *found = bsearch(&key, rows, count, sizeof *rows, by_passage);
    return found && found->grade >= 0 ? found->grade : GB_UNJUDGED; /* < 0: pooled, not judged */
}

/* Rank the list of one query; returns the number of ranks, their grades in e->grades. */
static uint32_t rank_list(evaluator *e, const gb_run_list *list, const gb_qrel *rows, size_t judged)
{
    const gb_eval_params *params = e->params;
    uint32_t count = 0, kept = 0;
    for (uint32_t i = 0; i < list->count; i++) {
        const gb_hit *hit = &e->run->hits[list->first + i];
        if (params->drop_identical && gb_is_the_query(e->names, list->query, hit->passage)) {
            e->out->identical++;
            continue;
        }
        e->hits[count++] =
            (ranked){hit->score, hit->passage, i, grade_of(rows, judged, hit->passage)};
    }
    if (!params->keep_order)
        gb_sort(e->hits, count, sizeof *e->hits, by_rank, e);
    for (uint32_t i = 1; i < count && i <= TIE_RANKS; i++)
        if (e->hits[i].score == e->hits[i - 1].score) {
            e->out->tied_queries++;
            break;
        }
    if (params->depth && count > params->depth)
        count = params->depth;
    for (uint32_t i = 0; i < count; i++)
        if (!params->judged_only || e->hits[i].grade != GB_UNJUDGED) {
            e->hits[kept] = e->hits[i];
            e->grades[kept++] = e->hits[i].grade;
        }
    return kept;
}

/* The query as a metric of a level of its own sees it. */
static gb_judged at_level(const gb_judged *query, int32_t level)
{
    gb_judged own = *query;
    if (!level || level == query->level)
        return own;
    own.level = level;
    own.relevant = 0;
    for (uint32_t i = 0; i < query->judged; i++)
        own.relevant += query->ideal[i] >= level;
    return own;
}

/* Add what a random order of the collection has for one query, its judgements as they are. */
static void add_chances(evaluator *e, gb_judged query)
{
    const gb_eval_params *params = e->params;
    query.grades = NULL;
    query.retrieved =
        params->depth && params->depth < params->passages ? params->depth : params->passages;
    for (size_t m = 0; params->passages && m < e->out->metric_count; m++) {
        const gb_metric *metric = &e->out->metrics[m];
        const gb_judged own = at_level(&query, metric->level);
        if (metric->measure->chance)
            e->out->chances[m] +=
                metric->measure->chance(&own, metric->parameter, params->passages);
    }
}

/* All metrics of one query into column `column` of the values. */
static void measure_query(evaluator *e, const gb_run_list *list, const gb_qrel *rows, size_t count,
                          size_t column, size_t columns)
{
    gb_judged query = {.grades = e->grades, .ideal = e->ideal, .level = e->params->level};
    for (size_t i = 0; i < count; i++) {
        if (rows[i].grade < 0)
            continue;
        e->ideal[query.judged++] = rows[i].grade;
        query.relevant += rows[i].grade >= query.level;
    }
    qsort(e->ideal, query.judged, sizeof *e->ideal, descending);
    query.retrieved = list ? rank_list(e, list, rows, count) : 0;
    for (size_t m = 0; m < e->out->metric_count; m++) {
        const gb_metric *metric = &e->out->metrics[m];
        const gb_judged own = at_level(&query, metric->level);
        e->out->values[m * columns + column] = metric->measure->value(&own, metric->parameter);
    }
    add_chances(e, query);
}

static double total(const gb_evaluation *evaluation, size_t metric)
{
    const double *values = evaluation->values + metric * evaluation->query_count;
    gb_total kind = evaluation->metrics[metric].measure->total;
    double sum = 0;
    for (size_t i = 0; i < evaluation->query_count; i++)
        sum += kind == GB_TOTAL_GEOMETRIC ? log(values[i] > 1e-5 ? values[i] : 1e-5) : values[i];
    if (kind == GB_TOTAL_SUM)
        return sum;
    double mean = sum / evaluation->query_count;
    return kind == GB_TOTAL_GEOMETRIC ? exp(mean) : mean;
}

/* Walk judgements (by query) and lists (by query) side by side. With values NULL only counts. */
static void walk(evaluator *e, const gb_qrels *qrels, const gb_run_list *lists)
{
    gb_evaluation *out = e->out;
    size_t list = 0, column = 0, columns = out->query_count;
    for (size_t first = 0, end; first < qrels->count; first = end) {
        uint32_t query = qrels->rows[first].query;
        for (end = first; end < qrels->count && qrels->rows[end].query == query;)
            end++;
        while (list < e->run->list_count && lists[list].query < query)
            list++;
        bool present = list < e->run->list_count && lists[list].query == query;
        if (!out->values) {
            out->judged_queries++;
            out->missing_queries += !present;
        }
        if (!present && !e->params->complete)
            continue;
        if (out->values) {
            out->queries[column] = query;
            measure_query(e, present ? &lists[list] : NULL, qrels->rows + first, end - first,
                          column, columns);
        }
        column++;
    }
    out->query_count = column;
}

static size_t max_list_length(const gb_run *run)
{
    size_t max_length = 0;
    for (size_t i = 0; i < run->list_count; i++)
        if (run->lists[i].count > max_length)
            max_length = run->lists[i].count;
    return max_length;
}

static bool evaluate_sorted(evaluator *e, const gb_qrels *qrels, const gb_run_list *lists,
                            const gb_metrics *metrics, gb_status *status)
{
    gb_evaluation *out = e->out;
    walk(e, qrels, lists); /* counts */
    size_t present = out->judged_queries - out->missing_queries;
    out->ignored_queries = (uint32_t)(e->run->list_count - present);
    if (present == 0 && (e->run->list_count || !out->params.complete))
        return gb_fail(status, GB_DATA, NULL, "are these the judgements of this run?",
                       "no query of the run has judgements");
    out->metric_count = metrics->count;
    out->metrics = gb_alloc(metrics->count, sizeof *out->metrics, status);
    out->queries = gb_alloc(out->query_count, sizeof *out->queries, status);
    out->totals = gb_alloc(metrics->count, sizeof *out->totals, status);
    out->chances = gb_alloc(metrics->count, sizeof *out->chances, status);
    if (!out->metrics || !out->queries || !out->totals || !out->chances)
        return false;
    if (metrics->count)
        memcpy(out->metrics, metrics->items, metrics->count * sizeof *out->metrics);
    out->values = gb_alloc(metrics->count * out->query_count, sizeof *out->values, status);
    if (!out->values)
        return false;
    walk(e, qrels, lists); /* measures */
    for (size_t m = 0; m < out->metric_count; m++) {
        out->totals[m] = total(out, m);
        bool known = out->params.passages && out->metrics[m].measure->chance;
        out->chances[m] = known ? out->chances[m] / (double)out->query_count : NAN;
    }
    return true;
}

bool gb_evaluate(const gb_run *run, const gb_qrels *qrels, const gb_run_names *names,
                 const gb_eval_params *params, gb_evaluation *evaluation, gb_status *status)
{
    gb_evaluation out = {.params = *params};
    out.params.metrics = NULL;
    bool by_name =
        !params->keep_order && (params->ties == GB_TIES_TREC || params->ties == GB_TIES_ASCENDING);
    if ((by_name && !names->passages) ||
        (params->drop_identical && (!names->queries || !names->passages)))
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "the evaluation needs the ids of its rows");
    for (size_t i = 0; i < run->hit_count; i++)
        if (isnan(run->hits[i].score))
            return gb_fail(status, GB_DATA, NULL, "did the model that made it diverge?",
                           "the run has a score that is not a number");
    size_t max_length = max_list_length(run);
    evaluator e = {.run = run, .names = names, .params = params, .out = &out};
    gb_run_list *lists = gb_alloc(run->list_count, sizeof *lists, status);
    e.hits = gb_alloc(max_length, sizeof *e.hits, status);
    e.grades = gb_alloc(max_length, sizeof *e.grades, status);
    e.ideal = gb_alloc(qrels->count, sizeof *e.ideal, status);
    bool ok = lists && e.hits && e.grades && e.ideal;
    if (ok) {
        if (run->list_count)
            memcpy(lists, run->lists, run->list_count * sizeof *lists);
        qsort(lists, run->list_count, sizeof *lists, by_query);
        ok = evaluate_sorted(&e, qrels, lists, params->metrics, status);
    }
    free(lists);
    free(e.hits);
    free(e.grades);
    free(e.ideal);
    if (ok)
        *evaluation = out;
    else
        gb_evaluation_free(&out);
    return ok;
}

bool gb_evaluate_list(const gb_run *run, uint32_t query, const gb_qrels *qrels,
                      const gb_run_names *names, const gb_eval_params *params, gb_ranked **hits,
                      uint32_t *count, gb_status *status)
{
    gb_evaluation counters = {0};
    evaluator e = {.run = run, .names = names, .params = params, .out = &counters};
    const gb_run_list *list = gb_run_find(run, query);
    size_t length = list ? list->count : 0, first = gb_qrels_first(qrels, query), end;
    for (end = first; end < qrels->count && qrels->rows[end].query == query;)
        end++;
    e.hits = gb_alloc(length, sizeof *e.hits, status);
    e.grades = gb_alloc(length, sizeof *e.grades, status);
    gb_ranked *out = gb_alloc(length, sizeof *out, status);
    bool ok = e.hits && e.grades && out;
    uint32_t kept = ok && list ? rank_list(&e, list, qrels->rows + first, end - first) : 0;
    for (uint32_t i = 0; i < kept; i++)
        out[i] = (gb_ranked){e.hits[i].passage, e.hits[i].grade};
    free(e.hits);
    free(e.grades);
    if (!ok) {
        free(out);
        return false;
    }
    *hits = out;
    *count = kept;
    return true;
}

void gb_evaluation_free(gb_evaluation *evaluation)
{
    if (!evaluation)
        return;
    free(evaluation->metrics);
    free(evaluation->queries);
    free(evaluation->values);
    free(evaluation->totals);
    free(evaluation->chances);
    *evaluation = (gb_evaluation){0};
}

static size_t find_metric(const gb_evaluation *evaluation, const char *name)
{
    for (size_t m = 0; m < evaluation->metric_count; m++) {
        char own[GB_METRIC_NAME];
        gb_metric_name(&evaluation->metrics[m], own);
        if (strcmp(own, name) == 0)
            return m;
    }
    return SIZE_MAX;
}

double gb_evaluation_total(const gb_evaluation *evaluation, const char *name)
{
    size_t m = find_metric(evaluation, name);
    return m == SIZE_MAX ? NAN : evaluation->totals[m];
}

double gb_evaluation_chance(const gb_evaluation *evaluation, const char *name)
{
    size_t m = find_metric(evaluation, name);
    return m == SIZE_MAX ? NAN : evaluation->chances[m];
}

bool gb_evaluation_write(const gb_evaluation *evaluation, const gb_names *queries, const char *path,
                         gb_status *status)
{
    gb_out *file = gb_out_open(path, status);
    if (!file)
        return false;
    FILE *out = gb_out_stream(file);
    fputs("query", out);
    for (size_t m = 0; m < evaluation->metric_count; m++) {
        char label[GB_METRIC_LABEL];
        gb_metric_label(&evaluation->metrics[m], evaluation->params.level, label);
        fprintf(out, "\t%s", label);
    }
    fputc('\n', out);
    for (size_t q = 0; q < evaluation->query_count; q++) {
        size_t length;
        const char *id = gb_names_get(queries, evaluation->queries[q], &length);
        fwrite(id, 1, length, out);
        for (size_t m = 0; m < evaluation->metric_count; m++)
            fprintf(out, "\t%.17g", evaluation->values[m * evaluation->query_count + q]);
        fputc('\n', out);
    }
    return gb_out_commit(file, status);
}
