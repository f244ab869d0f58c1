/* Parts of the passages, and what was found in them. */
#include "search.h"

#include <gabbro/ops.h>

#include <string.h>

static const float *read_window(void *context, uint32_t first, uint32_t count, gb_status *status)
{
    const search_window *w = context;
    return w->all->read(w->all->context, w->first + first, count, status);
}

gb_vectors retrieve_search_part(search_window *window, const gb_vectors *all, uint32_t first,
                                uint32_t count)
{
    gb_vectors part = {.rows = count, .width = all->width};
    *window = (search_window){all, first};
    if (all->values) {
        part.values = all->values + (size_t)first * all->width;
    } else {
        part.read = read_window;
        part.context = window;
    }
    return part;
}

void retrieve_search_merge(const gb_found *found, const gb_found *other, uint32_t base, uint32_t k,
                           const gb_found *scratch)
{
    for (uint32_t i = 0, a = 0, b = 0; i < k; i++) {
        bool first = other->rows[b] == GB_NO_ROW ||
                     (found->rows[a] != GB_NO_ROW &&
                      !retrieve_search_better(other->scores[b], found->scores[a]));
        scratch->rows[i] = first ? found->rows[a] : base + other->rows[b];
        scratch->scores[i] = first ? found->scores[a] : other->scores[b];
        a += first;
        b += !first;
    }
    memcpy(found->rows, scratch->rows, k * sizeof *found->rows);
    memcpy(found->scores, scratch->scores, k * sizeof *found->scores);
}
