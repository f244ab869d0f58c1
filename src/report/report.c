/* Putting a report together: columns, seeds, verdicts, and what the four forms share. */
#include "private.h"

#include <gabbro/stats.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

const gb_seed_run *report_seed_run_find(const gb_seed_runs *runs, uint64_t seed)
{
    for (size_t i = 0; i < runs->count; i++)
        if (runs->items[i].seed == seed)
            return &runs->items[i];
    return NULL;
}

/* The run of a seed, put in its place with empty cells when there is none. */
gb_seed_run *report_seed_run_get(gb_report *report, gb_seed_runs *runs, uint64_t seed,
                                 gb_status *status)
{
    size_t at = 0, rows = report->spec->row_count, cells = rows * report->column_count;
    while (at < runs->count && runs->items[at].seed < seed)
        at++;
    if (at < runs->count && runs->items[at].seed == seed)
        return &runs->items[at];
    gb_seed_run run = {.seed = seed, .device = "", .driver = "", .kernels = ""};
    run.values = gb_arena_alloc(report->arena, cells * sizeof *run.values + 1, status);
    run.converged = gb_arena_alloc(report->arena, rows + 1, status);
    run.steps = gb_arena_alloc(report->arena, rows * sizeof *run.steps + 1, status);
    if (!run.values || !run.converged || !run.steps ||
        !gb_grow(&runs->items, &runs->capacity, runs->count + 1, sizeof *runs->items, status))
        return NULL;
    for (size_t i = 0; i < cells; i++)
        run.values[i] = NAN;
    memset(run.converged, -1, rows);
    for (size_t i = 0; i < rows; i++)
        run.steps[i] = "";
    memmove(&runs->items[at + 1], &runs->items[at], (runs->count - at) * sizeof *runs->items);
    runs->items[at] = run;
    runs->count++;
    return &runs->items[at];
}

double report_run_value(const gb_report *report, const gb_seed_run *run, size_t row, size_t column)
{
    return run->values[row * report->column_count + column];
}

/* ---- columns ---- */

/* The column of that name, or that results of that name fill; SIZE_MAX for none. */
static size_t find_column(const gb_spec_column *columns, size_t count, const char *name)
{
    for (size_t i = 0; i < count; i++)
        if (strcmp(columns[i].name, name) == 0 || report_word_in(columns[i].obtained, name))
            return i;
    return SIZE_MAX;
}

size_t report_column_of(const gb_report *report, const char *name)
{
    return find_column(report->columns, report->column_count, name);
}

static bool usual_measure(const char *measure)
{
    return report_word_in("MRR@10 Hit@50 Hit@1000 nDCG@10", measure);
}

/* "MRR@10" of "dev:MRR@10". */
static const char *measure_of(const char *name)
{
    const char *colon = strchr(name, ':');
    return colon ? colon + 1 : name;
}

/* The table's own column of a result, or NULL. */
static const gb_spec_column *spec_column(const gb_report *report, const char *name)
{
    const gb_table_spec *spec = report->spec;
    size_t found = find_column(spec->columns, spec->column_count, name);
    return found == SIZE_MAX ? NULL : &spec->columns[found];
}

/* A collection of one's own: its columns are those of its results. Shown are the usual measures;
 * where none of these is there, those that the table has; else all. */
typedef enum own_kind { OWN_OTHER, OWN_OF_TABLE, OWN_USUAL } own_kind;

static own_kind own_kind_of(const gb_report *report, const char *name)
{
    return usual_measure(measure_of(name)) ? OWN_USUAL
           : spec_column(report, name)     ? OWN_OF_TABLE
                                           : OWN_OTHER;
}

static bool own_columns(gb_report *report, const results *read, gb_status *status)
{
    enum { MOST = 8 };
    report->columns = gb_arena_alloc(report->arena, MOST * sizeof *report->columns, status);
    if (!report->columns)
        return false;
    own_kind best = OWN_OTHER;
    for (size_t i = 0; i < read->cell_count; i++) {
        own_kind kind = own_kind_of(report, read->cells[i].column);
        best = kind > best ? kind : best;
    }
    for (size_t i = 0; i < read->cell_count && report->column_count < MOST; i++) {
        const char *name = read->cells[i].column;
        const gb_spec_column *like = best == OWN_OF_TABLE ? spec_column(report, name) : NULL;
        bool share = gb_has_ceiling(name);
        if (own_kind_of(report, name) != best || report_column_of(report, name) != SIZE_MAX)
            continue;
        report->columns[report->column_count++] =
            (gb_spec_column){.name = name,
                             .obtained = "",
                             .header = like ? like->header : measure_of(name),
                             .label = name,
                             .scale = like    ? like->scale
                                      : share ? 100
                                              : 1,
                             .decimals = like    ? like->decimals
                                         : share ? 1
                                                 : 3};
    }
    return true;
}

