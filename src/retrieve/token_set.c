/* Folders of token vectors, read as one. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

static bool has_file(const char *folder, const char *name)
{
    char *path = gb_path_join(NULL, folder, name);
    bool there = path && gb_file_exists(path);
    free(path);
    return there;
}

/* What one folder has and another lacks is missed when that is read. */
static bool any_has_file(const char *const *folders, size_t count, const char *name)
{
    bool there = false;
    for (size_t i = 0; i < count; i++)
        there = there || has_file(folders[i], name);
    return there;
}

bool gb_is_token_set(const char *folder)
{
    return has_file(folder, "starts.npy");
}

static gb_npy *open_vectors(const char *const *folders, size_t count, const char *name,
                            gb_status *status)
{
    char **paths = gb_alloc(count, sizeof *paths, status);
    bool ok = paths != NULL;
    for (size_t i = 0; ok && i < count; i++)
        ok = (paths[i] = gb_path_join(status, folders[i], name)) != NULL;
    gb_npy *npy = ok ? gb_npy_open((const char *const *)paths, count, status) : NULL;
    for (size_t i = 0; paths && i < count; i++)
        free(paths[i]);
    free(paths);
    return npy;
}

static uint32_t *read_list(const char *folder, const char *name, size_t *count, gb_status *status)
{
    char *path = gb_path_join(status, folder, name);
    uint32_t *list = path ? gb_npy_integers(path, count, status) : NULL;
    free(path);
    return list;
}

/* One of the folders. */
typedef struct token_folder {
    const char *path;     /* as named */
    uint32_t first, rows; /* its tokens */
    uint32_t texts;       /* its texts */
    uint32_t *starts;     /* what is in its starts.npy */
} token_folder;

static bool read_starts(token_folder *f, gb_status *status)
{
    size_t count = 0;
    uint32_t *starts = f->starts = read_list(f->path, "starts.npy", &count, status);
    if (!starts)
        return false;
    bool right = count > 0 && starts[0] == 0 && starts[count - 1] == f->rows;
    for (size_t t = 1; right && t < count; t++)
        right = starts[t - 1] <= starts[t];
    f->texts = right ? (uint32_t)count - 1 : 0;
    return right || gb_fail(status, GB_DATA, f->path,
                            "starts.npy: 0, the first row of every further text, and the rows of "
                            "vectors.npy",
                            "starts.npy does not divide the %u vectors into texts", f->rows);
}

/* The starts of all folders, behind one another. */
static bool join_starts(gb_token_set *set, const token_folder *folders, gb_status *status)
{
    uint32_t texts = 0;
    for (size_t i = 0; i < set->files; i++)
        texts += folders[i].texts;
    if (!(set->starts = gb_alloc((size_t)texts + 1, sizeof *set->starts, status)))
        return false;
    uint32_t at = 0;
    for (size_t i = 0; i < set->files; i++)
        for (uint32_t t = 0; t < folders[i].texts; t++)
            set->starts[at++] = folders[i].first + folders[i].starts[t];
    set->starts[texts] = set->vectors.tokens.rows;
    set->vectors.starts = set->starts;
    set->vectors.texts = texts;
    return true;
}

/* A line for each text. */
static bool add_ids(gb_token_set *set, size_t file, const token_folder *f, uint32_t first,
                    gb_status *status)
{
    char *path = gb_path_join(status, f->path, "ids.txt");
    set->ids[file] =
        path ? retrieve_read_ids(path, f->texts, "texts", "starts.npy", set->names + first, status)
             : NULL;
    free(path);
    return set->ids[file] != NULL;
}

/* Tags of a folder, where the set has any. */
static bool add_tags(gb_token_set *set, const token_folder *f, gb_status *status)
{
    size_t count = 0;
    uint32_t *tags = read_list(f->path, "tags.npy", &count, status);
    bool ok =
        tags && (count == f->rows || gb_fail(status, GB_DATA, f->path,
                                             "tags.npy: a number for every row of vectors.npy",
                                             "%zu tags of %u tokens", count, f->rows));
    if (ok)
        memcpy(set->tags + f->first, tags, sizeof *tags * count);
    free(tags);
    return ok;
}

static bool read_lists(gb_token_set *set, token_folder *folders, bool tagged, gb_status *status)
{
    bool ok = true;
    for (size_t i = 0; ok && i < set->files; i++) {
        folders[i].first = i ? folders[i - 1].first + folders[i - 1].rows : 0;
        folders[i].rows = gb_npy_rows(set->npy, i);
        ok = read_starts(&folders[i], status);
    }
    uint32_t tokens = set->vectors.tokens.rows, first = 0;
    ok = ok && join_starts(set, folders, status) &&
         (set->names = gb_alloc(set->vectors.texts, sizeof *set->names, status)) &&
         (!tagged || (set->tags = gb_alloc((size_t)tokens + 1, sizeof *set->tags, status)));
    for (size_t i = 0; ok && i < set->files; first += folders[i++].texts)
        ok = add_ids(set, i, &folders[i], first, status) &&
             (!tagged || add_tags(set, &folders[i], status));
    set->vectors.tags = set->tags;
    return ok;
}

static bool open_all(gb_token_set *set, const char *const *paths, token_folder *folders,
                     gb_status *status)
{
    bool whole = any_has_file(paths, set->files, "whole.npy");
    if (!(set->npy = open_vectors(paths, set->files, "vectors.npy", status)) ||
        (whole && !(set->whole = open_vectors(paths, set->files, "whole.npy", status))))
        return false;
    set->vectors.tokens = gb_npy_vectors(set->npy);
    for (size_t i = 0; i < set->files; i++)
        folders[i].path = paths[i];
    if (whole)
        set->vectors.whole = gb_npy_vectors(set->whole);
    return read_lists(set, folders, any_has_file(paths, set->files, "tags.npy"), status) &&
           (!whole || set->vectors.whole.rows == set->vectors.texts ||
            gb_fail(status, GB_DATA, set->folder, "whole.npy: a vector for every text",
                    "%u whole vectors of %u texts", set->vectors.whole.rows, set->vectors.texts));
}

bool gb_token_set_open(gb_token_set *set, const char *const *folders, size_t count,
                       gb_status *status)
{
    *set = (gb_token_set){.folder = folders[0], .files = count};
    char model[RETRIEVE_MODEL];
    const char **ordered = gb_alloc(count, sizeof *ordered, status);
    token_folder *all = gb_alloc(count, sizeof *all, status);
    bool ok = ordered && all && (set->ids = gb_alloc(count, sizeof *set->ids, status)) &&
              retrieve_order_shards(folders, count, ordered, model, status) &&
              (set->model = gb_strdup(model, status)) && open_all(set, ordered, all, status);
    for (size_t i = 0; all && i < count; i++)
        free(all[i].starts);
    free(ordered);
    free(all);
    if (!ok)
        gb_token_set_close(set);
    return ok;
}

void gb_token_set_close(gb_token_set *set)
{
    gb_npy_close(set->npy);
    gb_npy_close(set->whole);
    free(set->starts);
    free(set->tags);
    for (size_t i = 0; set->ids && i < set->files; i++)
        free(set->ids[i]);
    free(set->ids);
    free(set->names);
    free(set->model);
    *set = (gb_token_set){0};
}
