/* What devices are, and what the self-test found, for people. */
#include "selftest.h"

#include <gabbro/tape.h>
#include <gabbro/os.h>
#include <shader_config.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- devices ---- */

bool gb_devices_print(const gb_config *config, const gb_device_caps *chosen, FILE *out,
                      gb_status *status)
{
    gb_device_caps *caps;
    size_t count;
    gb_device_params params = gb_ops_device(config, NULL);
    if (!gb_device_list(&params, &caps, &count, status))
        return false;
    gb_os_facts system;
    gb_os_facts_read(&system);
    fprintf(out, "gabbro %s on %s %s %s\n", GABBRO_VERSION, system.system, system.release,
            system.architecture);
    fprintf(out, "Devices (* is used)\n");
    for (size_t i = 0; i < count; i++)
        fprintf(out, " %c %u  %s (%s), %s%s%s\n",
                chosen && caps[i].index == chosen->index ? '*' : ' ', caps[i].index, caps[i].name,
                gb_device_type_name(caps[i].type), caps[i].driver,
                caps[i].usable ? "" : ": not usable: ", caps[i].reason);
    free(caps);
    return true;
}

bool gb_devices_print_names(const gb_config *config, FILE *out, gb_status *status)
{
    gb_device_caps *caps;
    size_t count;
    gb_device_params params = gb_ops_device(config, NULL);
    if (!gb_device_list(&params, &caps, &count, status))
        return false;
    for (size_t i = 0; i < count; i++)
        if (caps[i].usable)
            fprintf(out, "%u: %s, %s\n", caps[i].index, caps[i].name, caps[i].driver);
    free(caps);
    return true;
}

void gb_device_print(const gb_device *device, FILE *out)
{
    const gb_device_caps *c = gb_device_get_caps(device);
    char quirks[200];
    gb_quirks_text(&gb_ops_rules, c->quirks, quirks, sizeof quirks);
    gb_target target = gb_target_of(device);
    fprintf(out, "Kernels      %s profile; operands as texels: %s\n",
            gb_kernel_profile_name(c->profile), target.max_texel_bytes ? "yes" : "no");
    fprintf(out, "Quirks       %s\n", quirks);
    for (uint32_t bit = 1; bit && bit <= c->quirks; bit <<= 1)
        if (c->quirks & bit) {
            gb_quirks_text(&gb_ops_rules, bit, quirks, sizeof quirks);
            fprintf(out, "             %s: %s\n", quirks, gb_device_quirk_reason(device, bit));
        }
    fprintf(out, "Subgroups    %u lanes (%u to %u), shuffle %s\n", c->subgroup_size,
            c->subgroup_min, c->subgroup_max, c->subgroup_ops & GB_SUBGROUP_SHUFFLE ? "yes" : "no");
    fprintf(out, "Memory       %.1f GiB, %s; buffers up to %.1f GiB, bindings up to %.0f MiB\n",
            (double)c->memory_bytes / (1 << 30), c->unified_memory ? "unified" : "its own",
            (double)c->max_buffer_bytes / (1 << 30), (double)c->max_binding_bytes / (1 << 20));
    fprintf(out, "Workgroups   %u lanes, %u KiB shared; grid %u x %u x %u\n", c->max_workgroup,
            c->max_shared_bytes >> 10, c->max_grid[0], c->max_grid[1], c->max_grid[2]);
    fprintf(out, "Arithmetic   16-bit floats %s, matrices %s%s\n", c->fp16 ? "yes" : "no",
            c->matrix_khr ? "khr " : "",
            c->matrix_nv    ? "nv"
            : c->matrix_khr ? ""
                            : "no");
    if (c->matrix.m)
        fprintf(out, "             %u x %u x %u of half floats, by %s%s\n", c->matrix.m,
                c->matrix.n, c->matrix.k, c->matrix.khr ? "KHR's extension" : "NV's extension",
                c->matrix.khr && !c->matrix.khr_source ? ", rewritten from NV's form" : "");
    if (c->matrix_bf16.m)
        fprintf(out, "             %u x %u x %u of bfloat16, by KHR's extension\n",
                c->matrix_bf16.m, c->matrix_bf16.n, c->matrix_bf16.k);
    fprintf(out, "Validation   %s\n", gb_device_validating(device) ? "on" : "layer not installed");
    fprintf(out, "glslc        khr_coopmat %d, nv_coopmat %d, float16 %d\n",
            GABBRO_GLSLC_HAS_KHR_COOPMAT, GABBRO_GLSLC_HAS_NV_COOPMAT, GABBRO_GLSLC_HAS_FLOAT16);
}

