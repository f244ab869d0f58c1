/* What claims compare: the rows and columns that can be compared, and the differences of every
 * seed. */
#include "private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what can be compared ---- */

/* A column of a claim with those of its rows that can be compared there. */
typedef struct part {
    size_t column;              /* of the spec */
    size_t *rows;               /* [count] the lefts that remain, then the rights */
    size_t lefts, count;        /* of them */
    gb_comparison *comparisons; /* [comparison_count] of sides of rows */
    size_t comparison_count;    /* 0: nothing to compare */
    bool at_ceiling;            /* why */
} part;

/* Why a row is left out, in some column. */
enum { QUOTED = 1, AT_CHANCE = 2, MISSING = 4 };

typedef struct side {
    uint32_t left_out;    /* reasons */
    uint32_t unconverged; /* seeds in which it did not converge */
    uint32_t trained;     /* seeds in which that is known */
} side;

/* A claim while it is judged. */
typedef struct question {
    const gb_report *report; /* what is judged */
    const gb_claim *claim;   /* which claim */
    part *parts;             /* [part_count] a column each */
    size_t part_count;       /* columns */
    size_t comparison_count; /* of all parts */
    double *differences;     /* [comparison_count, stride], margins added */
    double *margins;         /* [comparison_count] sums of margins over the seeds */
    size_t stride;           /* seeds that there may be */
    size_t seeds;            /* that have all values */
    side *rows;              /* [rows of the spec] what is known of each */
} question;

/* Whether a claim compares values of the column. */
static bool in_claim(const question *q, size_t column)
{
    const gb_spec_column *of = &q->report->columns[column];
    return strcmp(q->claim->column, of->name) == 0 || report_column_like(of, q->claim->column);
}

/* How many values of the claim's rows a seed has. */
static size_t values_in(const question *q, const gb_seed_run *run)
{
    size_t values = 0;
    for (size_t c = 0; c < report_table_columns(q->report); c++)
        for (size_t i = 0; in_claim(q, c) && i < q->claim->count; i++)
            values += !isnan(report_run_value(q->report, run, q->claim->sides[i], c));
    return values;
}

/* A seed counts once: as recorded, unless this run has more of the claim's rows. Values of
 * different machines' clocks are not mixed: the larger set of seeds, this run's if they are equal.
 */
static bool takes_run(const question *q, bool here, const gb_seed_run *run)
{
    const gb_report *report = q->report;
    if (strncmp(q->claim->column, "efficiency:", 11) == 0)
        return here == (report->here.count >= report->recorded.count);
    const gb_seed_run *other =
        report_seed_run_find(here ? &report->recorded : &report->here, run->seed);
    if (!other)
        return true;
    return here ? values_in(q, run) > values_in(q, other)
                : values_in(q, run) >= values_in(q, other);
}

/* Calls each(q, run, of) once for every seed, the recorded runs first. */
static void each_seed(question *q, void (*each)(question *, const gb_seed_run *, void *), void *of)
{
    for (int here = 0; here < 2; here++) {
        const gb_seed_runs *runs = here ? &q->report->here : &q->report->recorded;
        for (size_t i = 0; i < runs->count; i++)
            if (takes_run(q, here, &runs->items[i]))
                each(q, &runs->items[i], of);
    }
}

/* What the seeds have of a row in a column. */
typedef struct found {
    size_t row, column; /* which */
    double sum;         /* of the values, fractions */
    size_t count;       /* values */
    size_t near_one;    /* of them at 99.5% of the greatest possible value, or above */
} found;

static void add_found(question *q, const gb_seed_run *run, void *of)
{
    found *f = of;
    double value = report_run_value(q->report, run, f->row, f->column);
    if (isnan(value))
        return;
    f->sum += value;
    f->count++;
    f->near_one += value >= REPORT_CEILING;
}

static found find(question *q, size_t row, size_t column)
{
    found f = {.row = row, .column = column};
    each_seed(q, add_found, &f);
    return f;
}

