/* Folders of token vectors, and the run that a search of them, or of the passages that another run
 * has found, gives. */
#include <gabbro/ops.h>
#include <gabbro/retrieve.h>

#include <stdlib.h>
#include <string.h>

/* ---- opening ---- */

static bool has_file(const char *folder, const char *name)
{
    char *path = gb_path_join(NULL, folder, name);
    bool there = path && gb_file_exists(path);
    free(path);
    return there;
}

bool gb_is_token_set(const char *folder)
{
    return has_file(folder, "starts.npy");
}

static gb_npy *open_vectors(const char *folder, const char *name, gb_status *status)
{
    const char *path = gb_path_join(status, folder, name);
    gb_npy *npy = path ? gb_npy_open(&path, 1, status) : NULL;
    free((char *)path);
    return npy;
}

static uint32_t *read_list(const char *folder, const char *name, size_t *count, gb_status *status)
{
    char *path = gb_path_join(status, folder, name);
    uint32_t *list = path ? gb_npy_integers(path, count, status) : NULL;
    free(path);
    return list;
}

static bool read_starts(gb_token_set *set, gb_status *status)
{
    gb_token_vectors *v = &set->vectors;
    size_t count = 0;
    if (!(set->starts = read_list(set->folder, "starts.npy", &count, status)))
        return false;
    bool right = count > 0 && set->starts[0] == 0 && set->starts[count - 1] == v->tokens.rows;
    for (size_t t = 1; right && t < count; t++)
        right = set->starts[t - 1] <= set->starts[t];
    if (!right)
        return gb_fail(status, GB_DATA, set->folder,
                       "starts.npy: 0, the first row of every further text, and the rows of "
                       "vectors.npy",
                       "starts.npy does not divide the %u vectors into texts", v->tokens.rows);
    v->starts = set->starts;
    v->texts = (uint32_t)count - 1;
    return true;
}

/* A line for each text. */
static bool read_ids(gb_token_set *set, gb_status *status)
{
    char *path = gb_path_join(status, set->folder, "ids.txt");
    size_t length = 0;
    set->ids = path ? gb_read_file(path, &length, status) : NULL;
    set->names = set->ids ? gb_alloc(set->vectors.texts, sizeof *set->names, status) : NULL;
    bool ok = set->names != NULL;
    uint32_t count = 0;
    for (char *at = set->ids; ok && at < set->ids + length; count++) {
        char *end = memchr(at, '\n', (size_t)(set->ids + length - at));
        if (count < set->vectors.texts)
            set->names[count] = at;
        at = end ? end + 1 : set->ids + length;
    }
    if (ok && count != set->vectors.texts)
        ok = gb_fail(status, GB_DATA, path, "one id a line, in the order of starts.npy",
                     "%u ids of %u texts", count, set->vectors.texts);
    free(path);
    return ok;
}

static bool read_tags(gb_token_set *set, gb_status *status)
{
    size_t count = 0;
    if (!has_file(set->folder, "tags.npy"))
        return true;
    if (!(set->tags = read_list(set->folder, "tags.npy", &count, status)))
        return false;
    set->vectors.tags = set->tags;
    return count == set->vectors.tokens.rows ||
           gb_fail(status, GB_DATA, set->folder, "tags.npy: a number for every row of vectors.npy",
                   "%zu tags of %u tokens", count, set->vectors.tokens.rows);
}

static bool read_whole(gb_token_set *set, gb_status *status)
{
    if (!has_file(set->folder, "whole.npy"))
        return true;
    if (!(set->whole = open_vectors(set->folder, "whole.npy", status)))
        return false;
    set->vectors.whole = gb_npy_vectors(set->whole);
    return set->vectors.whole.rows == set->vectors.texts ||
           gb_fail(status, GB_DATA, set->folder, "whole.npy: a vector for every text",
                   "%u whole vectors of %u texts", set->vectors.whole.rows, set->vectors.texts);
}

bool gb_token_set_open(gb_token_set *set, const char *folder, gb_status *status)
{
    *set = (gb_token_set){.folder = folder};
    bool ok = (set->npy = open_vectors(folder, "vectors.npy", status)) != NULL;
    if (ok)
        set->vectors.tokens = gb_npy_vectors(set->npy);
    ok = ok && read_starts(set, status) && read_ids(set, status) && read_tags(set, status) &&
         read_whole(set, status);
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
    free(set->ids);
    free(set->names);
    *set = (gb_token_set){0};
}

/* ---- searching ---- */

static bool name_all(gb_names *names, const gb_token_set *set, gb_status *status)
{
    for (uint32_t t = 0; t < set->vectors.texts; t++) {
        uint32_t row;
        if (!gb_names_row(names, set->names[t], strcspn(set->names[t], "\r\n"), &row, status))
            return false;
        if (row != t)
            return gb_fail(status, GB_DATA, set->folder, "ids.txt names every text once",
                           "line %u of ids.txt has the id of line %u", t + 1, row + 1);
    }
    return true;
}

