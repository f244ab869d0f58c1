/* gabbro compare-devices: the same training on two devices, tensor by tensor. */
#include "cli.h"
#include "pretrain.h"
#include <gabbro/compare.h>
#include <gabbro/options.h>
#include <gabbro/report.h>

#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: gabbro compare-devices A B [--steps N] [-- pretrain OBJECTIVE ...]\n"
    "       gabbro compare-devices A B --names\n"
    "       gabbro compare-devices --tables FOLDER_A FOLDER_B\n\n"
    "Train a small model (made-up tokens, 2 layers, dropout), or what that pretrain\n"
    "command would train, on two devices for N steps (10) and compare every tensor\n"
    "of every step: activations, gradients, parameters, moments. Says where they\n"
    "part first and by how much.\n"
    "A device is an index, part of a name, a UUID or \"cpu\", and settings of its own\n"
    "behind commas, e.g. 0,GABBRO_PROFILE=scalar or\n"
    "cpu,VK_DRIVER_FILES=/usr/lib/chromium/vk_swiftshader_icd.json\n"
    "Parameters part further than gradients: AdamW makes a whole step of what is\n"
    "zero but for rounding.\n"
    "--names: only print what A and B are, a line each, as keys of steps have it.\n"
    "--tables: compare two folders of tables that were made before.\n"
    "Exit code 0: the first step differs by rounding alone (2e-5 of a tensor's\n"
    "largest value), 1: by more, 4: no such device.\n";

#define ROUNDING 2e-5 /* of a tensor's largest value */

/* What is compared, and how far it is apart. */
typedef struct comparison {
    gb_compare_devices_params params; /* devices and steps */
    double worst;                     /* in the first step */
} comparison;

static bool compare_training(void *self, const gb_training *training, gb_status *status)
{
    comparison *c = self;
    return gb_compare_devices(&c->params, training, &c->worst, status);
}

static int exit_code(const gb_status *status)
{
    if (status->code)
        gb_status_print(status);
    return (int)status->code;
}

/* argv: a command to pretrain, or nothing. */
static int compare(const gb_compare_devices_params *params, int argc, char **argv)
{
    comparison c = {*params, INFINITY};
    gb_status status = {0};
    int code = 0;
    if (argc) {
        code = pretrain_open(argc, argv, compare_training, &c);
    } else {
        compare_training(&c, NULL, &status);
        code = exit_code(&status);
    }
    if (code == GB_OK && !(c.worst <= ROUNDING)) {
        printf("The first step differs by more than rounding (%.0e).\n", ROUNDING);
        code = 1;
    }
    return code;
}

int gb_cli_compare_devices(int argc, char **argv)
{
    static const struct option long_options[] = {{"steps", required_argument, NULL, 's'},
                                                 {"names", no_argument, NULL, 'n'},
                                                 {"tables", no_argument, NULL, 't'},
                                                 {"help", no_argument, NULL, 'h'},
                                                 {0}};
    gb_config config = gb_config_read();
    gb_compare_devices_params params = {.config = &config, .steps = 10, .out = stdout};
    gb_status status = {0};
    bool names = false, tables = false;
    int option;
    while ((option = getopt_long(argc, argv, "h", long_options, NULL)) != -1) {
        names = names || option == 'n';
        tables = tables || option == 't';
        if (option == 's' && !gb_parse_u32("--steps", optarg, 1, 10000, &params.steps, &status)) {
            gb_status_print(&status);
            return GB_USAGE;
        }
        if (option != 's' && option != 'n' && option != 't') {
            fputs(help, option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : GB_USAGE;
        }
    }
    int words = argc - optind;
    bool training = words > 2 && !names && !tables && !strcmp(argv[optind + 2], "pretrain");
    if ((words != 2 && !training) || (names && tables)) {
        fputs(help, stderr);
        return GB_USAGE;
    }
    gb_log_set_level(GB_LOG_WARN);
    params.devices[0] = argv[optind];
    params.devices[1] = argv[optind + 1];
    if (!names && !tables)
        return compare(&params, words - 2, argv + optind + 2);
    if (tables)
        gb_compare_tables(argv[optind], argv[optind + 1], stdout, &status);
    else
        gb_compare_device_names(&params, &status);
    return exit_code(&status);
}
