/* gabbro coverage: which tokens of a text can be read off its [CLS] vector, for models side by
 * side (BoW prediction, Algorithm 1). */
#include "cli.h"

#include <gabbro/experiment.h>
#include <gabbro/figures.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct settings {
    gb_coverage_params params;               /* what is read and how */
    gb_words models;                         /* NAME=MODEL, cut apart by check */
    char names[GB_WORDS_MAX][GB_MODEL_NAME]; /* of the models */
    uint32_t projection;                     /* plain or full */
} settings;

/* The artifact's files. */
static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    gb_device *device = gb_maker_device(maker, status);
    char *table = gb_maker_file(maker, "texts.ids.gbt", status);
    gb_coverage_study *study =
        device && table ? gb_coverage_study_create(&o->params, device, table, status) : NULL;
    bool ok = study && gb_coverage_study_write(study, gb_maker_folder(maker), status);
    if (ok && o->params.model_count == 1) {
        json_t *metrics = gb_coverage_study_metrics(study);
        ok = gb_maker_write_metrics(maker, metrics, status);
        json_decref(metrics);
    }
    if (ok) {
        uint32_t texts = gb_coverage_texts(gb_coverage_study_view(study)->coverage[0]);
        json_object_set_new(maker->facts, "texts", json_integer(texts));
    }
    gb_coverage_study_destroy(study);
    free(table);
    return ok;
}

/* One text on the terminal; no artifact. */
static bool print_text(gb_maker *maker, const gb_coverage_params *params, gb_status *status)
{
    gb_text out = {0};
    gb_device *device = gb_maker_device(maker, status);
    char *dir = gb_temporary_folder(maker->config, "coverage", status);
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

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    settings *o = self;
    gb_coverage_params *p = &o->params;
    int sources = (p->collection != NULL) + (p->texts != NULL) + (p->text != NULL);
    if (sources != 1 || !p->collection != !p->tokens)
        return gb_fail(status, GB_USAGE, NULL, "see --help",
                       "give --collection with --tokens, or --texts, or --text");
    if (p->reading == GB_COVERAGE_RARE && !p->collection)
        return gb_fail(status, GB_USAGE, NULL, "give --collection and --tokens",
                       "which tokens are rare is known of a collection only");
    json_t *names = gb_model_names(o->models.items, o->models.count, o->names, status);
    if (!names)
        return false;
    json_object_update_new(maker->settings, names);
    p->full = o->projection;
    p->models = o->models.items;
    p->names = (const char(*)[GB_MODEL_NAME])o->names;
    p->model_count = o->models.count;
    maker->over = p->text != NULL;
    for (size_t m = 0; m < p->model_count; m++)
        if (!gb_model_users(p->models[m], false, &maker->kernels, status))
            return false;
    if (p->reference && !gb_model_users(p->reference, false, &maker->kernels, status))
        return false;
    return !p->text || print_text(maker, p, status);
}

static int run(const gb_call *call)
{
    static const char *const projections[] = {"plain", "full", NULL};
    static const char *const readings[] = {"set", "multiset", "top", "rare", NULL};
    settings o = {.params = {.depth = 100, .passages = 1000, .show = 12, .seed = 42}};
    const gb_option options[] = {
        {"model", GB_OPTION_LIST, &o.models, GB_OPTION_REQUIRED | GB_OPTION_INPUT, "NAME=MODEL",
         "artifact or folder of a model, and its name; may be repeated"},
        {"collection", GB_OPTION_TEXT, &o.params.collection, GB_OPTION_INPUT, "ARTIFACT",
         "collection of the passages"},
        {"tokens", GB_OPTION_TEXT, &o.params.tokens, GB_OPTION_INPUT, "ARTIFACT", "its tokens"},
        {"texts", GB_OPTION_TEXT, &o.params.texts, GB_OPTION_INPUT, "FILE", "texts, one a line"},
        {"text", GB_OPTION_TEXT, &o.params.text, 0, "TEXT", "one text, printed on the terminal"},
        {"reference", GB_OPTION_TEXT, &o.params.reference, GB_OPTION_INPUT | GB_OPTION_MODEL,
         "MODEL", "model whose head projects for all (default: each its own)"},
        {"projection", GB_OPTION_CHOICE, &o.projection, 0, NULL,
         "the embeddings alone (E^T), or the full head", projections},
        {"reading", GB_OPTION_CHOICE, &o.params.reading, 0, NULL,
         "what the curve counts: the text's distinct tokens, all of its tokens, the share of the "
         "top k that the text has, or its rare tokens",
         readings},
        {"k", GB_OPTION_U32, &o.params.depth, 0, NULL, "best tokens at most", .min = 1},
        {"passages", GB_OPTION_U32, &o.params.passages, 0, NULL, "passages drawn; 0: all",
         .with = "collection"},
        {"show", GB_OPTION_U32, &o.params.show, 0, NULL, "texts shown in the page",
         .with = "collection|texts"},
        {"seed", GB_OPTION_U64, &o.params.seed, 0, NULL, "seed of the draw", .with = "collection"},
        {"variants", GB_OPTION_FLAG, &o.params.variants, 0, NULL,
         "give the other ways to project too", .with = "collection|texts"},
        {0}};
    const gb_make_params params = {.command = &gb_cli_coverage,
                                   .version = 3,
                                   .kernels = GB_USER_ENCODE | GB_USER_SEARCH,
                                   .options = options,
                                   .self = &o,
                                   .check = check,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_coverage = {
    .name = "coverage",
    .summary = "show which tokens of a text a model's [CLS] vector holds",
    .usage = "--model NAME=MODEL... (--collection ARTIFACT --tokens ARTIFACT | --texts FILE | "
             "--text TEXT) [options]",
    .description =
        "Project the [CLS] vectors of texts to the vocabulary and count how many of a text's own "
        "tokens are among the k best. Of passages and of a file of texts it prints the artifact's "
        "folder: coverage.html (curves, texts with the tokens that each model recovers), "
        "coverage.tsv, coverage.json, curve.svg and tokens.svg (and .png). One text is printed on "
        "the terminal.",
    .run = run,
    .makes = true};
