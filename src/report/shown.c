/* What the four forms of a table share. */
#include "private.h"

#include <gabbro/stats.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define UNCONVERGED_LINE                                                                           \
    "Did not converge: at the end of fine-tuning the loss was still high; such a row says little."

#define BELOW_LINE                                                                                 \
    "Below the baseline: in the first column this row is below the table's baseline of this run, " \
    "such as BM25."

#define JUDGED_LINE                                                                                \
    "Judged@10: of the first ten passages, the share that has a judgement, relevant or not; "      \
    "where "                                                                                       \
    "it is low, the system may be better than its other values say."

/* Over the seeds of a cell, in the unit shown. */
static moments moments_of(const gb_report *report, const gb_seed_runs *runs, size_t row,
                          size_t column)
{
    double scale = report->columns[column].scale, sum = 0, squares = 0;
    moments m = {.mean = NAN, .sd = NAN};
    for (size_t i = 0; i < runs->count; i++) {
        double value = report_run_value(report, &runs->items[i], row, column);
        if (!isnan(value)) {
            sum += value * scale;
            m.count++;
        }
    }
    if (m.count)
        m.mean = sum / (double)m.count;
    for (size_t i = 0; i < runs->count; i++) {
        double value = report_run_value(report, &runs->items[i], row, column) * scale - m.mean;
        squares += isnan(value) ? 0 : value * value;
    }
    if (m.count > 1)
        m.sd = sqrt(squares / (double)(m.count - 1));
    return m;
}

/* The run's first seed against the recorded run of that seed and the spread of all of them. */
static here_mark mark_of(const gb_report *report, size_t row, size_t column, const shown *cell)
{
    if (report->here.count == 0)
        return HERE_NONE;
    const gb_seed_run *run = &report->here.items[0];
    const gb_seed_run *same = report_seed_run_find(&report->recorded, run->seed);
    double value = report_run_value(report, run, row, column);
    if (isnan(value) || cell->recorded.count == 0)
        return HERE_NONE;
    if (same && report_run_value(report, same, row, column) == value)
        return HERE_EQUAL;
    if (cell->recorded.count < 2)
        return HERE_NONE;
    double n = (double)cell->recorded.count;
    double spread = gb_t_quantile(0.975, n - 1) * cell->recorded.sd * sqrt(1 + 1 / n);
    double distance = fabs(value * report->columns[column].scale - cell->recorded.mean);
    return distance <= spread ? HERE_WITHIN : HERE_BEYOND;
}

void report_shown_cell(const gb_report *report, size_t row, size_t column, shown *out)
{
    *out = (shown){.published = NULL};
    if (!report->own_collection && column < report_table_columns(report)) {
        const gb_cell *cell = &report->spec->cells[row * report->spec->column_count + column];
        out->published = cell->present ? cell : NULL;
    }
    out->recorded = moments_of(report, &report->recorded, row, column);
    out->here = moments_of(report, &report->here, row, column);
    out->mark = mark_of(report, row, column, out);
    if (out->published && strcmp(report->scale, "paper") == 0) {
        /* The larger set of seeds; .2 points is what a change of hardware may move. */
        const moments *m = out->recorded.count > out->here.count ? &out->recorded : &out->here;
        double least = 0.002 * report->columns[column].scale;
        out->verdict = gb_judge_cell(out->published->value, out->published->decimals, m->mean,
                                     m->sd, m->count, least);
    }
}

size_t report_table_columns(const gb_report *report)
{
    return report->column_count - report->judged_count;
}

const char *report_column_heading(const gb_report *report, size_t column)
{
    bool made = report->own_collection || column >= report_table_columns(report);
    return made ? report->columns[column].name : report->columns[column].header;
}

bool report_row_shown(const gb_report *report, size_t row)
{
    if (!report->own_collection && report->spec->rows[row].role != GB_ROW_EXTRA)
        return true;
    for (size_t c = 0; c < report->column_count; c++) {
        shown cell;
        report_shown_cell(report, row, c, &cell);
        if (cell.here.count || cell.recorded.count)
            return true;
    }
    return false;
}

void report_write_rows(const gb_report *report, const row_writer *writer, gb_text *out)
{
    const char *group = "";
    for (size_t r = 0; r < report->spec->row_count; r++) {
        const gb_spec_row *row = &report->spec->rows[r];
        if (!report_row_shown(report, r))
            continue;
        if (strcmp(group, row->group) != 0)
            writer->group(report, row->group, out);
        group = row->group;
        writer->row(report, r, out);
    }
}

