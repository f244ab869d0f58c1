/* An index: the vectors of all passages of a collection beside their texts, for questions. */
#include "private.h"

#include <gabbro/artifact.h>
#include <gabbro/store.h>
#include <gabbro/os.h>

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define CHUNK 256 /* passages encoded between two notes of how far it is */

/* ---- where the collection is ---- */

static bool is_stored(const char *folder, bool *stored, gb_status *status)
{
    char *path = gb_path_join(status, folder, "collection.json");
    *stored = path && gb_file_exists(path);
    free(path);
    return path != NULL;
}

/* The folder of a collection that is stored already, or NULL: it is to be imported. */
static bool find_stored(const char *given, char **found, gb_status *status)
{
    char *inside = gb_path_join(status, given, "collection");
    bool stored, itself;
    bool ok = inside && is_stored(inside, &stored, status) && is_stored(given, &itself, status);
    *found = NULL;
    if (ok && (stored || itself))
        ok = (*found = gb_strdup(stored ? inside : given, status));
    free(inside);
    return ok;
}

/* How index.json names it: beside the index where both are artifacts of a store; caller frees. */
static char *name_stored(const gb_maker *maker, const char *given, const char *stored,
                         gb_status *status)
{
    char identity[GB_IDENTITY];
    if (!gb_identity(given, identity, status))
        return NULL;
    char *beside = gb_path_join(status, gb_store_root(maker->store), identity);
    bool ours = beside && gb_dir_exists(beside);
    free(beside);
    if (ours)
        return gb_format(status, "../%s/collection", identity);
    char *whole = gb_os_real_path(stored);
    if (!whole)
        gb_fail(status, GB_DATA, stored, NULL, "cannot follow the path: %s", strerror(errno));
    return whole;
}

/* Imports into the index, unless a killed command did. */
static char *import(gb_maker *maker, const char *from, gb_status *status)
{
    gb_import_params params = GB_IMPORT_DEFAULTS;
    const gb_import_variant variant = {0};
    bool there;
    params.path = from;
    params.keep_splits = params.skip_unknown_qrels = true;
    char *path = gb_maker_file(maker, "collection", status);
    if (path && is_stored(path, &there, status) &&
        (there || gb_collection_import_as(&params, &variant, path, status)))
        return path;
    free(path);
    return NULL;
}

/* ---- making ---- */

/* Passages on their way into vectors. */
typedef struct passages {
    gb_text_encoder *encoder;        /* does it */
    const gb_collection *collection; /* they are of it */
} passages;

static bool encode_some(void *self, uint32_t first, uint32_t count, float *vectors,
                        gb_status *status)
{
    const passages *p = self;
    gb_text all = {0};
    size_t *starts = gb_alloc(count, sizeof *starts, status);
    const char **texts = gb_alloc(count, sizeof *texts, status);
    bool ok = starts && texts;
    for (uint32_t i = 0; ok && i < count; i++) {
        starts[i] = all.length;
        gb_collection_passage(p->collection, first + i, &all);
        gb_text_append(&all, "", 1);
    }
    ok = ok && (!all.failed || gb_fail_memory(status, "texts of passages"));
    for (uint32_t i = 0; ok && i < count; i++)
        texts[i] = all.data + starts[i];
    ok =
        ok && gb_text_encoder_run(p->encoder, GB_TEXT_PASSAGE, texts, count, NULL, vectors, status);
    gb_text_free(&all);
    free(starts);
    free(texts);
    return ok;
}

static bool write_vectors(gb_maker *maker, const passages *p, const gb_index_params *params,
                          gb_status *status)
{
    const char *folder = gb_maker_folder(maker);
    char *path = gb_maker_file(maker, "vectors.npy", status);
    char *journal = path ? gb_maker_resume_file(maker, "encoded", status) : NULL;
    const gb_vector_file file = {.path = path, .journal = journal};
    const gb_encode_rows all = {.count = p->collection->passages};
    uint32_t width = gb_text_encoder_width(p->encoder);
    const retrieve_part part = {.file = &file,
                                .label = "encode passages",
                                .unit = "texts",
                                .chunk = CHUNK,
                                .count = all.count,
                                .rows = all.count,
                                .width = width,
                                .make = encode_some,
                                .self = (void *)p};
    const retrieve_description description = {.model = params->model,
                                              .pooling = maker->pooling,
                                              .source = params->collection,
                                              .rows = all.count,
                                              .total = all.count,
                                              .width = width};
    bool ok = journal && retrieve_write_part(&part, status) &&
              retrieve_write_ids(p->collection->passage_ids, &all, folder, status) &&
              retrieve_write_description(&description, folder, status);
    free(path);
    free(journal);
    return ok;
}

