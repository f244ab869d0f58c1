/* table.json, and all files together. */
#include "private.h"

#include <gabbro/page.h>
#include <gabbro/stats.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* NAN has no JSON: null. */
static json_t *number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

/* Mean, deviation and 95% interval of the mean over the recorded seeds, in the unit shown. */
static json_t *recorded_json(const shown *cell)
{
    double n = (double)cell->recorded.count, half = NAN;
    if (cell->recorded.count > 1)
        half = gb_t_quantile(0.975, n - 1) * cell->recorded.sd / sqrt(n);
    return json_pack("{s:I, s:o, s:o, s:o, s:o}", "seeds", (json_int_t)cell->recorded.count, "mean",
                     number(cell->recorded.mean), "sd", number(cell->recorded.sd), "low",
                     number(cell->recorded.mean - half), "high",
                     number(cell->recorded.mean + half));
}

static json_t *cell_json(const gb_report *report, size_t row, size_t column)
{
    shown cell;
    report_shown_cell(report, row, column, &cell);
    json_t *out = json_object();
    if (cell.published) {
        json_object_set_new(out, "published", json_real(cell.published->value));
        json_object_set_new(out, "status", json_string(cell.published->status));
        if (cell.published->marks[0])
            json_object_set_new(out, "marks", json_string(cell.published->marks));
        if (cell.published->note[0])
            json_object_set_new(out, "note", json_string(cell.published->note));
    }
    if (cell.recorded.count)
        json_object_set_new(out, "recorded", recorded_json(&cell));
    if (cell.here.count) {
        static const char *const marks[] = {"none", "equal", "within", "beyond"};
        json_t *here = json_object();
        for (size_t i = 0; i < report->here.count; i++) {
            char name[24];
            snprintf(name, sizeof name, "%llu", (unsigned long long)report->here.items[i].seed);
            json_object_set_new(
                here, name, number(report_run_value(report, &report->here.items[i], row, column)));
        }
        json_object_set_new(out, "here", here);
        json_object_set_new(out, "against_recorded", json_string(marks[cell.mark]));
    }
    if (cell.verdict)
        json_object_set_new(out, "verdict", json_string(gb_cell_verdict_text(cell.verdict)));
    return out;
}

static json_t *row_json(const gb_report *report, size_t index)
{
    const gb_spec_row *row = &report->spec->rows[index];
    json_t *cells = json_object(), *steps = json_object(), *converged = json_object();
    for (size_t c = 0; c < report->column_count; c++) {
        json_t *cell = cell_json(report, index, c);
        if (json_object_size(cell))
            json_object_set(cells, report->columns[c].name, cell);
        json_decref(cell);
    }
    for (size_t i = 0; i < report->here.count; i++) {
        const gb_seed_run *run = &report->here.items[i];
        char name[24];
        snprintf(name, sizeof name, "%llu", (unsigned long long)run->seed);
        if (run->steps[index][0])
            json_object_set_new(steps, name, json_string(run->steps[index]));
        if (run->converged[index] >= 0)
            json_object_set_new(converged, name, json_boolean(run->converged[index]));
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o, s:o}", "row", row->key, "published_row",
                     row->published, "group", row->group, "label", row->label, "role",
                     gb_row_role_name(row->role), "cells", cells, "steps", steps, "converged",
                     converged);
}

static json_t *claim_json(const gb_report *report, size_t index)
{
    const gb_claim *claim = &report->spec->claims[index];
    const gb_judgement *j = &report->judgements[index];
    json_t *out = json_pack(
        "{s:s, s:s, s:s, s:s, s:o, s:s, s:s, s:I, s:o, s:o, s:o, s:o, s:i, s:I}", "claim",
        claim->id, "kind", claim->kind, "column", claim->column, "statement", claim->statement,
        "published", number(j->published), "verdict", gb_verdict_name(j->verdict), "reason",
        j->reason, "seeds", (json_int_t)j->seeds, "mean", number(j->mean), "sd", number(j->sd),
        "low", number(j->low), "high", number(j->high), "more_seeds", (int)j->more_seeds,
        "not_converged", (json_int_t)j->unconverged);
    gb_text which = {0};
    report_comparison_text(j, &which);
    json_object_set_new(out, "shown", json_stringn(which.data ? which.data : "", which.length));
    which.length = 0;
    report_caution_text(claim, j, &which);
    json_object_set_new(out, "caution", json_stringn(which.data ? which.data : "", which.length));
    gb_text_free(&which);
    json_object_set_new(out, "margin", json_real(j->margin));
    json_object_set_new(out, "where", json_string(claim->where));
    json_t *left = json_array();
    for (size_t i = 0; i < claim->lefts; i++)
        json_array_append_new(left, json_string(report->spec->rows[claim->sides[i]].published));
    json_object_set_new(out, "left", left);
    if (!isnan(j->query_p))
        json_object_set_new(
            out, "over_queries",
            json_pack("{s:f, s:I}", "p", j->query_p, "queries", (json_int_t)j->queries));
    return out;
}

