/* Figures as SVG and PNG. */
#include "gabbro/page.h"
#include "private.h"

#include <cairo-svg.h>
#include <stdlib.h>
#include <string.h>

/* Sizes of a figure in pt. */
typedef struct layout {
    size_t columns, rows; /* panels */
    double width, height; /* of a panel */
    double legend;        /* height of the legend */
    double page[2];       /* of the whole */
} layout;

void gb_plot_fonts(cairo_t *cr)
{
    /* Widths must not depend on the hinting of a screen. */
    cairo_font_options_t *options = cairo_font_options_create();
    cairo_font_options_set_hint_style(options, CAIRO_HINT_STYLE_NONE);
    cairo_font_options_set_hint_metrics(options, CAIRO_HINT_METRICS_OFF);
    cairo_font_options_set_antialias(options, CAIRO_ANTIALIAS_GRAY);
    cairo_set_font_options(cr, options);
    cairo_font_options_destroy(options);
}

static layout measure(const gb_figure *figure)
{
    bool bare = figure->count && figure->plots[0].bare;
    layout l = {.columns = figure->columns && figure->columns < figure->count ? figure->columns
                                                                              : figure->count,
                .width = figure->width > 0 ? figure->width
                         : bare            ? 260
                                           : 460,
                .height = figure->height > 0 ? figure->height
                          : bare             ? 260
                                             : 300};
    if (!l.columns)
        l.columns = 1;
    l.rows = (figure->count + l.columns - 1) / l.columns;
    l.page[0] = l.width * (double)l.columns;
    cairo_surface_t *nowhere = cairo_recording_surface_create(CAIRO_CONTENT_COLOR_ALPHA, NULL);
    cairo_t *cr = cairo_create(nowhere);
    gb_plot_fonts(cr);
    l.legend = figure->no_legend ? 0 : plot_legend(cr, figure, 0, l.page[0], false);
    cairo_destroy(cr);
    cairo_surface_destroy(nowhere);
    l.page[1] = l.height * (double)l.rows + l.legend;
    return l;
}

/* A figure and its sizes, to be painted. */
typedef struct painting {
    const gb_figure *figure; /* what */
    layout l;                /* where */
} painting;

static void paint_figure(cairo_t *cr, const void *self, gb_text *hover)
{
    const painting *p = self;
    const layout *l = &p->l;
    for (size_t i = 0; i < p->figure->count; i++) {
        double box[4] = {l->width * (double)(i % l->columns), l->height * (double)(i / l->columns),
                         l->width, l->height};
        plot_draw(cr, &p->figure->plots[i], box, hover);
    }
    if (!p->figure->no_legend)
        plot_legend(cr, p->figure, l->height * (double)l->rows, l->page[0], true);
}

static void draw(cairo_t *cr, const gb_plot_page *page, gb_text *hover)
{
    gb_plot_fonts(cr);
    cairo_set_source_rgb(cr, 1, 1, 1);
    cairo_paint(cr);
    page->paint(cr, page->self, hover);
}

static const char *alt_text(const gb_figure *figure)
{
    if (figure->alt)
        return figure->alt;
    return figure->count && figure->plots[0].title ? figure->plots[0].title : "figure";
}

static gb_plot_page page_of(const gb_figure *figure, painting *p)
{
    *p = (painting){.figure = figure, .l = measure(figure)};
    return (gb_plot_page){paint_figure, p, p->l.page[0], p->l.page[1], alt_text(figure)};
}

static cairo_status_t take(void *closure, const unsigned char *data, unsigned length)
{
    gb_text *text = closure;
    gb_text_append(text, (const char *)data, length);
    return text->failed ? CAIRO_STATUS_NO_MEMORY : CAIRO_STATUS_SUCCESS;
}

static bool cairo_ok(cairo_status_t got, gb_status *status)
{
    if (got == CAIRO_STATUS_NO_MEMORY)
        return gb_fail_memory(status, "drawing a plot");
    return got == CAIRO_STATUS_SUCCESS ||
           gb_fail(status, GB_INTERNAL, NULL, NULL, "drawing a plot: %s",
                   cairo_status_to_string(got));
}

/* cairo numbers its surfaces through the process; a name of ours is the same every time. Returns
 * behind the name that stands at `at`. */
static const char *rename_id(const char *at, const char *end, const char *prefix, gb_text *out)
{
    static const char surface[] = "surface";
    gb_text_printf(out, "%s-", prefix);
    if ((size_t)(end - at) >= sizeof surface - 1 && !strncmp(at, surface, sizeof surface - 1)) {
        at += sizeof surface - 1;
        at += strspn(at, "0123456789");
        gb_text_printf(out, "page");
    }
    return at;
}

