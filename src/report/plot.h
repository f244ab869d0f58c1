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
/* Draws a page; hover as in plot_draw. */
typedef void plot_paint(cairo_t *cr, const void *self, gb_text *hover);
/* A page [width, height] in pt as an <svg> element, as in gb_figure_svg, or as files. */
typedef struct plot_page {
    plot_paint *paint;    /* draws it */
    const void *self;     /* what paint is given */
    double width, height; /* pt */
    const char *alt;      /* one sentence */
} plot_page;
bool plot_page_svg(const plot_page *page, const char *prefix, gb_text *out, gb_status *status);
bool plot_page_write_svg(const plot_page *page, const char *path, gb_status *status);
bool plot_page_write_png(const plot_page *page, const char *path, gb_status *status);
/* folder/NAME.svg, folder/NAME.png and, unless inlined is NULL, the element with ids NAME-... */
bool plot_page_files(const plot_page *page, const char *folder, const char *name, gb_text *inlined,
                     gb_status *status);
bool figure_files(const gb_figure *figure, const char *folder, const char *name, gb_text *inlined,
                  gb_status *status);
void plot_fonts(cairo_t *cr); /* the same widths everywhere; pages come with it */
void plot_font(cairo_t *cr, double size, bool bold);
double plot_width(cairo_t *cr, const char *text); /* of text in that font, pt */
void plot_color(cairo_t *cr, int color, double alpha);
void plot_mark(cairo_t *cr, gb_mark mark, double x, double y, double size);
void plot_dash(cairo_t *cr, const gb_series *series);

#endif
