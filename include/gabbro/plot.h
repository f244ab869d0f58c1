/* Plot module: lines with error bars or bands, dashed baselines, marked points in the plane, and a
 * view of points in space that turns; as SVG and PNG by cairo, coordinates by cglm. The same plot
 * gives the same bytes with the same cairo and fonts. */
#ifndef GABBRO_PLOT_H
#define GABBRO_PLOT_H

#include <gabbro/base.h>

#include <cairo.h>

typedef enum gb_mark {
    GB_MARK_NONE,
    GB_MARK_CIRCLE,
    GB_MARK_SQUARE,
    GB_MARK_TRIANGLE,
    GB_MARK_DIAMOND,
    GB_MARK_STAR,
} gb_mark;

#define GB_PLOT_COLORS 7  /* distinguishable with the usual kinds of colour blindness */
#define GB_PLOT_GREY   -1 /* for what is in the background */

/* One line or cloud of points. Nothing is copied. */
typedef struct gb_series {
    const char *label;        /* in the legend; NULL: not there */
    const double *x, *y;      /* [count]; NAN leaves a gap */
    const double *low, *high; /* [count] interval of y, or NULL */
    const char *const *names; /* [count] what is shown on hovering, or NULL: the values */
    size_t count;             /* points */
    gb_mark mark;             /* at the points */
    double size;              /* of the marks in points (pt); 0: 3.5 */
    bool line;                /* join the points */
    bool band;                /* the interval as a band instead of bars */
    bool dashed;              /* dash the line */
    int color;                /* 0..GB_PLOT_COLORS-1, or GB_PLOT_GREY */
} gb_series;

/* A dashed horizontal line. */
typedef struct gb_baseline {
    const char *label; /* in the legend */
    double value;      /* of y */
    int color;         /* as in gb_series */
} gb_baseline;

typedef struct gb_range {
    double low, high; /* low < high; both 0: from the data */
} gb_range;

/* One panel. */
typedef struct gb_plot {
    const char *title;            /* above, or NULL */
    const char *x_label;          /* below, or NULL */
    const char *y_label;          /* left, or NULL */
    const gb_series *series;      /* drawn in order */
    size_t series_count;          /* how many */
    const gb_baseline *baselines; /* drawn first */
    size_t baseline_count;        /* how many */
    gb_range x, y;                /* shown */
    bool log_x;                   /* decades; x must be above 0 */
    bool bare; /* no ticks, one scale for x and y: positions mean nothing alone */
} gb_plot;

/* Panels side by side, `columns` a row, all of one size. */
typedef struct gb_figure {
    const gb_plot *plots; /* [count] */
    size_t count;         /* panels */
    size_t columns;       /* panels in a row; 0: all */
    double width, height; /* size of a panel in pt; 0: 460 x 300, or 260 x 260 when bare */
    const char *alt;      /* text alternative, one sentence; NULL: the first title */
    bool no_legend;       /* draw no legend */
} gb_figure;

/* Appends an <svg> element to out. Every id in it begins with `prefix` (letters, digits, '-'), so
 * that a page can have several. Points show their values when the pointer is over them. */
bool gb_figure_svg(const gb_figure *figure, const char *prefix, gb_text *out, gb_status *status);
/* Writes the figure to a file. */
bool gb_figure_write_svg(const gb_figure *figure, const char *path, gb_status *status);
/* Writes folder/NAME.svg and folder/NAME.png and, unless inlined is NULL, appends the element with
 * ids NAME-... */
bool gb_figure_files(const gb_figure *figure, const char *folder, const char *name,
                     gb_text *inlined, gb_status *status);

/* Draws a whole page; hoverable points are appended to `hover` as SVG, unless it is NULL. */
typedef void gb_plot_paint(cairo_t *cr, const void *self, gb_text *hover);
/* A drawing that is not made of panels. */
typedef struct gb_plot_page {
    gb_plot_paint *paint; /* draws it */
    const void *self;     /* second argument of paint */
    double width, height; /* pt */
    const char *alt;      /* text alternative, one sentence */
} gb_plot_page;
/* Writes the files of gb_figure_files for such a drawing. */
bool gb_plot_page_files(const gb_plot_page *page, const char *folder, const char *name,
                        gb_text *inlined, gb_status *status);
/* Makes texts as wide on every machine; a page that is painted has it already. */
void gb_plot_fonts(cairo_t *cr);
void gb_plot_font(cairo_t *cr, double size, bool bold);
double gb_plot_width(cairo_t *cr, const char *text); /* of text in the current font, pt */

/* Where data lie on the page: pixels of a box [left, top, width, height] from data in x and y. The
 * matrix is column-major as cglm's mat4; page = matrix * (x, y, 0, 1), y upwards in the data. */
void gb_plot_matrix(const double box[4], gb_range x, gb_range y, float matrix[4][4]);

/* Points in space [count][3] seen from a camera that looks at their middle, `turn` and `tilt` in
 * degrees around it, with perspective: x to the right, y up, depth away from the eye. The scale is
 * the same for all turns. */
void gb_plot_rotation(const double (*points)[3], size_t count, double turn, double tilt, double *x,
                      double *y, double *depth);

#endif
