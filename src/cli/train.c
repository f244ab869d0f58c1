/* gabbro train: a retriever for a collection of one's own, from one file of settings. */
#include "cli.h"

#include <gabbro/reproduce.h>

#define PLACE(member) GB_FIELD(gb_reproduce_params, member)
static const gb_option what[] = {
    {"settings", GB_OPTION_LIST, PLACE(settings_files), 0, "FILE",
     "lines NAME = VALUE; later files over earlier ones"},
    {"set", GB_OPTION_LIST, PLACE(changes), 0, "NAME=VALUE", "change a setting"},
    {"out", GB_OPTION_TEXT, PLACE(out), 0, "DIR",
     "results, model and curves (default results/train.COLLECTION)"},
    {"dry-run", GB_OPTION_FLAG, PLACE(dry_run), 0, NULL, "print the commands, run nothing"},
    {0}};
static const gb_option machines[] = {
    {"store", GB_OPTION_TEXT, PLACE(store), 0, "DIR",
     "finished and unfinished artifacts (default $GABBRO_STORE, else the user's)"},
    {"device", GB_OPTION_TEXT, PLACE(device), 0, "D",
     "Vulkan device by index, name, uuid or \"cpu\" (default: the best)"},
    {"jobs", GB_OPTION_U32, PLACE(jobs), 0, NULL,
     "processes at once (default: one a core, at most 8, if the device is the CPU, else 1)",
     .min = 1, .max = 64},
    {"ranks", GB_OPTION_U32, PLACE(ranks), 0, NULL, "train with N processes", .min = 1,
     .max = 65536},
    {"devices", GB_OPTION_TEXT, PLACE(devices), 0, "A,B",
     "devices of the ranks, in turn; one rank for each without --ranks"},
    {"quiet", GB_OPTION_FLAG, PLACE(quiet), 0, NULL, "no progress"},
    {0}};

static int run(const gb_call *call)
{
    gb_reproduce_params p = {.action = GB_REPRODUCE_TRAIN,
                             .table = "train",
                             .scale = "own",
                             .seed = 42,
                             .seeds = GB_OPEN,
                             .ranks = GB_OPEN,
                             .gradient_shards = GB_OPEN,
                             .simulate_ranks = GB_OPEN,
                             .jobs = GB_OPEN,
                             .config = call->config,
                             .commands = &gb_cli_commands};
    bool example = false;
    const gb_option of_example[] = {{"example", GB_OPTION_FLAG, &example, 0, NULL,
                                     "print a file of all settings with their defaults"},
                                    {0}};
    const gb_option_table tables[] = {
        {NULL, what, &p}, {NULL, of_example, NULL}, {"Machines", machines, &p}, {0}};
    gb_status status = {0};
    gb_parsed parsed =
        gb_command_parse(&gb_cli_train, tables, call->argc, call->argv, NULL, &status);
    if (parsed == GB_PARSED_HELP)
        return GB_OK;
    if (parsed == GB_PARSED_BAD)
        return gb_command_end(&status);
    bool ok = example ? gb_reproduce_example(stdout, &status) : gb_reproduce(&p, &status);
    /* Without a text a process that was run has said it. */
    return ok || !*status.what ? (int)status.code : gb_command_end(&status);
}

const gb_command gb_cli_train = {
    .name = "train",
    .summary = "train a retriever on your own collection, from its texts to a test",
    .usage = "--settings FILE [options]",
    .description =
        "Do the whole fine-tuning on your own collection: import it, make vocabulary and tokens, "
        "train with BM25's passages as negatives and keep the model that is best on a development "
        "split, mine negatives with it, train again, and measure every retriever on all splits "
        "but train.\n\n"
        "   gabbro train --example > my.settings     then write collection and model into it\n"
        "   gabbro train --settings my.settings\n\n"
        "Prints the measures and the folder of the model. Interrupted (status 75) or killed, it "
        "continues where it stopped when the same command is given again.",
    .run = run};
