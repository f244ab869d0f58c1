/* Ranked lists in memory. */
#include <gabbro/eval.h>

#include <stdlib.h>
#include <string.h>

void gb_run_free(gb_run *run)
{
    if (!run)
        return;
    free(run->hits);
    free(run->lists);
    *run = (gb_run){0};
}

bool gb_run_add(gb_run *run, uint32_t query, const gb_hit *hits, uint32_t count, gb_status *status)
{
    if (!gb_grow(&run->hits, &run->hit_capacity, run->hit_count + count, sizeof(gb_hit), status) ||
        !gb_grow(&run->lists, &run->list_capacity, run->list_count + 1, sizeof(gb_run_list),
                 status))
        return false;
    if (count)
        memcpy(run->hits + run->hit_count, hits, count * sizeof(gb_hit));
    run->lists[run->list_count++] =
        (gb_run_list){.query = query, .count = count, .first = run->hit_count};
    run->hit_count += count;
    return true;
}

const gb_run_list *gb_run_find(const gb_run *run, uint32_t query)
{
    size_t low = 0, high = run->list_count;
    while (low < high) { /* right when the lists are ascending, which the scan below makes up for */
        size_t middle = low + (high - low) / 2;
        if (run->lists[middle].query < query)
            low = middle + 1;
        else
            high = middle;
    }
    if (low < run->list_count && run->lists[low].query == query)
        return &run->lists[low];
    for (size_t i = 0; i < run->list_count; i++)
        if (run->lists[i].query == query)
            return &run->lists[i];
    return NULL;
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
