/* Reading a results file and the folders it points to. */
#include "private.h"

#include <gabbro/eval.h>
#include <gabbro/os.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* What reading a file needs everywhere. */
typedef struct reader {
    gb_lines *lines;           /* the results file */
    const gb_table_spec *spec; /* rows it may name */
    gb_arena *arena;           /* for what is kept */
    results *out;              /* being filled */
    const char *base;          /* folder of the file: relative paths start there */
    gb_status *status;         /* of the call */
} reader;

static const char *resolve(reader *read, const char *base, const char *path)
{
    if (gb_os_is_absolute(path))
        return report_copy(read->arena, path, read->status);
    char *joined = gb_path_join(read->status, base, path);
    const char *kept = joined ? report_copy(read->arena, joined, read->status) : NULL;
    free(joined);
    return kept;
}

static bool bad_line(reader *read, const char *what)
{
    return gb_lines_fail(read->lines, read->status, "make the results anew with `reproduce`", "%s",
                         what);
}

/* The row's entry for this seed, made when it is not there. */
static result_row *get_row(reader *read, size_t row, uint64_t seed)
{
    results *out = read->out;
    for (size_t i = 0; i < out->row_count; i++)
        if (out->rows[i].row == row && out->rows[i].seed == seed)
            return &out->rows[i];
    if (!gb_grow(&out->rows, &out->row_capacity, out->row_count + 1, sizeof *out->rows,
                 read->status))
        return NULL;
    result_row *fresh = &out->rows[out->row_count++];
    *fresh = (result_row){.row = row, .seed = seed, .converged = -1, .step = ""};
    return fresh;
}

static bool add_cell(reader *read, const result_cell *cell)
{
    results *out = read->out;
    if (!isfinite(cell->value))
        return bad_line(read, "a value is not a finite number");
    for (size_t i = 0; i < out->cell_count; i++) {
        const result_cell *old = &out->cells[i];
        if (old->row == cell->row && old->seed == cell->seed &&
            strcmp(old->column, cell->column) == 0 && old->value != cell->value)
            return bad_line(read, "two values for one row, column and seed");
    }
    if (!gb_grow(&out->cells, &out->cell_capacity, out->cell_count + 1, sizeof *out->cells,
                 read->status))
        return false;
    out->cells[out->cell_count++] = *cell;
    return true;
}

/* ---- folders of artifacts ---- */

/* Takes what the table says of the device from the record of an evaluation. */
static bool note_device(reader *read, const json_t *run)
{
    results *out = read->out;
    const json_t *facts = json_object_get(run, "facts");
    const char *device = json_string_value(json_object_get(run, "device"));
    if (!device || out->device[0])
        return true;
    return (out->device = report_copy(read->arena, device, read->status)) &&
           (out->driver = report_copy(
                read->arena, json_string_value(json_object_get(facts, "driver")), read->status)) &&
           (out->kernels = report_copy(
                read->arena, json_string_value(json_object_get(run, "kernels")), read->status));
}

/* run.json of a folder; NULL with GB_OK when the folder is no step. */
static json_t *read_run(reader *read, const char *folder)
{
    char *path = gb_path_join(read->status, folder, "run.json");
    bool there = path && gb_file_exists(path);
    free(path);
    return there ? gb_artifact_read(folder, read->status) : NULL;
}

/* One entry of metrics.json; `name` is what the table calls it. */
static bool add_metric(reader *read, result_cell *cell, const char *folder, const char *column,
                       const char *table_name, const json_t *metric)
{
    const char *file = json_string_value(json_object_get(metric, "per_query"));
    const char *name = json_string_value(json_object_get(metric, "name"));
    const char *colon = strchr(column, ':');
    if (!gb_measure_value(metric, folder, column, &cell->value, read->status))
        return false;
    const json_t *chance = json_object_get(metric, "chance");
    cell->chance = json_is_number(chance) ? json_number_value(chance) : NAN;
    char *file_name = NULL;
    if (!file && colon) {
        file_name = gb_format(read->status, "per-query/%.*s.tsv", (int)(colon - column), column);
        file = file_name;
        name = colon + 1;
    }
    cell->column = report_copy(read->arena, table_name, read->status);
    cell->queries.path = file ? resolve(read, folder, file) : NULL;
    cell->queries.name = name ? report_copy(read->arena, name, read->status) : NULL;
    bool ok = cell->column && (!file || cell->queries.path) && (!name || cell->queries.name);
    if (ok && cell->queries.path && !gb_file_exists(cell->queries.path))
        cell->queries.path = NULL;
    free(file_name);
    return ok && add_cell(read, cell);
}