void report_moments_text(const moments *m, int digits, const char *between, gb_text *out)
{
    if (m->count)
        gb_text_printf(out, "%.*f", digits, m->mean);
    if (m->count > 1)
        gb_text_printf(out, "%s%.*f", between, digits, m->sd);
}

void report_here_text(const shown *cell, gb_text *out)
{
    if (cell->here.count <= 1 && report_mark_char(cell->mark) != ' ')
        gb_text_printf(out, " %c", report_mark_char(cell->mark));
    const char *verdict = gb_cell_verdict_text(cell->verdict);
    if (verdict[0])
        gb_text_printf(out, " %s", verdict);
}

/* Trainings of a row, over the seeds that have it, and those of them that did not converge. */
typedef struct trainings {
    size_t count, unconverged;
} trainings;

static trainings trainings_of(const gb_seed_runs *runs, size_t row)
{
    trainings t = {0};
    for (size_t i = 0; i < runs->count; i++) {
        t.count += runs->items[i].converged[row] >= 0;
        t.unconverged += runs->items[i].converged[row] == 0;
    }
    return t;
}

/* A trained row that does not reach the baseline of this run in the first column. */
static bool below_baseline(const gb_report *report, size_t row)
{
    const gb_table_spec *spec = report->spec;
    gb_row_role role = spec->rows[row].role;
    if ((role != GB_ROW_TRAINED && role != GB_ROW_EXTRA) || report->column_count == 0)
        return false;
    moments own = moments_of(report, &report->here, row, 0);
    for (size_t r = 0; own.count && r < spec->row_count; r++) {
        moments baseline = {0};
        if (spec->rows[r].role == GB_ROW_BASELINE)
            baseline = moments_of(report, &report->here, r, 0);
        if (baseline.count)
            return own.mean < baseline.mean;
    }
    return false;
}

static bool is_unconverged(const gb_report *report, size_t row)
{
    return trainings_of(&report->here, row).unconverged ||
           trainings_of(&report->recorded, row).unconverged;
}

static bool is_noted_below(const gb_report *report, size_t row)
{
    return !trainings_of(&report->here, row).unconverged && below_baseline(report, row);
}

void report_row_note(const gb_report *report, size_t row, gb_text *out)
{
    const trainings recorded = trainings_of(&report->recorded, row),
                    here = trainings_of(&report->here, row);
    if (here.unconverged && report->here.count == 1)
        gb_text_printf(out, "did not converge here");
    else if (is_unconverged(report, row))
        gb_text_printf(out, "not converged: ");
    if (here.unconverged && report->here.count > 1)
        gb_text_printf(out, "%zu/%zu", here.unconverged, here.count);
    if (recorded.unconverged)
        gb_text_printf(out, "%s%zu/%zu recorded", here.unconverged ? ", " : "",
                       recorded.unconverged, recorded.count);
    if (is_noted_below(report, row))
        gb_text_printf(out, "%sbelow the baseline", out->length ? "; " : "");
    const gb_against *against = report->against ? &report->against[row] : NULL;
    if (against && against->queries)
        gb_text_printf(out, "%s%+.1f %s against the encoder as it is, p %.2g over %zu queries",
                       out->length ? "; " : "",
                       against->difference * report->columns[report->against_column].scale,
                       report->columns[report->against_column].header, against->p,
                       against->queries);
}

char report_mark_char(here_mark mark)
{
    return " =~!"[mark];
}

void report_more_seeds_text(long long more, gb_text *out)
{
    if (more == 0)
        gb_text_printf(out, " (no number of seeds would decide it)");
    else if (more > 1000)
        gb_text_printf(out, " (needs more than 1000 seeds)");
    else
        gb_text_printf(out, " (needs %lld more seed%s)", more, more == 1 ? "" : "s");
}

void report_verdict_text(const gb_judgement *judgement, gb_text *out)
{
    gb_text_printf(out, "%s", gb_verdict_name(judgement->verdict));
    if (judgement->reason[0])
        gb_text_printf(out, " (%s)", judgement->reason);
    else if (judgement->verdict == GB_UNDECIDED)
        report_more_seeds_text(judgement->more_seeds, out);
}

