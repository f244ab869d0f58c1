/* Token coverage of one text as a drawing: the text, and each model's best tokens as hits and
 * misses. */
#include "coverage.h"
#include "gabbro/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MARGIN = 16, COLUMN = 150, LINE = 19, MOST_TEXT = 90 }; /* pt; tokens of the text shown */

static double page_width(const gb_coverage_view *view)
{
    double columns = view->model_count > 3 ? (double)view->model_count : 3;
    return 2 * MARGIN + COLUMN * columns;
}

/* The text, wrapped; returns the last baseline. Draws when cr is to be drawn on. */
static double draw_text(cairo_t *cr, const gb_coverage_view *view, double y, bool draw)
{
    const gb_coverage_text *text = &view->texts[0];
    double x = MARGIN, right = page_width(view) - MARGIN;
    gb_plot_font(cr, 11, false);
    cairo_set_source_rgb(cr, .1, .1, .1);
    for (size_t i = 0; i < text->length && i <= MOST_TEXT; i++) {
        bool inside = i && gb_vocab_is_continuation(view->vocab, text->ids[i]);
        const char *token = gb_vocab_token(view->vocab, text->ids[i]) + (inside ? 2 : 0);
        if (i == MOST_TEXT)
            token = "...";
        double width = gb_plot_width(cr, token), space = i && !inside ? 3.5 : 0;
        if (x + space + width > right && x > MARGIN) {
            x = MARGIN;
            y += 15;
            space = 0;
        }
        if (draw) {
            cairo_move_to(cr, x + space, y);
            cairo_show_text(cr, token);
        }
        x += space + width;
    }
    return y;
}

static void draw_token(cairo_t *cr, const char *token, bool hit, double x, double y)
{
    gb_plot_font(cr, 11, hit);
    double width = fmin(gb_plot_width(cr, token), COLUMN - 26) + 10;
    cairo_rectangle(cr, x, y - 12, width, LINE - 3);
    if (hit) {
        cairo_set_source_rgb(cr, .72, .89, .77);
        cairo_fill_preserve(cr);
        cairo_set_source_rgb(cr, .08, .45, .25);
    } else {
        cairo_set_source_rgb(cr, .85, .85, .85);
    }
    cairo_set_line_width(cr, .8);
    cairo_stroke(cr);
    cairo_set_source_rgb(cr, hit ? .02 : .45, hit ? .2 : .45, hit ? .1 : .45);
    cairo_move_to(cr, x + 5, y);
    cairo_show_text(cr, token);
    cairo_new_path(cr);
}

static void draw_model(cairo_t *cr, const gb_coverage_view *view, size_t model, double y)
{
    const gb_coverage_text *text = &view->texts[0];
    double x = MARGIN + COLUMN * (double)model;
    uint32_t hits = 0;
    char count[40];
    for (uint32_t k = 0; k < figures_coverage_listed(view); k++)
        hits += figures_coverage_has(view, text, text->top[model][k]);
    cairo_save(cr);
    cairo_rectangle(cr, x - 1, y - 20, COLUMN - 8, 4000);
    cairo_clip(cr);
    cairo_set_source_rgb(cr, .1, .1, .1);
    gb_plot_font(cr, 11, true);
    cairo_move_to(cr, x, y);
    cairo_show_text(cr, view->models[model]);
    snprintf(count, sizeof count, "%u of %u are hits", hits, figures_coverage_listed(view));
    gb_plot_font(cr, 10, false);
    cairo_move_to(cr, x, y + 15);
    cairo_show_text(cr, count);
    for (uint32_t k = 0; k < figures_coverage_listed(view); k++)
        draw_token(cr, gb_vocab_token(view->vocab, text->top[model][k]),
                   figures_coverage_has(view, text, text->top[model][k]), x,
                   y + 36 + LINE * (double)k);
    cairo_restore(cr);
}

static void paint(cairo_t *cr, const void *self, gb_text *hover)
{
    const gb_coverage_view *view = self;
    (void)hover;
    gb_plot_font(cr, 12, true);
    cairo_set_source_rgb(cr, .1, .1, .1);
    cairo_move_to(cr, MARGIN, 22);
    cairo_show_text(cr, view->texts[0].name);
    double y = draw_text(cr, view, 42, true) + 30;
    for (size_t m = 0; m < view->model_count; m++)
        draw_model(cr, view, m, y);
}

static double page_height(const gb_coverage_view *view)
{
    cairo_surface_t *nowhere = cairo_recording_surface_create(CAIRO_CONTENT_COLOR_ALPHA, NULL);
    cairo_t *cr = cairo_create(nowhere);
    gb_plot_fonts(cr);
    double y = draw_text(cr, view, 42, false);
    cairo_destroy(cr);
    cairo_surface_destroy(nowhere);
    return y + 30 + 36 + LINE * (double)figures_coverage_listed(view) + MARGIN;
}

bool figures_coverage_tokens(const gb_coverage_view *view, const char *folder, gb_status *status)
{
    if (!view->text_count)
        return true;
    gb_plot_page page = {
        paint, view, page_width(view), page_height(view),
        "Best tokens of each model for one text, those that the text has are filled"};
    return gb_plot_page_files(&page, folder, "tokens", NULL, status);
}
