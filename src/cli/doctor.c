/* gabbro doctor: what the devices are and can do, and whether their kernels compute what the
 * float64 reference computes. */
#include "cli.h"
#include <gabbro/diag.h>

#include <stdio.h>
#include <stdlib.h>

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

/* What was found of the device, and of the tests of its kernels. */
static int examine(gb_device *device, bool all)
{
    const gb_config *config = gb_device_config(device);
    gb_status status = {0};
    bool ok = gb_devices_print(config, gb_device_get_caps(device), stdout, &status);
    gb_device_print(device, stdout);
    ok = test(device, all, &status) && ok;
    if (status.code)
        gb_status_print(&status);
    printf("%s\n", ok ? "All is well." : "Something is wrong: see above.");
    return ok ? GB_OK : GB_MISMATCH;
}

static int run(const gb_call *call)
{
    gb_config config = *call->config;
    gb_device_params params = gb_ops_device(&config, NULL);
    bool only_type = false, only_list = false, quick = false;
    const gb_option options[] = {
        {"device", GB_OPTION_TEXT, &params.select, 0, "NAME",
         "device to check: index, name, UUID or cpu", .letter = 'd'},
        {"quick", GB_OPTION_FLAG, &quick, 0, NULL,
         "check only the kernels that most programs use, not their substitutes"},
        {"type", GB_OPTION_FLAG, &only_type, 0, NULL,
         "only print what the device is: discrete, integrated, virtual, cpu or other"},
        {"list", GB_OPTION_FLAG, &only_list, 0, NULL, "only list the devices, one a line"},
        {0}};
    gb_status status = {0}, ignored = {0};
    int code;
    if (!gb_command_begin(&gb_cli_doctor, options, call, NULL, &code))
        return code;
    if (only_list + only_type + quick > 1 || (only_list && params.select)) {
        gb_fail(&status, GB_USAGE, NULL, "leave the others out",
                "--list, --type and --quick print different things, and --list of all devices");
        return gb_command_end(&status);
    }
    if (only_list) {
        gb_devices_print_names(&config, stdout, &status);
        return gb_command_end(&status);
    }
    /* The test is of what the driver does now, whatever was found before. */
    if (!config.selftest)
        config.selftest = "afresh";
    params.validation = params.quiet = true;
    gb_device *device = gb_device_open(&params, &status);
    if (!device) {
        gb_devices_print(&config, NULL, stdout, &ignored);
        gb_status_print(&status);
        return GB_DEVICE;
    }
    if (only_type)
        puts(gb_device_type_name(gb_device_get_caps(device)->type));
    else
        code = examine(device, !quick);
    gb_device_close(device);
    return code;
}

const gb_command gb_cli_doctor = {
    .name = "doctor",
    .summary = "look at the devices and check every kind of kernel",
    .description =
        "List the devices, describe the chosen one and check every variant of every kernel on it. "
        "Variants that are wrong are avoided from then on; what was found is kept for each driver "
        "beside the pipeline cache.\n\n"
        "Exit code 0: the device gives right numbers; 1: it does not and is refused from now on, "
        "or "
        "the validation layer sent messages; 4: no device.",
    .run = run};
