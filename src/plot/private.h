/* What the files of the plot module share: drawing one panel, and the legend of several. */
#ifndef PLOT_PRIVATE_H
#define PLOT_PRIVATE_H

#include "gabbro/plot.h"

/* Draws into the box [left, top, width, height] in pt. Hoverable points are appended to `hover` as
 * SVG, unless it is NULL. */
void plot_draw(cairo_t *cr, const gb_plot *plot, const double box[4], gb_text *hover);
/* Height of the legend of these panels at a width; draws it when `draw`. */
double plot_legend(cairo_t *cr, const gb_figure *figure, double top, double width, bool draw);

#endif
