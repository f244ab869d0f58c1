/* Sorting. */
#include "gabbro/base.h"

#include <stdlib.h>
#include <string.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void gb_sort_doubles(double *values, size_t count)
{
    if (count)
        qsort(values, count, sizeof *values, ascending);
}

/* ---- heap sort: needs no memory, and asks for no more than n log n comparisons ---- */

typedef struct heap {
    char *items;                                        /* [count] of `size` bytes */
    size_t size;                                        /* of one */
    int (*compare)(const void *, const void *, void *); /* as given */
    void *context;                                      /* its context */
} heap;

static void exchange(const heap *h, size_t a, size_t b)
{
    char *x = h->items + a * h->size, *y = h->items + b * h->size, kept[64];
    for (size_t done = 0; done < h->size;) {
        size_t part = h->size - done < sizeof kept ? h->size - done : sizeof kept;
        memcpy(kept, x + done, part);
        memcpy(x + done, y + done, part);
        memcpy(y + done, kept, part);
        done += part;
    }
}

/* Lets the item at `at` sink below those that come after it in order. */
static void sink(const heap *h, size_t at, size_t count)
{
    for (size_t below; (below = 2 * at + 1) < count; at = below) {
        if (below + 1 < count && h->compare(h->items + below * h->size,
                                            h->items + (below + 1) * h->size, h->context) < 0)
            below++;
        if (h->compare(h->items + at * h->size, h->items + below * h->size, h->context) >= 0)
            return;
        exchange(h, at, below);
    }
}

void gb_sort(void *items, size_t count, size_t size,
             int (*compare)(const void *a, const void *b, void *context), void *context)
{
    heap h = {items, size, compare, context};
    for (size_t at = count / 2; at-- > 0;)
        sink(&h, at, count);
    while (count > 1) {
        exchange(&h, 0, --count);
        sink(&h, 0, count);
    }
}