static bool at_chance(const gb_report *report, const found *f)
{
    double chance = report->chance[f->column];
    return f->count && !isnan(chance) && f->sum / (double)f->count <= chance + REPORT_CHANCE;
}

/* Published value of a cell in the unit shown, NAN if the paper has none. */
static double published_value(const gb_report *report, size_t row, size_t column)
{
    const gb_table_spec *spec = report->spec;
    const gb_cell *cell = &spec->cells[row * spec->column_count + column];
    return cell->present ? cell->value : NAN;
}

/* Whether a row can be compared in the column; else the reason is noted. */
static bool comparable(question *q, size_t row, size_t column)
{
    bool quoted = q->report->spec->rows[row].role == GB_ROW_QUOTED;
    found f = find(q, row, column);
    if (!f.count && quoted && strcmp(q->report->scale, "paper") == 0)
        return !isnan(published_value(q->report, row, column));
    if (!f.count)
        q->rows[row].left_out |= quoted ? QUOTED : MISSING;
    else if (at_chance(q->report, &f))
        q->rows[row].left_out |= AT_CHANCE;
    else
        return true;
    return false;
}

/* At least half of the values that would be compared are as good as 1. */
static bool at_its_ceiling(question *q, const part *p)
{
    if (!gb_has_ceiling(q->report->columns[p->column].name))
        return false;
    size_t near_one = 0, values = 0;
    for (size_t i = 0; i < p->count; i++) {
        found f = find(q, p->rows[i], p->column);
        near_one += f.near_one;
        values += f.count;
    }
    return values && 2 * near_one >= values;
}

/* The rows of one column; of pairs both or none remain. */
static bool fill_part(question *q, part *p, gb_status *status)
{
    const gb_claim *claim = q->claim;
    bool pairs = claim->rule.kind == GB_CLAIM_PAIRS;
    bool *keeps = gb_alloc(claim->count, sizeof *keeps, status);
    p->rows = gb_arena_alloc(q->report->arena, claim->count * sizeof *p->rows, status);
    if (!keeps || !p->rows) {
        free(keeps);
        return false;
    }
    for (size_t i = 0; i < claim->count; i++)
        keeps[i] = comparable(q, claim->sides[i], p->column);
    for (size_t i = 0; i < claim->count; i++) {
        size_t other = i < claim->lefts ? i + claim->lefts : i - claim->lefts;
        if (!keeps[i] || (pairs && !keeps[other]))
            continue;
        p->rows[p->count++] = claim->sides[i];
        p->lefts += i < claim->lefts;
    }
    free(keeps);
    p->at_ceiling = at_its_ceiling(q, p);
    bool other_mean = claim->rule.kind == GB_CLAIM_MEANS && p->count < claim->count;
    if (p->at_ceiling || other_mean)
        p->count = p->lefts = 0;
    bool lower = gb_lower_is_better(q->report->columns[p->column].name);
    p->comparison_count = gb_claim_comparisons(&claim->rule, p->lefts, p->count, lower, NULL);
    p->comparisons =
        gb_arena_alloc(q->report->arena, p->comparison_count * sizeof *p->comparisons + 1, status);
    if (p->comparisons)
        gb_claim_comparisons(&claim->rule, p->lefts, p->count, lower, p->comparisons);
    q->comparison_count += p->comparison_count;
    return p->comparisons != NULL;
}

static bool fill_parts(question *q, gb_status *status)
{
    const gb_report *report = q->report;
    q->parts = gb_arena_alloc(report->arena, report->column_count * sizeof *q->parts + 1, status);
    bool ok = q->parts != NULL;
    for (size_t c = 0; ok && c < report_table_columns(report); c++) {
        if (!in_claim(q, c))
            continue;
        part *p = &q->parts[q->part_count++];
        *p = (part){.column = c};
        ok = fill_part(q, p, status);
    }
    return ok;
}

/* ---- differences ---- */

/* Value of a row for one seed in the unit shown. A row that is only quoted counts with its
 * published value (at paper scale alone is it compared at all). */
