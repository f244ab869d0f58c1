/* gabbro doctor: what the devices are and can do, and whether their kernels compute what the
 * float64 reference computes. */
#include "cli.h"
#include <gabbro/diag.h>

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "usage: gabbro doctor [--device DEVICE] [--quick | --type | --list]\n\n"
    "List the devices, describe the chosen one and check every variant of every\n"
    "kernel on it. Variants that are wrong are avoided from then on; what was\n"
    "found is kept for each driver beside the pipeline cache. --quick: only what\n"
    "most programs use, not what stands in for it. --type: only print what the\n"
    "chosen one is: discrete, integrated, virtual, cpu or other. --list: only\n"
    "list the devices, one a line.\n"
    "Exit code 0: the device gives right numbers, 1: it does not and is refused\n"
    "from now on, or the validation layer spoke, 4: no device.\n";

/* Whether the device can be used. */
static bool test(gb_device *device, bool all, gb_status *status)
{
    gb_selftest_report report;
    gb_status unkept = {0};
    bool run = gb_selftest_run(device, all, &report, &unkept);
    if (!report.worst) {
        *status = unkept;
        return false;
    }
    if (!run)
        fprintf(stderr, "what was found could not be kept: %s\n", unkept.what);
    bool right = gb_selftest_print(&report, device, stdout);
    gb_selftest_free(&report);
    return right;
}

int gb_cli_doctor(int argc, char **argv)
{
    static const struct option long_options[] = {
        {"device", required_argument, NULL, 'd'}, {"type", no_argument, NULL, 't'},
        {"list", no_argument, NULL, 'l'},         {"quick", no_argument, NULL, 'q'},
        {"help", no_argument, NULL, 'h'},         {0}};
    gb_device_params params = {.validation = true, .quiet = true};
    bool only_type = false, only_list = false, quick = false;
    int option;
    while ((option = getopt_long(argc, argv, "d:h", long_options, NULL)) != -1) {
        if (option == 'd') {
            params.select = optarg;
        } else if (option == 't') {
            only_type = true;
        } else if (option == 'l') {
            only_list = true;
        } else if (option == 'q') {
            quick = true;
        } else {
            fputs(help, option == 'h' ? stdout : stderr);
            return option == 'h' ? 0 : GB_USAGE;
        }
    }
    if (optind != argc) {
        fputs(help, stderr);
        return GB_USAGE;
    }
    gb_status status = {0}, ignored = {0};
    if (only_list) {
        if (!gb_devices_print_names(stdout, &status))
            gb_status_print(&status);
        return (int)status.code;
    }
    /* The test is of what the driver does now, whatever was found before. */
    setenv("GABBRO_SELFTEST", "afresh", 0);
    gb_device *device = gb_device_open(&params, &status);
    if (!device) {
        gb_devices_print("", stdout, &ignored);
        gb_status_print(&status);
        return GB_DEVICE;
    }
    const gb_device_caps *caps = gb_device_get_caps(device);
    if (only_type) {
        puts(gb_device_type_name(caps->type));
        gb_device_close(device);
        return 0;
    }
    bool ok = gb_devices_print(caps->uuid, stdout, &status);
    gb_device_print(device, stdout);
    ok = test(device, !quick, &status) && ok;
    gb_device_close(device);
    if (status.code)
        gb_status_print(&status);
    printf("%s\n", ok ? "All is well." : "Something is wrong: see above.");
    return ok ? 0 : 1;
}
