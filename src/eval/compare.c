/* Two runs over the same queries: paired tests of every metric. */
#include <gabbro/eval.h>
#include <gabbro/stats.h>

#include <stdlib.h>

enum { RESAMPLES = 10000 }; /* of the randomisation test and the bootstrap */

/* A metric of both runs. */
typedef struct comparison {
    double mean;          /* of A - B */
    double low, high;     /* bootstrap interval of the mean, 95% */
    double p;             /* paired t-test */
    double randomisation; /* p of Fisher's randomisation test */
} comparison;

/* scratch [n] */
static bool compare_values(const double *a, const double *b, size_t n, uint64_t seed,
                           double *scratch, comparison *row, gb_status *status)
{
    gb_ttest test;
    if (!gb_ttest_paired(a, b, n, &test, status))
        return false;
    row->mean = test.mean;
    row->p = test.p;
    for (size_t i = 0; i < n; i++)
        scratch[i] = a[i] - b[i];
    return gb_bootstrap(scratch, n, RESAMPLES, seed, 0.95, &row->low, &row->high, status) &&
           gb_randomisation(a, b, n, RESAMPLES, seed, &row->randomisation, status);
}

static void print_rows(const gb_evaluation *a, const gb_evaluation *b,
                       const gb_compare_params *params, const comparison *rows, const double *holm,
                       FILE *out)
{
    fprintf(out,
            "# %zu queries; A %s, B %s; paired two-sided tests, Holm over %zu measures\n"
            "# measure\tA\tB\tA-B\t95%% bootstrap low\thigh\tp t-test\tp Holm\tp randomisation\n",
            a->query_count, params->a, params->b, a->metric_count);
    for (size_t m = 0; m < a->metric_count; m++) {
        char label[GB_METRIC_LABEL];
        const comparison *row = &rows[m];
        gb_metric_label(&a->metrics[m], a->params.level, label);
        fprintf(out, "%s\t%.4f\t%.4f\t%+.4f\t%+.4f\t%+.4f\t%.4g\t%.4g\t%.4g\n", label, a->totals[m],
                b->totals[m], row->mean, row->low, row->high, row->p, holm[m], row->randomisation);
    }
}

bool gb_evaluation_compare(const gb_evaluation *a, const gb_evaluation *b,
                           const gb_compare_params *params, FILE *out, gb_status *status)
{
    size_t n = a->query_count, count = a->metric_count;
    comparison *rows = gb_alloc(count, sizeof *rows, status);
    double *p = gb_alloc(count, sizeof *p, status), *holm = gb_alloc(count, sizeof *holm, status);
    double *scratch = gb_alloc(n, sizeof *scratch, status);
    bool ok = rows && p && holm && scratch;
    for (size_t m = 0; ok && m < count; m++) {
        ok = compare_values(a->values + m * n, b->values + m * n, n, params->seed, scratch,
                            &rows[m], status);
        p[m] = rows[m].p;
    }
    ok = ok && gb_holm(p, count, holm, status);
    if (ok)
        print_rows(a, b, params, rows, holm, out);
    free(rows);
    free(p);
    free(holm);
    free(scratch);
    return ok;
}
