/* gabbro doctor: what the devices are and can do, and whether their kernels compute what the
 * float64 reference computes. */
#include "cli.h"
#include <gabbro/diag.h>

#include <gabbro/tape.h>
#include <shader_config.h>

#include <getopt.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>

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

/* ---- description ---- */

static bool list_devices(const char *chosen_uuid, gb_status *status)
{
    gb_device_caps *caps;
    size_t count;
    if (!gb_device_list(&caps, &count, status))
        return false;
    struct utsname system;
    if (uname(&system) == 0)
        printf("gabbro %s on %s %s %s\n", GABBRO_VERSION, system.sysname, system.release,
               system.machine);
    printf("Devices (* is used)\n");
    for (size_t i = 0; i < count; i++)
        printf(" %c %u  %s (%s), %s%s%s\n", !strcmp(caps[i].uuid, chosen_uuid) ? '*' : ' ',
               caps[i].index, caps[i].name, gb_device_type_name(caps[i].type), caps[i].driver,
               caps[i].usable ? "" : ": not usable: ", caps[i].reason);
    free(caps);
    return true;
}

/* One a line: "INDEX: NAME, DRIVER". */
static bool print_names(gb_status *status)
{
    gb_device_caps *caps;
    size_t count;
    if (!gb_device_list(&caps, &count, status)) {
        gb_status_print(status);
        return false;
    }
    for (size_t i = 0; i < count; i++)
        if (caps[i].usable)
            printf("%u: %s, %s\n", caps[i].index, caps[i].name, caps[i].driver);
    free(caps);
    return true;
}

static void describe(const gb_device *device)
{
    const gb_device_caps *c = gb_device_get_caps(device);
    char quirks[200];
    gb_quirks_text(c->quirks, quirks, sizeof quirks);
    gb_target target = gb_target_of(device);
    printf("Kernels      %s profile; operands as texels: %s\n", gb_kernel_profile_name(c->profile),
           target.max_texel_bytes ? "yes" : "no");
    printf("Quirks       %s\n", quirks);
    for (uint32_t bit = 1; bit && bit <= c->quirks; bit <<= 1)
        if (c->quirks & bit) {
            gb_quirks_text(bit, quirks, sizeof quirks);
            printf("             %s: %s\n", quirks, gb_quirk_reason(c, bit));
        }
    printf("Subgroups    %u lanes (%u to %u), shuffle %s, arithmetic %s\n", c->subgroup_size,
           c->subgroup_min, c->subgroup_max, c->subgroup_ops & GB_SUBGROUP_SHUFFLE ? "yes" : "no",
           c->subgroup_ops & GB_SUBGROUP_ARITHMETIC ? "yes" : "no");
    printf("Memory       %.1f GiB, %s; buffers up to %.1f GiB, bindings up to %.0f MiB\n",
           (double)c->memory_bytes / (1 << 30), c->unified_memory ? "unified" : "its own",
           (double)c->max_buffer_bytes / (1 << 30), (double)c->max_binding_bytes / (1 << 20));
    printf("Workgroups   %u lanes, %u KiB shared; grid %u x %u x %u\n", c->max_workgroup,
           c->max_shared_bytes >> 10, c->max_grid[0], c->max_grid[1], c->max_grid[2]);
    printf("Arithmetic   16-bit floats %s, 64-bit integers %s, matrices %s%s\n",
           c->fp16 ? "yes" : "no", c->int64 ? "yes" : "no", c->matrix_khr ? "khr " : "",
           c->matrix_nv    ? "nv"
           : c->matrix_khr ? ""
                           : "no");
    if (c->matrix.m)
        printf("             %u x %u x %u of half floats, by %s%s\n", c->matrix.m, c->matrix.n,
               c->matrix.k, c->matrix.khr ? "KHR's extension" : "NV's extension",
               c->matrix.khr && !c->matrix.khr_source ? ", rewritten from NV's form" : "");
    if (c->matrix_bf16.m)
        printf("             %u x %u x %u of bfloat16, by KHR's extension\n", c->matrix_bf16.m,
               c->matrix_bf16.n, c->matrix_bf16.k);
    printf("Validation   %s\n", gb_device_validating(device) ? "on" : "layer not installed");
    printf("glslc        khr_coopmat %d, nv_coopmat %d, bfloat16 %d, float16 %d, int64 %d, "
           "subgroup_arithmetic %d\n",
           GABBRO_GLSLC_HAS_KHR_COOPMAT, GABBRO_GLSLC_HAS_NV_COOPMAT, GABBRO_GLSLC_HAS_BFLOAT16,
           GABBRO_GLSLC_HAS_FLOAT16, GABBRO_GLSLC_HAS_INT64, GABBRO_GLSLC_HAS_SUBGROUP_ARITHMETIC);
}

