/* gabbro coverage: which tokens of a text can be read off its [CLS] vector, for models side by
 * side (BoW prediction, Algorithm 1). */
#include "cli.h"

#include <gabbro/experiment.h>
#include <gabbro/figures.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char usage[] =
    "usage: gabbro coverage --model NAME=MODEL ... --collection STEP --tokens STEP [options]\n"
    "       gabbro coverage --model NAME=MODEL ... --texts FILE [options]\n"
    "       gabbro coverage --model NAME=MODEL ... --text TEXT [options]\n\n"
    "Project the [CLS] vectors of texts to the vocabulary and count how many of a text's own "
    "tokens\n"
    "are among the k best. The first two print the step's folder: coverage.html (curves, texts "
    "with\n"
    "the tokens that each model recovers), coverage.tsv, coverage.json, curve.svg and tokens.svg\n"
    "(and .png). The last prints one text on the terminal.\n";

/* The artifact's files. */
static bool write_files(step_run *run, const gb_coverage_params *params, gb_status *status)
{
    gb_device *device = step_device(run, status);
    char *table = step_file(run, "texts.ids.gbt", status);
    gb_coverage_study *study =
        device && table ? gb_coverage_study_create(params, device, table, status) : NULL;
    bool ok = study && gb_coverage_study_write(study, gb_step_path(run->step), status);
    if (ok && params->model_count == 1) {
        json_t *metrics = gb_coverage_study_metrics(study);
        ok = step_write_metrics(run, metrics, status);
        json_decref(metrics);
    }
    if (ok) {
        json_t *facts = step_device_facts(run);
        uint32_t texts = gb_coverage_texts(gb_coverage_study_view(study)->coverage[0]);
        json_object_set_new(facts, "texts", json_integer(texts));
        ok = step_end(run, facts, status);
        json_decref(facts);
    }
    gb_coverage_study_destroy(study);
    free(table);
    return ok;
}

/* One text on the terminal; no artifact. */
static bool print_text(step_run *run, const gb_coverage_params *params, gb_status *status)
{
    gb_text out = {0};
    gb_device *device = step_device(run, status);
    char *dir = gb_temporary_folder("coverage", status);
    char *table = dir ? gb_path_join(status, dir, "texts.gbt") : NULL;
    gb_coverage_study *study =
        device && table ? gb_coverage_study_create(params, device, table, status) : NULL;
    if (study)
        gb_coverage_terminal(gb_coverage_study_view(study), isatty(STDOUT_FILENO), &out);
    bool ok = study && (!out.failed || gb_fail_memory(status, "printing"));
    if (ok)
        fwrite(out.data, 1, out.length, stdout);
    gb_coverage_study_destroy(study);
    gb_temporary_remove(dir);
    free(table);
    gb_text_free(&out);
    return ok;
}

/* The words of options into the params. */
static bool settle(gb_coverage_params *o, const char *projection, const char *reading,
                   gb_status *status)
{
    int sources = (o->collection != NULL) + (o->texts != NULL) + (o->text != NULL);
    if (sources != 1 || !o->collection != !o->tokens)
        return gb_fail(status, GB_USAGE, NULL, "see --help",
                       "give --collection with --tokens, or --texts, or --text");
    o->full = strcmp(projection, "full") == 0;
    if (!o->full && strcmp(projection, "plain"))
        return gb_fail(status, GB_USAGE, NULL, "plain or full", "no projection \"%s\"", projection);
    while (o->reading < GB_COVERAGE_READINGS &&
           strcmp(gb_coverage_reading_name(o->reading), reading))
        o->reading++;
    if (o->reading == GB_COVERAGE_READINGS)
        return gb_fail(status, GB_USAGE, NULL, "set, multiset, top or rare", "no reading \"%s\"",
                       reading);
    if (o->reading == GB_COVERAGE_RARE && !o->collection)
        return gb_fail(status, GB_USAGE, NULL, "give --collection and --tokens",
                       "which tokens are rare is known of a collection only");
    return o->depth || gb_fail(status, GB_USAGE, NULL, NULL, "--k must be at least 1");
}

int gb_cli_coverage(int argc, char **argv)
{
    gb_status status = {0};
    gb_coverage_params o = {.depth = 100, .passages = 1000, .show = 12, .seed = 42};
    step_list models = {0};
    char names[STEP_LIST_MOST][GB_MODEL_NAME];
    const char *projection = "plain", *reading = "set";
    const step_option options[] = {
        {"model", OPTION_LIST, &models, true, true, "NAME=MODEL: step or model folder; repeated"},
        {"collection", OPTION_TEXT, &o.collection, false, true, "step of a collection"},
        {"tokens", OPTION_TEXT, &o.tokens, false, true, "step of its tokens"},
        {"texts", OPTION_TEXT, &o.texts, false, true, "file of texts, one a line"},
        {"text", OPTION_TEXT, &o.text, false, false, "one text, printed on the terminal"},
        {"reference", OPTION_TEXT, &o.reference, false, true,
         "model whose head projects for all (default: each its own)"},
        {"projection", OPTION_TEXT, &projection, false, false, "plain (E^T) or full head (plain)"},
        {"reading", OPTION_TEXT, &reading, false, false,
         "of the curve: set, multiset, top, rare (set)"},
        {"k", OPTION_U32, &o.depth, false, false, "most best tokens (100)"},
        {"passages", OPTION_U32, &o.passages, false, false, "passages drawn; 0: all (1000)"},
        {"show", OPTION_U32, &o.show, false, false, "texts shown in the page (12)"},
        {"seed", OPTION_U64, &o.seed, false, false, "of the draw (42)"},
        {"variants", OPTION_FLAG, &o.variants, false, false, "give the other ways to project too",
         true},
        {0}};
    step_run run = {.kind = "coverage", .options = options};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    json_t *extra = settle(&o, projection, reading, &status)
                        ? gb_model_names(models.items, models.count, names, &status)
                        : NULL;
    bool ok = extra != NULL;
    o.models = models.items;
    o.names = (const char(*)[GB_MODEL_NAME])names;
    o.model_count = models.count;
    if (ok && o.text) {
        json_decref(extra);
        print_text(&run, &o, &status);
        return step_close(&run, &status);
    }
    ok = ok && step_begin(&run, 3, true, extra, &status);
    if (ok && gb_step_done(run.step))
        step_end(&run, NULL, &status);
    else if (ok)
        write_files(&run, &o, &status);
    return step_close(&run, &status);
}
