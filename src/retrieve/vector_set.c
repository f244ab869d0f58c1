/* Several folders of vectors, read as one. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* A folder, with what vectors.json says where gabbro made it. */
typedef struct shard {
    const char *folder;           /* as named */
    char model[RETRIEVE_MODEL];   /* "" in a folder of somebody else */
    char texts[64 + GB_IDENTITY]; /* what was encoded: passages or split, and of what */
    uint32_t first;               /* row of its first text */
    uint32_t rows;                /* texts */
    uint32_t total;               /* texts of all shards */
    bool ours;                    /* there is a vectors.json */
} shard;

static bool describe(shard *s, gb_status *status)
{
    char *path = gb_path_join(status, s->folder, "vectors.json");
    if (!path)
        return false;
    s->ours = gb_file_exists(path);
    json_t *json = s->ours ? gb_json_load(path, 0, status) : NULL;
    bool ok = !s->ours || json;
    const char *model = json_string_value(json_object_get(json, "model"));
    const char *texts = json_string_value(json_object_get(json, "texts"));
    snprintf(s->model, sizeof s->model, "%s", model ? model : "");
    snprintf(s->texts, sizeof s->texts, "%s", texts ? texts : "");
    s->first = (uint32_t)json_integer_value(json_object_get(json, "first"));
    s->rows = (uint32_t)json_integer_value(json_object_get(json, "rows"));
    s->total = (uint32_t)json_integer_value(json_object_get(json, "total"));
    json_decref(json);
    free(path);
    return ok;
}

static int by_first(const void *a, const void *b)
{
    const shard *x = a, *y = b;
    if (x->first != y->first)
        return x->first < y->first ? -1 : 1;
    return (x->rows > y->rows) - (x->rows < y->rows);
}

/* The texts from `first` on and before `behind` are missing or there twice. */
static bool fail_texts(const shard *s, uint64_t first, uint64_t behind, const char *are,
                       gb_status *status)
{
    return gb_fail(status, GB_DATA, s->folder, "name every shard once", "texts %llu to %llu are %s",
                   (unsigned long long)first, (unsigned long long)behind - 1, are);
}

/* Shards of one making, put into order, must be all of it. */
static bool check_shards(shard *shards, size_t count, gb_status *status)
{
    uint32_t ours = 0;
    uint64_t next = 0;
    for (size_t i = 0; i < count; i++)
        ours += shards[i].ours;
    if (!ours)
        return true;
    if (ours < count)
        return gb_fail(status, GB_DATA, shards[0].folder, NULL,
                       "shards of gabbro encode and other vectors do not go together");
    qsort(shards, count, sizeof *shards, by_first);
    for (size_t i = 0; i < count; i++) {
        const shard *s = &shards[i];
        if (strcmp(s->model, shards[0].model) || strcmp(s->texts, shards[0].texts) ||
            s->total != shards[0].total)
            return gb_fail(status, GB_DATA, s->folder, "encode all shards in the same way",
                           "other texts or another model than in %s", shards[0].folder);
        uint64_t behind = (uint64_t)s->first + s->rows;
        if (s->first > next)
            return fail_texts(s, next, s->first, "missing", status);
        if (s->first < next)
            return fail_texts(s, s->first, behind < next ? behind : next, "there twice", status);
        next = behind;
    }
    if (next != shards[0].total)
        return gb_fail(status, GB_DATA, shards[count - 1].folder, "name every shard once",
                       "texts from %llu on are missing (of %u)", (unsigned long long)next,
                       shards[0].total);
    return true;
}

bool retrieve_order_shards(const char *const *folders, size_t count, const char **ordered,
                           char model[RETRIEVE_MODEL], gb_status *status)
{
    shard *shards = gb_alloc(count, sizeof *shards, status);
    bool ok = shards != NULL;
    for (size_t i = 0; ok && i < count; i++) {
        shards[i].folder = folders[i];
        ok = describe(&shards[i], status);
    }
    ok = ok && check_shards(shards, count, status);
    for (size_t i = 0; ok && i < count; i++)
        ordered[i] = shards[i].folder;
    if (ok)
        snprintf(model, RETRIEVE_MODEL, "%s", shards[0].model);
    free(shards);
    return ok;
}

/* Files of a folder: gabbro's, or those of a faiss index as Pyserini and Tevatron write it. */
static char *file_of(const char *folder, const char *own, const char *faiss, gb_status *status)
{
    char *path = gb_path_join(status, folder, own);
    char *other = path && !gb_file_exists(path) ? gb_path_join(status, folder, faiss) : NULL;
    if (!other || !gb_file_exists(other)) {
        free(other);
        return path;
    }
    free(path);
    return other;
}

