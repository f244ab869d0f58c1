/* What the driver's compiler makes of all kernels of a size, on a device that runs nothing. */
#include "private.h"

#include "gabbro/diag.h"

#include <stdlib.h>
#include <string.h>

/* ---- what is made ---- */

static bool make_size(bench *b, const bench_size *size, gb_status *status)
{
    static const struct {
        const char *name;                          /* of programs */
        bool (*make)(bench *b, gb_status *status); /* all of the sizes that are chosen */
    } parts[] = {{"scores", bench_scores},
                 {"step", bench_step},
                 {"encode", bench_encode},
                 {"search", bench_search},
                 {"generate", bench_generate}};
    memset(b->sizes, 0, sizeof b->sizes);
    b->sizes[size - bench_sizes] = true;
    for (size_t p = 0; p < sizeof parts / sizeof *parts; p++) {
        b->part = parts[p].name;
        if (!parts[p].make(b, status))
            return false;
    }
    bench_size dropping = *size; /* some objectives need it */
    if (!(dropping.dropout > 0))
        dropping.dropout = .1;
    b->part = "step";
    return bench_other_steps(b, &dropping, status) && bench_learning(b, &dropping, status);
}

/* With operands of each precision that the device has, or that was asked for. */
static bool make_all(bench *b, gb_status *status)
{
    static const char *const operands[] = {"", ", fp16", ", bf16"};
    const gb_device_caps *caps = gb_device_get_caps(b->device);
    gb_precision own = caps->precision;
    bool sizes[BENCH_SIZES];
    memcpy(sizes, b->sizes, sizeof sizes);
    if (!gb_survey_begin(b->device, "self-test", status) || !gb_selftest_survey(b->device, status))
        return false;
    for (int p = GB_FP32; p <= GB_BF16; p++) {
        if (b->config->profile ? p != (int)own : p && !gb_matrix_of(caps, (gb_precision)p).m)
            continue;
        gb_device_use_precision(b->device, (gb_precision)p);
        b->operands = operands[p];
        for (size_t i = 0; i < BENCH_SIZES; i++)
            if (sizes[i] && !make_size(b, &bench_sizes[i], status))
                return false;
    }
    gb_device_use_precision(b->device, own);
    return true;
}

/* ---- what came of it ---- */

static int by_name(const void *x, const void *y)
{
    const gb_compiled *a = *(const gb_compiled *const *)x, *b = *(const gb_compiled *const *)y;
    int order = strcmp(a->shader, b->shader);
    for (uint32_t i = 0; !order && i < a->spec_count && i < b->spec_count; i++)
        order = (a->spec[i] > b->spec[i]) - (a->spec[i] < b->spec[i]);
    return order ? order : (a->spec_count > b->spec_count) - (a->spec_count < b->spec_count);
}

static const char *constants(const gb_compiled *kernel, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < kernel->spec_count && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%u", i ? "," : "", kernel->spec[i]);
    return kernel->spec_count ? text : "-";
}

static const char *number(double value, char text[32])
{
    snprintf(text, 32, value < 0 ? "-" : "%.0f", value);
    return text;
}

/* The five columns behind the lanes, each behind `before`. */
static void print_columns(const gb_compiled *k, const char *format, FILE *out)
{
    const double columns[] = {k->registers, k->spills, k->shared_bytes, k->occupancy, k->cycles};
    char text[32];
    for (size_t c = 0; c < sizeof columns / sizeof *columns; c++)
        fprintf(out, format, number(columns[c], text));
}