static double side_value(const gb_report *report, const gb_seed_run *run, size_t row, size_t column)
{
    double value = report_run_value(report, run, row, column) * report->columns[column].scale;
    bool quoted = report->spec->rows[row].role == GB_ROW_QUOTED;
    return isnan(value) && quoted ? published_value(report, row, column) : value;
}

static bool has_all(const question *q, const gb_seed_run *run)
{
    for (size_t p = 0; p < q->part_count; p++)
        for (size_t i = 0; i < q->parts[p].count; i++)
            if (isnan(side_value(q->report, run, q->parts[p].rows[i], q->parts[p].column)))
                return false;
    return true;
}

/* Whether a row is compared in some column: it may be left out in others. */
static bool is_compared(const question *q, size_t row)
{
    for (const part *p = q->parts; p < q->parts + q->part_count; p++)
        for (size_t i = 0; p->comparison_count && i < p->count; i++)
            if (p->rows[i] == row)
                return true;
    return false;
}

/* Counts rows that did not converge; returns whether there is one. */
static bool count_unconverged(question *q, const gb_seed_run *run)
{
    bool any = false;
    for (size_t i = 0; i < q->claim->count; i++) {
        size_t row = q->claim->sides[i];
        int8_t converged = is_compared(q, row) ? run->converged[row] : -1;
        q->rows[row].trained += converged >= 0;
        q->rows[row].unconverged += converged == 0;
        any = any || converged == 0;
    }
    return any;
}

static void add_seed(question *q, const gb_seed_run *run, void *of)
{
    gb_judgement *judgement = of;
    if (!has_all(q, run))
        return;
    size_t at = 0;
    for (size_t p = 0; p < q->part_count; p++) {
        const part *one = &q->parts[p];
        double values[GB_MOST_SIDES], margin;
        for (size_t i = 0; i < one->count; i++)
            values[i] = side_value(q->report, run, one->rows[i], one->column);
        for (size_t c = 0; c < one->comparison_count; c++, at++) {
            double difference =
                gb_comparison_difference(&one->comparisons[c], &q->claim->rule, values, &margin);
            q->differences[at * q->stride + q->seeds] = difference + margin;
            q->margins[at] += margin;
        }
    }
    q->seeds++;
    judgement->unconverged += count_unconverged(q, run);
}

/* The comparison that decides, and its column. */
static const gb_comparison *shown_comparison(const question *q, const gb_judgement *j,
                                             const part **of)
{
    size_t at = j->shown;
    const part *p = q->parts;
    for (; at >= p->comparison_count; p++)
        at -= p->comparison_count;
    *of = p;
    return &p->comparisons[at];
}

/* What the paper's cells say of that comparison, or NAN. */
static double published_difference(const question *q, const gb_judgement *j)
{
    if (!j->seeds)
        return NAN;
    const part *p;
    const gb_comparison *decides = shown_comparison(q, j, &p);
    double values[GB_MOST_SIDES], margin;
    for (size_t i = 0; i < p->count; i++)
        values[i] = published_value(q->report, p->rows[i], p->column);
    return gb_comparison_difference(decides, &q->claim->rule, values, &margin);
}

/* ---- in words ---- */

/* Keeps what was written, and frees it. */
static const char *kept_text(const question *q, gb_text *text, gb_status *status)
{
    const char *kept = report_copy(q->report->arena, text->length ? text->data : "", status);
    gb_text_free(text);
    return kept;
}

/* "SEED" of several lefts, "against BM25" of several rights, "BERT against BM25" of both, and of
 * steps and of differences whose direction the claim leaves open; before it the column where rows
 * are compared in several. Of the comparison that decides. */
