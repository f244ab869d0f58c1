/* Drawing of one panel. */
#ifndef GABBRO_REPORT_PLOT_H
#define GABBRO_REPORT_PLOT_H

#include "gabbro/plot.h"

#include <cairo.h>

/* Draws into the box [left, top, width, height] in pt. Hoverable points are appended to `hover` as
 * SVG, unless it is NULL. */
void plot_draw(cairo_t *cr, const gb_plot *plot, const double box[4], gb_text *hover);
/* Height of the legend of these panels at a width; draws it when `draw`. */
double plot_legend(cairo_t *cr, const gb_figure *figure, double top, double width, bool draw);
void plot_color(cairo_t *cr, int color, double alpha);
void plot_mark(cairo_t *cr, gb_mark mark, double x, double y, double size);
void plot_dash(cairo_t *cr, const gb_series *series);

#endif
