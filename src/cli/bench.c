/* gabbro bench: how fast the device does what training, encoding and searching consist of. One file
 * a part (bench_<part>.c), over one way to measure (bench_measure.c). */
#include "bench.h"
#include "cli.h"
#include <gabbro/options.h>
#include <gabbro/diag.h>

#include <bench_version.h>
#include <gabbro/tiles.h>
#include <dlfcn.h>
#include <getopt.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: gabbro bench [PART...] [options]\n\n"
    "Parts (all of them without any):\n"
    "  matmul      products in all forms: square, and those of a BERT layer\n"
    "  attention   forward, and with its gradient, texts of 32 to 512 tokens\n"
    "  bandwidth   layer norm, AdamW, copies\n"
    "  loss        vocabulary heads and contrastive losses, with gradients\n"
    "  step        whole training steps of six objectives\n"
    "  encode      vectors of texts\n"
    "  search      exact search of vectors\n"
    "  generate    texts by language models with random weights\n"
    "  growth      steps of 1,024 to 65,536 tokens, searches in 10,000 to 640,000\n"
    "              passages: rates that stay mean that cost grows as it should\n\n"
    "  --size LIST       mini, small, base (mini,small on a CPU device, else all)\n"
    "  --only TEXT       cases whose name contains it\n"
    "  --texts N         texts of a training step, instead of the size's\n"
    "  --repeats N       timed runs of a case at most (20); two more warm up\n"
    "  --seconds S       most seconds of a case's timed runs (5); a case of which one\n"
    "                    run would take longer is left out and named\n"
    "  --peer openblas   products beside OpenBLAS, if its library is installed\n"
    "  --device DEVICE   index, name, UUID or cpu\n"
    "  --json FILE       everything as JSON\n"
    "  --dry-run         list the cases, measure nothing; with --json their sizes\n\n"
    "ms: median of the wall time, from the call to the result; spread: between the\n"
    "quartiles, of the median; device ms: sum of the kernels' times in runs of their\n"
    "own. GFLOP/s and GB/s are of device time where there is one, of steps, encode,\n"
    "search and generate of wall time. ceiling: share of the least time that the best product\n"
    "and a large copy, measured at the start, would allow.\n";

static const struct {
    const char *name;                         /* as typed */
    bool (*run)(bench *b, gb_status *status); /* all its cases */
} parts[] = {
    {"matmul", bench_matmul}, {"attention", bench_attention}, {"bandwidth", bench_bandwidth},
    {"loss", bench_loss},     {"step", bench_step},           {"encode", bench_encode},
    {"search", bench_search}, {"generate", bench_generate},   {"growth", bench_growth}};
#define PARTS (sizeof parts / sizeof *parts)

const bench_size bench_sizes[BENCH_SIZES] = {
    {"mini", 2, 64, 4, 256, 1083, 32, 48, 16, 24, 1, 2048, 256, 1024, 256, 20000, 0},
    {"small", 4, 256, 4, 1024, 30522, 32, 64, 16, 32, 7, 2048, 512, 256, 256, 100000, .1},
    {"base", 12, 768, 12, 3072, 30522, 256, 144, 64, 32, 15, 4096, 4096, 2048, 1000, 1000000, .1},
};

/* ---- one case ---- */

static bool chosen(const bench *b, const bench_case *c)
{
    return !b->only || strstr(c->name, b->only);
}

static json_t *case_json(const bench *b, const bench_case *c)
{
    json_t *row = json_pack("{s:s, s:s, s:O}", "part", b->part, "case", c->name, "shape", c->shape);
    if (row && c->size)
        json_object_set_new(row, "size", json_string(c->size->name));
    return row;
}

static void note_refused(bench *b, const bench_case *c, const char *why)
{
    printf("%-34s not run: %s\n", c->name, why);
    json_t *row = case_json(b, c);
    json_object_set_new(row, "not_run", json_string(why));
    json_array_append_new(b->results, row);
}

/* Share of the least time that the ceiling allows; 0 if unknown. */
static double share_of_ceiling(const bench *b, double flops, double bytes, double seconds)
{
    double least = 0;
    if (b->ceiling.gflops > 0)
        least = flops / b->ceiling.gflops / 1e9;
    if (b->ceiling.gbs > 0)
        least = fmax(least, bytes / b->ceiling.gbs / 1e9);
    return least / seconds;
}