/* Every kernel once, by name; how many failed to compile. */
static bool print_kernels(const bench *b, uint32_t *failed, gb_status *status)
{
    size_t rows = gb_survey_count(b->device), count = 0, spilling = 0;
    const gb_compiled **kernels = gb_alloc(rows, sizeof(const gb_compiled *), status);
    if (!kernels)
        return false;
    for (size_t i = 0; i < rows; i++)
        kernels[i] = gb_survey_at(b->device, i)->kernel;
    qsort(kernels, rows, sizeof(const gb_compiled *), by_name);
    fprintf(b->out, "%-36s %-26s %5s %9s %6s %6s %9s %9s\n", "kernel", "constants", "lanes",
            "registers", "spills", "shared", "occupancy", "cycles");
    for (size_t i = 0; i < rows; i++) {
        const gb_compiled *k = kernels[i];
        char text[256];
        if (i && k == kernels[i - 1])
            continue;
        count++;
        fprintf(b->out, "%-36s %-26s", k->shader, constants(k, text, sizeof text));
        if (k->failure[0]) {
            ++*failed;
            fprintf(b->out, " fails to compile: %s\n", k->failure);
            continue;
        }
        spilling += k->spills > 0;
        fprintf(b->out, " %5u", k->lanes);
        print_columns(k, " %8s", b->out);
        fprintf(b->out, "\n");
    }
    free(kernels);
    fprintf(b->out, "%zu kernels, %u fail to compile", count, *failed);
    if (gb_survey_told(b->device))
        fprintf(b->out, ", %zu spill", spilling);
    else
        fprintf(b->out, "; the driver says no more (no VK_KHR_pipeline_executable_properties)");
    fprintf(b->out, "\n");
    return true;
}

static bool write_rows(const bench *b, const char *path, gb_status *status)
{
    const gb_device_caps *caps = gb_device_get_caps(b->device);
    gb_out *out = gb_out_open(path, status);
    if (!out)
        return false;
    FILE *file = gb_out_stream(out);
    fprintf(file, "# %s, %s\n", caps->name, caps->driver);
    fprintf(file, "program\tkernel\tconstants\tinvocations\tlanes\tregisters\tspills\tshared\t"
                  "occupancy\tcycles\tdispatches\tworkgroups\tgflop\tgbyte\tfailure\n");
    for (size_t i = 0; i < gb_survey_count(b->device); i++) {
        const gb_survey_row *row = gb_survey_at(b->device, i);
        const gb_compiled *k = row->kernel;
        char text[256];
        fprintf(file, "%s\t%s\t%s\t%u\t%u", row->program, k->shader,
                constants(k, text, sizeof text), k->invocations, k->lanes);
        print_columns(k, "\t%s", file);
        fprintf(file, "\t%llu\t%llu\t%.6g\t%.6g\t%s\n", (unsigned long long)row->dispatches,
                (unsigned long long)row->workgroups, row->flops / 1e9, row->bytes / 1e9,
                k->failure[0] ? k->failure : "-");
    }
    return gb_out_commit(out, status);
}

/* ---- the whole ---- */

static bool open_device(bench *b, const gb_kernels_params *params, gb_status *status)
{
    gb_device_params how = gb_ops_device(b->config, params->device);
    how.quiet = how.survey = true;
    if (!(b->device = gb_device_open(&how, status)))
        return false;
    const gb_device_caps *caps = gb_device_get_caps(b->device);
    fprintf(b->out, "device: %s, %s, %s kernels, %u lanes\n", caps->name, caps->driver,
            gb_kernel_profile_name(caps->profile), caps->subgroup_size);
    return true;
}

bool gb_kernels_run(const gb_kernels_params *params, uint32_t *wrong, gb_status *status)
{
    gb_config config = *params->config;
    if (!config.selftest)
        config.selftest = "off"; /* what was found of a driver hides no kernel */
    bench b = {.config = &config, .repeats = 1, .survey = true, .operands = "", .out = params->out};
    uint32_t failed = 0;
    bool ok = bench_sizes_choose(&b, params->sizes ? params->sizes : "mini,small,base", status) &&
              open_device(&b, params, status) && make_all(&b, status) &&
              print_kernels(&b, &failed, status) &&
              (!params->tsv || write_rows(&b, params->tsv, status));
    uint32_t messages = ok ? gb_device_validation_count(b.device) : 0;
    if (messages)
        fprintf(b.out, "the validation layer sent %u messages\n", messages);
    *wrong = failed + b.refusals + messages;
    gb_device_close(b.device);
    return ok;
}