/* Opens the collection, and gives the name of it that is to be kept; the caller frees both. */
static gb_collection *open_source(gb_maker *maker, const char *given, char **name,
                                  gb_status *status)
{
    char *path;
    if (!find_stored(given, &path, status))
        return NULL;
    if (path) {
        *name = name_stored(maker, given, path, status);
    } else {
        path = import(maker, given, status);
        *name = gb_strdup("collection", status);
    }
    gb_collection *collection = path && *name ? gb_collection_open(path, status) : NULL;
    free(path);
    return collection;
}

bool gb_index_make(gb_maker *maker, const gb_index_params *params, gb_status *status)
{
    char *name = NULL;
    gb_collection *collection = open_source(maker, params->collection, &name, status);
    const gb_text_encoder_params how = {.config = maker->config,
                                        .model = params->model,
                                        .open = collection ? gb_maker_device(maker, status) : NULL,
                                        .pooling = gb_pooling_named(maker->pooling),
                                        .dims = params->dims,
                                        .compare = true};
    passages p = {.encoder = how.open ? gb_text_encoder_open(&how, status) : NULL,
                  .collection = collection};
    bool ok = p.encoder && write_vectors(maker, &p, params, status);
    if (ok) {
        json_t *json = json_pack("{s:s}", "collection", name);
        ok = gb_json_save_in(json, GB_JSON_DESCRIPTION, gb_maker_folder(maker), "index.json",
                             status);
        json_decref(json);
        json_object_set_new(maker->facts, "passages", json_integer(collection->passages));
    }
    gb_text_encoder_close(p.encoder);
    gb_collection_close(collection);
    free(name);
    return ok;
}

const gb_option gb_index_options[] = {
    {"model", GB_OPTION_TEXT, GB_FIELD(gb_index_params, model), GB_OPTION_INPUT | GB_OPTION_HIDDEN,
     "MODEL", "which model"},
    {"collection", GB_OPTION_TEXT, GB_FIELD(gb_index_params, collection),
     GB_OPTION_INPUT | GB_OPTION_HIDDEN, "PATH", "which collection"},
    {"dims", GB_OPTION_U32, GB_FIELD(gb_index_params, dims), 0, NULL,
     "dimensions of a vector that are kept, as Matryoshka models allow; what was of length 1 is "
     "made "
     "so again; 0: all"},
    {0}};

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    return gb_index_make(maker, self, status);
}

gb_make_params gb_index_making(void)
{
    return (gb_make_params){.kind = "index",
                            .version = 1,
                            .kernels = GB_USER_ENCODE,
                            .flags = GB_MAKES_ENCODING | GB_MAKES_UNSEEN,
                            .make = make};
}

/* ---- opening ---- */

/* The vectors are of the collection as it was; another one may lie in its place. */
static bool check_ids(const gb_index *index, const char *folder, const char *path,
                      gb_status *status)
{
    const gb_vector_set *set = &index->vectors;
    for (uint32_t row = 0; row < set->vectors.rows; row++) {
        size_t length, wanted;
        const char *id = gb_row_file_row(index->collection->passage_ids, row, &length);
        const char *of = gb_vector_set_id(set, row, &wanted);
        if (length != wanted || memcmp(id, of, length) != 0)
            return gb_fail(status, GB_DATA, path,
                           "the collection was replaced: make the index again",
                           "passage %u is \"%.*s\", and vector %u of %s is of \"%.*s\"", row + 1,
                           length < 80 ? (int)length : 80, id, row + 1, folder,
                           wanted < 80 ? (int)wanted : 80, of);
    }
    return true;
}

static bool open_collection(gb_index *index, const char *folder, gb_status *status)
{
    char *description = gb_path_join(status, folder, "index.json"), *path = NULL;
    if (!description || !gb_file_exists(description)) {
        free(description);
        return description != NULL;
    }
    const char *named = NULL;
    json_t *json = gb_json_load(description, 0, status);
    bool ok = json && gb_json_get_string(json, "collection", description, &named, status);
    if (ok && !named)
        ok = gb_fail(status, GB_DATA, description, NULL, "it does not name its collection");
    ok = ok &&
         (path = gb_os_is_absolute(named) ? gb_strdup(named, status)
                                          : gb_path_join(status, folder, named)) &&
         (index->collection = gb_collection_open(path, status));
    if (ok && index->collection->passages != index->vectors.vectors.rows)
        ok = gb_fail(status, GB_DATA, path, "make the index again",
                     "%u passages, and %u vectors in %s", index->collection->passages,
                     index->vectors.vectors.rows, folder);
    ok = ok && check_ids(index, folder, path, status);
    json_decref(json);
    free(description);
    free(path);
    return ok;
}

bool gb_index_open(gb_index *index, const char *const *folders, size_t count, gb_status *status)
{
    *index = (gb_index){0};
    if (gb_vector_set_open(&index->vectors, folders, count, status) &&
        (count != 1 || open_collection(index, folders[0], status)))
        return true;
    gb_index_close(index);
    return false;
}

void gb_index_close(gb_index *index)
{
    gb_vector_set_close(&index->vectors);
    gb_collection_close(index->collection);
    *index = (gb_index){0};
}
