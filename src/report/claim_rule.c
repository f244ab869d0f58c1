/* The kinds of claims: what each compares, and how many of its comparisons must hold. */
#include "private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* E of "ge:E": a number, or a share "2.4%". */
static bool read_margin(const char *text, gb_claim_rule *rule)
{
    char *end;
    rule->margin = strtod(text, &end);
    rule->relative = *end == '%';
    if (rule->relative) {
        rule->margin /= 100;
        end++;
    }
    return end != text && !*end && rule->margin >= 0;
}

bool gb_claim_rule_parse(const char *text, gb_claim_rule *rule)
{
    static const struct {
        const char *name;   /* "ge:" takes a margin, "wins:" a number */
        gb_claim_kind kind; /* its meaning */
    } kinds[] = {{"gt", GB_CLAIM_ABOVE},   {"lt", GB_CLAIM_BELOW},
                 {"best", GB_CLAIM_BEST},  {"ge:", GB_CLAIM_NOT_BELOW},
                 {"near:", GB_CLAIM_NEAR}, {"order:", GB_CLAIM_RISING},
                 {"each", GB_CLAIM_PAIRS}, {"not-order", GB_CLAIM_FALLING},
                 {"mean", GB_CLAIM_MEANS}, {"wins:", GB_CLAIM_WINS}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        size_t length = strlen(kinds[i].name);
        bool more = kinds[i].name[length - 1] == ':';
        if (strncmp(text, kinds[i].name, length) != 0 || (!more && text[length]))
            continue;
        *rule = (gb_claim_rule){.kind = kinds[i].kind};
        if (!more)
            return true;
        if (kinds[i].kind != GB_CLAIM_WINS)
            return read_margin(text + length, rule);
        char *end;
        rule->wins = (uint32_t)strtoul(text + length, &end, 10);
        return !*end && rule->wins > 0;
    }
    return false;
}

/* Comparisons of every left with every right; `swapped` expects the rights above. */
static size_t all_pairs(size_t lefts, size_t count, bool swapped, gb_comparison *out)
{
    size_t n = 0;
    for (size_t l = 0; l < lefts; l++)
        for (size_t r = lefts; r < count; r++, n++)
            if (out)
                out[n] = swapped ? (gb_comparison){r, 1, l, 1, r} : (gb_comparison){l, 1, r, 1, r};
    return n;
}

/* From each side to the next, rising or falling. */
static size_t steps(size_t count, bool falling, gb_comparison *out)
{
    for (size_t i = 0; out && i + 1 < count; i++)
        out[i] = falling ? (gb_comparison){i, 1, i + 1, 1, i + 1}
                         : (gb_comparison){i + 1, 1, i, 1, i + 1};
    return count ? count - 1 : 0;
}

size_t gb_claim_comparisons(const gb_claim_rule *rule, size_t lefts, size_t count,
                            bool lower_is_better, gb_comparison *out)
{
    size_t rights = count - lefts;
    if (!lefts || !rights)
        return 0;
    switch (rule->kind) {
    case GB_CLAIM_BELOW:
        return all_pairs(lefts, count, true, out);
    case GB_CLAIM_BEST:
        return all_pairs(lefts, count, lower_is_better, out);
    case GB_CLAIM_RISING:
        return steps(count, false, out);
    case GB_CLAIM_FALLING:
        return steps(count, true, out);
    case GB_CLAIM_NEAR: {
        size_t n = all_pairs(lefts, count, false, out);
        return n + all_pairs(lefts, count, true, out ? out + n : NULL);
    }
    case GB_CLAIM_PAIRS:
        if (rights != lefts)
            return 0;
        for (size_t i = 0; out && i < lefts; i++)
            out[i] = (gb_comparison){i, 1, lefts + i, 1, lefts + i};
        return lefts;
    case GB_CLAIM_MEANS:
        if (out)
            *out = (gb_comparison){0, lefts, lefts, rights, lefts};
        return 1;
    default:
        return all_pairs(lefts, count, false, out);
    }
}

size_t gb_claim_needs(const gb_claim_rule *rule, size_t comparisons)
{
    if (rule->kind == GB_CLAIM_FALLING)
        return 1;
    return rule->kind == GB_CLAIM_WINS ? rule->wins : comparisons;
}

static double mean_of(const double *values, size_t first, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[first + i];
    return sum / (double)count;
}

double gb_comparison_difference(const gb_comparison *comparison, const gb_claim_rule *rule,
                                const double *values, double *margin)
{
    *margin = rule->margin * (rule->relative ? fabs(values[comparison->right]) : 1);
    return mean_of(values, comparison->above, comparison->above_count) -
           mean_of(values, comparison->below, comparison->below_count);
}

bool report_claim_has_left(const gb_claim *claim, size_t row)
{
    for (size_t i = 0; i < claim->lefts; i++)
        if (claim->sides[i] == row)
            return true;
    return false;
}

bool gb_lower_is_better(const char *column)
{
    return strstr(column, "loss") != NULL || strstr(column, "time") != NULL;
}

bool gb_has_ceiling(const char *column)
{
    size_t length = strlen(column);
    bool gain = length > 5 && strcmp(column + length - 5, ":gain") == 0;
    return !gb_lower_is_better(column) && strncmp(column, "efficiency:", 11) != 0 && !gain;
}
