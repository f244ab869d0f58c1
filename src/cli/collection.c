/* gabbro collection: makes a stored collection. */
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/eval.h>
#include <gabbro/experiment.h>
#include <gabbro/synth.h>

#include <stdlib.h>
#include <string.h>

typedef struct settings {
    const char *from, *cut;    /* what is imported, or cut */
    const char *questions;     /* collection whose questions become passages */
    uint32_t target;           /* gb_generated, of these */
    const char *world;         /* seed, as it was typed, or NULL */
    const char *set;           /* of the world */
    uint64_t seed;             /* of the world */
    gb_import_params import;   /* of an import */
    uint32_t span_words;       /* the same; GB_OPEN: as the layout has it */
    gb_import_variant variant; /* the same */
    uint32_t answers;          /* a gb_answer_rule less GB_ANSWERS_WORDS */
    const char *vocabulary;    /* artifact, of ids of tokens; or NULL */
} settings;

static bool check_set(const settings *o, gb_status *status)
{
    if (!o->world && strcmp(o->set, "main") != 0)
        return gb_fail(status, GB_USAGE, NULL, "see --help", "--set is of the mini world");
    for (uint32_t i = 0; gb_synth_set_name(i); i++)
        if (!strcmp(o->set, gb_synth_set_name(i)))
            return true;
    return gb_fail(status, GB_USAGE, NULL, "see --help", "the mini world has no set \"%.60s\"",
                   o->set);
}

/* The name of a file decides which split it is, and of some layouts which one; a folder's names are
 * in its hash. */
static bool note_name(gb_maker *maker, const char *path, gb_status *status)
{
    size_t length;
    return !path || gb_dir_exists(path) ||
           gb_maker_note(maker, "file-name", gb_path_name(path, &length), status);
}

/* The world's sets have the world's version. */
static bool check(gb_maker *maker, void *self, gb_status *status)
{
    settings *o = self;
    if (!!o->world + !!o->from + !!o->cut + !!o->questions != 1)
        return gb_fail(status, GB_USAGE, NULL, "see --help",
                       "give one of --world, --from, --cut and --questions-of");
    if (!o->questions != !o->target)
        return gb_fail(status, GB_USAGE, NULL, "see --help",
                       "--questions-of and --target are given together");
    if (o->answers && !o->from)
        return gb_fail(status, GB_USAGE, NULL, "see --help", "--answers is of what --from imports");
    maker->version = o->world ? GB_WORLD_VERSION : 1;
    return note_name(maker, o->from, status) &&
           (!o->world || gb_parse_u64("--world", o->world, 0, INT64_MAX, &o->seed, status)) &&
           check_set(o, status);
}

/* Questions and targets, as a folder of BEIR to import. */
static bool write_questions(const settings *o, const char *folder, gb_status *status)
{
    gb_collection *of = gb_open_collection(o->questions, status);
    bool ok = of && gb_targets_write(of, (gb_generated)o->target, folder, status);
    gb_collection_close(of);
    return ok;
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    settings *o = self;
    char *stored = o->cut ? gb_path_join(status, o->cut, "collection") : NULL;
    char *out = gb_maker_file(maker, "collection", status);
    char *beir = o->questions ? gb_maker_resume_file(maker, "beir", status) : NULL;
    o->import.path = o->cut ? stored : o->questions ? beir : o->from;
    o->import.span_words = o->span_words == GB_OPEN ? 0 : o->span_words;
    o->variant.cut = o->cut != NULL;
    o->variant.regex_answers = o->answers + GB_ANSWERS_WORDS == GB_ANSWERS_REGEX;
    gb_vocab *vocab = o->vocabulary ? gb_vocabulary_read(o->vocabulary, status) : NULL;
    o->import.vocab = vocab;
    bool ok = out && (!o->cut || stored) && (!o->vocabulary || vocab) &&
              (!o->questions || (beir && write_questions(o, beir, status))) &&
              (o->world ? gb_synth_generate(o->seed, o->set, out, status)
                        : gb_collection_import_as(&o->import, &o->variant, out, status));
    gb_vocab_destroy(vocab);
    free(beir);
    free(stored);
    free(out);
    return ok;
}

