/* The bench as a whole: chooses parts and sizes, runs their cases, and writes the record. */
#include "private.h"

#include "gabbro/diag.h"
#include "gabbro/os.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const struct {
    const char *name;                         /* as typed */
    bool (*run)(bench *b, gb_status *status); /* all its cases */
} parts[] = {{"matmul", bench_matmul},       {"attention", bench_attention},
             {"bandwidth", bench_bandwidth}, {"loss", bench_loss},
             {"scores", bench_scores},       {"step", bench_step},
             {"encode", bench_encode},       {"search", bench_search},
             {"generate", bench_generate},   {"growth", bench_growth}};
#define PARTS (sizeof parts / sizeof *parts)

const bench_size bench_sizes[BENCH_SIZES] = {
    {"mini", 2, 64, 4, 256, 1083, 32, 48, 16, 24, 1, 2048, 256, 1024, 256, 20000, 0},
    {"small", 4, 256, 4, 1024, 30522, 32, 64, 16, 32, 7, 2048, 512, 256, 256, 100000, .1},
    {"base", 12, 768, 12, 3072, 30522, 256, 144, 64, 32, 15, 4096, 4096, 2048, 1000, 1000000, .1},
};

/* ---- what was asked for ---- */

static bool choose_parts(const gb_bench_params *params, bool wanted[PARTS], gb_status *status)
{
    for (size_t i = 0; i < PARTS; i++)
        wanted[i] = params->part_count == 0;
    for (size_t w = 0; w < params->part_count; w++) {
        size_t i = 0;
        while (i < PARTS && strcmp(params->parts[w], parts[i].name))
            i++;
        if (i == PARTS)
            return gb_fail(status, GB_USAGE, NULL, "see gabbro bench --help", "no part \"%s\"",
                           params->parts[w]);
        wanted[i] = true;
    }
    return true;
}

bool bench_sizes_choose(bench *b, const char *list, gb_status *status)
{
    bool cpu = b->device && gb_device_get_caps(b->device)->type == GB_DEVICE_CPU;
    size_t length;
    for (size_t i = 0; i < BENCH_SIZES && !list; i++)
        b->sizes[i] = !cpu || i < 2;
    for (const char *word; list && (word = gb_next_word(&list, ',', &length));) {
        size_t i = 0;
        while (i < BENCH_SIZES && (strlen(bench_sizes[i].name) != length ||
                                   strncmp(word, bench_sizes[i].name, length)))
            i++;
        if (i == BENCH_SIZES)
            return gb_fail(status, GB_USAGE, "--size", NULL,
                           "\"%.*s\" is none of mini, small, base", (int)length, word);
        b->sizes[i] = true;
    }
    return true;
}

/* ---- the record ---- */

static json_t *device_json(const bench *b)
{
    const gb_device_caps *c = gb_device_get_caps(b->device);
    char quirks[200], kernels[GB_HASH_SIZE], tiles[16];
    gb_quirks_text(&gb_ops_rules, c->quirks, quirks, sizeof quirks);
    gb_shaders_hash(GB_USER_ALL, kernels);
    snprintf(tiles, sizeof tiles, "0x%05x", c->tiles);
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:b}", "tiles", tiles, "name",
                     c->name, "driver", c->driver, "type", gb_device_type_name(c->type), "profile",
                     gb_kernel_profile_name(c->profile), "avoided", quirks, "shaders", kernels,
                     "subgroup", (int)c->subgroup_size, "timestamps", c->timestamp_bits > 0);
}

