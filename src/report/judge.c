/* Verdicts: the seed is the random unit. docs/design/verdicts.md explains the rules. */
#include "private.h"

#include <gabbro/stats.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *gb_verdict_name(gb_verdict verdict)
{
    static const char *const names[] = {"not judged", "undecided", "contradicted", "supported"};
    return names[verdict];
}

void gb_count_verdicts(const json_t *table, size_t counts[GB_VERDICTS])
{
    size_t i;
    json_t *claim;
    json_array_foreach(json_object_get(table, "claims"), i, claim)
    {
        const char *verdict = gb_json_text(claim, "verdict");
        for (size_t v = 0; v < GB_VERDICTS; v++)
            counts[v] += !strcmp(verdict, gb_verdict_name(v));
    }
}

#define ERROR_RATE .05 /* of a verdict, half of it on each side */
#define POWER      .8  /* with which more seeds shall decide */

static int greatest_first(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x < y) - (x > y);
}

/* The which-th greatest, from 1; sorts the values. */
static double greatest(double *values, size_t count, size_t which)
{
    qsort(values, count, sizeof *values, greatest_first);
    return values[which - 1];
}

/* The comparison with the which-th greatest value, from 1. */
static size_t place_of(const double *values, size_t count, size_t which)
{
    for (size_t i = 0; i < count; i++) {
        size_t before = 0;
        for (size_t k = 0; k < count; k++)
            before += values[k] > values[i] || (values[k] == values[i] && k < i);
        if (before + 1 == which)
            return i;
    }
    return 0;
}

/* Two-sided error of a lower end, and of an upper end. */
static double support_error(const gb_judgement *j)
{
    return ERROR_RATE / (double)(j->comparisons - j->needed + 1);
}

static double contradiction_error(const gb_judgement *j)
{
    return ERROR_RATE / (double)j->needed;
}

/* The verdict, and what is shown of it. The comparison that decides is the one whose end does,
 * which need not be the one of that place by its mean. means, lows, highs: [comparisons]; NAN ends
 * of one seed decide nothing. */
static void decide(const double *means, const double *lows, const double *highs, gb_judgement *j)
{
    size_t low = place_of(lows, j->comparisons, j->needed);
    size_t high = place_of(highs, j->comparisons, j->needed);
    j->shown = place_of(means, j->comparisons, j->needed);
    j->low = lows[low];
    j->high = highs[high];
    if (j->seeds >= GB_MIN_SEEDS && j->low > 0)
        j->verdict = GB_SUPPORTED;
    else if (j->seeds >= GB_MIN_SEEDS && j->high < 0)
        j->verdict = GB_CONTRADICTED;
    if (j->verdict != GB_UNDECIDED) {
        j->shown = j->verdict == GB_SUPPORTED ? low : high;
        j->low = lows[j->shown];
        j->high = highs[j->shown];
    }
    j->mean = means[j->shown];
}

/* Mean and deviation of each comparison; free. */
static gb_summary *summaries(const double *differences, size_t stride, size_t n, size_t count,
                             gb_status *status)
{
    gb_summary *all = gb_alloc(count, sizeof *all, status);
    for (size_t i = 0; all && i < count; i++)
        gb_moments(differences + i * stride, NULL, n, &all[i].mean, &all[i].sd);
    return all;
}

bool gb_judge(const double *differences, size_t stride, size_t n, size_t comparisons, size_t needed,
              gb_judgement *judgement, gb_status *status)
{
    *judgement = (gb_judgement){.verdict = GB_UNDECIDED,
                                .reason = "",
                                .left_out = "",
                                .weak = "",
                                .shown_as = "",
                                .seeds = n,
                                .comparisons = comparisons,
                                .needed = needed,
                                .mean = NAN,
                                .published = NAN,
                                .sd = NAN,
                                .low = NAN,
                                .high = NAN,
                                .more_seeds = n ? 0 : GB_MIN_SEEDS,
                                .query_p = NAN};
    if (n == 0 || comparisons == 0)
        return true;
    gb_summary *all = summaries(differences, stride, n, comparisons, status);
    double *means = all ? gb_alloc(3 * comparisons, sizeof *means, status) : NULL;
    if (means) {
        double *lows = means + comparisons, *highs = lows + comparisons;
        double root = sqrt((double)n), df = (double)n - 1;
        double below = n > 1 ? gb_t_quantile(1 - support_error(judgement) / 2, df) / root : NAN;
        double above =
            n > 1 ? gb_t_quantile(1 - contradiction_error(judgement) / 2, df) / root : NAN;
        for (size_t i = 0; i < comparisons; i++) {
            means[i] = all[i].mean;
            lows[i] = all[i].mean - below * all[i].sd;
            highs[i] = all[i].mean + above * all[i].sd;
        }
        decide(means, lows, highs, judgement);
        judgement->sd = all[judgement->shown].sd;
    }
    bool ok = means != NULL;
    free(means);
    free(all);
    return ok;
}

