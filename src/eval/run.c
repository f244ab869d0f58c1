/* Ranked lists in memory. */
#include "placed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void gb_run_free(gb_run *run)
{
    if (!run)
        return;
    free(run->hits);
    free(run->lists);
    free(run->places);
    *run = (gb_run){0};
}

/* Makes room for the place of a query. */
static bool grow_places(gb_run *run, uint32_t query, gb_status *status)
{
    size_t before = run->place_count;
    if (!gb_grow(&run->places, &run->place_count, (size_t)query + 1, sizeof *run->places, status))
        return false;
    memset(run->places + before, 0, (run->place_count - before) * sizeof *run->places);
    return true;
}

static int by_score(const void *a_, const void *b_)
{
    const gb_hit *a = a_, *b = b_;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return (a->passage > b->passage) - (a->passage < b->passage);
}

void gb_hits_sort(gb_hit *hits, size_t count)
{
    if (count)
        qsort(hits, count, sizeof *hits, by_score);
}

static int by_score_and_place(const void *a_, const void *b_)
{
    const eval_placed *a = a_, *b = b_;
    if (a->hit.score != b->hit.score)
        return a->hit.score > b->hit.score ? -1 : 1;
    return (a->at > b->at) - (a->at < b->at);
}

void eval_placed_sort(eval_placed *placed, size_t count)
{
    if (count)
        qsort(placed, count, sizeof *placed, by_score_and_place);
}

bool gb_run_sort(gb_run *run, gb_status *status)
{
    eval_placed *room = NULL;
    size_t capacity = 0;
    bool ok = true;
    for (size_t l = 0; ok && l < run->list_count; l++) {
        uint32_t count = run->lists[l].count;
        if (!count)
            continue;
        gb_hit *hits = run->hits + run->lists[l].first;
        ok = gb_grow(&room, &capacity, count, sizeof *room, status);
        for (uint32_t i = 0; ok && i < count; i++)
            room[i] = (eval_placed){hits[i], i};
        if (ok)
            eval_placed_sort(room, count);
        for (uint32_t i = 0; ok && i < count; i++)
            hits[i] = room[i].hit;
    }
    free(room);
    return ok;
}

bool gb_run_add(gb_run *run, uint32_t query, const gb_hit *hits, uint32_t count, gb_status *status)
{
    for (uint32_t i = 0; i < count; i++)
        if (isnan(hits[i].score))
            return gb_fail(status, GB_DATA, NULL,
                           "look for infinite scores, or for very large numbers in vectors",
                           "the score of a passage is not a number");
    if (!gb_grow(&run->hits, &run->hit_capacity, run->hit_count + count, sizeof(gb_hit), status) ||
        !gb_grow(&run->lists, &run->list_capacity, run->list_count + 1, sizeof(gb_run_list),
                 status) ||
        !grow_places(run, query, status))
        return false;
    if (count)
        memcpy(run->hits + run->hit_count, hits, count * sizeof(gb_hit));
    run->lists[run->list_count++] =
        (gb_run_list){.query = query, .count = count, .first = run->hit_count};
    run->hit_count += count;
    run->places[query] = (uint32_t)run->list_count;
    return true;
}

const gb_run_list *gb_run_find(const gb_run *run, uint32_t query)
{
    uint32_t place = query < run->place_count ? run->places[query] : 0;
    return place ? &run->lists[place - 1] : NULL;
}

bool gb_is_the_query(const gb_run_names *names, uint32_t query, uint32_t passage)
{
    size_t a_length, b_length;
    if (passage == GB_NO_PASSAGE)
        return false;
    const char *a = gb_names_get(names->queries, query, &a_length);
    const char *b = gb_names_get(names->passages, passage, &b_length);
    return a_length == b_length && memcmp(a, b, a_length) == 0;
}

void gb_run_drop_identical(gb_run *run, const gb_run_names *names, uint32_t depth)
{
    for (size_t i = 0; i < run->list_count; i++) {
        gb_run_list *list = &run->lists[i];
        gb_hit *hits = run->hits + list->first;
        uint32_t kept = 0;
        for (uint32_t h = 0; h < list->count && kept < depth; h++)
            if (!gb_is_the_query(names, list->query, hits[h].passage))
                hits[kept++] = hits[h];
        list->count = kept;
    }
}