/* From what a column is calculated by `how` ("mean:", "gain:"), or NULL. */
static const char *calculated(const gb_spec_column *column, const char *how)
{
    size_t length = strlen(how);
    return strncmp(column->obtained, how, length) == 0 ? column->obtained + length : NULL;
}

bool report_column_like(const gb_spec_column *column, const char *pattern)
{
    return column->obtained[0] && !calculated(column, "mean:") && !calculated(column, "gain:") &&
           gb_matches(pattern, column->name);
}

static size_t columns_like(const gb_report *report, const char *pattern, size_t *found)
{
    size_t count = 0;
    for (size_t i = 0; i < report->column_count; i++)
        if (report_column_like(&report->columns[i], pattern))
            found[count++] = i;
    return count;
}

static double mean_of(const double *values, const size_t *which, size_t count)
{
    double sum = 0;
    for (size_t k = 0; k < count; k++)
        sum += values[which[k]];
    return sum / (double)count;
}

/* Columns "mean:PATTERN": the plain mean of the columns like it, where none of them is missing. */
static void fill_means(const gb_report *report, const gb_seed_runs *runs)
{
    size_t like[GB_MOST_COLUMNS];
    for (size_t c = 0; c < report->column_count; c++) {
        const char *pattern = calculated(&report->columns[c], "mean:");
        size_t count = pattern ? columns_like(report, pattern, like) : 0;
        for (size_t i = 0; i < runs->count && count; i++)
            for (size_t row = 0; row < report->spec->row_count; row++) {
                double *values = runs->items[i].values + row * report->column_count;
                values[c] = mean_of(values, like, count);
            }
        if (count)
            report->chance[c] = mean_of(report->chance, like, count);
    }
}

void report_fill_gains(const gb_report *report, const gb_seed_runs *runs)
{
    size_t first = 0;
    while (first < report->spec->row_count && report->spec->rows[first].role == GB_ROW_QUOTED)
        first++;
    for (size_t c = 0; c < report->column_count; c++) {
        const char *name = calculated(&report->columns[c], "gain:");
        size_t of = name ? report_column_of(report, name) : SIZE_MAX;
        for (size_t i = 0; i < runs->count && of != SIZE_MAX; i++)
            for (size_t row = first + 1; row < report->spec->row_count; row++)
                runs->items[i].values[row * report->column_count + c] =
                    report_run_value(report, &runs->items[i], row, of) -
                    report_run_value(report, &runs->items[i], first, of);
    }
}

/* ---- this run ---- */

static bool take_results(gb_report *report, const results *read, gb_status *status)
{
    for (size_t i = 0; i < read->row_count; i++) {
        const result_row *row = &read->rows[i];
        gb_seed_run *run = report_seed_run_get(report, &report->here, row->seed, status);
        if (!run)
            return false;
        run->converged[row->row] = row->converged;
        run->steps[row->row] = row->step;
        run->device = read->device;
        run->driver = read->driver;
        run->kernels = read->kernels;
    }
    for (size_t i = 0; i < read->cell_count; i++) {
        const result_cell *cell = &read->cells[i];
        size_t column = report_column_of(report, cell->column);
        gb_seed_run *run = report_seed_run_get(report, &report->here, cell->seed, status);
        if (!run)
            return false;
        if (column == SIZE_MAX)
            continue;
        run->values[cell->row * report->column_count + column] = cell->value;
        if (!isnan(cell->chance))
            report->chance[column] = cell->chance;
    }
    fill_means(report, &report->here);
    report_fill_gains(report, &report->here);
    return true;
}