/* Columns of an evaluation on another collection of the table are named "<set>/<column>". */
static bool add_metrics(reader *read, const result_row *row, const char *folder, const char *set,
                        const json_t *metrics)
{
    result_cell cell = {.row = row->row, .seed = row->seed};
    const char *column;
    json_t *metric;
    json_object_foreach((json_t *)metrics, column, metric)
    {
        char *name = set ? gb_format(read->status, "%s/%s", set, column) : NULL;
        bool ok =
            (name || !set) && add_metric(read, &cell, folder, column, name ? name : column, metric);
        free(name);
        if (!ok)
            return false;
    }
    return true;
}

/* Of a mean of evaluations, which computes nothing on a device, the record of the first: it lies
 * beside it. NULL of anything else. */
static json_t *read_averaged(reader *read, const char *folder, const json_t *run)
{
    const json_t *of = json_object_get(json_object_get(run, "inputs"), "of");
    const char *first = json_string_value(json_array_get(of, 0));
    size_t length;
    const char *name = gb_path_name(folder, &length);
    char *path =
        first ? gb_format(read->status, "%.*s%s", (int)(name - folder), folder, first) : NULL;
    json_t *record = path ? gb_artifact_read(path, NULL) : NULL;
    free(path);
    return record;
}

static bool read_evaluation(reader *read, result_row *row, const char *folder, const char *set)
{
    json_t *metrics = gb_measures_read(folder, read->status);
    bool ok = metrics != NULL;
    const char *slash = strrchr(folder, '/');
    if (ok && !row->step[0])
        ok = (row->step = report_copy(read->arena, slash ? slash + 1 : folder, read->status)) !=
             NULL;
    gb_status before = *read->status;
    json_t *run = ok ? read_run(read, folder) : NULL;
    json_t *averaged = run ? read_averaged(read, folder, run) : NULL;
    ok = ok && (run || read->status->code == before.code) &&
         note_device(read, averaged ? averaged : run);
    json_decref(averaged);
    ok = ok && add_metrics(read, row, folder, set, metrics);
    json_decref(run);
    json_decref(metrics);
    return ok;
}

static bool read_model(reader *read, result_row *row, const char *folder)
{
    gb_status before = *read->status;
    json_t *run = read_run(read, folder);
    if (!run)
        return read->status->code == before.code;
    const json_t *converged = json_object_get(json_object_get(run, "facts"), "converged");
    if (json_is_boolean(converged))
        row->converged = json_is_true(converged);
    json_decref(run);
    return true;
}

/* ---- lines ---- */

static bool read_value_line(reader *read, result_row *row, const json_t *line)
{
    const char *column = json_string_value(json_object_get(line, "column"));
    const json_t *value = json_object_get(line, "value");
    const char *file = json_string_value(json_object_get(line, "per_query"));
    const char *step = json_string_value(json_object_get(line, "step"));
    if (!column || !json_is_number(value))
        return bad_line(read, "a row needs \"evaluation\", or \"column\" and \"value\"");
    const json_t *chance = json_object_get(line, "chance");
    result_cell cell = {.row = row->row,
                        .seed = row->seed,
                        .value = json_number_value(value),
                        .chance = json_is_number(chance) ? json_number_value(chance) : NAN};
    if (step && !(row->step = report_copy(read->arena, step, read->status)))
        return false;
    return (cell.column = report_copy(read->arena, column, read->status)) &&
           (!file || (cell.queries.path = resolve(read, read->base, file))) &&
           add_cell(read, &cell);
}

/* Notes a set in whose rankings passages that are the query do not count, once; "main" is the
 * table's own. */
