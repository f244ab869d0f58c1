/* A small BEIR folder, importing it, and what a collection then holds. */
#ifndef GABBRO_TESTS_SMALL_COLLECTION_H
#define GABBRO_TESTS_SMALL_COLLECTION_H

#include "gabbro/data.h"
#include "scratch.h"

static const char corpus[] =
    "{\"_id\": \"a\", \"title\": \"Rivers\", \"text\": \"The Elbe flows north.\"}\n"
    "{\"_id\": \"b\", \"title\": \"\", \"text\": \"Basalt is a dark volcanic rock.\"}\n"
    "\n"
    "{\"_id\": 3, \"text\": \"Gabbro cools slowly under ground.\", \"metadata\": {}}\n";
static const char queries[] = "{\"_id\": \"q1\", \"text\": \"where does the elbe flow\"}\n"
                              "{\"_id\": \"q2\", \"text\": \"dark rock\"}\n"
                              "{\"_id\": \"q3\", \"text\": \"slow cooling\"}\n"
                              "{\"_id\": \"q4\", \"text\": \"unjudged\"}\n";

static inline void write_beir(const char *folder)
{
    char path[200];
    snprintf(path, sizeof path, "%s/corpus.jsonl", folder);
    scratch_write(path, corpus);
    snprintf(path, sizeof path, "%s/queries.jsonl", folder);
    scratch_write(path, queries);
    snprintf(path, sizeof path, "%s/qrels/train.tsv", folder);
    scratch_write(path, "query-id\tcorpus-id\tscore\nq2\tb\t1\nq1\ta\t1\n");
    snprintf(path, sizeof path, "%s/qrels/test.tsv", folder);
    scratch_write(path, "query-id\tcorpus-id\tscore\nq3\t3\t2\nq3\tb\t0\n");
}

static inline gb_collection *open_imported(const char *target)
{
    gb_status status = {0};
    gb_collection *collection = gb_collection_open(target, &status);
    cr_assert_not_null(collection, "%s: %s", status.where, status.what);
    return collection;
}

static inline gb_collection *import(const char *source, const char *target)
{
    gb_import_params params = GB_IMPORT_DEFAULTS;
    gb_status status = {0};
    params.path = source;
    cr_assert(gb_collection_import(&params, target, &status), "%s: %s", status.where, status.what);
    return open_imported(target);
}

static inline void expect_row(const gb_row_file *file, uint64_t row, const char *text)
{
    size_t length;
    const char *got = gb_row_file_row(file, row, &length);
    cr_expect(length == strlen(text) && memcmp(got, text, length) == 0,
              "row %llu: \"%.*s\" != \"%s\"", (unsigned long long)row, (int)length, got, text);
}

#endif
