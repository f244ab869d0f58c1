/* gabbro data show: some documents of a collection with all that is asked about them, for reading.
 */
#include "data.h"
#include <gabbro/options.h>

#include <gabbro/data.h>

#include <getopt.h>
#include <stdlib.h>
#include <unistd.h>

static const char help[] =
    "usage: gabbro data show PATH [options]\n\n"
    "Print some documents of a collection as Markdown: their passages, under each the questions\n"
    "that it answers (in a split with several grades those of grade 2 and above) and its "
    "generated\n"
    "queries. Then questions of every split with several grades, with the passages judged for "
    "them.\n"
    "PATH is a step of gabbro collection, or what gabbro collection --from reads.\n\n"
    "  --documents N  documents, evenly spread over the collection (default 10)\n"
    "  --queries N    generated queries of a passage, the first ones (default 5)\n"
    "  --topics N     questions of a split with grades (default 2)\n";

typedef struct show_options {
    const char *path;         /* source */
    gb_collection_sample how; /* how much of it */
} show_options;

static bool parse(int argc, char **argv, show_options *o, bool *over, gb_status *status)
{
    static const struct option options[] = {{"documents", required_argument, NULL, 'd'},
                                            {"queries", required_argument, NULL, 'q'},
                                            {"topics", required_argument, NULL, 't'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    optind = opterr = 0;
    bool ok = true;
    for (int option; ok && (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        switch (option) {
        case 'd':
            ok = gb_parse_u32("--documents", optarg, 0, UINT32_MAX, &o->how.documents, status);
            break;
        case 'q':
            ok = gb_parse_u32("--queries", optarg, 0, UINT32_MAX, &o->how.queries, status);
            break;
        case 't':
            ok = gb_parse_u32("--topics", optarg, 0, UINT32_MAX, &o->how.topics, status);
            break;
        case 'h':
            *over = true;
            fputs(help, stdout);
            return true;
        default:
            return gb_fail(status, GB_USAGE, NULL, "see --help",
                           "data show: unknown or incomplete option %s", argv[optind - 1]);
        }
    }
    o->path = argv[optind];
    return ok && (argc - optind == 1 || gb_fail(status, GB_USAGE, NULL, "see --help",
                                                "data show needs one folder or file"));
}

/* A step's collection, or NULL and *imported, a temporary folder, of files of other tools. */
static gb_collection *open_any(const char *path, char **imported, gb_status *status)
{
    char *inside = gb_path_join(status, path, "collection/collection.json");
    bool is_step = inside && !access(inside, R_OK);
    free(inside);
    if (is_step) {
        char *folder = gb_path_join(status, path, "collection");
        gb_collection *collection = folder ? gb_collection_open(folder, status) : NULL;
        free(folder);
        return collection;
    }
    *imported = data_import(path, status);
    return *imported ? gb_collection_open(*imported, status) : NULL;
}

int data_show(int argc, char **argv)
{
    show_options o = {.how = GB_COLLECTION_SAMPLE};
    gb_status status = {0};
    bool over = false, ok = parse(argc, argv, &o, &over, &status);
    char *imported = NULL;
    gb_collection *collection = NULL;
    if (ok && !over) {
        gb_install_signals();
        collection = open_any(o.path, &imported, &status);
        ok = collection && gb_collection_show(collection, &o.how, stdout, &status);
    }
    gb_collection_close(collection);
    if (imported)
        gb_temporary_remove(imported);
    return data_exit(ok, &status);
}
