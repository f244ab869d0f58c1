/* Scores that a teacher gave to passages for queries, from training files. */
#include "data/training.h"

#include <math.h>
#include <stdlib.h>

/* What is read, and into what. */
typedef struct reading {
    gb_scored_pairs *pairs; /* so far, in the file's order */
    data_finder finder;     /* of rows */
    const gb_lines *lines;  /* for messages */
    bool skip_unknown;      /* not an error */
} reading;

static bool unknown(reading *r, const char *kind, const char *name, gb_status *status)
{
    r->pairs->skipped++;
    return r->skip_unknown || gb_lines_fail(r->lines, status, "see --skip-unknown",
                                            "unknown %s \"%.80s\"", kind, name);
}

static bool take(reading *r, uint32_t query, const training_list *list, gb_status *status)
{
    gb_scored_pairs *to = r->pairs;
    for (size_t i = 0; i < list->count; i++) {
        const training_passage *p = &list->items[i];
        uint32_t row;
        if (isnan(p->score)) {
            to->unscored++;
            continue;
        }
        if (!data_find_passage(&r->finder, p, &row, status))
            return false;
        if (row == GB_MAP_NONE) {
            if (!unknown(r, "passage", p->id ? p->id : p->text, status))
                return false;
            continue;
        }
        if (!gb_grow(&to->pairs, &to->capacity, to->count + 1, sizeof *to->pairs, status))
            return false;
        to->pairs[to->count++] = (gb_scored_pair){query, row, p->score};
    }
    return true;
}

static bool take_example(reading *r, const training_example *e, gb_status *status)
{
    uint32_t query;
    if (!data_find_query(&r->finder, e, &query, status))
        return false;
    if (query == GB_MAP_NONE)
        return unknown(r, "query", e->query_id ? e->query_id : e->query, status);
    return take(r, query, &e->positives, status) && take(r, query, &e->negatives, status);
}

/* ---- once each ---- */

/* A pair with its place in the file, which sorting must not lose. */
typedef struct placed {
    gb_scored_pair pair; /* it */
    size_t place;        /* the larger, the later */
} placed;

static int by_pair(const void *a_, const void *b_)
{
    const placed *a = a_, *b = b_;
    if (a->pair.query != b->pair.query)
        return a->pair.query < b->pair.query ? -1 : 1;
    if (a->pair.passage != b->pair.passage)
        return a->pair.passage < b->pair.passage ? -1 : 1;
    return a->place < b->place ? -1 : 1;
}

static int by_score(const void *a_, const void *b_)
{
    const gb_scored_pair *a = a_, *b = b_;
    if (a->query != b->query)
        return a->query < b->query ? -1 : 1;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return a->passage < b->passage ? -1 : 1;
}

static bool sort(gb_scored_pairs *pairs, gb_status *status)
{
    placed *all = gb_alloc(pairs->count, sizeof *all, status);
    if (!all)
        return false;
    for (size_t i = 0; i < pairs->count; i++)
        all[i] = (placed){pairs->pairs[i], i};
    qsort(all, pairs->count, sizeof *all, by_pair);
    size_t kept = 0;
    for (size_t i = 0; i < pairs->count; i++) {
        const gb_scored_pair *p = &all[i].pair;
        bool again = i + 1 < pairs->count && all[i + 1].pair.query == p->query &&
                     all[i + 1].pair.passage == p->passage;
        if (!again)
            pairs->pairs[kept++] = *p;
    }
    pairs->count = kept;
    free(all);
    qsort(pairs->pairs, kept, sizeof *pairs->pairs, by_score);
    return true;
}

bool gb_scored_pairs_read(const gb_collection *collection, const char *path, bool skip_unknown,
                          gb_scored_pairs *pairs, gb_status *status)
{
    reading r = {
        .pairs = pairs, .finder = {.collection = collection}, .skip_unknown = skip_unknown};
    gb_lines *lines = gb_lines_open(path, status);
    training_file *file = lines ? data_training_open(lines, path, status) : NULL;
    const training_example *example;
    int got = file ? 1 : -1;
    r.lines = lines;
    while (got == 1 && (got = data_training_next(file, &example, status)) == 1)
        if (!take_example(&r, example, status))
            got = -1;
    data_training_close(file);
    gb_lines_close(lines);
    data_finder_free(&r.finder);
    if (got == 0 && !pairs->count)
        return gb_fail(status, GB_DATA, path, "the layouts are in docs/reference/formats.md",
                       "no score of any passage of the collection's (%llu without one)",
                       (unsigned long long)pairs->unscored);
    return got == 0 && sort(pairs, status);
}
