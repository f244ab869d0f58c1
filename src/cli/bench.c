/* gabbro bench: how fast the device does what training, encoding and searching consist of. */
#include "cli.h"

#include <gabbro/bench.h>
#include <gabbro/options.h>

#include <getopt.h>
#include <string.h>

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

static bool choose_peer(gb_bench_params *o, const char *name, gb_status *status)
{
    o->openblas = strcmp(name, "openblas") == 0;
    return o->openblas || gb_fail(status, GB_USAGE, "--peer", "PyTorch and faiss: bench/run",
                                  "the only peer in process is openblas");
}

static bool read_options(gb_bench_params *o, int argc, char **argv)
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
            o->only = optarg;
        else if (option == 'p')
            ok = choose_peer(o, optarg, &status);
        else if (option == 'r')
            o->dry_run = true;
        else if (option == 'n')
            ok = gb_parse_u32("--repeats", optarg, 1, 10000, &o->repeats, &status);
        else if (option == 't')
            ok = gb_parse_u32("--texts", optarg, 2, 4096, &o->texts, &status);
        else if (option == 's')
            ok = gb_parse_real("--seconds", optarg, 1e-3, 1e6, &o->seconds, &status);
        if (status.code)
            gb_status_print(&status);
        else if (!ok)
            fputs(help, stderr);
        if (!ok)
            return false;
    }
    return true;
}

int gb_cli_bench(int argc, char **argv)
{
    gb_bench_params params = {.repeats = 20, .seconds = 5, .out = stdout};
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            fputs(help, stdout);
            return 0;
        }
    if (!read_options(&params, argc, argv))
        return GB_USAGE;
    params.parts = (const char *const *)(argv + optind);
    params.part_count = (size_t)(argc - optind);
    gb_status status = {0};
    gb_log_set_level(GB_LOG_WARN);
    gb_install_signals();
    if (!gb_bench_run(&params, &status))
        gb_status_print(&status);
    return (int)status.code;
}
