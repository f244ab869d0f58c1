/* gabbro data check: a collection as its files are, beside the official counts. */
#include "data.h"
#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

#include <gabbro/data.h>

#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
    "usage: gabbro data check PATH [options]\n\n"
    "Read a collection (what gabbro collection --from reads) and say what is in it and what may "
    "be\n"
    "wrong with it: counts beside the official ones, judgements of unknown ids, equal and empty\n"
    "passages, titles, traces of wrong encodings. Status 1 when a count differs or a judgement\n"
    "names an unknown id.\n\n"
    "  --as NAME        compare with this entry of the manifest (default: the folder's name, if it "
    "is one)\n"
    "  --manifest FILE  another manifest (default: $GABBRO_MANIFEST, else the program's own)\n";

/* What is being compared. */
typedef struct comparison {
    const gb_source *source; /* official counts, or NULL */
    uint32_t wrong;          /* counts that differ, and splits with unknown ids */
} comparison;

/* A count, with the official one beside it where there is one. */
static void say_count(comparison *c, const char *what, uint64_t count)
{
    const gb_source_count *official = NULL;
    for (size_t i = 0; c->source && i < c->source->count_count; i++)
        if (!strcmp(c->source->counts[i].what, what))
            official = &c->source->counts[i];
    printf("%-28s %12llu", what, (unsigned long long)count);
    if (official && official->count == count) {
        printf("  as it should be");
    } else if (official) {
        printf("  should be %llu", (unsigned long long)official->count);
        c->wrong++;
    }
    printf("\n");
}

static void say_finding(const gb_collection *collection, const char *what,
                        const gb_finding *finding)
{
    if (!finding->count)
        return;
    size_t length;
    const char *id = gb_table_row(collection->passage_ids, finding->first, &length);
    printf("%-28s %12llu  e.g. %.*s\n", what, (unsigned long long)finding->count,
           (int)(length < 60 ? length : 60), id);
}

static bool say_splits(comparison *c, const gb_collection *collection, gb_status *status)
{
    char *path = gb_path_join(status, collection->path, "collection.json");
    json_t *json = path ? json_load_file(path, 0, NULL) : NULL;
    free(path);
    const char *split;
    json_t *counts;
    json_object_foreach(json_object_get(json, "splits"), split, counts)
    {
        static const char *const kinds[] = {"queries", "judgements"};
        char what[100];
        for (int k = 0; k < 2; k++) {
            snprintf(what, sizeof what, "%s.%.60s", kinds[k], split);
            say_count(c, what, (uint64_t)json_integer_value(json_object_get(counts, kinds[k])));
        }
        json_int_t unknown = json_integer_value(json_object_get(counts, "skipped_unknown"));
        if (unknown) {
            json_int_t queries = json_integer_value(json_object_get(counts, "skipped_queries"));
            printf("%-28s %12lld  left out: %lld of passages, %lld of queries that are not there\n",
                   what, (long long)unknown, (long long)(unknown - queries), (long long)queries);
            c->wrong++;
        }
    }
    json_decref(json);
    return true;
}

static bool say_collection(comparison *c, const char *folder, gb_status *status)
{
    gb_check check;
    gb_collection *collection = gb_collection_open(folder, status);
    bool ok = collection && gb_collection_check(collection, &check, status);
    if (ok) {
        say_count(c, "passages", collection->passages);
        say_count(c, "documents", collection->documents);
        say_count(c, "titles", check.titles);
        say_count(c, "queries", gb_table_count(collection->queries));
        ok = say_splits(c, collection, status);
        say_finding(collection, "passages without text", &check.empty);
        say_finding(collection, "passages said before", &check.equal);
        say_finding(collection, "encoded twice", &check.encoded_twice);
        say_finding(collection, "with lost bytes (U+FFFD)", &check.replaced);
        say_finding(collection, "with control characters", &check.control);
    }
    gb_collection_close(collection);
    return ok;
}

/* The entry that was named, else the one with the folder's name, else none. */
static bool find_source(const gb_manifest *manifest, const char *path, const char *as,
                        const gb_source **source, gb_status *status)
{
    if (as)
        return (*source = gb_manifest_find(manifest, as, status)) != NULL;
    size_t length;
    const char *name = gb_path_name(path, &length);
    for (size_t i = 0; i < manifest->count; i++)
        if (strlen(manifest->sources[i].name) == length &&
            !strncmp(manifest->sources[i].name, name, length))
            *source = &manifest->sources[i];
    return true;
}

static bool check(const char *path, const gb_source *source, gb_status *status)
{
    comparison c = {.source = source};
    char *imported = data_import(path, status);
    bool ok = imported && say_collection(&c, imported, status);
    gb_temporary_remove(imported);
    if (ok && source)
        printf("compared with %s of the manifest\n", source->name);
    if (ok && c.wrong)
        ok = gb_fail(status, GB_MISMATCH, path, "fetch it again, or take it for what it is",
                     "%u counts are not as they should be", c.wrong);
    return ok;
}

int data_check(int argc, char **argv)
{
    static const struct option options[] = {{"as", required_argument, NULL, 'a'},
                                            {"manifest", required_argument, NULL, 'm'},
                                            {"help", no_argument, NULL, 'h'},
                                            {0}};
    const char *as = NULL, *given = NULL;
    gb_status status = {0};
    optind = opterr = 0;
    for (int option; (option = getopt_long(argc, argv, "h", options, NULL)) != -1;) {
        if (option == 'a')
            as = optarg;
        else if (option == 'm')
            given = optarg;
        else if (option == 'h') {
            fputs(help, stdout);
            return GB_OK;
        } else
            return data_bad_option("check", argv);
    }
    gb_install_signals();
    gb_manifest manifest = {0};
    const gb_source *source = NULL;
    bool ok = argc - optind == 1 ||
              gb_fail(&status, GB_USAGE, NULL, "see --help", "data check needs one folder or file");
    ok = ok && data_manifest(given, &manifest, &status) &&
         find_source(&manifest, argv[optind], as, &source, &status) &&
         check(argv[optind], source, &status);
    gb_manifest_free(&manifest);
    return data_exit(ok, &status);
}
