/* gabbro tune: which tiles products are fastest with on this device and driver. */
#include "cli.h"

#include <gabbro/diag.h>

#include <stdio.h>

static int run(const gb_call *call)
{
    gb_tune_params params = {.config = call->config, .seconds = .2, .out = stdout};
    const gb_option options[] = {
        {"device", GB_OPTION_TEXT, &params.select, 0, "NAME",
         "device to measure: index, name, UUID or cpu", .letter = 'd'},
        {"seconds", GB_OPTION_REAL, &params.seconds, 0, NULL, "seconds of each measurement at most",
         .min = 1e-3, .max = 1e3},
        {"dry-run", GB_OPTION_FLAG, &params.dry_run, 0, NULL, "measure, keep nothing"},
        {"forget", GB_OPTION_FLAG, &params.forget, 0, NULL, "go back to the kernels' own tiles"},
        {0}};
    gb_status status = {0};
    int code;
    if (!gb_command_begin(&gb_cli_tune, options, call, NULL, &code))
        return code;
    gb_log_set_level(GB_LOG_WARN);
    gb_install_signals();
    if (params.forget && params.dry_run)
        gb_fail(&status, GB_USAGE, NULL, "leave one of them out",
                "--dry-run keeps nothing that --forget could remove");
    else
        gb_tune(&params, &status);
    return gb_command_end(&status);
}

const gb_command gb_cli_tune = {
    .name = "tune",
    .summary = "find the fastest tiles of matrix products on a device",
    .description =
        "Measure the matrix products of this device with every tile that their kernel may have, "
        "for each class of products (form and depth), and keep the fastest tiles for this driver "
        "in the user's cache. A tile that is not faster by a twentieth is not taken. The choice is "
        "part of the keys and records of artifacts, since a tile may change the order of sums; "
        "artifacts made without it are not taken for those made with it.\n\n"
        "GPUs use the choice from then on, unless GABBRO_TUNE=off. A GPU without a choice is "
        "measured briefly at its first use. CPU devices, whose results are recorded, do both only "
        "with GABBRO_TUNE=on.",
    .run = run};
