/* Ranges and ticks of the axes of a panel. */
#ifndef PLOT_AXES_H
#define PLOT_AXES_H

#include "gabbro/plot.h"

enum { MOST_TICKS = 24 };

typedef struct tick {
    double at;      /* in data, log10 on a logarithmic axis */
    char label[32]; /* as printed */
} tick;

/* What is shown; x in log10 where the plot asks for it. */
void plot_axes_ranges(const gb_plot *plot, gb_range *x, gb_range *y);
/* Widen one so that a unit is as long in x as in y. */
void plot_axes_equal(const double box[4], gb_range *x, gb_range *y);
double plot_axes_x(const gb_plot *plot, double x); /* x, or its log10; NAN when it has none */
/* Round numbers within the range, about `wanted` of them. */
size_t plot_axes_ticks(gb_range range, bool logarithmic, size_t wanted, tick ticks[MOST_TICKS]);

#endif