static void print_number(double value, int width)
{
    if (value > 0)
        printf(" %*.*f", width, value < 10 ? 3 : value < 100 ? 2 : 1, value);
    else
        printf(" %*s", width, "-");
}

static void note_times(bench *b, const bench_case *c, const bench_times *t)
{
    double flops = c->flops > 0 ? c->flops : t->flops, bytes = c->bytes > 0 ? c->bytes : t->bytes;
    bool device = t->device_s > 0 && !c->whole;
    double seconds = device ? t->device_s : t->median_s;
    double share = share_of_ceiling(b, flops, bytes, seconds);
    printf("%-34s", c->name);
    print_number(1e3 * t->median_s, 10);
    printf(" %6.0f%%", 100 * (t->high_s - t->low_s) / t->median_s);
    print_number(1e3 * t->device_s, 10);
    print_number(flops / seconds / 1e9, 9);
    print_number(bytes / seconds / 1e9, 8);
    printf(" %7.0f%%", 100 * share);
    if (t->peer_s > 0)
        printf("   %9.3f %6.2f", 1e3 * t->peer_s, t->peer_s / t->median_s);
    printf("\n");
    json_t *row = case_json(b, c);
    json_object_update_new(
        row,
        json_pack("{s:i, s:{s:f, s:f, s:f, s:f}, s:f, s:f, s:f, s:f, s:f, s:s}", "runs",
                  (int)t->runs, "wall_ms", "median", 1e3 * t->median_s, "best", 1e3 * t->best_s,
                  "low", 1e3 * t->low_s, "high", 1e3 * t->high_s, "flops", flops, "bytes", bytes,
                  "gflops", flops / seconds / 1e9, "gbs", bytes / seconds / 1e9, "of_ceiling",
                  share, "rates_of", device ? "device time" : "wall time"));
    if (t->device_s > 0) {
        json_object_set_new(row, "device_ms", json_real(1e3 * t->device_s));
        json_object_set_new(row, "kernels", json_integer(t->kernels));
        json_object_set(row, "shaders", t->variants);
    }
    if (t->peer_s > 0) {
        json_object_set_new(row, "openblas_ms", json_real(1e3 * t->peer_s));
        json_object_set_new(row, "openblas_ratio", json_real(t->peer_s / t->median_s));
    }
    json_array_append_new(b->results, row);
    b->measured++;
}

static void list_case(bench *b, const bench_case *c)
{
    double flops = c->expected > 0 ? c->expected : c->flops;
    printf("%-34s", c->name);
    if (flops > 0)
        printf(" %10.3f GFLOP", flops / 1e9);
    printf("\n");
    json_array_append_new(b->results, case_json(b, c));
}

static bool run_case(bench *b, const bench_case *c, bench_fn *measure, void *context,
                     gb_status *status)
{
    double flops = c->expected > 0 ? c->expected : c->flops;
    double foreseen_s = b->ceiling.gflops > 0 ? flops / b->ceiling.gflops / 1e9 : 0;
    char why[300];
    if (foreseen_s > b->seconds) {
        snprintf(why, sizeof why, "one run would take some %.0f s; see --seconds", foreseen_s);
        note_refused(b, c, why);
        return true;
    }
    bench_times times = {0};
    bool ok = measure(b, context, &times, status);
    if (ok) {
        note_times(b, c, &times);
    } else if (status->code == GB_MEMORY || status->code == GB_DEVICE) {
        snprintf(why, sizeof why, "%.90s%s%.200s", status->where, status->where[0] ? ": " : "",
                 status->what);
        note_refused(b, c, why);
        b->refused = *status;
        *status = (gb_status){0};
        ok = true;
    }
    json_decref(times.variants);
    fflush(stdout);
    return ok;
}

bool bench_run_case(bench *b, const bench_case *c, bench_fn *measure, void *context,
                    gb_status *status)
{
    bool ok = true;
    if (!c->shape)
        ok = gb_fail_memory(status, "noting a case");
    else if (chosen(b, c) && b->dry)
        list_case(b, c);
    else if (chosen(b, c))
        ok = run_case(b, c, measure, context, status);
    json_decref(c->shape);
    return ok;
}