static void note_dropped(reader *read, const char *set)
{
    static const char before[] = "before";
    gb_text *dropped = &read->out->dropped;
    if (set && !strncmp(set, before, strlen(before)))
        set = set[strlen(before)] == '/' ? set + strlen(before) + 1 : NULL;
    if (!report_word_in(gb_text_words(dropped, dropped), set ? set : "main"))
        gb_text_printf(dropped, "%s%s", dropped->length ? " " : "", set ? set : "main");
}

static bool read_row_line(reader *read, const json_t *line)
{
    const char *key = json_string_value(json_object_get(line, "row"));
    const json_t *seed = json_object_get(line, "seed");
    const json_t *converged = json_object_get(line, "converged");
    if (!key || !json_is_integer(seed) || json_integer_value(seed) < 0)
        return bad_line(read, "a line needs \"row\" and \"seed\"");
    size_t index = report_spec_row(read->spec, key);
    if (index == SIZE_MAX)
        return gb_lines_fail(read->lines, read->status, "tables/rows/ lists the rows",
                             "%s has no row \"%s\"", read->spec->name, key);
    result_row *row = get_row(read, index, (uint64_t)json_integer_value(seed));
    if (!row)
        return false;
    if (json_is_boolean(converged))
        row->converged = json_is_true(converged);
    const char *evaluation = json_string_value(json_object_get(line, "evaluation"));
    const char *model = json_string_value(json_object_get(line, "model"));
    if (!evaluation)
        return read_value_line(read, row, line);
    const char *folder = resolve(read, read->base, evaluation);
    const char *set = json_string_value(json_object_get(line, "set"));
    if (!folder || !read_evaluation(read, row, folder, set))
        return false;
    if (json_is_true(json_object_get(line, "drop_identical")))
        note_dropped(read, set);
    const char *trained = model && model[0] ? resolve(read, read->base, model) : NULL;
    return !model || !model[0] || (trained && read_model(read, row, trained));
}

static bool read_header(reader *read, json_t *line)
{
    results *out = read->out;
    const char *table = json_string_value(json_object_get(line, "table"));
    if (!table || strcmp(table, read->spec->name) != 0)
        return gb_lines_fail(read->lines, read->status, "give the results file of this table",
                             "the first line is not that of results for %s", read->spec->name);
    out->header = json_incref(line);
    const char *collection = json_string_value(json_object_get(line, "collection"));
    const char *found = collection ? resolve(read, read->base, collection) : NULL;
    if (collection && (!found || json_object_set_new(line, "collection", json_string(found))))
        return false;
    const char *device = json_string_value(json_object_get(line, "device"));
    const char *driver = json_string_value(json_object_get(line, "driver"));
    const char *kernels = json_string_value(json_object_get(line, "kernels"));
    return (out->device = report_copy(read->arena, device, read->status)) &&
           (out->driver = report_copy(read->arena, driver, read->status)) &&
           (out->kernels = report_copy(read->arena, kernels, read->status));
}

static bool read_lines(reader *read)
{
    json_t *value;
    int got;
    bool ok = true;
    while (ok && (got = gb_jsonl_next(read->lines, &value, read->status)) == 1) {
        ok = read->out->header ? read_row_line(read, value) : read_header(read, value);
        json_decref(value);
    }
    if (ok && got == 0 && !read->out->header)
        ok = gb_fail(read->status, GB_DATA, gb_lines_path(read->lines),
                     "make the results anew with `reproduce`", "no results in this file");
    return ok && got == 0;
}

bool report_results_read(const char *path, const gb_table_spec *spec, gb_arena *arena, results *out,
                         gb_status *status)
{
    gb_status own = {0};
    *out = (results){.device = "", .driver = "", .kernels = ""};
    reader read = {.spec = spec, .arena = arena, .out = out, .status = &own};
    const char *slash = strrchr(path, '/');
    char *base = gb_format(&own, "%.*s", slash ? (int)(slash - path) : 1, slash ? path : ".");
    read.base = base;
    read.lines = base ? gb_lines_open(path, &own) : NULL;
    bool ok = read.lines && read_lines(&read);
    gb_lines_close(read.lines);
    free(base);
    if (!ok) {
        report_results_free(out);
        if (status)
            *status = own;
    }
    return ok;
}