/* ---- self-test ---- */

static void print_error(FILE *out, double worst, double tolerance)
{
    if (worst < 0)
        fprintf(out, "  %9s", "");
    else if (isnan(worst))
        fprintf(out, "  %9s", "NO RUN");
    else
        fprintf(out, "  %7.1e%s", worst, worst <= tolerance ? "  " : " !");
}

static void print_table(const gb_selftest_report *report, FILE *out)
{
    static const char *const titles[GB_SELFTEST_COLUMNS] = {"in use",   "buffers", "next best",
                                                            "matrices", "NV form", "bfloat16"};
    bool tried[GB_SELFTEST_COLUMNS];
    fprintf(out, "%-34s", "Kernels, forward and gradient");
    for (int c = 0; c < GB_SELFTEST_COLUMNS; c++) {
        tried[c] = false;
        for (size_t i = 0; i < diag_selftest_case_count(); i++)
            tried[c] = tried[c] || !(report->worst[i][c] < 0);
        if (tried[c])
            fprintf(out, "  %-9s", titles[c]);
    }
    fprintf(out, "\n");
    for (size_t i = 0; i < diag_selftest_case_count(); i++) {
        if (report->worst[i][GB_SELFTEST_USED] < 0)
            continue;
        fprintf(out, "  %-32s", diag_selftest_case_name(i));
        for (int c = 0; c < GB_SELFTEST_COLUMNS; c++)
            if (tried[c])
                print_error(out, report->worst[i][c],
                            diag_selftest_tolerance((gb_selftest_column)c));
        fprintf(out, "\n");
    }
}

bool gb_selftest_print(const gb_selftest_report *report, const gb_device *device, FILE *out)
{
    print_table(report, out);
    fprintf(out,
            "  largest difference from float64, of the largest value; right up to %.0e; %.1f s\n",
            diag_selftest_tolerance(GB_SELFTEST_USED), report->seconds);
    if (!(report->worst[0][GB_SELFTEST_MATRICES] < 0)) /* the first case is a product */
        fprintf(out, "  matrices round operands to half floats: right up to %.0e\n",
                diag_selftest_tolerance(GB_SELFTEST_MATRICES));
    if (!(report->worst[0][GB_SELFTEST_BFLOAT16] < 0))
        fprintf(out, "  and to bfloat16: right up to %.0e\n",
                diag_selftest_tolerance(GB_SELFTEST_BFLOAT16));
    for (uint32_t bit = 1; bit && bit <= report->wrong; bit <<= 1)
        if (report->wrong & bit) {
            const char *what, *instead;
            diag_selftest_variant(bit, &what, &instead);
            fprintf(out, "WRONG        %s: from now on %s instead\n", what, instead);
        }
    if (report->why[0])
        fprintf(out, "Did not run  %s\n", report->why);
    if (report->refused[0])
        fprintf(out, "REFUSED      no variant is right of: %s\n", report->refused);
    uint32_t messages = gb_device_validation_count(device) + report->messages;
    if (messages)
        fprintf(out, "WRONG        the validation layer sent %u messages\n", messages);
    return !report->refused[0] && !report->failed && !messages;
}
