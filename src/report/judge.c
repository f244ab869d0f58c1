/* Verdicts: the seed is the random unit. */
#include "gabbro/retrieve.h"
#include "private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define ERROR_RATE .05 /* of a verdict */

/* For each seed the least of its differences, or of their negatives. */
static double *least_of_seeds(const double *differences, size_t stride, size_t n,
                              const gb_claim_rule *rule, gb_status *status)
{
    double *least = gb_alloc(n, sizeof *least, status), sign = rule->any ? -1 : 1;
    for (size_t s = 0; least && s < n; s++) {
        least[s] = INFINITY;
        for (size_t c = 0; c < rule->comparisons; c++)
            least[s] = fmin(least[s], sign * differences[c * stride + s]);
    }
    return least;
}

/* Upper end of a t-interval, so wide that with `comparisons` of them all hold their means. */
static double upper_end(const gb_summary *s, double mean, size_t comparisons)
{
    double tail = ERROR_RATE / 2 / (double)comparisons;
    return s->n < 2 ? NAN
                    : mean + gb_t_quantile(1 - tail, (double)s->n - 1) * s->sd / sqrt((double)s->n);
}

static uint32_t further_seeds(const gb_judgement *j, const gb_summary *least)
{
    uint32_t n = (uint32_t)j->seeds, needed = GB_MIN_SEEDS;
    double against = ERROR_RATE / (double)j->comparisons;
    if (n >= 2 && least->mean > 0)
        needed = gb_seeds_needed(least->mean, least->sd, ERROR_RATE, 0.8);
    else if (n >= 2)
        needed = gb_seeds_needed(j->mean, j->sd, j->mean < 0 ? against : ERROR_RATE, 0.8);
    if (n < GB_MIN_SEEDS && needed < GB_MIN_SEEDS && j->mean != 0)
        needed = GB_MIN_SEEDS; /* whatever two seeds say */
    /* The deviation is an estimate: there may be enough already, and still no verdict. */
    return !needed ? 0 : needed > n ? needed - n : 1;
}

/* The mirror image, for a claim whose opposite was judged. */
static void mirror(gb_judgement *j)
{
    double low = j->low;
    j->mean = -j->mean;
    j->low = -j->high;
    j->high = -low;
    if (j->verdict != GB_UNDECIDED)
        j->verdict = j->verdict == GB_SUPPORTED ? GB_CONTRADICTED : GB_SUPPORTED;
}

/* As if each comparison had to hold. */
static bool judge_all(const double *differences, size_t stride, const gb_claim_rule *rule,
                      const gb_summary *least, gb_judgement *j, gb_status *status)
{
    j->low = least->low;
    for (size_t c = 0; c < rule->comparisons; c++) {
        gb_summary s;
        if (!gb_summarise(differences + c * stride, least->n, &s, status))
            return false;
        double mean = rule->any ? -s.mean : s.mean;
        if (c == 0 || mean < j->mean) {
            j->mean = mean;
            j->sd = s.sd;
            j->shown = c;
        }
        j->high = fmin(j->high, upper_end(&s, mean, rule->comparisons)); /* NAN at first */
    }
    if (j->seeds >= GB_MIN_SEEDS && (j->low > 0 || (rule->or_equal && j->low == 0)))
        j->verdict = GB_SUPPORTED;
    else if (j->seeds >= GB_MIN_SEEDS && j->high < 0)
        j->verdict = GB_CONTRADICTED;
    else
        j->more_seeds = further_seeds(j, least);
    return true;
}

bool gb_judge(const double *differences, size_t stride, size_t n, const gb_claim_rule *rule,
              gb_judgement *judgement, gb_status *status)
{
    judgement->seeds = n;
    judgement->comparisons = rule->comparisons;
    judgement->shown = 0;
    judgement->mean = judgement->sd = judgement->low = judgement->high = NAN;
    judgement->verdict = GB_UNDECIDED;
    judgement->more_seeds = n ? 0 : GB_MIN_SEEDS;
    if (n == 0)
        return true;
    gb_summary summary;
    double *least = least_of_seeds(differences, stride, n, rule, status);
    bool ok = least && gb_summarise(least, n, &summary, status) &&
              judge_all(differences, stride, rule, &summary, judgement, status);
    free(least);
    if (ok && rule->any)
        mirror(judgement);
    return ok;
}

/* ---- what claims compare ---- */

static bool is(const char *kind, const char *name)
{
    return strcmp(kind, name) == 0;
}

size_t gb_claim_differences(const char *kind, const double *values, size_t sides,
                            bool lower_is_better, double differences[GB_MOST_COMPARISONS])
{
    double above = is(kind, "gt") || is(kind, "ge") ? 1 : is(kind, "lt") ? -1 : 0;
    double rise = is(kind, "order") ? 1 : is(kind, "not-order") ? -1 : 0;
    bool near = strncmp(kind, "near:", 5) == 0;
    double tolerance = near ? strtod(kind + 5, NULL) : 0;
    size_t n = 0;
    if (is(kind, "best")) /* which means good, "gt" means a greater number */
        above = lower_is_better ? -1 : 1;
    for (size_t i = 1; i < sides; i++) {
        double one = values[0] - values[i];
        if (above != 0)
            differences[n++] = above * one;
        else if (rise != 0)
            differences[n++] = rise * (values[i] - values[i - 1]);
        else if (near) {
            differences[n++] = tolerance - one;
            differences[n++] = tolerance + one;
        }
    }
    return n;
}

gb_claim_rule gb_claim_rule_of(const char *kind, size_t sides)
{
    double zeros[GB_MOST_SIDES] = {0}, differences[GB_MOST_COMPARISONS];
    gb_claim_rule rule = {.any = is(kind, "not-order"),
                          .or_equal = is(kind, "ge") || is(kind, "order") ||
                                      strncmp(kind, "near:", 5) == 0};
    if (strncmp(kind, "wins:", 5) == 0)
        rule.comparisons = 1; /* how many columns more than it asks for */
    else if (sides <= GB_MOST_SIDES)
        rule.comparisons = gb_claim_differences(kind, zeros, sides, false, differences);
    return rule;
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