static json_t *times_json(const gb_report *report)
{
    char date[GB_DATE];
    gb_date_now(date);
    json_t *times = report->times ? json_deep_copy(report->times) : json_object();
    if (!json_is_object(times)) {
        json_decref(times);
        times = json_object();
    }
    json_object_set_new(times, "reported", json_string(date));
    return times;
}

/* scale: values of `here` times this are in the unit of the others. */
static json_t *columns_json(const gb_report *report)
{
    json_t *out = json_array();
    for (size_t c = 0; c < report->column_count; c++) {
        const gb_spec_column *column = &report->columns[c];
        json_array_append_new(out,
                              json_pack("{s:s, s:s, s:s, s:f, s:i, s:o}", "column", column->name,
                                        "header", report_column_heading(report, c), "label",
                                        column->label, "scale", column->scale, "decimals",
                                        column->decimals, "chance", number(report->chance[c])));
    }
    return out;
}

static json_t *deviations_json(const gb_report *report)
{
    json_t *out = json_array();
    for (size_t i = 0; i < report->spec->deviation_count; i++) {
        const gb_deviation *one = &report->spec->deviations[i];
        if (report_deviation_applies(report, one))
            json_array_append_new(out, json_pack("{s:s, s:s, s:s, s:s, s:s}", "id", one->id,
                                                 "topic", one->topic, "paper", one->paper, "here",
                                                 one->here, "why", one->why));
    }
    return out;
}

static void add_words(const gb_report *report, json_t *root)
{
    gb_text title = {0};
    report_title_text(report, &title);
    json_object_set_new(root, "title", json_string(title.failed ? "" : title.data));
    gb_text_free(&title);
    json_object_set_new(root, "columns", columns_json(report));
    json_object_set_new(root, "deviation_texts", deviations_json(report));
    if (report->judged_count)
        json_object_set_new(root, "judged", json_true());
    if (report->rankings[0])
        json_object_set_new(root, "ranking_notes", json_string(report->rankings));
}

static json_t *report_json(const gb_report *report)
{
    json_t *rows = json_array(), *claims = json_array(), *deviations = json_array();
    for (size_t r = 0; r < report->spec->row_count; r++)
        if (report_row_shown(report, r))
            json_array_append_new(rows, row_json(report, r));
    for (size_t i = 0; i < report->spec->claim_count && !report->own_collection; i++)
        json_array_append_new(claims, claim_json(report, i));
    for (size_t i = 0; i < report->spec->deviation_count; i++)
        if (report_deviation_applies(report, &report->spec->deviations[i]))
            json_array_append_new(deviations, json_string(report->spec->deviations[i].id));
    const gb_seed_run *run = report->here.count ? &report->here.items[0] : NULL;
    json_t *device = json_pack("{s:s, s:s, s:s}", "device", run ? run->device : "", "driver",
                               run ? run->driver : "", "kernels", run ? run->kernels : "");
    return json_pack(
        "{s:i, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:O?, s:o, s:o, s:o, s:o, s:s, "
        "s:s*, s:o}",
        "format", 1, "program", "gabbro " GABBRO_VERSION, "table", report->spec->name, "source",
        report->spec->source, "scale", report->scale, "collection", report->collection,
        "collection_step", report->collection_id, "collection_kind", report->collection_kind,
        "generator", report->generator, "collection_notes", report->notes, "settings",
        report->settings, "device", device, "rows", rows, "claims", claims, "deviations",
        deviations, "recorded_note", report->recorded_note, "recorded_outdated",
        report->outdated[0] ? report->outdated : NULL, "times", times_json(report));
}

json_t *report_table_json(const gb_report *report)
{
    json_t *root = report_json(report);
    if (root)
        add_words(report, root);
    return root;
}

bool gb_report_json(const gb_report *report, gb_text *out, gb_status *status)
{
    json_t *root = report_table_json(report);
    bool ok = gb_json_print(root, GB_JSON_FILE | GB_JSON_NEWLINE, out, status);
    json_decref(root);
    return ok;
}

bool gb_report_write(const gb_report *report, const char *folder, gb_status *status)
{
    gb_text markdown = {0}, html = {0}, json = {0}, csv = {0}, latex = {0};
    gb_report_markdown(report, &markdown);
    gb_report_html(report, &html);
    gb_report_csv(report, &csv);
    gb_report_latex(report, &latex);
    bool ok = gb_report_json(report, &json, status) && gb_make_dirs(folder, status) &&
              gb_text_write_in(&markdown, folder, "table.md", status) &&
              gb_text_write_in(&html, folder, "table.html", status) &&
              gb_text_write_in(&csv, folder, "table.csv", status) &&
              gb_text_write_in(&latex, folder, "table.tex", status) &&
              gb_text_write_in(&json, folder, "table.json", status);
    gb_text_free(&markdown);
    gb_text_free(&html);
    gb_text_free(&json);
    gb_text_free(&csv);
    gb_text_free(&latex);
    return ok;
}