static void print_head(const bench *b)
{
    if (b->dry) {
        printf("\n%s\n", b->part);
        return;
    }
    printf("\n%-34s %10s %7s %10s %9s %8s %8s", b->part, "ms", "spread", "device ms", "GFLOP/s",
           "GB/s", "ceiling");
    if (b->sgemm && !strcmp(b->part, "matmul"))
        printf("   %9s %6s", "OpenBLAS", "ratio");
    printf("\n");
}

/* ---- the whole ---- */

static json_t *device_json(const bench *b)
{
    const gb_device_caps *c = gb_device_get_caps(b->device);
    char quirks[200], kernels[GB_HASH_SIZE], tiles[16];
    gb_quirks_text(c->quirks, quirks, sizeof quirks);
    gb_shaders_hash(NULL, kernels);
    snprintf(tiles, sizeof tiles, "0x%05x", gb_device_tiles(b->device));
    return json_pack("{s:s, s:s, s:s, s:s, s:s, s:s, s:s, s:i, s:b}", "tiles", tiles, "name",
                     c->name, "driver", c->driver, "type", gb_device_type_name(c->type), "profile",
                     gb_kernel_profile_name(c->profile), "avoided", quirks, "shaders", kernels,
                     "subgroup", (int)c->subgroup_size, "timestamps", c->timestamp_bits > 0);
}

static bool save(const bench *b, const char *path, double load, gb_status *status)
{
    json_t *all = json_pack("{s:i, s:{s:s, s:s}, s:O}", "bench", 1, "program", "version",
                            GABBRO_VERSION, "source", BENCH_SOURCE, "results", b->results);
    if (all && b->device) {
        json_object_set_new(all, "device", device_json(b));
        json_object_set_new(all, "host",
                            json_pack("{s:i, s:f}", "processors",
                                      (int)sysconf(_SC_NPROCESSORS_ONLN), "load_before", load));
        json_object_set_new(
            all, "settings",
            json_pack("{s:i, s:f}", "repeats", (int)b->repeats, "seconds", b->seconds));
        json_object_set_new(all, "ceiling",
                            json_pack("{s:f, s:f}", "product_gflops", b->ceiling.gflops, "copy_gbs",
                                      b->ceiling.gbs));
    }
    gb_out *out = all && gb_memory_check("results", status) ? gb_out_open(path, status) : NULL;
    bool ok =
        out && json_dumpf(all, gb_out_stream(out), JSON_INDENT(1) | JSON_REAL_PRECISION(6)) == 0;
    if (ok)
        fputc('\n', gb_out_stream(out));
    json_decref(all);
    return out && gb_out_commit(out, status) && ok;
}

static bool open_bench(bench *b, const char *device, double *load, gb_status *status)
{
    gb_device_params params = {.select = device, .quiet = true};
    if (getloadavg(load, 1) != 1)
        *load = 0;
    if (!gb_device_ready(device, status) || !(b->device = gb_device_open(&params, status)) ||
        !bench_ceiling_measure(b, status))
        return false;
    const gb_device_caps *caps = gb_device_get_caps(b->device);
    long processors = sysconf(_SC_NPROCESSORS_ONLN);
    printf("device: %s, %s, %s kernels\n", caps->name, caps->driver,
           gb_kernel_profile_name(caps->profile));
    printf("ceiling: best product %.1f GFLOP/s, copy %.1f GB/s\n", b->ceiling.gflops,
           b->ceiling.gbs);
    if (*load > .5 * (double)processors)
        printf("not quiet: load %.1f on %ld processors before the start\n", *load, processors);
    return true;
}

static bool run_parts(bench *b, const bool *wanted, gb_status *status)
{
    for (size_t i = 0; i < PARTS; i++) {
        if (!wanted[i])
            continue;
        b->part = parts[i].name;
        print_head(b);
        if (!parts[i].run(b, status))
            return false;
    }
    return true;
}

/* ---- options ---- */

typedef struct settings {
    const char *device, *json, *peer, *sizes; /* as given, or NULL */
    bool wanted[PARTS];                       /* parts */
} settings;

static bool choose_sizes(bench *b, const char *list, gb_status *status)
{
    bool cpu = b->device && gb_device_get_caps(b->device)->type == GB_DEVICE_CPU;
    for (size_t i = 0; i < BENCH_SIZES && !list; i++)
        b->sizes[i] = !cpu || i < 2;
    for (const char *at = list; at && *at;) {
        size_t length = strcspn(at, ","), i = 0;
        while (i < BENCH_SIZES &&
               (strlen(bench_sizes[i].name) != length || strncmp(at, bench_sizes[i].name, length)))
            i++;
        if (i == BENCH_SIZES)
            return gb_fail(status, GB_USAGE, "--size", NULL,
                           "\"%.*s\" is none of mini, small, base", (int)length, at);
        b->sizes[i] = true;
        at += length + (at[length] == ',');
    }
    return true;
}