/* ---- self-test ---- */

static void print_error(double worst, double tolerance)
{
    if (worst < 0)
        printf("  %9s", "");
    else if (isnan(worst))
        printf("  %9s", "NO RUN");
    else
        printf("  %7.1e%s", worst, worst <= tolerance ? "  " : " !");
}

static void print_table(const selftest_report *report)
{
    static const char *const titles[SELFTEST_COLUMNS] = {"in use",   "buffers", "next best",
                                                         "matrices", "NV form", "bfloat16"};
    bool tried[SELFTEST_COLUMNS];
    printf("%-34s", "Kernels, forward and gradient");
    for (int c = 0; c < SELFTEST_COLUMNS; c++) {
        tried[c] = false;
        for (size_t i = 0; i < SELFTEST_CASES; i++)
            tried[c] = tried[c] || !(report->worst[i][c] < 0);
        if (tried[c])
            printf("  %-9s", titles[c]);
    }
    printf("\n");
    for (size_t i = 0; i < SELFTEST_CASES; i++) {
        if (report->worst[i][SELFTEST_USED] < 0)
            continue;
        printf("  %-32s", selftest_case_name(i));
        for (int c = 0; c < SELFTEST_COLUMNS; c++)
            if (tried[c])
                print_error(report->worst[i][c], selftest_tolerance((selftest_column)c));
        printf("\n");
    }
}

/* Whether the device can be used. */
static bool self_test(gb_device *device, bool all)
{
    selftest_report report;
    gb_status status = {0};
    if (!selftest_run(device, all, &report, &status))
        fprintf(stderr, "what was found could not be kept: %s\n", status.what);
    print_table(&report);
    printf("  largest difference from float64, of the largest value; right up to %.0e; %.1f s\n",
           SELFTEST_TOLERANCE, report.seconds);
    if (!(report.worst[0][SELFTEST_MATRICES] < 0)) /* the first case is a product */
        printf("  matrices round operands to half floats: right up to %.0e\n", SELFTEST_HALVES);
    if (!(report.worst[0][SELFTEST_BFLOAT16] < 0))
        printf("  and to bfloat16: right up to %.0e\n", SELFTEST_BFLOATS);
    for (uint32_t bit = 1; bit && bit <= report.wrong; bit <<= 1)
        if (report.wrong & bit) {
            const char *what, *instead;
            selftest_variant(bit, &what, &instead);
            printf("WRONG        %s: from now on %s instead\n", what, instead);
        }
    if (report.why[0])
        printf("Did not run  %s\n", report.why);
    if (report.refused[0])
        printf("REFUSED      no variant is right of: %s\n", report.refused);
    uint32_t spoken = gb_device_validation_count(device) + report.spoken;
    if (spoken)
        printf("WRONG        the validation layer sent %u messages\n", spoken);
    return !report.refused[0] && !report.failed && !spoken;
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
    if (only_list)
        return print_names(&status) ? 0 : (int)status.code;
    /* The test is of what the driver does now, whatever was found before. */
    setenv("GABBRO_SELFTEST", "afresh", 0);
    gb_device *device = gb_device_open(&params, &status);
    if (!device) {
        list_devices("", &ignored);
        gb_status_print(&status);
        return GB_DEVICE;
    }
    if (only_type) {
        puts(gb_device_type_name(gb_device_get_caps(device)->type));
        gb_device_close(device);
        return 0;
    }
    bool ok = list_devices(gb_device_get_caps(device)->uuid, &status);
    if (!ok)
        gb_status_print(&status);
    describe(device);
    ok = self_test(device, !quick) && ok;
    gb_device_close(device);
    printf("%s\n", ok ? "All is well." : "Something is wrong: see above.");
    return ok ? 0 : 1;
}
