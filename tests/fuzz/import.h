/* Import of one file as a collection; what was imported opens again. */
#ifndef GABBRO_TESTS_FUZZ_IMPORT_H
#define GABBRO_TESTS_FUZZ_IMPORT_H

#include "fuzz.h"

#include <gabbro/data.h>
#include <gabbro/retrieve.h>

static inline void fuzz_import(const char *name, const uint8_t *data, size_t size)
{
    gb_status status = {0};
    gb_import_params params = GB_IMPORT_DEFAULTS;
    char out[128];
    params.path = fuzz_file(name, data, size);
    snprintf(out, sizeof out, "%s/collection", fuzz_folder);
    bool ok = gb_collection_import(&params, out, &status);
    fuzz_check(ok, &status);
    gb_collection *collection = ok ? gb_collection_open(out, &status) : NULL;
    if (ok && !collection)
        abort();
    gb_collection_close(collection);
    if (!gb_remove_tree(out, NULL))
        abort();
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