/* At most how often n seeds miss one of `count` differences, by the sum of their chances. ratios:
 * mean by deviation. */
static double misses(const double *ratios, size_t count, double error, uint32_t n)
{
    double sum = 0, df = (double)n - 1, bound = gb_t_quantile(1 - error / 2, df);
    for (size_t i = 0; i < count; i++) {
        double t = ratios[i] * sqrt((double)n) - bound, tail = gb_t_two_tailed(t, df) / 2;
        sum += t > 0 ? tail : 1 - tail;
    }
    return sum;
}

/* Seeds with which `which` comparisons of the sign are all found, or 0. */
static uint32_t seeds_for(const gb_summary *all, size_t count, int sign, double error, size_t which,
                          double *ratios)
{
    for (size_t i = 0; i < count; i++)
        ratios[i] = sign * all[i].mean > 0 ? sign * all[i].mean / all[i].sd : 0;
    double least = greatest(ratios, count, which); /* those before it are found sooner */
    uint32_t low = gb_seeds_needed(least, 1, error, POWER);
    uint32_t high = gb_seeds_needed(least, 1, error, 1 - (1 - POWER) / (double)which);
    while (high && low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (misses(ratios, which, error, middle) <= 1 - POWER)
            high = middle;
        else
            low = middle + 1;
    }
    return high;
}

bool gb_judge_more_seeds(const double *differences, size_t stride, size_t n,
                         gb_judgement *judgement, gb_status *status)
{
    gb_judgement *j = judgement;
    if (j->verdict != GB_UNDECIDED || n == 0 || j->comparisons == 0)
        return true;
    uint32_t needed = GB_MIN_SEEDS;
    if (n >= 2) {
        gb_summary *all = summaries(differences, stride, n, j->comparisons, status);
        double *ratios = all ? gb_alloc(j->comparisons, sizeof *ratios, status) : NULL;
        if (ratios && j->mean > 0)
            needed = seeds_for(all, j->comparisons, 1, support_error(j), j->needed, ratios);
        else if (ratios)
            needed = seeds_for(all, j->comparisons, -1, contradiction_error(j),
                               j->comparisons - j->needed + 1, ratios);
        free(ratios);
        free(all);
        if (!ratios)
            return false;
    }
    if (needed && needed < GB_MIN_SEEDS)
        needed = GB_MIN_SEEDS; /* whatever two seeds say */
    /* The deviation is an estimate: there may be enough already, and still no verdict. */
    j->more_seeds = !needed ? 0 : needed > n ? needed - (uint32_t)n : 1;
    return true;
}

gb_cell_verdict gb_judge_cell(double published, int decimals, double mean, double sd, size_t n,
                              double least)
{
    if (n < 2 || !isfinite(mean) || !isfinite(sd) || !isfinite(published))
        return GB_CELL_NONE;
    double spread = gb_t_quantile(0.975, (double)n - 1) * sd * sqrt(1 + 1 / (double)n);
    double tolerance = fmax(spread, least) + 0.5 * pow(10, -decimals);
    if (mean > published + tolerance)
        return GB_CELL_HIGH;
    return mean < published - tolerance ? GB_CELL_LOW : GB_CELL_OK;
}

const char *gb_cell_verdict_text(gb_cell_verdict verdict)
{
    static const char *const texts[] = {"", "[OK]", "[HIGH]", "[LOW]"};
    return texts[verdict];
}
