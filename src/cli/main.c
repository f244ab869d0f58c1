/* gabbro: the program. One line a sub-command. */
#include "cli.h"

#include <gabbro/base.h>
#include <gabbro/shaders.h>

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name;                  /* as typed */
    int (*run)(int argc, char **argv); /* returns the exit code */
    const char *help;                  /* one line */
} commands[] = {
    {"collection", gb_cli_collection, "make a stored collection: the mini world, or an import"},
    {"vocabulary", gb_cli_vocabulary, "take or train a WordPiece vocabulary"},
    {"tokenize", gb_cli_tokenize, "turn a collection's texts into token ids"},
    {"queries", gb_cli_queries, "generate queries for the passages of a collection"},
    {"generate", gb_cli_generate, "let a language model write queries for passages"},
    {"filter-queries", gb_cli_filter_queries,
     "drop generated queries that do not find their passage"},
    {"pretrain", gb_cli_pretrain, "train an encoder by one of the objectives (see --help)"},
    {"finetune", gb_cli_finetune, "train a retriever with hard negatives"},
    {"train-generator", gb_cli_train_generator, "train a generator of queries on training queries"},
    {"curves", gb_cli_curves, "draw a measure against a number"},
    {"efficiency", gb_cli_efficiency, "what a pre-training cost"},
    {"relatedness", gb_cli_relatedness, "how often contexts are related to their passages"},
    {"bm25-run", gb_cli_bm25_run, "rank passages for the queries of a split with BM25"},
    {"mine", gb_cli_mine, "rank passages for the queries of a split with a retriever"},
    {"negatives", gb_cli_negatives,
     "take negatives from a file: triples, mined lists, training files"},
    {"encode", gb_cli_encode, "write vectors of passages or queries, all or a shard of them"},
    {"search", gb_cli_search, "rank passages by vectors, shard by shard"},
    {"vectors", gb_cli_vectors, "put shards of vectors together"},
    {"evaluate", gb_cli_evaluate, "rank passages for all evaluation splits and measure"},
    {"mean", gb_cli_mean, "average evaluations, each counting alike"},
    {"coverage", gb_cli_coverage, "show which tokens of a text a model's [CLS] vector holds"},
    {"mlm-loss", gb_cli_mlm_loss, "measure an encoder's masked-LM loss on passages"},
    {"bm25", gb_cli_bm25, "index, search and measure with BM25"},
    {"eval", gb_cli_eval, "measure a run file as trec_eval does"},
    {"report", gb_cli_report, "print a paper's table beside what was obtained"},
    {"tsne", gb_cli_tsne, "draw a query and its candidates as models see them"},
    {"noise", gb_cli_noise, "how noisy a table is between seeds, whoever wins in it"},
    {"site", gb_cli_site, "write results as a static site"},
    {"doctor", gb_cli_doctor, "look at the devices and check every kind of kernel"},
    {"determinism", gb_cli_determinism, "show that a training repeats itself bit for bit"},
    {"compare-devices", gb_cli_compare_devices, "where the same training parts on two devices"},
    {"verify", gb_cli_verify, "check a model folder: files, tensors, tokenizer, forward pass"},
    {"bench", gb_cli_bench, "measure what training, encoding, searching and generating consist of"},
    {"tune", gb_cli_tune, "find the fastest tiles of products on a device"},
    {"data", gb_cli_data, "fetch public collections and models, check and cut collections"},
    {"store", gb_cli_store, "look at the run store and clean it"},
};

static int usage(FILE *out, int code)
{
    fprintf(out, "usage: gabbro COMMAND [options]      (gabbro COMMAND --help)\n\n");
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        fprintf(out, "  %-15s %s\n", commands[i].name, commands[i].help);
    fprintf(out, "\nWith any command, --shaders DIR takes the kernels from their source in DIR.\n");
    fprintf(
        out,
        "\nExit codes: 0 done, 1 a check did not hold, 2 usage, 3 data, 4 device, 5 memory,\n"
        "70 a bug of gabbro's, 75 interrupted (run again to resume), 76 another process makes the\n"
        "step (--no-wait).\n");
    return code;
}

/* For tests: one operation of the process fails (see gabbro/base.h). */
static void arm_fault(void)
{
    const char *n = getenv("GABBRO_FAIL_AT");
    if (n && *n)
        gb_fault_arm(strtoull(n, NULL, 10));
}

/* --shaders DIR anywhere behind the command: taken out of argv, and left to processes that this one
 * starts as GABBRO_SHADERS, which has the same meaning. */
static bool use_shaders(int *argc, char **argv, gb_status *status)
{
    int kept = 0;
    for (int i = 0; i < *argc; i++) {
        if (strcmp(argv[i], "--shaders")) {
            argv[kept++] = argv[i];
            continue;
        }
        if (i + 1 == *argc)
            return gb_fail(status, GB_USAGE, NULL, "a folder like shaders/",
                           "--shaders needs a value");
        setenv("GABBRO_SHADERS", argv[++i], 1);
    }
    argv[kept] = NULL;
    *argc = kept;
    const char *folder = getenv("GABBRO_SHADERS");
    uint32_t differ;
    if (!folder || !*folder)
        return true;
    if (!gb_shaders_use(folder, &differ, status))
        return false;
    gb_log(GB_LOG_INFO, "kernels from %s: %u differ from the built-in ones", folder, differ);
    return true;
}

static int run(int argc, char **argv)
{
    json_set_alloc_funcs(gb_noted_malloc, free);
    arm_fault();
    if (argc < 2)
        return usage(stderr, GB_USAGE);
    if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") || !strcmp(argv[1], "help"))
        return usage(stdout, 0);
    if (!strcmp(argv[1], "--version")) {
        printf("gabbro %s\n", GABBRO_VERSION);
        return 0;
    }
    gb_status status = {0};
    if (!use_shaders(&argc, argv, &status)) {
        gb_status_print(&status);
        return status.code;
    }
    for (size_t i = 0; argc > 1 && i < sizeof commands / sizeof *commands; i++)
        if (!strcmp(argv[1], commands[i].name))
            return commands[i].run(argc - 1, argv + 1);
    if (argc < 2)
        return usage(stderr, GB_USAGE);
    fprintf(stderr, "gabbro: no command \"%s\" (see gabbro --help)\n", argv[1]);
    return GB_USAGE;
}

int main(int argc, char **argv)
{
    const char *log = getenv("GABBRO_LOG");
    if (log && strcmp(log, "debug") == 0)
        gb_log_set_level(GB_LOG_DEBUG);
    int code = run(argc, argv);
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (code != GB_OK || written)
        return code;
    gb_status status = {0};
    gb_fail(&status, GB_DATA, "standard output", NULL, "cannot write");
    gb_status_print(&status);
    return status.code;
}