void report_comparison_text(const gb_judgement *judgement, gb_text *out)
{
    const gb_judgement *j = judgement;
    if (j->comparisons < 2 || !j->seeds)
        return;
    if (j->verdict == GB_SUPPORTED || j->verdict == GB_CONTRADICTED)
        gb_text_printf(out, " (the deciding one of %zu", j->comparisons);
    else if (j->needed == j->comparisons)
        gb_text_printf(out, " (least of %zu", j->comparisons);
    else if (j->needed == 1)
        gb_text_printf(out, " (greatest of %zu", j->comparisons);
    else
        gb_text_printf(out, " (number %zu of %zu, the greatest first", j->needed, j->comparisons);
    gb_text_printf(out, "%s%s)", j->shown_as[0] ? ": " : "", j->shown_as);
}

void report_caution_text(const gb_claim *claim, const gb_judgement *judgement, gb_text *out)
{
    const struct {
        const char *before, *text; /* words, and what they introduce, or "" */
    } all[] = {{"not compared: ", judgement->left_out},
               {"did not converge: ", judgement->weak},
               {"", judgement->verdict == GB_NOT_JUDGED ? "" : claim->given}};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        if (all[i].text[0])
            gb_text_printf(out, "%s%s%s", out->length ? "; " : "", all[i].before, all[i].text);
}

double report_no_minus_zero(double value, int decimals)
{
    return fabs(value) < 0.5 * pow(10, -decimals) ? 0.0 : value;
}

void report_difference_text(gb_text *out, const char *before, double difference, int decimals,
                            const char *behind)
{
    double printed = report_no_minus_zero(difference, decimals);
    gb_text_printf(out, printed == 0 ? "%s%.*f%s" : "%s%+.*f%s", before, decimals, printed, behind);
}

int report_claim_decimals(const gb_report *report, const gb_claim *claim)
{
    for (size_t c = 0; c < report->column_count; c++)
        if (strcmp(claim->column, report->columns[c].name) == 0 ||
            report_column_like(&report->columns[c], claim->column))
            return report->columns[c].decimals;
    return 1;
}

void report_title_text(const gb_report *report, gb_text *out)
{
    if (report->own_collection)
        gb_text_printf(out, "The systems of %s on %s", report->spec->name, report->collection);
    else
        gb_text_printf(out, "%s", report->spec->title);
}

/* Whether some row that is shown is like this. */
static bool some_row(const gb_report *report, bool (*is)(const gb_report *, size_t))
{
    for (size_t r = 0; r < report->spec->row_count; r++)
        if (report_row_shown(report, r) && is(report, r))
            return true;
    return false;
}

/* What the notes beside rows mean, and columns that no paper has. */
static size_t note_lines(const gb_report *report, const char **lines)
{
    size_t count = 0;
    if (some_row(report, is_noted_below))
        lines[count++] = BELOW_LINE;
    if (some_row(report, is_unconverged))
        lines[count++] = UNCONVERGED_LINE;
    if (report->judged_count)
        lines[count++] = JUDGED_LINE;
    return count;
}

size_t report_reading_lines(const gb_report *report, const char *lines[8])
{
    size_t count = 0;
    if (report->own_collection) {
        lines[count++] =
            "Here: this run, on a collection of your own. The paper's numbers and claims "
            "belong to its collections, so none stand beside them.";
        if (report->against)
            lines[count++] = "Against the encoder as it is: seed by seed alone; p is a "
                             "paired t-test over the queries of the first seed.";
        return count + note_lines(report, lines + count);
    }
    lines[count++] = "Published: as the paper prints it. Recorded: mean (deviation between seeds) "
                     "of the results that ship with the project. Here: this run; a row without "
                     "it was left out, and --rows all makes all that can be made.";
    if (report->recorded.count)
        lines[count++] =
            "= the same bits as the recorded run of this seed; ~ in the 95% prediction "
            "interval of the recorded seeds; ! outside it.";
    if (strcmp(report->scale, "paper") == 0)
        lines[count++] =
            "[OK] within the 95% prediction interval of the seeds around the published value (at "
            "least .2 points, and half a unit of its last digit, to each side), [HIGH] above it "
            "(look for a leak), [LOW] below it.";
    else
        lines[count++] = "At this scale levels cannot be compared with the paper's; the claims are "
                         "what is judged.";
    lines[count++] =
        "A claim is judged over seeds: per seed the difference in the claimed direction, then its "
        "mean and 95% t-interval, wider where an error in any one of several differences would "
        "make "
        "the verdict wrong. Supported: the interval lies above zero (above minus the margin, "
        "where the claim is \"not below\", \"never falls\" or \"the same\"). Contradicted: below. "
        "Undecided: neither, or fewer than three seeds; the number of further seeds is what a test "
        "at 5% needs to find such a difference 4 times in 5. Rows at chance and columns at their "
        "ceiling are not compared. After \"paper\" stands the same difference of the paper's own "
        "cells. docs/design/verdicts.md says each rule and how often it errs.";
    count += note_lines(report, lines + count);
    lines[count++] = "p is a paired t-test over the queries of one seed. It knows nothing of other "
                     "seeds and decides nothing.";
    return count;
}

