/* Two runs over the same queries: paired tests of every metric. */
#include <gabbro/eval.h>
#include <gabbro/stats.h>

#include <stdlib.h>

enum { RESAMPLES = 10000 }; /* of the randomisation test and the bootstrap */

/* One metric, but for Holm's adjustment; room [query_count]. */
static bool compare_values(const double *a, const double *b, size_t n, uint64_t seed, double *room,
                           gb_metric_comparison *row, gb_status *status)
{
    gb_ttest test;
    if (!gb_ttest_paired(a, b, n, &test, status))
        return false;
    row->mean = test.mean;
    row->p = test.p;
    for (size_t i = 0; i < n; i++)
        room[i] = a[i] - b[i];
    return gb_bootstrap(room, n, RESAMPLES, seed, 0.95, &row->low, &row->high, status) &&
           gb_randomisation(a, b, n, RESAMPLES, seed, &row->randomisation, status);
}

bool gb_evaluation_compare(const gb_evaluation *a, const gb_evaluation *b, uint64_t seed,
                           gb_metric_comparison *rows, gb_status *status)
{
    size_t n = a->query_count, count = a->metric_count;
    double *p = gb_alloc(count, sizeof *p, status), *holm = gb_alloc(count, sizeof *holm, status);
    double *room = gb_alloc(n, sizeof *room, status);
    bool ok = p && holm && room;
    for (size_t m = 0; ok && m < count; m++) {
        ok = compare_values(a->values + m * n, b->values + m * n, n, seed, room, &rows[m], status);
        p[m] = rows[m].p;
    }
    ok = ok && gb_holm(p, count, holm, status);
    for (size_t m = 0; ok && m < count; m++)
        rows[m].holm = holm[m];
    free(p);
    free(holm);
    free(room);
    return ok;
}
