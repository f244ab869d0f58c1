#include "found.h"

#include <gabbro/ops.h>

#include <math.h>
#include <string.h>

static const float *read_window(void *context, uint32_t first, uint32_t count, gb_status *status)
{
    const found_window *w = context;
    return w->all->read(w->all->context, w->first + first, count, status);
}

gb_vectors found_in(found_window *window, const gb_vectors *all, uint32_t first, uint32_t count)
{
    gb_vectors part = {.rows = count, .width = all->width};
    *window = (found_window){all, first};
    if (all->values) {
        part.values = all->values + (size_t)first * all->width;
    } else {
        part.read = read_window;
        part.context = window;
    }
    return part;
}

static bool better(float a, float b)
{
    return !isnan(a) && (isnan(b) || a > b);
}

void found_merge(uint32_t *rows, float *scores, const uint32_t *new_rows, const float *new_scores,
                 uint32_t base, uint32_t k, uint32_t *room_rows, float *room_scores)
{
    for (uint32_t i = 0, a = 0, b = 0; i < k; i++) {
        bool old =
            new_rows[b] == GB_NO_ROW || (rows[a] != GB_NO_ROW && !better(new_scores[b], scores[a]));
        room_rows[i] = old ? rows[a] : base + new_rows[b];
        room_scores[i] = old ? scores[a] : new_scores[b];
        a += old;
        b += !old;
    }
    memcpy(rows, room_rows, k * sizeof *rows);
    memcpy(scores, room_scores, k * sizeof *scores);
}