void report_seeds_text(const gb_seed_runs *runs, gb_text *out)
{
    if (runs->count == 1) {
        gb_text_printf(out, "seed %llu", (unsigned long long)runs->items[0].seed);
        return;
    }
    gb_text_printf(out, "%zu seeds", runs->count);
    for (size_t i = 0; i < runs->count && i < 12; i++)
        gb_text_printf(out, "%s%llu", i ? " " : " (", (unsigned long long)runs->items[i].seed);
    if (runs->count)
        gb_text_printf(out, "%s)", runs->count > 12 ? " ..." : "");
}

void report_recorded_text(const gb_report *report, gb_text *out)
{
    if (!report->recorded.count)
        gb_text_printf(out, "none (%s)", report->recorded_note);
    else
        report_seeds_text(&report->recorded, out);
    if (report->outdated[0])
        gb_text_printf(out, ", without %s (made with other settings)", report->outdated);
}

void report_origin_text(const gb_report *report, gb_text *out)
{
    gb_text_printf(out, "%s, %s. Scale %s, collection %s%s%s. This run: ", report->spec->name,
                   report->spec->source, report->scale, report->collection,
                   report->generator[0] ? ", generated queries: " : "", report->generator);
    report_seeds_text(&report->here, out);
    gb_text_printf(out, "; recorded: ");
    report_recorded_text(report, out);
    gb_text_append(out, ".", 1);
}

void report_device_text(const gb_report *report, const char *before, const char *behind,
                        gb_text *out)
{
    const gb_seed_run *run = report->here.count ? &report->here.items[0] : NULL;
    if (run && run->device[0])
        gb_text_printf(out, "%s%s%s%s%s%.16s%s", before, run->device, run->driver[0] ? ", " : "",
                       run->driver, run->kernels[0] ? ", kernels " : "", run->kernels, behind);
}

bool report_deviation_applies(const gb_report *report, const gb_deviation *deviation)
{
    return report_word_in(deviation->scales, "all") ||
           report_word_in(deviation->scales, report->scale) ||
           report_word_in(deviation->scales, report->collection_kind);
}

compared report_compare_all(const gb_report *report)
{
    compared all = {0};
    for (size_t r = 0; r < report->spec->row_count; r++)
        for (size_t c = 0; c < report->column_count; c++) {
            shown cell;
            report_shown_cell(report, r, c, &cell);
            all.equal += cell.mark == HERE_EQUAL;
            all.within += cell.mark == HERE_WITHIN;
            all.beyond += cell.mark == HERE_BEYOND;
        }
    return all;
}

void report_claim_line_of(const gb_report *report, size_t index, claim_line *line)
{
    const gb_claim *claim = &report->spec->claims[index];
    const gb_judgement *judgement = &report->judgements[index];
    int digits = report_claim_decimals(report, claim);
    *line = (claim_line){.paper.failed = false};
    if (!isnan(judgement->published))
        report_difference_text(&line->paper, "", judgement->published, digits, "");
    if (judgement->seeds)
        report_difference_text(&line->mean, "", judgement->mean, digits, "");
    report_comparison_text(judgement, &line->mean);
    if (judgement->seeds > 1) {
        report_difference_text(&line->interval, "", judgement->low, digits, " to ");
        report_difference_text(&line->interval, "", judgement->high, digits, "");
    }
    if (judgement->margin > 0)
        gb_text_printf(&line->interval, ", margin %.*f", digits, judgement->margin);
    if (!isnan(judgement->query_p))
        gb_text_printf(&line->query_p, "%.2g", judgement->query_p);
    report_caution_text(claim, judgement, &line->caution);
}

void report_claim_line_free(claim_line *line)
{
    gb_text_free(&line->paper);
    gb_text_free(&line->mean);
    gb_text_free(&line->interval);
    gb_text_free(&line->query_p);
    gb_text_free(&line->caution);
}
