/* A query and its candidates: plots in the plane and in space, a table, a page. */
#include "gabbro/figures.h"
#include "gabbro/page.h"
#include "gabbro/plot.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FRAMES = 72, STRIP = 5, TILT = 20 }; /* of the view that turns; degrees */
enum { SPACE = 400 };                       /* pixels of the view */
enum { FIRST = 10 };                        /* candidates listed */

static const char script[] =
    "(function(){'use strict';var d=document,turn=d.getElementById('turn'),\n"
    "play=d.getElementById('play'),views=[].slice.call(d.querySelectorAll('svg[data-frames]')),\n"
    "n=+turn.max+1,timer=null;d.documentElement.classList.add('scripted');\n"
    "views.forEach(function(v){v.frames=JSON.parse(v.dataset.frames);\n"
    " v.points=[].slice.call(v.querySelectorAll('[data-p]'));});\n"
    "function show(){var f=+turn.value;views.forEach(function(v){v.points.forEach(function(p){\n"
    " var at=v.frames[f],i=+p.dataset.p;p.setAttribute('transform','translate('+at[2*i]+' "
    "'+at[2*i+1]+')');});});}\n"
    "function stop(){clearInterval(timer);timer=null;play.textContent='Turn';}\n"
    "function start(){play.textContent='Stop';timer=setInterval(function(){\n"
    " turn.value=(+turn.value+1)%n;show();},80);}\n"
    "play.addEventListener('click',function(){if(timer)stop();else start();});\n"
    "turn.addEventListener('input',function(){stop();show();});show();})();\n";

/* ---- plots ---- */

/* What a point is. */
typedef enum point_kind { OTHER, RELATED, RELEVANT, QUERY, KINDS } point_kind;
static const char *const kind_names[KINDS] = {"other candidate", "of a lower grade", "relevant",
                                              "query"};

static point_kind kind_of(const gb_scatter *scatter, uint32_t i)
{
    if (i == 0)
        return QUERY;
    return scatter->grades[i] <= 0                  ? OTHER
           : scatter->grades[i] < scatter->relevant ? RELATED
                                                    : RELEVANT;
}

/* What stands beside a point: "rank 3, relevant: Lanfield Keep is ...". */
static const char *label_of(const gb_scatter *scatter, uint32_t i, gb_arena *arena,
                            gb_status *status)
{
    gb_text text = {0};
    if (scatter->ranks[i])
        gb_text_printf(&text, "rank %u, ", scatter->ranks[i]);
    gb_text_printf(&text, "%s %s: %s", kind_names[kind_of(scatter, i)], scatter->ids[i],
                   scatter->texts[i]);
    char *label = text.failed ? NULL : gb_arena_strdup(arena, text.data, text.length, status);
    if (text.failed)
        gb_fail_memory(status, "drawing candidates");
    gb_text_free(&text);
    return label;
}

/* Room for the points of a panel by kind. */
typedef struct panel {
    double *x, *y;      /* [KINDS][count] */
    const char **names; /* [KINDS][count] */
    gb_series s[KINDS]; /* over them */
} panel;

static bool panel_make(panel *p, const gb_scatter *scatter, const double *x, const double *y,
                       size_t stride, gb_arena *arena, gb_status *status)
{
    static const gb_mark marks[KINDS] = {GB_MARK_CIRCLE, GB_MARK_CIRCLE, GB_MARK_TRIANGLE,
                                         GB_MARK_STAR};
    static const int colors[KINDS] = {GB_PLOT_GREY, 4, 1, 0};
    static const double sizes[KINDS] = {2.4, 3, 4, 5};
    size_t n = scatter->count;
    p->x = gb_arena_alloc(arena, KINDS * n * sizeof *p->x, status);
    p->y = gb_arena_alloc(arena, KINDS * n * sizeof *p->y, status);
    p->names = gb_arena_alloc(arena, KINDS * n * sizeof *p->names, status);
    if (!p->x || !p->y || !p->names)
        return false;
    for (int k = 0; k < KINDS; k++)
        p->s[k] = (gb_series){.label = kind_names[k],
                              .x = p->x + (size_t)k * n,
                              .y = p->y + (size_t)k * n,
                              .names = p->names + (size_t)k * n,
                              .mark = marks[k],
                              .size = sizes[k],
                              .color = colors[k]};
    for (uint32_t i = 0; i < n; i++) {
        point_kind k = kind_of(scatter, i);
        size_t at = (size_t)k * n + p->s[k].count++;
        p->x[at] = x[i * stride];
        p->y[at] = y[i * stride];
        p->names[at] = label_of(scatter, i, arena, status);
        if (!p->names[at])
            return false;
    }
    return true;
}

