/* Sorting of numbers. */
#include "gabbro/base.h"

#include <stdlib.h>

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
