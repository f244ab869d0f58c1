/* gabbro data slice: a part of a collection that a small device can train on. */
#include "data.h"
#include <gabbro/options.h>

#include <gabbro/data.h>

#include <getopt.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: gabbro data slice PATH --to DIR [options]\n\n"
    "Write a part of a collection (what gabbro collection --from reads) as a BEIR folder: every\n"
    "judged query, every passage that was judged for one, and some of the other passages. Scores "
    "on\n"
    "it are higher than on the whole.\n\n"
    "  --to DIR    where to\n"
    "  --others N  passages beside the judged ones (default 10000)\n"
    "  --seed N    of their choice (default 42)\n";

typedef struct slice_options {
    const char *path; /* source */
    const char *to;   /* folder */
    uint32_t others;  /* passages beside the judged ones */
    uint64_t seed;    /* of their choice */
} slice_options;

static bool parse(int argc, char **argv, slice_options *o, bool *over, gb_status *status)
{
    static const struct option options[] = {{"to", required_argument, NULL, 't'},
                                            {"others", required_argument, NULL, 'o'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    optind = opterr = 0;
    bool ok = true;
    for (int option; ok && (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        switch (option) {
        case 't':
            o->to = optarg;
            break;
        case 'o':
            ok = gb_parse_u32("--others", optarg, 0, UINT32_MAX, &o->others, status);
            break;
        case 's':
            ok = gb_parse_u64("--seed", optarg, 0, UINT64_MAX, &o->seed, status);
            break;
        case 'h':
            *over = true;
            fputs(help, stdout);
            return true;
        default:
            return gb_fail(status, GB_USAGE, NULL, "see --help",
                           "data slice: unknown or incomplete option %s", argv[optind - 1]);
        }
    }
    o->path = argv[optind];
    return ok && ((argc - optind == 1 && o->to) ||
                  gb_fail(status, GB_USAGE, NULL, "see --help",
                          "data slice needs one folder or file, and --to"));
}

static bool cut(const slice_options *o, const char *imported, gb_status *status)
{
    gb_collection *whole = gb_collection_open(imported, status);
    bool ok = whole && gb_collection_slice(whole, o->others, o->seed, o->to, status);
    gb_collection_close(whole);
    if (ok)
        printf("%s\n", o->to);
    return ok;
}

int data_slice(int argc, char **argv)
{
    slice_options o = {.others = 10000, .seed = 42};
    gb_status status = {0};
    bool over = false, ok = parse(argc, argv, &o, &over, &status);
    if (ok && !over) {
        gb_install_signals();
        char *imported = data_import(o.path, &status);
        ok = imported && cut(&o, imported, &status);
        gb_temporary_remove(imported);
    }
    return data_exit(ok, &status);
}