static const char *shown_label(const question *q, const gb_judgement *j, gb_status *status)
{
    if (j->comparisons < 2 || !j->seeds)
        return "";
    const part *p;
    const gb_comparison *c = shown_comparison(q, j, &p);
    const gb_spec_row *rows = q->report->spec->rows;
    const char *header = q->part_count > 1 ? q->report->columns[p->column].header : "";
    /* The sides that are not the same in all comparisons; of a pair its left one. */
    gb_claim_kind kind = q->claim->rule.kind;
    bool ordered = kind == GB_CLAIM_RISING || kind == GB_CLAIM_FALLING || kind == GB_CLAIM_NEAR;
    bool by_left = p->lefts > 1, by_right = p->count > p->lefts + 1;
    size_t left = c->above == c->right ? c->below : c->above, right = c->right;
    if (ordered) {
        by_left = by_right = true;
        left = c->above;
        right = c->below;
    }
    by_right = by_right && !(by_left && kind == GB_CLAIM_PAIRS);
    gb_text text = {0};
    gb_text_printf(&text, "%s%s", header, *header && (by_left || by_right) ? ", " : "");
    gb_text_printf(&text, "%s%s%s%s", by_left ? rows[p->rows[left]].label : "",
                   by_left && by_right ? " " : "", by_right ? "against " : "",
                   by_right ? rows[p->rows[right]].label : "");
    return kept_text(q, &text, status);
}

/* Rows of the claim that did not converge, "COSTA in 3 of 5 seeds". */
static const char *weak_rows(const question *q, gb_status *status)
{
    gb_text text = {0};
    for (size_t i = 0; i < q->claim->count; i++) {
        const side *row = &q->rows[q->claim->sides[i]];
        if (row->unconverged)
            gb_text_printf(&text, "%s%s in %u of %u seeds", text.length ? "; " : "",
                           q->report->spec->rows[q->claim->sides[i]].label, row->unconverged,
                           row->trained);
    }
    return kept_text(q, &text, status);
}

/* The next name of a list, the first after `words`. */
static void add_name(gb_text *out, size_t named, const char *words, const char *name)
{
    if (named)
        gb_text_printf(out, "; %s", name);
    else
        gb_text_printf(out, "%s%s%s", out->length ? ". " : "", words, name);
}

/* Labels of the rows that are left out for a reason. */
static void add_left_out(const question *q, uint32_t reason, const char *words, gb_text *out)
{
    size_t named = 0;
    for (size_t i = 0; i < q->claim->count; i++)
        if (q->rows[q->claim->sides[i]].left_out & reason)
            add_name(out, named++, words, q->report->spec->rows[q->claim->sides[i]].label);
}

/* "only quoted: A; B. at chance: C. at its ceiling: R@1k" */
static const char *left_out(const question *q, gb_status *status)
{
    gb_text text = {0};
    add_left_out(q, QUOTED, "only quoted: ", &text);
    add_left_out(q, MISSING, "no result of: ", &text);
    add_left_out(q, AT_CHANCE, "at chance: ", &text);
    size_t named = 0;
    for (size_t i = 0; i < q->part_count; i++)
        if (q->parts[i].at_ceiling)
            add_name(&text, named++,
                     "at its ceiling: ", q->report->columns[q->parts[i].column].header);
    return kept_text(q, &text, status);
}

/* Why a claim is not judged whatever the results are, or NULL. */
static const char *not_judgeable(const gb_report *report, const gb_claim *claim)
{
    if (report->own_collection)
        return "this is not the paper's collection";
    if (!claim->holds)
        return "the paper's own numbers do not satisfy it";
    if (strncmp(claim->given, "construction: ", 14) == 0 &&
        strcmp(report->collection_kind, "world") == 0)
        return report_copy(report->arena, claim->given, NULL);
    return NULL;
}

/* Why it cannot be judged by these results, or NULL. */
static const char *nothing_to_compare(const question *q, const gb_judgement *j)
{
    if (!q->part_count)
        return "the table does not have its column";
    if (!q->comparison_count)
        return j->left_out[0] ? j->left_out : "nothing to compare";
    if (q->claim->rule.kind == GB_CLAIM_WINS && q->comparison_count < q->claim->rule.wins)
        return j->left_out[0] ? j->left_out : "columns are missing";
    return q->seeds ? NULL : "no seed has all of its rows";
}

/* ---- judging ---- */

static void question_free(question *q)
{
    free(q->differences);
    free(q->margins);
    free(q->rows);
}