static int run(const gb_call *call)
{
    settings o = {.set = "main", .import = GB_IMPORT_DEFAULTS, .span_words = GB_OPEN};
    const gb_option options[] = {
        {"world", GB_OPTION_TEXT, &o.world, 0, "SEED", "make a set of the mini world of this seed"},
        {"set", GB_OPTION_TEXT, &o.set, 0, "NAME", "set of the mini world, see above"},
        {"from", GB_OPTION_TEXT, &o.from, GB_OPTION_INPUT, "PATH", "import this folder or file"},
        {"cut", GB_OPTION_TEXT, &o.cut, GB_OPTION_INPUT, "ARTIFACT",
         "cut the passages of this collection"},
        {"questions-of", GB_OPTION_TEXT, &o.questions, GB_OPTION_INPUT, "ARTIFACT",
         "its questions become the passages, for generators that write for questions (GAR)"},
        {"target", GB_OPTION_CHOICE, &o.target, 0, NULL,
         "what such a generator learns to write: the answer, the sentence that has it, or the "
         "title",
         gb_generated_names},
        {"vocabulary", GB_OPTION_TEXT, &o.vocabulary, GB_OPTION_INPUT, "ARTIFACT",
         "of a file of token ids: the vocabulary that made them", .with = "from"},
        {"queries", GB_OPTION_TEXT, &o.import.queries, GB_OPTION_INPUT, "FILE|DIR",
         "generated queries: JSONL, docTTTTTquery's lines, or the folder that gabbro generate "
         "printed (default: extracted ones)",
         .with = "from|cut|questions-of"},
        {"queries-per-passage", GB_OPTION_U32, &o.import.queries_per_passage, 0, NULL,
         "queries of the extractive generator", .with = "from|cut|questions-of", .min = 1},
        {"span-words", GB_OPTION_U32, &o.span_words, 0, NULL,
         "words of a span cut from a long text (default 100), at most of one cut from a paragraph "
         "of SQuAD (default 45)",
         .with = "from|cut|questions-of", .min = 1},
        {"split-seed", GB_OPTION_U64, &o.import.seed, 0, NULL, "seed of splits made here",
         .with = "from|cut|questions-of"},
        {"skip-unknown-qrels", GB_OPTION_FLAG, &o.import.skip_unknown_qrels, 0, NULL,
         "skip judgements of unknown ids instead of failing", .with = "from|cut|questions-of"},
        {"keep-splits", GB_OPTION_FLAG, &o.import.keep_splits, 0, NULL,
         "make no training split where there is none: the collection is for evaluation alone",
         .with = "from|cut|questions-of"},
        {"drop-titles", GB_OPTION_FLAG, &o.variant.drop_titles, 0, NULL,
         "import passages without their titles", .with = "from|cut|questions-of"},
        {"answers", GB_OPTION_CHOICE, &o.answers, 0, NULL,
         "how answers are looked for in passages: by DPR's rule for words, or as regular "
         "expressions, which CuratedTREC has",
         gb_answer_rule_names + GB_ANSWERS_WORDS},
        {"repair-encoding", GB_OPTION_FLAG, &o.variant.repair_encoding, 0, NULL,
         "turn back text that was encoded twice (MS MARCO has some; papers trained on it)",
         .with = "from|cut|questions-of"},
        {0}};
    const gb_make_params params = {.command = &gb_cli_collection,
                                   .options = options,
                                   .self = &o,
                                   .check = check,
                                   .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_collection = {
    .name = "collection",
    .summary = "make a stored collection: a set of the mini world, or an import",
    .usage = "(--world SEED [--set NAME] | --from PATH | --cut ARTIFACT | --questions-of ARTIFACT "
             "--target T) [options]",
    .description =
        "Make a stored collection: a set of the mini world; an import of a BEIR folder, MS MARCO "
        "TSV files, a JSONL of documents, the files of TREC, SQuAD, DPR, Pyserini, Tevatron, "
        "FlagEmbedding or RocketQA (docs/reference/formats.md), plain, gzip or zstd, or all in an "
        "archive of tar or zip; or the passages of another collection cut into spans of whole "
        "sentences, for pre-training alone. Prints the artifact's folder.\n\n"
        "Sets: main, wikipedia (text to pre-train on), documents (main's, whole), nq and triviaqa "
        "(questions with answers), and beir-NAME, each standing for a set of BEIR: arguana bioasq "
        "climate-fever cqadupstack dbpedia-entity fever fiqa hotpotqa nfcorpus nq quora robust04 "
        "scidocs scifact signal1m trec-covid trec-news webis-touche2020.",
    .run = run,
    .makes = true};
