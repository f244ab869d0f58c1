/* gabbro data check: a collection as its files are, beside the official counts. */
#include "data.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

#include <gabbro/data.h>

#include <gabbro/json.h>
#include <stdlib.h>
#include <string.h>

static bool check(const gb_config *config, const char *path, const gb_source *source,
                  gb_status *status)
{
    uint32_t wrong = 0;
    char *imported = cli_data_import(config, path, status);
    bool ok = imported && cli_data_report(imported, source, &wrong, status);
    gb_temporary_remove(imported);
    if (ok && source)
        printf("compared with %s of the manifest\n", source->name);
    if (ok && source && cli_data_rule(source))
        printf("measured: %s\n", cli_data_rule(source));
    if (ok && wrong && source)
        ok = gb_fail(status, GB_MISMATCH, path, "fetch it again, or take it for what it is",
                     "%u counts are not as they should be", wrong);
    else if (ok && wrong)
        ok = gb_fail(status, GB_MISMATCH, path, "correct them, or take it for what it is",
                     "judgements name passages or queries that are not there");
    return ok;
}

/* Texts of one collection in another one, or in other splits of the same. */
static bool against(const gb_config *config, const char *path, const char *other, double similarity,
                    gb_status *status)
{
    char *imported[2] = {NULL, NULL};
    uint64_t texts = 0;
    bool same = !strcmp(path, other);
    gb_collection *a = cli_data_open(config, path, &imported[0], status);
    gb_collection *b = a && !same ? cli_data_open(config, other, &imported[1], status) : NULL;
    const gb_duplicates_params params = {a, same ? a : b, similarity, stdout};
    bool ok = a && (same || b) && gb_duplicates_find(&params, &texts, status);
    if (ok && texts)
        ok = gb_fail(status, GB_MISMATCH, path, "leave them out of training, or say so",
                     "%llu texts are in %.200s too", (unsigned long long)texts,
                     same ? "other splits or passages" : other);
    gb_collection_close(a);
    gb_collection_close(b);
    gb_temporary_remove(imported[0]);
    gb_temporary_remove(imported[1]);
    return ok;
}

static int run(const gb_call *call)
{
    const char *as = NULL, *given = NULL, *other = NULL;
    double similarity = 0.8;
    const gb_option options[] = {
        {"as", GB_OPTION_TEXT, &as, 0, "NAME",
         "compare with this entry of the manifest (default: the folder's name, if it is one)"},
        {"against", GB_OPTION_TEXT, &other, 0, "PATH",
         "look for the collection's queries and passages in this one instead; the same PATH: for "
         "queries of a split in the others and in the passages"},
        {"similarity", GB_OPTION_RATIO, &similarity, 0, NULL,
         "with --against, least share of common word n-grams (trigrams, of queries bigrams) of "
         "two texts that are near",
         .with = "against"},
        DATA_MANIFEST_OPTION(given),
        {0}};
    gb_words words = {0};
    gb_status status = {0};
    gb_manifest manifest = {0};
    const gb_source *source = NULL;
    int code;
    if (!gb_command_begin(&gb_cli_data_check, options, call, &words, &code))
        return code;
    gb_install_signals();
    const char *path = words.items[0];
    if (other && as)
        gb_fail(&status, GB_USAGE, NULL, "leave one of them out",
                "--against compares texts, and --as counts");
    else if (other)
        against(call->config, path, other, similarity, &status);
    if (other)
        return gb_command_end(&status);
    if (gb_manifest_open(call->config, given, &manifest, &status)) {
        source = as ? gb_manifest_find(&manifest, as, &status) : gb_manifest_match(&manifest, path);
        if (source || !as)
            check(call->config, path, source, &status);
    }
    gb_manifest_free(&manifest);
    return gb_command_end(&status);
}

const gb_command gb_cli_data_check = {
    .name = "data check",
    .summary = "check a collection's files, and compare its counts with the official ones",
    .operands = "PATH",
    .needs = "one folder or file",
    .operands_min = 1,
    .operands_max = 1,
    .description =
        "Read a collection (what gabbro collection --from reads) and print what is in it and what "
        "may be wrong with it: counts beside the official ones, judgements of unknown ids, equal "
        "and empty passages, passages that are queries (--drop-identical), titles, traces of wrong "
        "encodings. The exit code is 1 when a count "
        "differs or a judgement names an unknown id.\n\n"
        "With --against, PATH and the other may be artifacts of gabbro collection too. It counts "
        "texts that are equal, plain (equal but for case, accents and punctuation) and near (by "
        "MinHash), and queries that stand word for word in a passage. The exit code is 1 when "
        "there are any.",
    .run = run};