/* Name, size, generator and notes from the collection's folder; else its name is what was given. */
static bool describe_collection(gb_report *report, const char *given, gb_status *status)
{
    const char *slash = strrchr(given, '/');
    report->collection = report->collection_id =
        report_copy(report->arena, slash ? slash + 1 : given, status);
    report->generator = report->notes = "";
    char *path =
        gb_path_join(status, given, "collection/collection.json"); /* a artifact's folder */
    if (path && !gb_file_exists(path)) {
        free(path);
        path = gb_path_join(status, given, "collection.json");
    }
    json_t *root = path && gb_file_exists(path) ? gb_json_load(path, 0, NULL) : NULL;
    free(path);
    const char *name = json_string_value(json_object_get(root, "name"));
    const char *generator = json_string_value(json_object_get(root, "generator"));
    const json_t *counts = json_object_get(root, "counts");
    const json_t *passages = json_object_get(counts ? counts : root, "passages");
    gb_text text = {0}, notes = {0};
    size_t index;
    const json_t *note;
    json_array_foreach(json_object_get(root, "notes"), index, note) if (json_is_string(note))
        gb_text_printf(&notes, "%s%s", index ? "; " : "", json_string_value(note));
    if (name && json_is_integer(passages))
        gb_text_printf(&text, "%s, %lld passages", name, (long long)json_integer_value(passages));
    else if (name)
        gb_text_printf(&text, "%s", name);
    for (size_t i = 0; i < text.length; i++) /* a folder's name may have line breaks */
        if ((unsigned char)text.data[i] < ' ')
            text.data[i] = ' ';
    if (text.length)
        report->collection = report_copy(report->arena, text.data, status);
    if (generator)
        report->generator = report_copy(report->arena, generator, status);
    if (notes.length && !notes.failed)
        report->notes = report_copy(report->arena, notes.data, status);
    gb_text_free(&text);
    gb_text_free(&notes);
    json_decref(root);
    return report->collection && report->collection_id && report->generator && report->notes;
}

static bool take_header(gb_report *report, const results *read, gb_status *status)
{
    const char *collection = json_string_value(json_object_get(read->header, "collection"));
    const char *scale = json_string_value(json_object_get(read->header, "scale"));
    const char *kind = json_string_value(json_object_get(read->header, "collection_kind"));
    if (!(report->collection_kind = report_copy(report->arena, kind ? kind : "world", status)))
        return false;
    report->own_collection = strcmp(report->collection_kind, "own") == 0;
    const char *recipe = json_string_value(json_object_get(read->header, "recipe"));
    if (!(report->recipe = report_copy(report->arena, recipe, status)))
        return false;
    report->row_recipes = json_incref(json_object_get(read->header, "recipes_on_request"));
    report->settings = json_incref(json_object_get(read->header, "settings"));
    report->times = json_incref(json_object_get(read->header, "times"));
    if (scale && strcmp(scale, report->scale) != 0)
        return gb_fail(status, GB_USAGE, report->scale, "give the scale that was run",
                       "the results were made at scale %s", scale);
    return describe_collection(report, collection ? collection : "", status);
}

/* Says that passages that are the query were left out, and in which sets if there are several. */
static bool describe_rankings(gb_report *report, const results *read, gb_status *status)
{
    const char *sets = read->dropped.length ? read->dropped.data : "";
    bool named = *sets && strcmp(sets, "main") != 0;
    gb_text text = {0};
    if (*sets)
        gb_text_printf(&text, "passages with the id of the query were left out");
    for (const char *at = sets; named && *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        gb_text_printf(&text, at == sets ? " (" : ", ");
        gb_text_append(&text, at, strcspn(at, " "));
    }
    if (named)
        gb_text_append(&text, ")", 1);
    bool ok = !text.failed && !read->dropped.failed;
    report->rankings = ok ? report_copy(report->arena, text.data, status) : NULL;
    gb_text_free(&text);
    return report->rankings || gb_fail_memory(status, "describing rankings");
}

/* ---- over queries ---- */

/* Where the per-query values of a row lie for the run's first seed. */
static const per_query *queries_of(const gb_report *report, const results *read, size_t row,
                                   size_t column)
{
    for (size_t i = 0; i < read->cell_count; i++)
        if (read->cells[i].row == row && read->cells[i].seed == report->here.items[0].seed &&
            read->cells[i].queries.path &&
            report_column_of(report, read->cells[i].column) == column)
            return &read->cells[i].queries;
    return NULL;
}

