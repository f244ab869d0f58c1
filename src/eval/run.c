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