static bool write_figure(const gb_figure *figure, const char *folder, const char *name,
                         gb_text *inlined, gb_status *status)
{
    gb_text_printf(inlined, "<figure>");
    bool ok = gb_figure_files(figure, folder, name, inlined, status);
    gb_text_printf(inlined, "</figure>\n");
    return ok;
}

/* A panel a model: t-SNE or the first two components. */
static bool planes(const gb_scatter *scatters, size_t count, bool tsne, const char *folder,
                   gb_arena *arena, gb_text *inlined, gb_status *status)
{
    panel *panels = gb_arena_alloc(arena, count * sizeof *panels, status);
    gb_plot *plots = gb_arena_alloc(arena, count * sizeof *plots, status);
    bool ok = panels && plots;
    for (size_t m = 0; ok && m < count; m++) {
        const double *at = tsne ? scatters[m].plane : scatters[m].components;
        ok = panel_make(&panels[m], &scatters[m], at, at + 1, tsne ? 2 : 3, arena, status);
        char title[160];
        if (tsne)
            snprintf(title, sizeof title, "%s", scatters[m].model);
        else
            snprintf(title, sizeof title, "%s (%.0f%% of the variance)", scatters[m].model,
                     100 * (scatters[m].shares[0] + scatters[m].shares[1]));
        plots[m] = (gb_plot){.title = gb_arena_strdup(arena, title, strlen(title), status),
                             .series = panels[m].s,
                             .series_count = KINDS,
                             .bare = true};
    }
    gb_figure figure = {.plots = plots,
                        .count = count,
                        .columns = count < 3 ? count : 3,
                        .width = 340,
                        .height = 340,
                        .alt = tsne ? "t-SNE of a query and its candidates, a panel for each model"
                                    : "Principal components of a query and its candidates, a panel "
                                      "for each model"};
    return ok && write_figure(&figure, folder, tsne ? "tsne" : "pca", inlined, status);
}

/* Places of a model's points at a turn: x, y, depth [count] each. */
static double *turned(const gb_scatter *scatter, double turn, gb_arena *arena, gb_status *status)
{
    double *out = gb_arena_alloc(arena, 3 * (size_t)scatter->count * sizeof *out, status);
    if (out)
        gb_plot_rotation((const double(*)[3])scatter->components, scatter->count, turn, TILT, out,
                         out + scatter->count, out + 2 * (size_t)scatter->count);
    return out;
}

