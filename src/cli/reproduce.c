/* gabbro reproduce: a table of a paper, from nothing to its report. */
#include "cli.h"

#include <gabbro/reproduce.h>

#include <string.h>

static const char usual_scale[] = "mini";

/* Options that other kits have for what are words here. */
typedef struct other_words {
    bool list;        /* --list, or not */
    const char *show; /* --show, or NULL */
} other_words;

static void put_first(gb_words *words, const char *word)
{
    memmove(words->items + 1, words->items, words->count * sizeof *words->items);
    words->items[0] = word;
    words->count++;
}

static void take_other_words(const other_words *other, gb_words *words)
{
    if (other->show) {
        put_first(words, other->show);
        put_first(words, "explain");
    }
    if (other->list)
        put_first(words, "list");
}

/* What the words that are no options ask for. */
static bool read_operands(gb_reproduce_params *params, const gb_words *words, gb_status *status)
{
    static const struct {
        const char *word;   /* the first, or "" where it is a table's name */
        size_t least, most; /* words */
        const char *form;   /* of the usage line */
        const char *needs;  /* what is missing below the least */
    } actions[] = {
        [GB_REPRODUCE_TABLE] = {"", 1, 1, "TABLE [options]", NULL},
        [GB_REPRODUCE_LIST] = {"list", 1, 1, "list", NULL},
        [GB_REPRODUCE_PLAN] = {"plan", 1, 2, "plan [TABLE] [options]", NULL},
        [GB_REPRODUCE_EXPLAIN] = {"explain", 2, 3, "explain TABLE [ROW] [options]",
                                  "a table, e.g. table1"},
        [GB_REPRODUCE_NEW] = {"new", 2, 2, "new PAPER", "a name, e.g. reproduce new retromae"},
        [GB_REPRODUCE_JUDGE] = {"judge", 2, 2, "judge TABLE --runs DIR", "a table, and --runs DIR"},
        [GB_REPRODUCE_LOG] = {"log", 1, 1, "log [--seen DIR]", NULL},
    };
    if (!words->count)
        return gb_fail(status, GB_USAGE, NULL, "see --help", "%s needs %s", gb_cli_reproduce.name,
                       gb_cli_reproduce.needs);
    size_t action = sizeof actions / sizeof *actions - 1;
    while (action > 0 && strcmp(words->items[0], actions[action].word) != 0)
        action--;
    size_t first = action != GB_REPRODUCE_TABLE, most = actions[action].most;
    char usage[80];
    snprintf(usage, sizeof usage, "usage: gabbro reproduce %s", actions[action].form);
    if (words->count < actions[action].least)
        return gb_fail(status, GB_USAGE, NULL, usage, "%s needs %s", actions[action].word,
                       actions[action].needs);
    if (words->count > most)
        return gb_fail(status, GB_USAGE, NULL, usage, "\"%.60s\" is one word too many",
                       words->items[most]);
    params->action = (gb_reproduce_action)action;
    params->table = words->count > first ? words->items[first] : "all";
    if (action == GB_REPRODUCE_JUDGE && params->scale == usual_scale)
        params->scale = "paper"; /* where published values that are quoted count */
    params->row = words->count > 2 ? words->items[2] : NULL;
    return true;
}

/* ---- options ---- */

#define PLACE(member) GB_FIELD(gb_reproduce_params, member)