static bool search_all(gb_device *device, const gb_token_set *queries, const gb_token_set *passages,
                       uint32_t depth, gb_run *run, gb_status *status)
{
    uint32_t k = depth < passages->vectors.texts ? depth : passages->vectors.texts;
    size_t cells = (size_t)queries->vectors.texts * k;
    const gb_found found = {gb_alloc(cells, sizeof *found.rows, status),
                            gb_alloc(cells, sizeof *found.scores, status)};
    gb_hit *hits = gb_alloc(k, sizeof *hits, status);
    bool ok = found.rows && found.scores && hits &&
              gb_token_search(device, &queries->vectors, &passages->vectors, k, &found, status);
    for (uint32_t q = 0; ok && q < queries->vectors.texts; q++) {
        for (size_t i = 0, at = (size_t)q * k; i < k; i++)
            hits[i] = (gb_hit){found.rows[at + i], found.scores[at + i]};
        ok = gb_run_add(run, q, hits, k, status);
    }
    free(found.rows);
    free(found.scores);
    free(hits);
    return ok;
}

/* The passages of one list, and where their scores go. */
typedef struct candidates {
    uint32_t *rows; /* [count] passages */
    gb_hit *hits;   /* [count] */
    uint32_t done;  /* scored so far */
} candidates;

static void take_scores(void *context, uint32_t query, const uint32_t *rows, const float *scores,
                        uint32_t count)
{
    candidates *c = context;
    (void)query;
    for (uint32_t i = 0; i < count; i++)
        c->hits[c->done++] = (gb_hit){rows[i], scores[i]};
}

static int by_score(const void *a, const void *b)
{
    const gb_hit *x = a, *y = b;
    if (x->score != y->score)
        return x->score > y->score ? -1 : 1;
    return x->passage < y->passage ? -1 : x->passage > y->passage;
}

static bool score_list(gb_token_scorer *scorer, const gb_run *from, const gb_run_list *list,
                       candidates *c, gb_status *status)
{
    for (uint32_t i = 0; i < list->count; i++)
        c->rows[i] = from->hits[list->first + i].passage;
    c->done = 0;
    if (!gb_token_score(scorer, list->query, 1, c->rows, list->count, take_scores, c, status))
        return false;
    qsort(c->hits, list->count, sizeof *c->hits, by_score);
    return true;
}

/* Everything that a run names has vectors. */
static bool check_named(const gb_run_names *names, const gb_token_set *queries,
                        const gb_token_set *passages, const char *path, gb_status *status)
{
    gb_names *both[] = {names->queries, names->passages};
    const gb_token_set *sets[] = {queries, passages};
    for (int i = 0; i < 2; i++) {
        size_t length;
        uint32_t first = sets[i]->vectors.texts;
        if (gb_names_count(both[i]) == first)
            continue;
        const char *id = gb_names_get(both[i], first, &length);
        return gb_fail(status, GB_DATA, path, "rerank a run of the same queries and passages",
                       "%u %s have no vectors in %s, the first %.*s",
                       gb_names_count(both[i]) - first, i ? "passages" : "queries", sets[i]->folder,
                       (int)length, id);
    }
    return true;
}

static bool rerank(gb_device *device, const gb_token_set *queries, const gb_token_set *passages,
                   const gb_run *from, uint32_t depth, gb_run *run, gb_status *status)
{
    size_t most = 0;
    for (size_t l = 0; l < from->list_count; l++)
        most = from->lists[l].count > most ? from->lists[l].count : most;
    candidates c = {gb_alloc(most, sizeof *c.rows, status), gb_alloc(most, sizeof *c.hits, status),
                    0};
    gb_token_scorer *scorer =
        c.rows && c.hits
            ? gb_token_scorer_create(device, &queries->vectors, &passages->vectors, 1, status)
            : NULL;
    bool ok = scorer != NULL;
    for (size_t l = 0; ok && l < from->list_count; l++) {
        const gb_run_list *list = &from->lists[l];
        ok =
            score_list(scorer, from, list, &c, status) &&
            gb_run_add(run, list->query, c.hits, list->count < depth ? list->count : depth, status);
    }
    gb_token_scorer_destroy(scorer);
    free(c.rows);
    free(c.hits);
    return ok;
}

bool gb_token_set_search(gb_device *device, const gb_token_set *queries,
                         const gb_token_set *passages, uint32_t depth, const char *candidates_path,
                         const char *path, gb_status *status)
{
    gb_run_names names = {0};
    gb_run from = {0}, run = {0};
    bool ok = gb_run_names_create(&names, status) && name_all(names.queries, queries, status) &&
              name_all(names.passages, passages, status);
    if (ok && candidates_path)
        ok = gb_run_read(candidates_path, GB_RUN_AUTO, &names, &from, NULL, status) &&
             check_named(&names, queries, passages, candidates_path, status) &&
             rerank(device, queries, passages, &from, depth, &run, status);
    else if (ok)
        ok = search_all(device, queries, passages, depth, &run, status);
    ok = ok && gb_run_write(&run, &names, &(gb_run_style){0}, path, status);
    gb_run_free(&from);
    gb_run_free(&run);
    gb_run_names_free(&names);
    return ok;
}