/* The strip: a row a model, a panel a turn. */
static bool strip(const gb_scatter *scatters, size_t count, const char *folder, gb_arena *arena,
                  gb_text *inlined, gb_status *status)
{
    panel *panels = gb_arena_alloc(arena, STRIP * count * sizeof *panels, status);
    gb_plot *plots = gb_arena_alloc(arena, STRIP * count * sizeof *plots, status);
    bool ok = panels && plots;
    for (size_t m = 0; ok && m < count; m++)
        for (size_t f = 0; ok && f < STRIP; f++) {
            double turn = 180.0 * (double)f / STRIP;
            const double *at = turned(&scatters[m], turn, arena, status);
            char title[120];
            snprintf(title, sizeof title, "%.80s, %.0f°", scatters[m].model, turn);
            ok = at && panel_make(&panels[m * STRIP + f], &scatters[m], at, at + scatters[m].count,
                                  1, arena, status);
            plots[m * STRIP + f] =
                (gb_plot){.title = gb_arena_strdup(arena, title, strlen(title), status),
                          .series = panels[m * STRIP + f].s,
                          .series_count = KINDS,
                          .x = {-1, 1},
                          .y = {-1, 1},
                          .bare = true};
        }
    gb_figure figure = {.plots = plots,
                        .count = STRIP * count,
                        .columns = STRIP,
                        .width = 220,
                        .height = 236,
                        .alt = "Three principal components seen from five sides"};
    return ok && write_figure(&figure, folder, "turning", inlined, status);
}

/* ---- the page ---- */

/* A coordinate of the camera in pixels, with a margin for the marks. */
static double pixel(double at)
{
    return SPACE / 2 * (1 + .94 * at);
}

static bool frames_json(const gb_scatter *scatter, gb_arena *arena, gb_text *out, gb_status *status)
{
    gb_text_printf(out, "[");
    for (int f = 0; f < FRAMES; f++) {
        const double *at = turned(scatter, 360.0 * f / FRAMES, arena, status);
        if (!at)
            return false;
        gb_text_printf(out, "%s[", f ? "," : "");
        for (uint32_t i = 0; i < scatter->count; i++)
            gb_text_printf(out, "%s%.0f,%.0f", i ? "," : "", pixel(at[i]),
                           pixel(-at[scatter->count + i]));
        gb_text_printf(out, "]");
    }
    gb_text_printf(out, "]");
    return true;
}

/* One model in space; the points are moved by the script. */
static bool space_html(const gb_scatter *scatter, gb_arena *arena, gb_text *out, gb_status *status)
{
    static const char *const shapes[KINDS] = {
        "<circle r=\"4\" fill=\"#8c8c8c\" stroke=\"#fff\">",
        "<circle r=\"5\" fill=\"#1a1a1a\" stroke=\"#fff\">",
        "<path d=\"M0-8L7 5L-7 5Z\" fill=\"#d55e00\" stroke=\"#fff\">",
        "<path d=\"M0-10L2.6-3.6L9.5-3.1L4.2 1.4L5.9 8.1L0 4.4L-5.9 8.1L-4.2 "
        "1.4L-9.5-3.1L-2.6-3.6Z\" "
        "fill=\"#0072b2\" stroke=\"#fff\">"};
    static const char *const ends[KINDS] = {"</circle>", "</circle>", "</path>", "</path>"};
    const double *at = turned(scatter, 0, arena, status);
    if (!at)
        return false;
    gb_text_printf(out, "<figure><figcaption>");
    gb_page_escaped(out, scatter->model);
    gb_text_printf(out,
                   "</figcaption><svg role=\"img\" aria-label=\"three components of the query and "
                   "its candidates\" viewBox=\"0 0 %d %d\" width=\"%d\" "
                   "height=\"%d\" data-frames=\"",
                   SPACE, SPACE, SPACE, SPACE);
    if (!frames_json(scatter, arena, out, status))
        return false;
    gb_text_printf(out, "\">\n");
    for (uint32_t n = 1; n <= scatter->count; n++) {
        uint32_t i = n % scatter->count; /* the query last, above the others */
        point_kind kind = kind_of(scatter, i);
        gb_text_printf(out, "<g data-p=\"%u\" transform=\"translate(%.0f %.0f)\">%s<title>", i,
                       pixel(at[i]), pixel(-at[scatter->count + i]), shapes[kind]);
        const char *label = label_of(scatter, i, arena, status);
        if (!label)
            return false;
        gb_page_escaped(out, label);
        gb_text_printf(out, "</title>%s</g>\n", ends[kind]);
    }
    gb_text_printf(out, "</svg></figure>\n");
    return true;
}

