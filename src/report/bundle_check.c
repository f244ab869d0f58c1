/* Checks a bundle: its files, its evaluations, measures computed anew from runs, verdicts from
 * measures. Nothing of it needs a device. */
#include "private.h"

#include <gabbro/eval.h>
#include <gabbro/json.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A bundle being checked. */
typedef struct checked {
    const char *folder;                     /* of the bundle */
    const char *scratch;                    /* folder for values of queries computed anew */
    json_t *about;                          /* bundle.json */
    FILE *out;                              /* what was found */
    uint64_t wrong;                         /* what did not hold */
    uint64_t evaluations;                   /* evaluations */
    uint64_t from_runs, deeper, unmeasured; /* measures: computed anew; of more ranks than are kept;
                                              without a run */
    uint64_t from_queries;                  /* measures that are the mean of their queries */
} checked;

static void complain(checked *c, const char *where, const char *what)
{
    if (c->wrong++ < 20)
        fprintf(c->out, "WRONG  %s: %s\n", where, what);
}

/* ---- files ---- */

static bool check_files(checked *c, gb_status *status)
{
    const char *name;
    json_t *hash;
    uint64_t wrong = c->wrong;
    json_object_foreach(json_object_get(c->about, "files"), name, hash)
    {
        char hex[GB_HASH_SIZE];
        gb_status why = {0};
        if (strstr(name, "..") || name[0] == '/') {
            complain(c, name, "is outside of the bundle");
            continue;
        }
        char *path = gb_path_join(status, c->folder, name);
        if (!path)
            return false;
        if (!gb_hash_file(path, hex, &why))
            complain(c, name, why.what);
        else if (!json_is_string(hash) || strcmp(hex, json_string_value(hash)) != 0)
            complain(c, name, "is not as it was written: its SHA-256 differs");
        free(path);
    }
    if (wrong == c->wrong)
        fprintf(c->out, "files      %zu, all as listed (SHA-256)\n",
                json_object_size(json_object_get(c->about, "files")));
    return true;
}

/* ---- measures ---- */

/* The rank that a measure looks at, of "dev:R(rel=2)@1000"; 0: none. */
static uint32_t depth_of(const char *measure)
{
    const char *at = strrchr(measure, '@');
    return at ? (uint32_t)strtoul(at + 1, NULL, 10) : 0;
}

/* The mean of a column of a file of queries' values; NAN if there is none. */
static double mean_of_queries(const char *evaluation, const json_t *measure)
{
    const char *file = gb_json_text(measure, "per_query"), *name = gb_json_text(measure, "name");
    char *path = *file ? gb_path_join(NULL, evaluation, file) : NULL, *line;
    gb_lines *lines = path ? gb_lines_open(path, NULL) : NULL;
    size_t length, place = 0, count = 0, found = 0;
    double sum = 0;
    while (lines && gb_lines_next(lines, &line, &length, NULL) == 1) {
        const char *at = line;
        for (place = 0; at; place++, at = strchr(at, '\t'), at = at ? at + 1 : NULL) {
            size_t size = strcspn(at, "\t");
            if (gb_lines_number(lines) == 1 && size == strlen(name) && !strncmp(at, name, size))
                found = place;
            else if (gb_lines_number(lines) > 1 && found && place == found) {
                sum += strtod(at, NULL);
                count++;
            }
        }
    }
    gb_lines_close(lines);
    free(path);
    return count ? sum / (double)count : NAN;
}

/* Whether a run of `keep` passages a query gives the measure. trec_eval orders equal scores by id,
 * so of those around the last place others may be in front in the whole run. */
static bool run_tells(const char *key, const json_t *measure, uint32_t keep)
{
    bool by_id = strstr(gb_json_text(measure, "per_query"), ".trec.") != NULL;
    return depth_of(key) + by_id <= keep;
}

/* The value of a measure against what its run and its queries give. */
static void check_measure(checked *c, const char *evaluation, const char *key,
                          const json_t *measure, const json_t *again, uint32_t keep)
{
    char where[300];
    double value = json_number_value(json_object_get(measure, "value"));
    double mean = mean_of_queries(evaluation, measure);
    const json_t *anew = json_object_get(json_object_get(again, key), "value");
    size_t length;
    snprintf(where, sizeof where, "%.100s, %.100s", gb_path_name(evaluation, &length), key);
    if (!isnan(mean) && fabs(mean - value) > 1e-12)
        complain(c, where, "is not the mean of its values of queries");
    c->from_queries += !isnan(mean);
    if (!anew) {
        c->unmeasured++;
    } else if (!run_tells(key, measure, keep)) {
        c->deeper++;
    } else {
        c->from_runs++;
        if (fabs(json_number_value(anew) - value) > 1e-12)
            complain(c, where, "is not what its run gives");
    }
}

/* Computes the measures of splits anew from their runs, where these are not empty. */
static bool measure_again(const checked *c, const char *evaluation, const json_t *run,
                          json_t *again, gb_status *status)
{
    const json_t *settings = json_object_get(run, "settings");
    const gb_split_params how = {.drop_identical =
                                     json_is_true(json_object_get(settings, "drop-identical")),
                                 .skip_empty = true,
                                 .folder = c->scratch};
    const char *of = gb_json_text(json_object_get(run, "inputs"), "collection");
    char *qrels = gb_format(status, "%s/collections/%s/qrels", c->folder, of);
    char *runs = gb_path_join(status, evaluation, "runs");
    bool ok = qrels && runs &&
              (!*of || !gb_dir_exists(qrels) || /* a mean has no collection */
               gb_splits_measure_files(qrels, runs, &how, again, status));
    free(qrels);
    free(runs);
    return ok;
}