static const gb_option what[] = {
    {"scale", GB_OPTION_TEXT, PLACE(scale), 0, "SCALE", "settings of this scale"},
    {"settings", GB_OPTION_LIST, PLACE(settings_files), 0, "FILE",
     "lines NAME = VALUE over the scale's, as gabbro/settings in your configuration folder"},
    {"set", GB_OPTION_LIST, PLACE(changes), 0, "NAME=VALUE",
     "change a setting of the scale (recorded results then do not apply)"},
    {"seed", GB_OPTION_U64, PLACE(seed), 0, NULL, "seed of training"},
    {"seeds", GB_OPTION_U32, PLACE(seeds), 0, NULL,
     "the seeds 42, 43 ... 41 + N, in place of --seed", .min = 1, .max = 1000000},
    {"rows", GB_OPTION_TEXT, PLACE(rows), 0, "LIST",
     "only these rows and what they need, with commas between and * for anything; all: also "
     "those that a plain run leaves out"},
    {"record", GB_OPTION_FLAG, PLACE(record), 0, NULL,
     "add the results to the recorded ones (tables/recorded)"},
    {"judged", GB_OPTION_FLAG, PLACE(judged), 0, NULL,
     "add columns Judged@10: of the first ten passages, the share that is judged at all"},
    {"out", GB_OPTION_TEXT, PLACE(out), 0, "DIR",
     "table.md, .json, .html, .csv, .tex and results.jsonl (default results/TABLE.SCALE, "
     "with .judged behind it for judge)"},
    {"report", GB_OPTION_TEXT, PLACE(report), 0, "DIR", "write a static site of the results"},
    {"submit", GB_OPTION_TEXT, PLACE(submit), 0, "FILE",
     "for tables/seen: device, driver, values, doctor, gpu-check-results where it is"},
    {"submit-name", GB_OPTION_TEXT, PLACE(submit_name), 0, "NAME",
     "who made it, for all to read in that file (default: it names nobody)"},
    {"seen", GB_OPTION_TEXT, PLACE(seen), 0, "DIR",
     "such files, which log lists (default: those of tables/seen)"},
    {"dry-run", GB_OPTION_FLAG, PLACE(dry_run), 0, NULL,
     "print the commands and their checksum, which recorded results carry; run nothing"},
    {0}};

static const gb_option others[] = {
    {"list", GB_OPTION_FLAG, GB_FIELD(other_words, list), 0, NULL, "the same as reproduce list"},
    {"show", GB_OPTION_TEXT, GB_FIELD(other_words, show), 0, "TABLE",
     "the same as reproduce explain TABLE; a row may follow"},
    {0}};

static const gb_option from[] = {
    {"collection", GB_OPTION_TEXT, PLACE(collection), 0, "DIR",
     "your own collection: what gabbro collection --from reads"},
    {"queries", GB_OPTION_TEXT, PLACE(queries), 0, "FILE",
     "generated queries for it, JSONL; without: an extractive generator"},
    {"init", GB_OPTION_TEXT, PLACE(init), 0, "DIR",
     "start from this BERT: a folder as Hugging Face's tools write it, or a model in their cache"},
    {"generator", GB_OPTION_TEXT, PLACE(generator), 0, "G",
     "let G write the generated queries: trained: T5s that are trained here on the training "
     "queries; or, but in tables that compare generators (llm), the folder of a T5 or LLaMA"},
    {"paper", GB_OPTION_TEXT, PLACE(paper), 0, "DIR",
     "the paper is in this folder, which reproduce new made"},
    {"runs", GB_OPTION_TEXT, PLACE(runs), 0, "DIR",
     "what judge measures: ROW/ or ROW/SEED/ with SPLIT.trec or a model, and qrels/SPLIT.tsv"},
    {"data", GB_OPTION_TEXT, PLACE(data), 0, "DIR",
     "public collections and models, for other scales (default $GABBRO_DATA, else data)"},
    {"store", GB_OPTION_TEXT, PLACE(store), 0, "DIR",
     "finished and unfinished artifacts (default $GABBRO_STORE, else the user's)"},
    {0}};

