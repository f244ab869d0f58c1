/* Two runs over the same queries: paired tests of every metric. */
#include <gabbro/eval.h>
#include <gabbro/stats.h>

#include <stdlib.h>

/* A metric of both runs. */
typedef struct comparison {
    size_t metric;        /* which */
    double mean;          /* of A - B */
    gb_interval interval; /* of the mean, 95%, by the bootstrap */
    double p;             /* paired t-test */
    double randomisation; /* p of Fisher's randomisation test */
} comparison;

static bool compare_metric(const gb_evaluation *a, const gb_evaluation *b,
                           const gb_resampling *draws, comparison *row, gb_status *status)
{
    gb_ttest test;
    size_t n = a->query_count;
    const double *x = a->values + row->metric * n, *y = b->values + row->metric * n;
    double *differences = gb_alloc(n, sizeof *differences, status);
    for (size_t i = 0; differences && i < n; i++)
        differences[i] = x[i] - y[i];
    bool ok = differences && gb_ttest_paired(x, y, n, &test, status) &&
              gb_bootstrap(differences, n, draws, 0.95, &row->interval, status) &&
              gb_randomisation(x, y, n, draws, &row->randomisation, status);
    if (ok) {
        row->mean = test.mean;
        row->p = test.p;
    }
    free(differences);
    return ok;
}

static void print_rows(const gb_evaluation *a, const gb_evaluation *b,
                       const gb_compare_params *params, const comparison *rows, size_t count,
                       const double *holm, FILE *out)
{
    fprintf(out,
            "# %zu queries; A %s, B %s; paired two-sided tests, Holm over %zu measures\n"
            "# measure\tA\tB\tA-B\t95%% bootstrap low\thigh\tp t-test\tp Holm\tp randomisation\n",
            a->query_count, params->a, params->b, count);
    for (size_t i = 0; i < count; i++) {
        char label[GB_METRIC_LABEL];
        const comparison *row = &rows[i];
        size_t m = row->metric;
        gb_metric_label(&a->metrics[m], a->params.level, label);
        fprintf(out, "%s\t%.4f\t%.4f\t%+.4f\t%+.4f\t%+.4f\t%.4g\t%.4g\t%.4g\n", label, a->totals[m],
                b->totals[m], row->mean, row->interval.low, row->interval.high, row->p, holm[i],
                row->randomisation);
    }
}

bool gb_evaluation_compare(const gb_evaluation *a, const gb_evaluation *b,
                           const gb_compare_params *params, FILE *out, gb_status *status)
{
    size_t all = a->metric_count, count = 0;
    const gb_resampling draws = {GB_EVAL_RESAMPLES, params->seed};
    comparison *rows = gb_alloc(all, sizeof *rows, status);
    double *p = gb_alloc(all, sizeof *p, status), *holm = gb_alloc(all, sizeof *holm, status);
    bool ok = rows && p && holm;
    for (size_t m = 0; ok && m < all; m++)
        if (a->metrics[m].measure->total == GB_TOTAL_MEAN) { /* the tests are of means */
            rows[count].metric = m;
            ok = compare_metric(a, b, &draws, &rows[count], status);
            p[count] = rows[count].p;
            count++;
        }
    if (ok && !count)
        ok = gb_fail(status, GB_USAGE, NULL, "compare by a measure such as map",
                     "counts and gm_map are no means over queries, which is what is tested");
    ok = ok && gb_holm(p, count, holm, status);
    if (ok)
        print_rows(a, b, params, rows, count, holm, out);
    free(rows);
    free(p);
    free(holm);
    return ok;
}