static json_t *record_json(const bench *b)
{
    json_t *all = json_pack(
        "{s:i, s:{s:s, s:s}, s:O}", "bench", 1, "program", "version", GABBRO_VERSION, "source",
        b->config->source ? b->config->source : "unknown", "results", b->results);
    if (!all || !b->device)
        return all;
    json_object_set_new(all, "device", device_json(b));
    json_object_set_new(
        all, "host",
        json_pack("{s:i, s:f}", "processors", (int)gb_os_processors(), "load_before", b->load));
    json_object_set_new(all, "settings",
                        json_pack("{s:i, s:f}", "repeats", (int)b->repeats, "seconds", b->seconds));
    json_object_set_new(
        all, "ceiling",
        json_pack("{s:f, s:f}", "product_gflops", b->ceiling.gflops, "copy_gbs", b->ceiling.gbs));
    return all;
}

static bool save(const bench *b, const char *path, gb_status *status)
{
    json_t *all = record_json(b);
    bool ok =
        gb_json_save(all, JSON_INDENT(1) | JSON_REAL_PRECISION(6) | GB_JSON_NEWLINE, path, status);
    json_decref(all);
    return ok;
}

/* ---- the whole ---- */

static bool open_bench(bench *b, const char *device, gb_status *status)
{
    gb_device_params how = gb_ops_device(b->config, device);
    how.quiet = true;
    b->load = gb_os_load();
    if (!gb_device_ready(b->config, device, status) ||
        !(b->device = gb_device_open(&how, status)) || !bench_ceiling_measure(b, status))
        return false;
    const gb_device_caps *caps = gb_device_get_caps(b->device);
    uint32_t processors = gb_os_processors();
    fprintf(b->out, "device: %s, %s, %s kernels\n", caps->name, caps->driver,
            gb_kernel_profile_name(caps->profile));
    fprintf(b->out, "ceiling: best product %.1f GFLOP/s, copy %.1f GB/s\n", b->ceiling.gflops,
            b->ceiling.gbs);
    if (b->load > .5 * (double)processors)
        fprintf(b->out, "not quiet: load %.1f on %u processors before the start\n", b->load,
                processors);
    return true;
}

static void print_head(const bench *b)
{
    if (b->dry) {
        fprintf(b->out, "\n%s\n", b->part);
        return;
    }
    fprintf(b->out, "\n%-34s %10s %7s %10s %7s %9s %8s %8s", b->part, "ms", "spread", "device ms",
            "share", "GFLOP/s", "GB/s", "ceiling");
    if (b->sgemm && !strcmp(b->part, "matmul"))
        fprintf(b->out, "   %9s %6s", "OpenBLAS", "ratio");
    fprintf(b->out, "\n");
}

static bool run_microbatches(bench *b, const bool wanted[PARTS], gb_status *status)
{
    for (size_t i = 0; i < PARTS; i++) {
        if (!wanted[i])
            continue;
        b->part = parts[i].name;
        print_head(b);
        if (!parts[i].run(b, status))
            return false;
    }
    if (!json_array_size(b->results))
        return gb_fail(status, GB_USAGE, "--only", "see gabbro bench --dry-run",
                       "no case is called so");
    if (!b->dry && !b->measured)
        *status = b->refused; /* none could run: the last reason is the answer */
    return status->code == GB_OK;
}

bool gb_bench_run(const gb_bench_params *params, gb_status *status)
{
    bench b = {.config = params->config,
               .kernels = params->kernels,
               .repeats = params->repeats,
               .seconds = params->seconds,
               .texts = params->texts & ~1u, /* pairs */
               .only = params->only,
               .dry = params->dry_run,
               .out = params->out,
               .results = json_array()};
    bool wanted[PARTS];
    bool ready = choose_parts(params, wanted, status) &&
                 (b.dry || !params->openblas || bench_blas_open(&b, status)) &&
                 (b.dry || open_bench(&b, params->device, status)) &&
                 bench_sizes_choose(&b, params->sizes, status);
    bool ok = ready && run_microbatches(&b, wanted, status);
    gb_status unsaved = {0};
    if (ready && params->json && !save(&b, params->json, &unsaved) && ok)
        *status = unsaved;
    json_decref(b.results);
    gb_device_close(b.device);
    return status->code == GB_OK;
}