static const gb_option machines[] = {
    {"device", GB_OPTION_TEXT, PLACE(device), 0, "D",
     "Vulkan device by index, name, uuid or \"cpu\" (default: the best)"},
    {"jobs", GB_OPTION_U32, PLACE(jobs), 0, NULL,
     "processes at once (default: one a core, at most 8, if the device is the CPU, else 1)",
     .min = 1, .max = 64},
    {"ranks", GB_OPTION_U32, PLACE(ranks), 0, NULL,
     "train with N processes; the same under mpirun -n N reproduce ...", .min = 1, .max = 65536},
    {"devices", GB_OPTION_TEXT, PLACE(devices), 0, "A,B",
     "devices of the ranks, in turn; one rank for each without --ranks"},
    {"gradient-shards", GB_OPTION_U32, PLACE(gradient_shards), 0, NULL,
     "gradient shards of a batch (8): results depend on them, not on the ranks", .min = 1,
     .max = 65536},
    {"simulate-ranks", GB_OPTION_U32, PLACE(simulate_ranks), 0, NULL,
     "what N ranks do, in one process", .min = 1, .max = 65536},
    {"compare-devices", GB_OPTION_TEXT, PLACE(compare_devices), 0, "A,B",
     "make the table on both, print the cells side by side and where its first training differs; "
     "a word with = is a setting of the device before it: 0,0,GABBRO_LIMITS=min"},
    {"quiet", GB_OPTION_FLAG, PLACE(quiet), 0, NULL, "no progress"},
    {"profile", GB_OPTION_FLAG, PLACE(profile), 0, NULL, "a table of kernel times a command"},
    {0}};

static int run(const gb_call *call)
{
    static char help[] = "--help";
    char *alone[] = {call->argv[0], help, NULL};
    gb_reproduce_params p = {.scale = usual_scale,
                             .seed = 42,
                             .seeds = GB_OPEN,
                             .ranks = GB_OPEN,
                             .gradient_shards = GB_OPEN,
                             .simulate_ranks = GB_OPEN,
                             .jobs = GB_OPEN,
                             .data = call->config->data,
                             .config = call->config,
                             .commands = &gb_cli_commands};
    gb_status status = {0};
    gb_words words = {0};
    other_words other = {0};
    const gb_option_table tables[] = {{NULL, what, &p},
                                      {NULL, others, &other},
                                      {"What it is made from", from, &p},
                                      {"Machines", machines, &p},
                                      {0}};
    gb_parsed parsed = gb_command_parse(&gb_cli_reproduce, tables, call->argc < 2 ? 2 : call->argc,
                                        call->argc < 2 ? alone : call->argv, &words, &status);
    if (parsed == GB_PARSED_HELP)
        return GB_OK;
    take_other_words(&other, &words);
    bool ok =
        parsed == GB_PARSED_RUN && read_operands(&p, &words, &status) && gb_reproduce(&p, &status);
    /* Without a text a process that was run has said it. */
    return ok || !*status.what ? (int)status.code : gb_command_end(&status);
}

const gb_command gb_cli_reproduce = {
    .name = "reproduce",
    .summary = "make a table of a paper, from its recipe to its report",
    .usage = "TABLE [options]",
    .operands = "TABLE | all | list | plan [TABLE] | explain TABLE [ROW] | new PAPER | judge TABLE "
                "| log",
    .needs = "a table, e.g. table1; gabbro reproduce list names all",
    .operands_max = 3,
    .description =
        " reproduce list                every table, and what it costs\n"
        " reproduce TABLE               make a table: qac/table1, or an alias such as table1\n"
        " reproduce all                 make every table; then a line for each paper\n"
        " reproduce plan [TABLE]        what it will cost here, from a short measurement\n"
        " reproduce explain TABLE [ROW] where a row's numbers came from, down to the settings\n"
        " reproduce new PAPER           a folder to fill in for another paper, for --paper\n"
        " reproduce judge TABLE         the table of --runs: run files or models, nothing "
        "trained\n"
        " reproduce log                 what people sent from their machines, a line for each\n\n"
        "Under the name reproduce the program does the same. Interrupted (status 75) or killed, "
        "it goes on where it stopped when the same command is given again.",
    .run = run};
