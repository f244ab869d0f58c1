/* A run beside the one that it reproduces: order of passages, values, effects (Breuer et al., SIGIR
 * 2020, as repro_eval has them). */
#include <gabbro/eval.h>
#include <gabbro/stats.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ORIGINAL, RUN, ORIGINAL_BASE, BASE, RUNS };

/* What was read. */
typedef struct agreement {
    const gb_agree_params *params;   /* files, measures */
    gb_metrics metrics;              /* measured */
    gb_eval_params how;              /* how they are measured */
    gb_run_names names;              /* ids of all */
    gb_qrels qrels;                  /* judgements */
    gb_run runs[RUNS];               /* runs; baselines are empty where there are none */
    gb_evaluation evaluations[RUNS]; /* of the runs, over all judged queries */
    double tau, overlap;             /* means over queries */
    size_t with_tau, with_overlap;   /* queries that have them */
} agreement;

static const char *path_of(const agreement *a, int which)
{
    const gb_agree_params *p = a->params;
    const char *const paths[RUNS] = {p->original, p->run, p->original_base, p->base};
    return paths[which];
}

static bool read_all(agreement *a, gb_status *status)
{
    static const char *const usual[] = {"map", "recip_rank", "ndcg_cut.10", "recall.100"};
    const gb_agree_params *p = a->params;
    bool ok = gb_run_names_create(&a->names, status);
    for (size_t i = 0; ok && i < (p->measure_count ? p->measure_count : 4); i++)
        ok = gb_metrics_add(&a->metrics, p->measure_count ? p->measures[i] : usual[i], status);
    ok = ok && gb_metrics_are_means(&a->metrics, status);
    for (int i = 0; ok && i < RUNS; i++)
        ok = !path_of(a, i) ||
             gb_run_read(path_of(a, i), GB_RUN_AUTO, &a->names, &a->runs[i], NULL, status);
    ok = ok && gb_qrels_read(p->qrels, &a->names, &a->qrels, status);
    a->how = (gb_eval_params){.level = p->level, .complete = true, .metrics = &a->metrics};
    for (int i = 0; ok && i < RUNS; i++)
        ok = !path_of(a, i) ||
             gb_evaluate(&a->runs[i], &a->qrels, &a->names, &a->how, &a->evaluations[i], status);
    return ok;
}

/* Both orders of one query: *places [*count] of the run's passages in the original. */
static bool find_places(const agreement *a, uint32_t query, uint32_t *place_of, uint32_t **places,
                        uint32_t *count, uint32_t *of, gb_status *status)
{
    gb_ranked *original = NULL, *run = NULL;
    uint32_t depth = a->params->depth;
    bool ok =
        gb_evaluate_list(&a->runs[ORIGINAL], query, &a->qrels, &a->names, &a->how, &original, of,
                         status) &&
        gb_evaluate_list(&a->runs[RUN], query, &a->qrels, &a->names, &a->how, &run, count, status);
    *of = ok && depth && *of > depth ? depth : *of;
    *count = ok && depth && *count > depth ? depth : *count;
    *places = ok ? gb_alloc(*count, sizeof **places, status) : NULL;
    ok = *places != NULL;
    for (uint32_t i = 0; ok && i < *of; i++)
        if (original[i].passage != GB_NO_PASSAGE)
            place_of[original[i].passage] = i;
    for (uint32_t i = 0; ok && i < *count; i++)
        (*places)[i] = run[i].passage == GB_NO_PASSAGE ? GB_MAP_NONE : place_of[run[i].passage];
    for (uint32_t i = 0; ok && i < *of; i++)
        if (original[i].passage != GB_NO_PASSAGE)
            place_of[original[i].passage] = GB_MAP_NONE;
    free(original);
    free(run);
    return ok;
}

static void add(double value, double *sum, size_t *count)
{
    if (!isnan(value)) {
        *sum += value;
        (*count)++;
    }
}

