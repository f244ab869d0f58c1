/* gabbro: the program. One line a command. */
#include "cli.h"

#include <gabbro/base.h>
#include <gabbro/os.h>

#include <cli_version.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const gb_command_group groups[] = {
    {"Collections",
     GB_COMMANDS(&gb_cli_data_list, &gb_cli_data_fetch, &gb_cli_data_check, &gb_cli_data_show,
                 &gb_cli_data_slice, &gb_cli_collection, &gb_cli_vocabulary, &gb_cli_tokenize)},
    {"Generated queries", GB_COMMANDS(&gb_cli_queries, &gb_cli_train_generator, &gb_cli_generate,
                                      &gb_cli_filter_queries, &gb_cli_relatedness)},
    {"Training", GB_COMMANDS(&gb_cli_train, &gb_cli_pretrain, &gb_cli_mlm_loss, &gb_cli_bm25_run,
                             &gb_cli_mine, &gb_cli_negatives, &gb_cli_teacher, &gb_cli_finetune,
                             &gb_cli_finetune_cross, &gb_cli_pseudo_labels, &gb_cli_efficiency)},
    {"Retrieval", GB_COMMANDS(&gb_cli_ask, &gb_cli_embed, &gb_cli_serve, &gb_cli_convert_model,
                              &gb_cli_join_towers, &gb_cli_evaluate, &gb_cli_mean, &gb_cli_encode,
                              &gb_cli_weigh_words, &gb_cli_vectors, &gb_cli_search,
                              &gb_cli_search_sparse, &gb_cli_rerank)},
    {"Runs",
     GB_COMMANDS(&gb_cli_bm25, &gb_cli_fuse, &gb_cli_convert_run, &gb_cli_eval, &gb_cli_agreement)},
    {"Reports and figures",
     GB_COMMANDS(&gb_cli_reproduce, &gb_cli_report, &gb_cli_noise, &gb_cli_site, &gb_cli_export,
                 &gb_cli_bundle, &gb_cli_curves, &gb_cli_coverage, &gb_cli_tsne)},
    {"Devices", GB_COMMANDS(&gb_cli_doctor, &gb_cli_kernels, &gb_cli_tune, &gb_cli_bench,
                            &gb_cli_determinism, &gb_cli_compare_devices, &gb_cli_verify)},
    {"Artifacts", GB_COMMANDS(&gb_cli_store)},
    {0}};

static const char notes[] = "Exit codes:\n"
                            "  0   done\n"
                            "  1   a check did not hold\n"
                            "  2   wrong command line or setting\n"
                            "  3   files: missing, damaged, not writable\n"
                            "  4   no device, or the device failed\n"
                            "  5   out of memory\n"
                            "  70  a bug of gabbro's\n"
                            "  75  interrupted; run the same command again to go on\n"
                            "  76  another process makes the artifact (--no-wait)\n";

const gb_command_set gb_cli_commands = {
    "gabbro",
    GABBRO_VERSION,
    "train and measure dense retrievers, and reproduce papers' tables",
    groups,
    gb_program_options,
    notes};

/* For tests: one operation of the process fails (see gabbro/base.h). */
static void arm_fault(const gb_config *config)
{
    if (config->fail_at)
        gb_fault_arm(strtoull(config->fail_at, NULL, 10));
}

static int run(gb_config *config, int argc, char **argv)
{
    gb_status status = {0};
    json_set_alloc_funcs(gb_checked_malloc, free);
    arm_fault(config);
    size_t length;
    if (gb_program_options_take(config, &argc, argv, &status)) {
        gb_call call = {.config = config, .argc = argc, .argv = argv};
        return argc && !strcmp(gb_path_name(argv[0], &length), gb_cli_reproduce.name)
                   ? gb_cli_reproduce.run(&call) /* under its own name */
                   : gb_command_set_run(&gb_cli_commands, &call);
    }
    gb_status_print(&status);
    return (int)status.code;
}

int main(int argc, char **argv)
{
    gb_os_begin(argc, argv);
    gb_config config = gb_config_read();
    config.source = CLI_SOURCE;
    if (config.log && strcmp(config.log, "debug") == 0)
        gb_log_set_level(GB_LOG_DEBUG);
    int code = run(&config, argc, argv);
    bool written = fflush(stdout) == 0 && !ferror(stdout);
    if (code != GB_OK || written)
        return code;
    gb_status status = {0};
    gb_fail(&status, GB_DATA, "standard output", NULL, "cannot write");
    if (!gb_os_reader_gone(STDOUT_FILENO)) /* as head has, when it has seen enough */
        gb_status_print(&status);
    return status.code;
}