/* cairo's SVG as an element with ids of our own and the hoverable points in it. */
static void rewrite(const char *svg, const char *prefix, const char *alt, const gb_text *hover,
                    gb_text *out)
{
    static const char *const names[] = {" id=\"", "href=\"#", "url(#"};
    const char *at = strstr(svg, "<svg"), *end = svg + strlen(svg), *close = NULL;
    for (const char *next = at; next && (next = strstr(next, "</svg>")); next++)
        close = next;
    if (!at || !close)
        return;
    gb_text_printf(out, "<svg role=\"img\" aria-labelledby=\"%s-alt\"", prefix);
    at += 4;
    const char *head = strchr(at, '>') + 1;
    while (at < close) {
        const char *first = close;
        size_t length = 0;
        for (size_t i = 0; i < 3; i++) {
            const char *found = strstr(at, names[i]);
            if (found && found < first) {
                first = found;
                length = strlen(names[i]);
            }
        }
        const char *stop = first + length;
        if (head && stop >= head) { /* the first thing inside is the title */
            gb_text_append(out, at, (size_t)(head - at));
            gb_text_printf(out, "\n<title id=\"%s-alt\">", prefix);
            gb_page_escaped(out, alt);
            gb_text_printf(out, "</title>");
            at = head;
            head = NULL;
        }
        gb_text_append(out, at, (size_t)(stop - at));
        at = length ? rename_id(stop, end, prefix, out) : stop;
    }
    if (hover->length)
        gb_text_printf(out, "<g fill=\"#000\" fill-opacity=\"0\" pointer-events=\"all\">\n%s</g>\n",
                       hover->data);
    gb_text_printf(out, "</svg>\n");
}

static bool page_svg(const gb_plot_page *page, const char *prefix, gb_text *out, gb_status *status)
{
    gb_text svg = {0}, hover = {0};
    cairo_surface_t *surface =
        cairo_svg_surface_create_for_stream(take, &svg, page->width, page->height);
    cairo_t *cr = cairo_create(surface);
    draw(cr, page, &hover);
    cairo_status_t drawn = cairo_status(cr);
    cairo_destroy(cr);
    cairo_surface_finish(surface);
    bool ok = cairo_ok(drawn ? drawn : cairo_surface_status(surface), status) &&
              (!svg.failed || gb_fail_memory(status, "drawing a plot"));
    cairo_surface_destroy(surface);
    if (ok)
        rewrite(svg.data ? svg.data : "", prefix, page->alt, &hover, out);
    ok = ok && (!(out->failed || hover.failed) || gb_fail_memory(status, "drawing a plot"));
    gb_text_free(&svg);
    gb_text_free(&hover);
    return ok;
}

static bool page_write_svg(const gb_plot_page *page, const char *path, gb_status *status)
{
    gb_text text = {0};
    gb_text_printf(&text, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    bool ok = page_svg(page, "figure", &text, status) &&
              gb_write_file(path, text.data, text.length, status);
    gb_text_free(&text);
    return ok;
}

static bool page_write_png(const gb_plot_page *page, const char *path, gb_status *status)
{
    enum { SCALE = 2 }; /* pixels a pt */
    cairo_surface_t *surface = cairo_image_surface_create(
        CAIRO_FORMAT_RGB24, (int)(page->width * SCALE), (int)(page->height * SCALE));
    cairo_t *cr = cairo_create(surface);
    cairo_scale(cr, SCALE, SCALE);
    draw(cr, page, NULL);
    gb_text png = {0};
    cairo_status_t drawn = cairo_status(cr);
    if (!drawn)
        drawn = cairo_surface_write_to_png_stream(surface, take, &png);
    cairo_destroy(cr);
    cairo_surface_destroy(surface);
    bool ok = cairo_ok(drawn, status) && gb_write_file(path, png.data, png.length, status);
    gb_text_free(&png);
    return ok;
}

bool gb_plot_page_files(const gb_plot_page *page, const char *folder, const char *name,
                        gb_text *inlined, gb_status *status)
{
    char *svg = gb_format(status, "%s/%s.svg", folder, name);
    char *png = gb_format(status, "%s/%s.png", folder, name);
    bool ok = svg && png && page_write_svg(page, svg, status) &&
              page_write_png(page, png, status) &&
              (!inlined || page_svg(page, name, inlined, status));
    free(svg);
    free(png);
    return ok;
}

bool gb_figure_files(const gb_figure *figure, const char *folder, const char *name,
                     gb_text *inlined, gb_status *status)
{
    painting p;
    gb_plot_page page = page_of(figure, &p);
    return gb_plot_page_files(&page, folder, name, inlined, status);
}

bool gb_figure_svg(const gb_figure *figure, const char *prefix, gb_text *out, gb_status *status)
{
    painting p;
    gb_plot_page page = page_of(figure, &p);
    return page_svg(&page, prefix, out, status);
}

bool gb_figure_write_svg(const gb_figure *figure, const char *path, gb_status *status)
{
    painting p;
    gb_plot_page page = page_of(figure, &p);
    return page_write_svg(&page, path, status);
}