void report_results_free(results *read)
{
    json_decref(read->header);
    gb_text_free(&read->dropped);
    free(read->cells);
    free(read->rows);
    *read = (results){0};
}

/* ---- values per query ---- */

typedef struct query_value {
    char *id;     /* query */
    double value; /* of it */
} query_value;

typedef struct query_values {
    query_value *items; /* sorted by id after reading */
    size_t count;       /* queries */
    size_t capacity;    /* allocated */
} query_values;

static int by_id(const void *a, const void *b)
{
    return strcmp(((const query_value *)a)->id, ((const query_value *)b)->id);
}

static void query_values_free(query_values *values)
{
    for (size_t i = 0; i < values->count; i++)
        free(values->items[i].id);
    free(values->items);
}

/* Place of a named field in a line of fields; the second one without a name. */
static size_t field_place(const char *line, const char *name)
{
    if (!name)
        return 1;
    size_t place = 0, length = strlen(name);
    for (const char *at = line;; place++) {
        size_t here = strcspn(at, "\t");
        if (here == length && strncmp(at, name, length) == 0)
            return place;
        if (!at[here])
            return SIZE_MAX;
        at += here + 1;
    }
}

static const char *field_at(const char *line, size_t place)
{
    for (; place; place--) {
        line = strchr(line, '\t');
        if (!line)
            return NULL;
        line++;
    }
    return line;
}

static bool add_query_value(query_values *out, gb_lines *lines, char *line, size_t place,
                            gb_status *status)
{
    const char *text = field_at(line, place);
    char *end = NULL;
    double value = text ? strtod(text, &end) : 0;
    if (!text || end == text || (*end && *end != '\t'))
        return gb_lines_fail(lines, status, "evaluate again", "no number for the query");
    if (!gb_grow(&out->items, &out->capacity, out->count + 1, sizeof *out->items, status))
        return false;
    line[strcspn(line, "\t")] = '\0';
    char *id = gb_strdup(line, status);
    if (id)
        out->items[out->count++] = (query_value){id, value};
    return id != NULL;
}

static bool query_values_read(const per_query *from, query_values *out, gb_status *status)
{
    gb_lines *lines = gb_lines_open(from->path, status);
    if (!lines)
        return false;
    char *line;
    size_t length, place = 1;
    int got;
    bool ok = true, header = from->name != NULL;
    while (ok && (got = gb_lines_next(lines, &line, &length, status)) == 1) {
        if (header) {
            place = field_place(line, from->name);
            header = false;
            if (place == SIZE_MAX)
                ok = gb_lines_fail(lines, status, "evaluate again", "no column \"%s\"", from->name);
        } else {
            ok = add_query_value(out, lines, line, place, status);
        }
    }
    ok = ok && got == 0;
    gb_lines_close(lines);
    if (ok && out->count)
        qsort(out->items, out->count, sizeof *out->items, by_id);
    return ok;
}

bool report_results_pair(const per_query *a, const per_query *b, double **va, double **vb,
                         size_t *count, gb_status *status)
{
    query_values left = {0}, right = {0};
    *va = *vb = NULL;
    *count = 0;
    bool ok = query_values_read(a, &left, status) && query_values_read(b, &right, status);
    size_t most = left.count < right.count ? left.count : right.count;
    ok = ok && (*va = gb_alloc(most, sizeof **va, status)) &&
         (*vb = gb_alloc(most, sizeof **vb, status));
    for (size_t i = 0, j = 0; ok && i < left.count && j < right.count;) {
        int order = strcmp(left.items[i].id, right.items[j].id);
        if (order == 0) {
            (*va)[*count] = left.items[i].value;
            (*vb)[(*count)++] = right.items[j].value;
        }
        i += order <= 0;
        j += order >= 0;
    }
    if (!ok) {
        free(*va);
        free(*vb);
        *va = *vb = NULL;
    }
    query_values_free(&left);
    query_values_free(&right);
    return ok;
}
