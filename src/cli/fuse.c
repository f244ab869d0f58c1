/* gabbro fuse: makes one run of several. */
#include "cli.h"

#include <gabbro/eval.h>

#include <stdlib.h>

typedef struct settings {
    gb_words files, weights; /* runs; their weights as they were typed, or none */
    gb_fusion fusion;        /* how they are fused */
    const char *out, *tag;   /* file that is written; of its lines */
} settings;

#define USUAL_K 60 /* the paper's, see gb_fusion */

/* What the method does not read. */
static bool check(const settings *o, gb_status *status)
{
    if (o->fusion.k != USUAL_K && o->fusion.method != GB_FUSION_RANKS)
        return gb_fail(status, GB_USAGE, "--k", "leave it out", "it is of --fusion ranks");
    return !o->weights.count || o->fusion.method != GB_FUSION_TURNS ||
           gb_fail(status, GB_USAGE, "--weight", "leave it out",
                   "runs that take turns have no weights");
}

static bool read_weights(const settings *o, double *weights, gb_status *status)
{
    if (o->weights.count && o->weights.count != o->files.count)
        return gb_fail(status, GB_USAGE, NULL, "give one --weight for each run, in their order",
                       "%zu weights of %zu runs", o->weights.count, o->files.count);
    bool ok = true;
    for (size_t i = 0; ok && i < o->files.count; i++) {
        weights[i] = 1;
        ok = !o->weights.count ||
             gb_parse_real("--weight", o->weights.items[i], 0, 1e30, &weights[i], status);
    }
    return ok;
}

static bool fuse(settings *o, gb_run *runs, double *weights, gb_status *status)
{
    gb_run fused = {0};
    gb_run_names names = {0};
    bool ok =
        check(o, status) && read_weights(o, weights, status) && gb_run_names_create(&names, status);
    for (size_t i = 0; ok && i < o->files.count; i++)
        ok = gb_run_read(o->files.items[i], GB_RUN_AUTO, &names, &runs[i], NULL, status);
    o->fusion.weights = weights;
    ok = ok && gb_run_fuse(runs, o->files.count, &o->fusion, &fused, status) &&
         gb_run_write(&fused, &names, &(gb_run_style){.tag = o->tag}, o->out, status);
    if (ok)
        printf("%zu queries, %zu passages\n", fused.list_count, fused.hit_count);
    gb_run_free(&fused);
    gb_run_names_free(&names);
    return ok;
}

static int run(const gb_call *call)
{
    settings o = {.fusion = {.k = USUAL_K, .depth = 1000}, .tag = "gabbro-fuse"};
    const gb_option options[] = {
        {"out", GB_OPTION_TEXT, &o.out, GB_OPTION_REQUIRED, "FILE", "file of the fused run"},
        {"fusion", GB_OPTION_CHOICE, &o.fusion.method, 0, NULL,
         "how: the sum of reciprocal ranks, or of scores scaled to [0, 1]; or passages of the runs "
         "in "
         "turn",
         gb_fusion_names},
        {"k", GB_OPTION_REAL, &o.fusion.k, 0, NULL, "what is added to ranks", .max = 1e30},
        {"weight", GB_OPTION_LIST, &o.weights, 0, "WEIGHT",
         "factor of a run's part, once for each run in their order (default: 1 of each)"},
        {"depth", GB_OPTION_U32, &o.fusion.depth, 0, NULL, "passages a query; 0: all"},
        {"tag", GB_OPTION_TEXT, &o.tag, 0, "NAME", "tag of the run, one word"},
        {0}};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_fuse, options, call, &o.files, &code))
        return code;
    gb_run *runs = gb_alloc(o.files.count, sizeof *runs, &status);
    double *weights = gb_alloc(o.files.count, sizeof *weights, &status);
    if (runs && weights)
        fuse(&o, runs, weights, &status);
    for (size_t i = 0; runs && i < o.files.count; i++)
        gb_run_free(&runs[i]);
    free(runs);
    free(weights);
    return gb_command_end(&status);
}

const gb_command gb_cli_fuse = {
    .name = "fuse",
    .summary = "make one run of several",
    .operands = "RUN RUN...",
    .needs = "two or more runs",
    .operands_min = 2,
    .operands_max = GB_WORDS_MAX,
    .description =
        "Fuse the rankings of several run files, in any layout that gabbro eval reads, into one "
        "TREC run. A passage gets the sum over the runs that list it of 1 / (k + rank) "
        "(reciprocal rank fusion), or of its score scaled by the least and the largest score of "
        "its list; if all scores of a list are equal, each counts 1. --fusion turns takes the "
        "first passage of every run, then the second of every run, and so on, and each passage "
        "only once. gabbro evaluate --fuse does the same with evaluations, and measures.",
    .run = run};