/* The orders of all queries that both runs have. */
static bool compare_orders(agreement *a, gb_status *status)
{
    uint32_t passages = gb_names_count(a->names.passages);
    uint32_t *place_of = gb_alloc(passages, sizeof *place_of, status);
    bool ok = place_of;
    for (uint32_t i = 0; ok && i < passages; i++)
        place_of[i] = GB_MAP_NONE;
    for (size_t i = 0; ok && i < a->runs[RUN].list_count; i++) {
        uint32_t query = a->runs[RUN].lists[i].query, *places = NULL, count = 0, of = 0;
        double tau, overlap;
        if (!gb_run_find(&a->runs[ORIGINAL], query))
            continue;
        ok = find_places(a, query, place_of, &places, &count, &of, status) &&
             gb_tau_union(places, count, of, &tau, status) &&
             gb_rank_biased_overlap(places, count, of, a->params->persistence, &overlap, status);
        if (ok) {
            add(tau, &a->tau, &a->with_tau);
            add(overlap, &a->overlap, &a->with_overlap);
        }
        free(places);
    }
    free(place_of);
    return ok;
}

static bool print_metric(const agreement *a, size_t m, FILE *out, gb_status *status)
{
    const gb_evaluation *all = a->evaluations;
    size_t n = all[RUN].query_count;
    const double *x = all[ORIGINAL].values + m * n, *y = all[RUN].values + m * n;
    char label[GB_METRIC_LABEL];
    gb_ttest test;
    if (!gb_ttest_paired(x, y, n, &test, status))
        return false;
    gb_metric_label(&all[RUN].metrics[m], a->how.level, label);
    fprintf(out, "%s\t%.4f\t%.4f\t%+.4f\t%.4f\t%.4g", label, all[ORIGINAL].totals[m],
            all[RUN].totals[m], all[RUN].totals[m] - all[ORIGINAL].totals[m], gb_rmse(x, y, n),
            test.p);
    if (a->params->base) {
        double ratio, relative;
        gb_effects_compare(&(gb_effect){all[ORIGINAL].totals[m], all[ORIGINAL_BASE].totals[m]},
                           &(gb_effect){all[RUN].totals[m], all[BASE].totals[m]}, &ratio,
                           &relative);
        fprintf(out, "\t%.4f\t%+.4f", ratio, relative);
    }
    fputc('\n', out);
    return true;
}

static bool print_all(const agreement *a, FILE *out, gb_status *status)
{
    const gb_agree_params *p = a->params;
    fprintf(out, "# order of passages, mean over the queries of both runs\n");
    fprintf(out, "Kendall tau union\t%.4f\t%zu queries\n",
            a->with_tau ? a->tau / (double)a->with_tau : NAN, a->with_tau);
    fprintf(out, "RBO, p %.4g\t%.4f\t%zu queries\n", p->persistence,
            a->with_overlap ? a->overlap / (double)a->with_overlap : NAN, a->with_overlap);
    fprintf(out, "# %zu judged queries\n# measure\toriginal\trun\tdifference\tRMSE\tp t-test%s\n",
            a->evaluations[RUN].query_count, p->base ? "\teffect ratio\tdelta RI" : "");
    bool ok = true;
    for (size_t m = 0; ok && m < a->metrics.count; m++)
        ok = print_metric(a, m, out, status);
    return ok;
}

bool gb_runs_agree(const gb_agree_params *params, FILE *out, gb_status *status)
{
    agreement a = {.params = params};
    bool ok = read_all(&a, status) && compare_orders(&a, status) && print_all(&a, out, status);
    for (int i = 0; i < RUNS; i++) {
        gb_run_free(&a.runs[i]);
        gb_evaluation_free(&a.evaluations[i]);
    }
    gb_run_names_free(&a.names);
    free(a.qrels.rows);
    free(a.metrics.items);
    return ok;
}