char *retrieve_read_ids(const char *path, uint32_t wanted, const char *what, const char *order,
                        const char **rows, gb_status *status)
{
    static const char mark[] = "\xef\xbb\xbf"; /* UTF-8's byte order mark */
    size_t length = 0;
    char *ids = gb_read_file(path, &length, status), *end;
    bool ok = ids != NULL;
    uint32_t count = 0;
    for (char *at = ids; ok && at < ids + length; at = end ? end + 1 : ids + length) {
        at += count || strncmp(at, mark, strlen(mark)) ? 0 : strlen(mark);
        end = memchr(at, '\n', (size_t)(ids + length - at));
        if (count++ < wanted)
            rows[count - 1] = at;
        size_t id = strcspn(at, "\r\n");
        if (!id || !gb_utf8_valid(at, id))
            ok = gb_fail(status, GB_DATA, path, "one id a line, in UTF-8", "line %u %s", count,
                         id ? "is not UTF-8" : "has no id");
    }
    char hint[80];
    snprintf(hint, sizeof hint, "one id a line, in the order of %s", order);
    if (ok && count != wanted)
        ok = gb_fail(status, GB_DATA, path, hint, "%u ids of %u %s", count, wanted, what);
    if (ok)
        return ids;
    free(ids);
    return NULL;
}

/* Ids of a folder as the rows of a file. */
static bool read_ids(gb_vector_set *set, const char *folder, size_t file, uint32_t *row,
                     gb_status *status)
{
    char *path = file_of(folder, "ids.txt", "docid", status);
    uint32_t wanted = gb_npy_rows(set->npy, file);
    set->ids[file] =
        path ? retrieve_read_ids(path, wanted, "vectors", "vectors.npy", set->rows + *row, status)
             : NULL;
    *row += wanted;
    free(path);
    return set->ids[file] != NULL;
}

static bool open_files(gb_vector_set *set, const char *const *folders, gb_status *status)
{
    const char **paths = gb_alloc(set->files, sizeof *paths, status);
    bool ok = paths != NULL;
    for (size_t i = 0; ok && i < set->files; i++)
        ok = (paths[i] = file_of(folders[i], "vectors.npy", "index", status)) &&
             (gb_file_exists(paths[i]) ||
              gb_file_needed(folders[i], "vectors.npy",
                             "give the folder that gabbro encode printed", status));
    ok = ok && (set->npy = gb_npy_open(paths, set->files, status));
    for (size_t i = 0; paths && i < set->files; i++)
        free((char *)paths[i]);
    free(paths);
    if (!ok)
        return false;
    set->vectors = gb_npy_vectors(set->npy);
    set->ids = gb_alloc(set->files, sizeof *set->ids, status);
    set->rows = gb_alloc(set->vectors.rows, sizeof *set->rows, status);
    uint32_t row = 0;
    ok = set->ids && set->rows;
    for (size_t i = 0; ok && i < set->files; i++)
        ok = read_ids(set, folders[i], i, &row, status);
    return ok;
}

bool gb_vector_set_open(gb_vector_set *set, const char *const *folders, size_t count,
                        gb_status *status)
{
    *set = (gb_vector_set){.files = count, .folder = folders[0]};
    char model[RETRIEVE_MODEL];
    const char **ordered = gb_alloc(count, sizeof *ordered, status);
    bool ok = ordered && retrieve_order_shards(folders, count, ordered, model, status) &&
              (set->model = gb_strdup(model, status)) && open_files(set, ordered, status);
    free(ordered);
    if (!ok)
        gb_vector_set_close(set);
    return ok;
}

void gb_vector_set_close(gb_vector_set *set)
{
    gb_npy_close(set->npy);
    for (size_t i = 0; set->ids && i < set->files; i++)
        free(set->ids[i]);
    free(set->ids);
    free(set->rows);
    free(set->model);
    retrieve_cutting_free(set->cutting);
    *set = (gb_vector_set){0};
}

const char *gb_vector_set_id(const gb_vector_set *set, uint32_t row, size_t *length)
{
    *length = strcspn(set->rows[row], "\r\n");
    return set->rows[row];
}

static bool check_id(const char *folder, const char *id, bool is_query, gb_status *status)
{
    size_t end = strcspn(id, "\r\n");
    int shown = end < 80 ? (int)end : 80;
    if (is_query && *id == '#')
        return gb_fail(status, GB_DATA, folder, "rename it: # begins a comment of a run",
                       "the query id \"%.*s\" begins with #", shown, id);
    return strcspn(id, GB_BLANKS) == end ||
           gb_fail(status, GB_DATA, folder, "rename it: the lines of a run are parted at blanks",
                   "the id \"%.*s\" has a blank", shown, id);
}

bool retrieve_name_all(gb_names *names, const char *folder, const char *const *ids, uint32_t count,
                       bool queries, gb_status *status)
{
    for (uint32_t i = 0; i < count; i++) {
        uint32_t row;
        size_t length = strcspn(ids[i], "\r\n");
        if (!check_id(folder, ids[i], queries, status) ||
            !gb_names_row(names, ids[i], length, &row, status))
            return false;
        if (row != i)
            return gb_fail(status, GB_DATA, folder, "ids.txt names every text once",
                           "texts %u and %u have one id, \"%.*s\"", row + 1, i + 1,
                           length < 80 ? (int)length : 80, ids[i]);
    }
    return true;
}

bool gb_vector_set_check_ids(const gb_vector_set *set, gb_status *status)
{
    gb_names *names = gb_names_create(status);
    bool ok =
        names && retrieve_name_all(names, set->folder, set->rows, set->vectors.rows, false, status);
    gb_names_destroy(names);
    return ok;
}