static bool judge_differences(question *q, gb_judgement *j, gb_status *status)
{
    size_t unconverged = j->unconverged;
    size_t needed = gb_claim_needs(&q->claim->rule, q->comparison_count);
    if (needed > q->comparison_count)
        needed = q->comparison_count; /* not judged, but what there is is shown */
    if (!gb_judge(q->differences, q->stride, q->seeds, q->comparison_count, needed, j, status) ||
        !gb_judge_more_seeds(q->differences, q->stride, q->seeds, j, status))
        return false;
    j->unconverged = unconverged;
    if (!q->seeds)
        return true;
    /* Shown without the margin. */
    j->margin = q->margins[j->shown] / (double)q->seeds;
    j->mean -= j->margin;
    j->low -= j->margin;
    j->high -= j->margin;
    j->published = published_difference(q, j);
    return true;
}

static bool lacks_results(const question *q)
{
    for (size_t i = 0; i < q->claim->count; i++)
        if (q->rows[q->claim->sides[i]].left_out & MISSING)
            return true;
    return false;
}

/* Takes a verdict back that what was left out could change: sets may be wins, and rows without a
 * result may not be as claimed, or be where a value falls. */
static bool take_back(const question *q, gb_judgement *j, gb_status *status)
{
    gb_claim_kind kind = q->claim->rule.kind;
    bool stays = true;
    if (kind == GB_CLAIM_WINS && j->verdict == GB_CONTRADICTED) {
        size_t open = 0;
        for (size_t p = 0; p < q->part_count; p++)
            open += !q->parts[p].comparison_count;
        gb_judgement with = *j;
        if (open && j->needed > open &&
            !gb_judge(q->differences, q->stride, q->seeds, q->comparison_count, j->needed - open,
                      &with, status))
            return false;
        stays = !open || (j->needed > open && with.verdict == GB_CONTRADICTED);
    } else if (kind != GB_CLAIM_WINS && lacks_results(q)) {
        stays = j->verdict != (kind == GB_CLAIM_FALLING ? GB_CONTRADICTED : GB_SUPPORTED);
    }
    if (!stays) {
        j->verdict = GB_UNDECIDED;
        j->reason = "what was left out could change it";
    }
    return true;
}

static bool judge(question *q, gb_judgement *j, gb_status *status)
{
    *j = (gb_judgement){.reason = "", .left_out = "", .weak = "", .shown_as = ""};
    const char *why = not_judgeable(q->report, q->claim);
    q->rows = gb_alloc(q->report->spec->row_count, sizeof *q->rows, status);
    if (!q->rows || (!why && !fill_parts(q, status)))
        return false;
    q->stride = q->report->recorded.count + q->report->here.count;
    q->differences = gb_alloc(q->comparison_count * q->stride, sizeof *q->differences, status);
    q->margins = gb_alloc(q->comparison_count, sizeof *q->margins, status);
    if (!q->differences || !q->margins)
        return false;
    if (!why && q->comparison_count)
        each_seed(q, add_seed, j);
    if (!judge_differences(q, j, status) || !take_back(q, j, status) ||
        !(j->left_out = left_out(q, status)) || !(j->weak = weak_rows(q, status)) ||
        !(j->shown_as = shown_label(q, j, status)))
        return false;
    if (!why)
        why = nothing_to_compare(q, j);
    if (!why)
        return true;
    j->verdict = GB_NOT_JUDGED;
    if (why == j->left_out)
        j->left_out = ""; /* said once */
    return (j->reason = report_copy(q->report->arena, why, status)) != NULL;
}

bool report_claims_judge(gb_report *report, gb_status *status)
{
    const gb_table_spec *spec = report->spec;
    report->judgements =
        gb_arena_alloc(report->arena, spec->claim_count * sizeof *report->judgements + 1, status);
    bool ok = report->judgements != NULL;
    for (size_t i = 0; ok && i < spec->claim_count; i++) {
        question q = {.report = report, .claim = &spec->claims[i]};
        ok = judge(&q, &report->judgements[i], status);
        question_free(&q);
    }
    return ok;
}
