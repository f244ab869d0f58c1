/* gabbro verify: is a model folder complete, and does this device compute what it should? */
#include "cli.h"
#include <gabbro/artifact.h>
#include <gabbro/compare.h>
#include <gabbro/report.h>

#include <stdio.h>
#include <stdlib.h>

/* A bundle is checked without a device. */
static bool is_bundle(const char *folder)
{
    char *path = gb_path_join(NULL, folder, "bundle.json");
    bool found = path && gb_file_exists(path);
    free(path);
    return found;
}

static int run(const gb_call *call)
{
    gb_verify_params params = {.config = call->config, .bound = 1e-4, .out = stdout};
    const gb_option options[] = {
        {"golden", GB_OPTION_TEXT, &params.golden, 0, "FILE",
         "safetensors with any of: text (bytes, one text a line), ids, hidden.0 ..., cls, mean, "
         "sentence, logits; tests/peers shows how to make it"},
        {"bound", GB_OPTION_REAL, &params.bound, 0, NULL,
         "largest difference allowed from those numbers, relative", .min = 1e-12, .max = 1e6},
        {"device", GB_OPTION_TEXT, &params.select, 0, "NAME",
         "device to compute on: index, name, UUID or cpu"},
        {"trust", GB_OPTION_FLAG, &params.trust, 0, NULL,
         "print measured differences as lines of trust:, what, against, worst, bound, with tabs "
         "between"},
        {0}};
    gb_words model = {0};
    gb_status status = {0};
    bool held;
    int code;
    if (!gb_command_begin(&gb_cli_verify, options, call, &model, &code))
        return code;
    bool bundle = is_bundle(model.items[0]);
    if (bundle && (params.golden || params.select || params.trust)) {
        gb_fail(&status, GB_USAGE, NULL, "leave them out",
                "--golden, --device and --trust are of models, not of bundles");
        return gb_command_end(&status);
    }
    char *found = bundle ? NULL : gb_find_model(call->config, model.items[0], &status);
    params.model = found;
    bool ok = bundle ? gb_bundle_check(call->config, model.items[0], stdout, &held, &status)
                     : found && gb_verify(&params, &held, &status);
    free(found);
    if (!bundle && !found && status.code == GB_USAGE) /* a folder that is missing, as elsewhere */
        status.code = GB_DATA;
    if (!ok)
        return gb_command_end(&status);
    printf("%s\n", held ? "All of it holds." : "Something differs: see above.");
    return held ? GB_OK : GB_MISMATCH;
}

const gb_command gb_cli_verify = {
    .name = "verify",
    .summary = "check a model folder, or a bundle of a table",
    .operands = "MODEL | BUNDLE",
    .needs = "one folder",
    .operands_min = 1,
    .operands_max = 1,
    .description =
        "Check a model: MODEL is a Hugging Face folder (config.json, vocab.txt, model.safetensors "
        "or pytorch_model.bin, of which only tensors are read; no pickled code is run), an "
        "artifact, or a model in Hugging Face's cache. Prints what was checked: the files, every "
        "tensor, the tokenizer, the "
        "pooling, and some texts through the model on the device against the same computation in "
        "float64. Where there are numbers of another program for this model (golden.safetensors in "
        "the folder, or --golden), those too.\n\n"
        "BUNDLE is a folder of gabbro bundle. Its files are compared with their hashes, "
        "evaluations "
        "with their records, measures with what the runs and the values of queries give, and the "
        "table and its verdicts with those that follow from the results. No device is needed.\n\n"
        "Exit code 0: all held; 1: a difference is too large; others as for every command.",
    .run = run};