/* Mean distance of the query to the relevant ones and to the others. */
static void numbers_html(const gb_scatter *scatters, size_t count, gb_text *out)
{
    gb_page_wide(out, "distances by model");
    gb_text_printf(out, "<table>\n<thead><tr><th>model</th><th>candidates</th>"
                        "<th>relevant</th><th>best rank of a relevant one</th><th>distance of the "
                        "query to relevant ones</th><th>to the others</th><th>ratio</th>"
                        "<th>KL divergence</th></tr></thead>\n<tbody>\n");
    for (size_t m = 0; m < count; m++) {
        const gb_scatter *scatter = &scatters[m];
        double sums[KINDS] = {0}, counts[KINDS] = {0};
        uint32_t best = 0;
        for (uint32_t i = 1; i < scatter->count; i++) {
            point_kind k = kind_of(scatter, i);
            sums[k] += scatter->distances[i];
            counts[k]++;
            if (k == RELEVANT && scatter->ranks[i] && (!best || scatter->ranks[i] < best))
                best = scatter->ranks[i];
        }
        double near = sums[RELEVANT] / counts[RELEVANT], far = sums[OTHER] / counts[OTHER];
        gb_text_printf(out, "<tr>");
        gb_page_element(out, "td", NULL, scatter->model);
        gb_text_printf(out, "<td>%u</td><td>%.0f</td><td>", scatter->count - 1, counts[RELEVANT]);
        if (best)
            gb_text_printf(out, "%u", best);
        gb_text_printf(out, "</td>");
        if (counts[RELEVANT] > 0 && counts[OTHER] > 0)
            gb_text_printf(out, "<td>%.3f</td><td>%.3f</td><td>%.3f</td>", near, far, near / far);
        else
            gb_text_printf(out, "<td></td><td></td><td></td>");
        gb_text_printf(out, "<td>%.3f</td></tr>\n", scatter->divergence);
    }
    gb_text_printf(out, "</tbody></table></div>\n");
}

/* What each model finds first, to be read. */
static void first_html(const gb_scatter *scatters, size_t count, gb_text *out)
{
    gb_text_printf(out, "<h2>Found first</h2>\n<div class=\"models\">\n");
    for (size_t m = 0; m < count; m++) {
        gb_text_printf(out, "<section>");
        gb_page_element(out, "h3", NULL, scatters[m].model);
        gb_text_printf(out, "<ol>\n");
        for (uint32_t i = 1; i < scatters[m].count && scatters[m].ranks[i] && i <= FIRST; i++) {
            point_kind kind = kind_of(&scatters[m], i);
            gb_text_printf(out, "<li class=\"%s\">",
                           kind == RELEVANT  ? "relevant"
                           : kind == RELATED ? "related"
                                             : "other");
            gb_page_escaped(out, scatters[m].texts[i]);
            if (scatters[m].grades[i] > 0)
                gb_text_printf(out, " <b>(%s, grade %d)</b>", kind_names[kind],
                               scatters[m].grades[i]);
            gb_text_printf(out, "</li>\n");
        }
        gb_text_printf(out, "</ol></section>\n");
    }
    gb_text_printf(out, "</div>\n");
}

/* All points of a model as a list: what the drawings show to a pointer. */
static void points_html(const gb_scatter *scatter, gb_text *out)
{
    gb_text_printf(out, "<details><summary>All points of ");
    gb_page_escaped(out, scatter->model);
    gb_text_printf(out, "</summary>\n");
    gb_page_wide(out, scatter->model);
    gb_text_printf(out, "<table>\n<thead><tr><th>rank</th><th class=\"left\">is</th>"
                        "<th>distance</th><th class=\"left\">text</th></tr></thead>\n<tbody>\n");
    for (uint32_t i = 0; i < scatter->count; i++) {
        gb_text_printf(out, "<tr><td>");
        if (scatter->ranks[i])
            gb_text_printf(out, "%u", scatter->ranks[i]);
        gb_text_printf(out, "</td><td class=\"left\">%s</td><td>%.3f</td>",
                       kind_names[kind_of(scatter, i)], scatter->distances[i]);
        gb_page_element(out, "td", "left", scatter->texts[i]);
        gb_text_printf(out, "</tr>\n");
    }
    gb_text_printf(out, "</tbody></table></div></details>\n");
}

