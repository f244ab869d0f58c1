/* gabbro tune: which tiles products are fastest with on this device and driver. */
#include "cli.h"

#include <gabbro/diag.h>
#include <gabbro/options.h>

#include <getopt.h>
#include <stdio.h>

static const char help[] =
    "usage: gabbro tune [--device DEVICE] [--seconds S] [--dry-run | --forget]\n\n"
    "Measure the products of this device with every tile that their kernel may have,\n"
    "for each class of products (form and depth), and keep what is fastest for this\n"
    "driver, in the user's cache. What is not faster by a twentieth stays as it is.\n"
    "The choice is part of the keys and records of steps, since a tile may change the\n"
    "order of sums; steps made without it are not taken for steps made with it.\n"
    "On GPUs it is used from then on, GABBRO_TUNE=off leaves it out; a GPU that nothing\n"
    "is kept for is measured at its first use, shortly. On CPU devices, whose results\n"
    "are recorded, both are done with GABBRO_TUNE=on alone.\n\n"
    "  --seconds S   most seconds of each measurement (.2)\n"
    "  --dry-run     measure, keep nothing\n"
    "  --forget      go back to the kernels' own tiles\n";

int gb_cli_tune(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"device", required_argument, NULL, 'd'}, {"seconds", required_argument, NULL, 's'},
        {"dry-run", no_argument, NULL, 'r'},      {"forget", no_argument, NULL, 'f'},
        {"help", no_argument, NULL, 'h'},         {0}};
    gb_tune_params params = {.seconds = .2, .out = stdout};
    gb_status status = {0};
    bool ok = true;
    int option;
    while ((option = getopt_long(argc, argv, "d:h", long_options, NULL)) != -1) {
        if (option == 'h') {
            fputs(help, stdout);
            return 0;
        }
        if (option == 'd')
            params.select = optarg;
        else if (option == 's')
            ok = ok && gb_parse_real("--seconds", optarg, 1e-3, 1e3, &params.seconds, &status);
        else if (option == 'r')
            params.dry_run = true;
        else
            ok = ok && (params.forget = option == 'f');
    }
    if (status.code) {
        gb_status_print(&status);
        return GB_USAGE;
    }
    if (!ok || optind != argc || (params.forget && params.dry_run)) {
        fputs(help, stderr);
        return GB_USAGE;
    }
    gb_log_set_level(GB_LOG_WARN);
    gb_install_signals();
    gb_tune(&params, &status);
    if (status.code)
        gb_status_print(&status);
    return (int)status.code;
}
