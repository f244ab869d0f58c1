/* Import of one file as a collection; what was imported opens again. */
#ifndef GABBRO_TESTS_FUZZ_IMPORT_H
#define GABBRO_TESTS_FUZZ_IMPORT_H

#include "fuzz.h"

#include <gabbro/eval.h>

/* vocab: of files of token ids, or NULL. */
static inline void fuzz_import_path(const char *from, gb_import_variant variant,
                                    const gb_vocab *vocab)
{
    gb_status status = {0};
    gb_import_params params = GB_IMPORT_DEFAULTS;
    params.vocab = vocab;
    char out[128], path[192];
    snprintf(path, sizeof path, "%s", from);
    params.path = path;
    snprintf(out, sizeof out, "%s/collection", fuzz_folder);
    bool ok = gb_collection_import_as(&params, &variant, out, &status);
    fuzz_check(ok, &status);
    gb_collection *collection = ok ? gb_collection_open(out, &status) : NULL;
    if (ok && !collection)
        abort();
    gb_collection_close(collection);
    if (!gb_remove_tree(out, NULL))
        abort();
}

static inline void fuzz_import(const char *name, const uint8_t *data, size_t size)
{
    fuzz_import_path(fuzz_file(name, data, size), (gb_import_variant){0}, NULL);
}

/* A collection of three passages and two queries for readers that look things up in one; it stays
 * open. */
static inline const gb_collection *fuzz_collection(void)
{
    static gb_collection *collection; /* of this process */
    static const char text[] =
        "{\"_id\":\"p0\",\"title\":\"Lakes\",\"text\":\"A lake lies low.\"}\n"
        "{\"_id\":\"p1\",\"title\":\"\",\"text\":\"Rivers run.\"}\n"
        "{\"_id\":\"p2\",\"title\":\"Hills\",\"text\":\"A hill \\u00e9 is high.\"}\n\f"
        "{\"_id\":\"q0\",\"text\":\"what lies low\"}\n{\"_id\":\"q1\",\"text\":\"what runs\"}\n\f"
        "query-id\tcorpus-id\tscore\nq0\tp0\t1\nq1\tp1\t1\n";
    static const char *const names[] = {"corpus.jsonl", "queries.jsonl", "qrels/train.tsv", NULL};
    if (!collection) {
        gb_status status = {0};
        gb_import_params params = GB_IMPORT_DEFAULTS;
        char from[192], out[128];
        snprintf(from, sizeof from, "%s",
                 fuzz_parts("known.source", names, (const uint8_t *)text, sizeof text - 1));
        snprintf(out, sizeof out, "%s/known", fuzz_folder);
        params.path = from;
        if (!gb_collection_import(&params, out, &status) ||
            !(collection = gb_collection_open(out, &status)))
            abort();
    }
    return collection;
}

/* The same bytes as queries. */
static inline void fuzz_topics(const char *name, const uint8_t *data, size_t size)
{
    gb_status status = {0};
    gb_topics topics = {0};
    fuzz_check(gb_topics_read(fuzz_file(name, data, size), &topics, &status), &status);
    gb_topics_free(&topics);
}

#endif