static bool choose_parts(settings *o, char **words, int count, gb_status *status)
{
    for (size_t i = 0; i < PARTS; i++)
        o->wanted[i] = count == 0;
    for (int w = 0; w < count; w++) {
        size_t i = 0;
        while (i < PARTS && strcmp(words[w], parts[i].name))
            i++;
        if (i == PARTS)
            return gb_fail(status, GB_USAGE, NULL, "see gabbro bench --help", "no part \"%s\"",
                           words[w]);
        o->wanted[i] = true;
    }
    return !o->peer || !strcmp(o->peer, "openblas") ||
           gb_fail(status, GB_USAGE, "--peer", "PyTorch and faiss: bench/run",
                   "the only peer in process is openblas");
}

static bool read_options(bench *b, settings *o, int argc, char **argv)
{
    static const struct option long_options[] = {
        {"device", required_argument, NULL, 'd'}, {"repeats", required_argument, NULL, 'n'},
        {"json", required_argument, NULL, 'j'},   {"seconds", required_argument, NULL, 's'},
        {"size", required_argument, NULL, 'z'},   {"only", required_argument, NULL, 'o'},
        {"peer", required_argument, NULL, 'p'},   {"texts", required_argument, NULL, 't'},
        {"dry-run", no_argument, NULL, 'r'},      {0}};
    gb_status status = {0};
    int option;
    while ((option = getopt_long(argc, argv, "d:n:j:", long_options, NULL)) != -1) {
        bool ok = option != '?';
        if (option == 'd')
            o->device = optarg;
        else if (option == 'j')
            o->json = optarg;
        else if (option == 'z')
            o->sizes = optarg;
        else if (option == 'o')
            b->only = optarg;
        else if (option == 'p')
            o->peer = optarg;
        else if (option == 'r')
            b->dry = true;
        else if (option == 'n')
            ok = gb_parse_u32("--repeats", optarg, 1, 10000, &b->repeats, &status);
        else if (option == 't')
            ok = gb_parse_u32("--texts", optarg, 2, 4096, &b->texts, &status);
        else if (option == 's')
            ok = gb_parse_real("--seconds", optarg, 1e-3, 1e6, &b->seconds, &status);
        if (status.code)
            gb_status_print(&status);
        else if (!ok)
            fputs(help, stderr);
        if (!ok)
            return false;
    }
    b->texts &= ~1u; /* pairs */
    return true;
}

static bool run_bench(bench *b, settings *o, int argc, char **argv, gb_status *status)
{
    double load = 0;
    bool ok = choose_parts(o, argv + optind, argc - optind, status) &&
              (b->dry || !o->peer || bench_blas_open(b, status)) &&
              (b->dry || open_bench(b, o->device, &load, status)) &&
              choose_sizes(b, o->sizes, status);
    bool measured = ok && run_parts(b, o->wanted, status);
    if (ok && !json_array_size(b->results) && measured)
        measured = gb_fail(status, GB_USAGE, "--only", "see gabbro bench --dry-run",
                           "no case is called so");
    else if (measured && !b->dry && !b->measured) {
        *status = b->refused; /* none could run: the last reason is the answer */
        measured = status->code == GB_OK;
    }
    gb_status unsaved = {0};
    if (ok && o->json && !save(b, o->json, load, &unsaved) && measured)
        *status = unsaved;
    return status->code == GB_OK;
}

int gb_cli_bench(int argc, char **argv)
{
    settings o = {0};
    bench b = {.repeats = 20, .seconds = 5};
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(help, stdout);
            return 0;
        }
    if (!read_options(&b, &o, argc, argv))
        return GB_USAGE;
    gb_status status = {0};
    gb_log_set_level(GB_LOG_WARN);
    gb_install_signals();
    b.results = json_array();
    if (!run_bench(&b, &o, argc, argv, &status))
        gb_status_print(&status);
    json_decref(b.results);
    gb_device_close(b.device);
    if (b.blas)
        dlclose(b.blas);
    return (int)status.code;
}