static bool check_evaluation(checked *c, const char *evaluation, gb_status *status)
{
    gb_status why = {0};
    size_t length;
    c->evaluations++;
    char *record = gb_path_join(status, evaluation, "run.json");
    json_t *run =
        record && gb_file_exists(record) ? gb_json_load(record, 0, &why) : NULL; /* as it is */
    json_t *metrics = gb_measures_read(evaluation, &why), *again = json_object(), *measure;
    const json_t *keep = json_object_get(json_object_get(run, "settings"), "keep");
    const char *key;
    if (why.code || (run && !gb_artifact_verify(evaluation, &why)))
        complain(c, gb_path_name(evaluation, &length), why.what);
    bool ok = record && measure_again(c, evaluation, run, again, status);
    if (ok)
        json_object_foreach(metrics, key, measure) check_measure(
            c, evaluation, key, measure, again, keep ? (uint32_t)json_integer_value(keep) : 0);
    free(record);
    json_decref(run);
    json_decref(metrics);
    json_decref(again);
    return ok;
}

static bool check_evaluations(checked *c, gb_status *status)
{
    uint64_t wrong = c->wrong;
    char *folder = gb_path_join(status, c->folder, "evaluations");
    gb_entries evaluations = {0};
    bool ok = folder && gb_entries_read(folder, "*", &evaluations, status);
    for (size_t i = 0; ok && i < evaluations.count; i++) {
        char *one = gb_path_join(status, folder, evaluations.names[i]);
        ok = one && check_evaluation(c, one, status);
        free(one);
    }
    gb_entries_free(&evaluations);
    free(folder);
    if (ok && wrong == c->wrong)
        fprintf(c->out,
                "artifacts  %llu evaluations, as their records say\n"
                "measures   %llu computed anew from runs, %llu from values of queries: equal\n"
                "           not from runs: %llu of more ranks than runs keep, %llu without a run\n",
                (unsigned long long)c->evaluations, (unsigned long long)c->from_runs,
                (unsigned long long)c->from_queries, (unsigned long long)c->deeper,
                (unsigned long long)c->unmeasured);
    return ok;
}

/* ---- the table ---- */

/* The table as JSON, with the columns that it had. */
static json_t *table_again(const checked *c, const json_t *was, gb_status *status)
{
    char *tables = gb_path_join(status, c->folder, "tables");
    char *lines = tables ? gb_path_join(status, c->folder, "results.jsonl") : NULL;
    const gb_report_params params = {.tables_dir = tables,
                                     .table = gb_json_text(c->about, "table"),
                                     .scale = gb_json_text(c->about, "scale"),
                                     .results = lines,
                                     .judged = json_is_true(json_object_get(was, "judged"))};
    gb_report *report = lines ? gb_report_build(&params, status) : NULL;
    gb_text text = {0};
    json_t *json = report && gb_report_json(report, &text, status)
                       ? gb_json_parse(text.data, text.length, 0, "the table", status)
                       : NULL;
    gb_text_free(&text);
    gb_report_free(report);
    free(tables);
    free(lines);
    return json;
}

/* Names the parts of two tables that differ. */
static void compare_tables(checked *c, const json_t *was, const json_t *is)
{
    static const char *const parts[] = {"rows",     "claims",          "columns",
                                        "settings", "collection_step", "device"};
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (!json_equal(json_object_get(was, parts[i]), json_object_get(is, parts[i])))
            complain(c, "table.json",
                     !strcmp(parts[i], "claims") ? "the verdicts do not follow from the results"
                                                 : "it is not the table of these results");
}

static bool check_table(checked *c, gb_status *status)
{
    uint64_t wrong = c->wrong;
    json_t *was = gb_json_load_in(c->folder, "table.json", 0, status);
    gb_status why = {0};
    json_t *is = was ? table_again(c, was, &why) : NULL;
    bool ok = was && (is || why.code != GB_MEMORY || gb_fail_memory(status, "making a table"));
    if (is)
        compare_tables(c, was, is);
    else if (was)
        complain(c, why.where[0] ? why.where : "results.jsonl", why.what);
    if (is && wrong == c->wrong)
        fprintf(c->out, "verdicts   %zu claims over %zu rows, judged anew: the same table\n",
                json_array_size(json_object_get(is, "claims")),
                json_array_size(json_object_get(is, "rows")));
    json_decref(was);
    json_decref(is);
    return ok;
}

bool gb_bundle_check(const gb_config *config, const char *folder, FILE *out, bool *held,
                     gb_status *status)
{
    checked c = {.folder = folder, .out = out};
    char *scratch = gb_temporary_folder(config, "bundle", status);
    c.scratch = scratch;
    c.about = scratch ? gb_json_load_in(folder, "bundle.json", 0, status) : NULL;
    bool ok = c.about && check_files(&c, status) && check_evaluations(&c, status) &&
              check_table(&c, status);
    *held = ok && !c.wrong;
    gb_temporary_remove(scratch);
    json_decref(c.about);
    return ok;
}
