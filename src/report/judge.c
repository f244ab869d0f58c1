/* Verdicts: the seed is the random unit. */
#include "gabbro/retrieve.h"
#include "private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool gb_judge(const double *differences, size_t n, bool or_equal, gb_judgement *judgement,
              gb_status *status)
{
    judgement->seeds = n;
    judgement->mean = judgement->sd = judgement->low = judgement->high = NAN;
    judgement->verdict = GB_UNDECIDED;
    judgement->more_seeds = 0;
    if (n == 0) {
        judgement->more_seeds = GB_MIN_SEEDS;
        return true;
    }
    gb_summary summary;
    if (!gb_summarise(differences, n, &summary, status))
        return false;
    judgement->mean = summary.mean;
    judgement->sd = summary.sd;
    judgement->low = summary.low;
    judgement->high = summary.high;
    if (n >= GB_MIN_SEEDS && (summary.low > 0 || (or_equal && summary.low == 0)))
        judgement->verdict = GB_SUPPORTED;
    else if (n >= GB_MIN_SEEDS && summary.high < 0)
        judgement->verdict = GB_CONTRADICTED;
    if (judgement->verdict != GB_UNDECIDED)
        return true;
    uint32_t needed = n >= 2 ? gb_seeds_needed(summary.mean, summary.sd, 0.05, 0.8) : GB_MIN_SEEDS;
    if (n < GB_MIN_SEEDS && needed < GB_MIN_SEEDS && summary.mean != 0)
        needed = GB_MIN_SEEDS; /* whatever two seeds say */
    if (needed) /* the deviation is an estimate: there may be enough already, and still no verdict
                 */
        judgement->more_seeds = needed > n ? needed - (uint32_t)n : 1;
    return true;
}

bool gb_claim_or_equal(const char *kind)
{
    return strcmp(kind, "ge") == 0 || strcmp(kind, "order") == 0 || strncmp(kind, "near:", 5) == 0;
}

double gb_claim_margin(const char *kind, const double *values, size_t count, bool lower_is_better)
{
    double sign = lower_is_better ? -1 : 1, margin = INFINITY, fall = -INFINITY;
    bool below = strcmp(kind, "lt") == 0, near = strncmp(kind, "near:", 5) == 0;
    bool best = strcmp(kind, "best") == 0;
    bool above = best || strcmp(kind, "gt") == 0 || strcmp(kind, "ge") == 0;
    bool order = strcmp(kind, "order") == 0, disorder = strcmp(kind, "not-order") == 0;
    double tolerance = near ? strtod(kind + 5, NULL) : 0;
    for (size_t i = 1; i < count; i++) {
        double one = NAN;
        if (above) /* "best" means good, "gt" means a greater number */
            one = (best ? sign : 1) * (values[0] - values[i]);
        else if (below)
            one = values[i] - values[0];
        else if (order || disorder)
            one = values[i] - values[i - 1];
        else if (near)
            one = tolerance - fabs(values[0] - values[i]);
        if (isnan(one))
            return NAN;
        margin = fmin(margin, one);
        fall = fmax(fall, -one);
    }
    return disorder ? fall : margin;
}

bool gb_lower_is_better(const char *column)
{
    return strstr(column, "loss") != NULL || strstr(column, "time") != NULL;
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