/* The paired t-test over the queries of two rows; out->queries stays 0 where there is none. */
static bool query_test(const gb_report *report, const results *read, size_t left, size_t right,
                       size_t column, gb_against *out, gb_status *status)
{
    const per_query *of_left = queries_of(report, read, left, column);
    const per_query *of_right = queries_of(report, read, right, column);
    *out = (gb_against){.p = NAN};
    if (!of_left || !of_right)
        return true;
    double *a, *b;
    size_t count;
    if (!report_results_pair(of_left, of_right, &a, &b, &count, status))
        return false;
    gb_ttest test;
    bool ok = count < 2 || gb_ttest_paired(a, b, count, &test, status);
    if (ok && count >= 2)
        *out = (gb_against){.difference = test.mean, .p = test.p, .queries = count};
    free(a);
    free(b);
    return ok;
}

/* Of claims about two rows in one column; informative only. */
static bool claims_over_queries(gb_report *report, const results *read, gb_status *status)
{
    bool ok = true;
    for (size_t i = 0; ok && i < report->spec->claim_count && !report->own_collection; i++) {
        const gb_claim *claim = &report->spec->claims[i];
        size_t column = report_spec_column(report->spec, claim->column);
        gb_against test;
        if (claim->count != 2 || column == SIZE_MAX || report->here.count == 0)
            continue;
        ok = query_test(report, read, claim->sides[0], claim->sides[1], column, &test, status);
        report->judgements[i].query_p = test.p;
        report->judgements[i].queries = test.queries;
    }
    return ok;
}

/* Every row against the encoder of --init, where the run has a row of it. */
static bool compare_with_init(gb_report *report, const results *read, gb_status *status)
{
    const gb_table_spec *spec = report->spec;
    size_t init = 0;
    while (init < spec->row_count && strcmp(spec->rows[init].key, "init") != 0)
        init++;
    if (init == spec->row_count || report->here.count == 0 || report->column_count == 0 ||
        !queries_of(report, read, init, 0))
        return true;
    for (size_t c = report->column_count; c-- > 0;)
        if (strcmp(report->columns[c].header, "nDCG@10") == 0)
            report->against_column = c;
    report->against =
        gb_arena_alloc(report->arena, spec->row_count * sizeof *report->against, status);
    bool ok = report->against != NULL;
    for (size_t r = 0; ok && r < spec->row_count; r++)
        if (r != init)
            ok = query_test(report, read, r, init, report->against_column, &report->against[r],
                            status);
    return ok;
}

/* ---- all of it ---- */

static bool build(gb_report *report, const gb_report_params *params, results *read,
                  gb_status *status)
{
    if (!(report->spec = gb_table_spec_load(params->tables_dir, params->table, status)) ||
        !(report->scale = report_copy(report->arena, params->scale, status)) ||
        !report_results_read(params->results, report->spec, report->arena, read, status) ||
        !take_header(report, read, status) || !describe_rankings(report, read, status))
        return false;
    report->columns = report->spec->columns;
    report->column_count = report->spec->column_count;
    if (report->own_collection) {
        report->column_count = 0;
        if (!own_columns(report, read, status))
            return false;
    }
    if (params->judged && !report_judged_add(report, read, status))
        return false;
    report->chance =
        gb_arena_alloc(report->arena, report->column_count * sizeof *report->chance + 1, status);
    for (size_t c = 0; report->chance && c < report->column_count; c++)
        report->chance[c] = NAN;
    return report->chance && take_results(report, read, status) &&
           report_recorded_read(report, params->tables_dir, status) &&
           report_claims_judge(report, status) && claims_over_queries(report, read, status) &&
           compare_with_init(report, read, status);
}

gb_report *gb_report_build(const gb_report_params *params, gb_status *status)
{
    gb_report *report = gb_alloc(1, sizeof *report, status);
    if (!report || !(report->arena = gb_arena_create(1 << 16, status))) {
        free(report);
        return NULL;
    }
    results read = {0};
    bool ok = build(report, params, &read, status);
    report_results_free(&read);
    if (!ok) {
        gb_report_free(report);
        return NULL;
    }
    return report;
}

void gb_report_free(gb_report *report)
{
    if (!report)
        return;
    gb_table_spec_free(report->spec);
    json_decref(report->settings);
    json_decref(report->row_recipes);
    json_decref(report->times);
    free(report->here.items);
    free(report->recorded.items);
    gb_arena_destroy(report->arena);
    free(report);
}
