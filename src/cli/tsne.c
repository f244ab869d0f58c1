/* gabbro tsne: a query and its best candidates as models see them, in the plane and in space
 * (COSTA, Figure 3). */
#include "cli.h"

#include <gabbro/experiment.h>
#include <gabbro/figures.h>
#include <gabbro/retrieve.h>

typedef struct settings {
    gb_candidates_params params;             /* what is drawn */
    gb_words models;                         /* NAME=MODEL, cut apart by check */
    char names[GB_WORDS_MAX][GB_MODEL_NAME]; /* of the models */
} settings;

static bool check(gb_maker *maker, void *self, gb_status *status)
{
    settings *o = self;
    json_t *names = gb_model_names(o->models.items, o->models.count, o->names, status);
    if (names)
        json_object_update_new(maker->settings, names);
    o->params.models = o->models.items;
    o->params.names = (const char(*)[GB_MODEL_NAME])o->names;
    o->params.model_count = o->models.count;
    bool ok = names != NULL;
    for (size_t m = 0; ok && m < o->models.count; m++)
        ok = gb_retriever_users(o->models.items[m], &maker->kernels, status);
    return ok;
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const settings *o = self;
    return gb_candidates_draw(&o->params, maker, status);
}

static int run(const gb_call *call)
{
    settings o = {.params = {.depth = 100, .tsne = GB_TSNE_DEFAULTS}};
    const gb_option options[] = {
        {"model", GB_OPTION_LIST, &o.models, GB_OPTION_REQUIRED | GB_OPTION_INPUT, "NAME=MODEL",
         "artifact or folder of a model, and its name; may be repeated"},
        {"collection", GB_OPTION_TEXT, &o.params.collection, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "collection of query and candidates"},
        {"tokens", GB_OPTION_TEXT, &o.params.tokens, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
         "ARTIFACT", "its tokens"},
        {"split", GB_OPTION_TEXT, &o.params.split, 0, "NAME",
         "split of the query (default: dl19 if there, else dev)"},
        {"query", GB_OPTION_TEXT, &o.params.query, 0, "ID", "id of the query (default: drawn)"},
        {"depth", GB_OPTION_U32, &o.params.depth, 0, NULL, "candidates of each model", .min = 3,
         .max = 1000},
        {"missed", GB_OPTION_FLAG, &o.params.missed, 0, NULL,
         "add relevant passages that a model did not find"},
        {"perplexity", GB_OPTION_REAL, &o.params.tsne.perplexity, 0, NULL,
         "perplexity of t-SNE; at most a third of the other points is used", .min = 1.01,
         .max = 1000},
        {"iterations", GB_OPTION_U32, &o.params.tsne.iterations, 0, NULL, "iterations of t-SNE"},
        {"seed", GB_OPTION_U64, &o.params.tsne.seed, 0, NULL, "seed of the draw and of t-SNE"},
        {0}};
    const gb_make_params params = {.command = &gb_cli_tsne,
                                   .version = 2,
                                   .kernels = GB_USER_ENCODE | GB_USER_SEARCH,
                                   .flags = GB_MAKES_ENCODING,
                                   .options = options,
                                   .self = &o,
                                   .check = check,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_tsne = {
    .name = "tsne",
    .summary = "draw a query and its candidates as models see them",
    .description =
        "Draw a query and the best candidates of each model, by t-SNE and by principal components, "
        "relevant ones marked. Prints the artifact's folder: tsne.html (with a view in space that "
        "turns), tsne.svg, pca.svg, turning.svg (and .png), tsne.tsv.",
    .run = run,
    .makes = true};
