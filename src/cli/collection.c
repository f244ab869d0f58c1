/* gabbro collection: the step that makes a stored collection. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>
#include <gabbro/options.h>
#include <gabbro/synth.h>

#include <stdlib.h>
#include <string.h>

static const char usage[] =
    "usage: gabbro collection --world SEED [--set NAME] | --from PATH | --cut STEP [options]\n\n"
    "Make a stored collection: a set of the mini world, the passages of another one cut into "
    "spans of\n"
    "whole sentences, for pre-training alone, or an import of a BEIR folder, MS MARCO TSV\n"
    "files, a JSONL of documents, DPR's, Pyserini's, Tevatron's, FlagEmbedding's or RocketQA's "
    "files\n"
    "(docs/reference/formats.md), plain, gzip or zstd, or all in a tar archive. Prints the step's "
    "folder.\n\n"
    "Sets: main (default), wikipedia (text to pre-train on), documents (main's, whole), nq and\n"
    "triviaqa (questions with answers), and beir-NAME, each standing for a set of BEIR: arguana\n"
    "bioasq climate-fever cqadupstack dbpedia-entity fever fiqa hotpotqa nfcorpus nq quora "
    "robust04\n"
    "scidocs scifact signal1m trec-covid trec-news webis-touche2020.\n";

static bool check_set(const char *world, const char *set, gb_status *status)
{
    if (!world && strcmp(set, "main") != 0)
        return gb_fail(status, GB_USAGE, NULL, "see --help", "--set is of the mini world");
    for (uint32_t i = 0; gb_synth_set_name(i); i++)
        if (!strcmp(set, gb_synth_set_name(i)))
            return true;
    return gb_fail(status, GB_USAGE, NULL, "see --help", "the mini world has no set \"%.60s\"",
                   set);
}

/* Versions of the step: a set's is that of the world. */
static uint32_t version_of(const char *world)
{
    return world ? GB_WORLD_VERSION : 1;
}

int gb_cli_collection(int argc, char **argv)
{
    gb_status status = {0};
    const char *from = NULL, *queries = NULL, *world = NULL, *cut = NULL, *set = "main";
    gb_import_params import = GB_IMPORT_DEFAULTS;
    gb_import_variant variant = {0};
    const step_option options[] = {
        {"world", OPTION_TEXT, &world, false, false, "make the mini world of this seed"},
        {"from", OPTION_TEXT, &from, false, true, "folder or file to import"},
        {"queries", OPTION_TEXT, &queries, false, true,
         "generated queries, JSONL or docTTTTTquery's lines; else extracted ones"},
        {"queries-per-passage", OPTION_U32, &import.queries_per_passage, false, false,
         "of the extractive generator (default 5)"},
        {"span-words", OPTION_U32, &import.span_words, false, false,
         "words of a span cut from a long text (default 100)"},
        {"split-seed", OPTION_U64, &import.seed, false, false, "of splits made here (default 42)"},
        {"skip-unknown-qrels", OPTION_FLAG, &import.skip_unknown_qrels, false, false,
         "skip judgements of unknown ids instead of failing"},
        {"set", OPTION_TEXT, &set, false, false, "set of the mini world, see above", true},
        {"drop-titles", OPTION_FLAG, &variant.drop_titles, false, false,
         "import passages without their titles", true},
        {"cut", OPTION_TEXT, &cut, false, true, "step of a collection to cut", true},
        {"keep-splits", OPTION_FLAG, &import.keep_splits, false, false,
         "make no training split where there is none: the collection only judges", true},
        {"repair-encoding", OPTION_FLAG, &variant.repair_encoding, false, false,
         "turn back text that was encoded twice (MS MARCO has some; papers trained on it)", true},
        {0}};
    step_run run = {.kind = "collection", .options = options};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    bool ok = true;
    uint64_t seed = 0; /* the step has it as it was typed */
    if (!!world + !!from + !!cut != 1)
        ok =
            gb_fail(&status, GB_USAGE, NULL, "see --help", "give one of --world, --from and --cut");
    else if (world)
        ok = gb_parse_u64("--world", world, 0, UINT64_MAX, &seed, &status);
    ok = ok && check_set(world, set, &status) &&
         step_begin(&run, version_of(world), false, NULL, &status);
    json_t *facts = NULL;
    if (ok && !gb_step_done(run.step)) {
        double start_s = gb_now_s();
        char *stored = cut ? gb_path_join(&status, cut, "collection") : NULL;
        import.path = cut ? stored : from;
        variant.cut = cut != NULL;
        import.queries = queries;
        char *out = step_file(&run, "collection", &status);
        ok = out && (!cut || stored) &&
             (world ? gb_synth_generate(seed, set, out, &status)
                    : gb_collection_import_as(&import, &variant, out, &status));
        free(stored);
        free(out);
        facts = json_pack("{s:o}", "times", step_times(gb_now_s() - start_s));
    }
    if (ok)
        step_end(&run, facts, &status);
    json_decref(facts);
    return step_close(&run, &status);
}