static void table_tsv(const gb_scatter *scatters, size_t count, gb_text *out)
{
    gb_text_printf(out, "model\tid\tkind\trank\tgrade\tdistance\ttsne_x\ttsne_y\tpc1\tpc2\tpc3\n");
    for (size_t m = 0; m < count; m++)
        for (uint32_t i = 0; i < scatters[m].count; i++) {
            const gb_scatter *scatter = &scatters[m];
            gb_text_printf(out, "%s\t%s\t%s\t%u\t%d\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\t%.9g\n",
                           scatter->model, scatter->ids[i], kind_names[kind_of(scatter, i)],
                           scatter->ranks[i], scatter->grades[i], scatter->distances[i],
                           scatter->plane[2 * i], scatter->plane[2 * i + 1],
                           scatter->components[3 * i], scatter->components[3 * i + 1],
                           scatter->components[3 * i + 2]);
        }
}

static bool page(const gb_scatter *scatters, size_t count, const char *about, const char *folder,
                 gb_arena *arena, gb_text *out, gb_status *status)
{
    gb_page_begin(out, "A query and its candidates", NULL, "");
    gb_page_heading(out, "A query and its candidates");
    gb_page_element(out, "p", "dim", about);
    gb_page_element(
        out, "p", NULL,
        "A retriever puts texts into a space and answers a query with the passages that lie next "
        "to it. Where it works, the relevant ones are near the query and ranked first: the ratio "
        "below is under 1 where they are nearer than the others. The drawings flatten the space, "
        "so that near points are near there too, and far ones only roughly where they are.");
    numbers_html(scatters, count, out);
    first_html(scatters, count, out);
    gb_text_printf(out, "<h2>t-SNE</h2>\n<p>Rest on a point to read it, or open the lists.</p>\n");
    for (size_t m = 0; m < count; m++)
        points_html(&scatters[m], out);
    bool ok = planes(scatters, count, true, folder, arena, out, status);
    gb_text_printf(out, "<h2>Principal components</h2>\n");
    ok = ok && planes(scatters, count, false, folder, arena, out, status);
    gb_text_printf(out,
                   "<h2>Three components, turning</h2>\n<p class=\"tools\"><button id=\"play\">Turn"
                   "</button><label>View <input type=\"range\" id=\"turn\" min=\"0\" max=\"%d\" "
                   "value=\"0\"></label></p>\n<div class=\"figures\">\n",
                   FRAMES - 1);
    for (size_t m = 0; ok && m < count; m++)
        ok = space_html(&scatters[m], arena, out, status);
    gb_text_printf(out, "</div>\n");
    ok = ok && strip(scatters, count, folder, arena, out, status);
    gb_text_printf(out, "<script>\n%s</script>\n", script);
    gb_page_end(out);
    return ok;
}

bool gb_scatter_write(const gb_scatter *scatters, size_t count, const char *about,
                      const char *folder, gb_status *status)
{
    gb_arena *arena = gb_arena_create(1 << 20, status);
    gb_text html = {0}, tsv = {0};
    bool ok = arena && page(scatters, count, about, folder, arena, &html, status);
    if (ok) {
        table_tsv(scatters, count, &tsv);
        ok = gb_text_write_in(&html, folder, "tsne.html", status) &&
             gb_text_write_in(&tsv, folder, "tsne.tsv", status);
    }
    gb_text_free(&html);
    gb_text_free(&tsv);
    gb_arena_destroy(arena);
    return ok;
}
