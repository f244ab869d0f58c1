/* Judges runs in files and prints the result, for gabbro eval. */
#include <gabbro/eval.h>

#include <stdlib.h>
#include <string.h>

/* What was read. Rows count in the order of the run, then of the judgements: in the run's order the
 * MS MARCO script adds. */
typedef struct judging {
    const gb_judge_params *params; /* what is asked for */
    gb_eval_params how;            /* the same, settled */
    gb_metrics metrics;            /* measured */
    bool run_name;                 /* is printed */
    gb_run_names names;            /* ids */
    gb_run run, other;             /* runs */
    gb_qrels qrels;                /* judgements */
    char *run_tag, *other_tag;     /* of the runs */
} judging;

static bool add_measures(judging *j, const char *const *words, size_t count, gb_status *status)
{
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++) {
        bool run_name = !strcmp(words[i], "runid");
        j->run_name |= run_name || !strcmp(words[i], "official") || !strcmp(words[i], "all");
        ok = run_name || gb_metrics_add(&j->metrics, words[i], status);
    }
    return ok;
}

/* Fill in what follows from what is printed. */
static bool settle(judging *j, gb_status *status)
{
    static const char *const compared[] = {"map", "recip_rank", "ndcg_cut.10", "recall.100"};
    static const char *const differing[] = {"ndcg_cut.10"};
    static const char *const msmarco[] = {"MRR@10"}, *const official[] = {"official"};
    const gb_judge_params *p = j->params;
    j->how = p->how;
    j->how.metrics = &j->metrics;
    j->how.keep_order |= p->msmarco;
    j->how.complete |= p->msmarco || p->other || p->diff;
    if (!add_measures(j, p->measures, p->measure_count, status))
        return false;
    if (p->diff && p->measure_count && (j->metrics.count != 1 || j->run_name))
        return gb_fail(status, GB_USAGE, NULL, "as --diff RUN2 -m MRR@10",
                       "queries are won and lost by one measure");
    if (p->diff && p->measure_count && !gb_metrics_are_means(&j->metrics, status))
        return false;
    if (p->msmarco)
        return add_measures(j, msmarco, 1, status);
    if (p->measure_count)
        return true;
    if (p->diff)
        return add_measures(j, differing, 1, status);
    return p->other ? add_measures(j, compared, 4, status) : add_measures(j, official, 1, status);
}

static bool read_run(judging *j, const char *path, gb_run *run, char **tag, gb_status *status)
{
    const gb_judge_params *p = j->params;
    gb_run_format format = p->format;
    if (p->msmarco && format == GB_RUN_AUTO)
        format = GB_RUN_MSMARCO;
    else if (!p->msmarco && p->how.keep_order && format <= GB_RUN_TREC)
        format = GB_RUN_RANKED;
    if (!gb_run_read(path, format, &j->names, run, tag, status))
        return false;
    for (size_t i = 0; p->single && i < run->hit_count; i++)
        run->hits[i].score = (float)run->hits[i].score;
    return true;
}

static bool read_files(judging *j, gb_status *status)
{
    const gb_judge_params *p = j->params;
    const char *other = p->other ? p->other : p->diff;
    if (!strcmp(p->qrels, "-") + !strcmp(p->run, "-") + (other && !strcmp(other, "-")) > 1)
        return gb_fail(status, GB_USAGE, NULL, "write the others to files",
                       "only one file can be standard input");
    return gb_run_names_create(&j->names, status) &&
           read_run(j, p->run, &j->run, &j->run_tag, status) &&
           (!other || read_run(j, other, &j->other, &j->other_tag, status)) &&
           gb_qrels_read_by(p->answers, p->qrels, &j->names, &j->qrels, status);
}

static bool compare(judging *j, const gb_evaluation *evaluation, FILE *out, gb_status *status)
{
    const gb_judge_params *p = j->params;
    const char *a = j->run_tag, *b = j->other_tag;
    if (!*a || !*b || !strcmp(a, b)) { /* tags that do not tell the runs apart, as "gabbro" twice */
        a = p->run;
        b = p->other ? p->other : p->diff;
    }
    const gb_compare_params names = {a, b, p->seed};
    gb_evaluation other = {0};
    const gb_diff_params sides = {.a = {a, &j->run, evaluation},
                                  .b = {b, &j->other, &other},
                                  .qrels = &j->qrels,
                                  .names = &j->names,
                                  .how = &j->how,
                                  .collection = p->collection,
                                  .queries = p->diff_queries,
                                  .passages = p->diff_passages};
    bool ok = gb_evaluate(&j->other, &j->qrels, &j->names, &j->how, &other, status) &&
              (p->diff ? gb_evaluation_diff(&sides, out, status)
                       : gb_evaluation_compare(evaluation, &other, &names, out, status));
    gb_evaluation_free(&other);
    return ok;
}

/* What the averages do not show. */
static void log_notes(const gb_evaluation *evaluation)
{
    if (evaluation->tied_queries)
        gb_log(GB_LOG_INFO, "%u of %zu queries have equal scores within the first 10 ranks",
               evaluation->tied_queries, evaluation->query_count);
    if (evaluation->ignored_queries)
        gb_log(GB_LOG_INFO, "%u queries of the run have no judgements and are not measured",
               evaluation->ignored_queries);
    if (evaluation->missing_queries && !evaluation->params.complete)
        gb_log(GB_LOG_WARN, "%u judged queries are not in the run and not in the averages (-c)",
               evaluation->missing_queries);
}

static bool judge(judging *j, FILE *out, gb_status *status)
{
    const gb_judge_params *p = j->params;
    gb_evaluation evaluation = {0};
    gb_print_params print = p->print;
    print.run_name = j->run_name ? j->run_tag : NULL;
    print.seed = p->seed;
    bool ok = gb_evaluate(&j->run, &j->qrels, &j->names, &j->how, &evaluation, status) &&
              (!p->values || gb_evaluation_write(&evaluation, j->names.queries, p->values, status));
    if (ok && p->msmarco)
        gb_evaluation_print_msmarco(&evaluation, j->run.list_count, out);
    else if (ok && (p->other || p->diff))
        ok = compare(j, &evaluation, out, status);
    else if (ok)
        ok = gb_evaluation_print(&evaluation, j->names.queries, &print, out, status);
    if (ok)
        log_notes(&evaluation);
    gb_evaluation_free(&evaluation);
    return ok;
}

bool gb_judge_run(const gb_judge_params *params, FILE *out, gb_status *status)
{
    judging j = {.params = params};
    bool ok = settle(&j, status) && read_files(&j, status) && judge(&j, out, status);
    gb_run_names_free(&j.names);
    gb_run_free(&j.run);
    gb_run_free(&j.other);
    free(j.qrels.rows);
    free(j.run_tag);
    free(j.other_tag);
    free(j.metrics.items);
    return ok;
}
