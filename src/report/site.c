/* The static site: reading the result folders, the front page, copies of figures. */
#include "site.h"
#include "gabbro/page.h"
#include "gabbro/os.h"

#include <dirent.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* The folder of a figure. */
typedef struct site_figure {
    const char *folder; /* as given */
    const char *page;   /* its page, of `figures` */
    bool listed;        /* on the front page: no table has it */
    char slug[100];     /* name in links, unique in the site */
} site_figure;

/* All that was given. */
typedef struct site_content {
    site_table *tables;   /* [table_count] */
    size_t table_count;   /* read */
    site_figure *figures; /* [figure_count] */
    size_t figure_count;  /* found */
} site_content;

/* Pages that a folder of a figure may have. */
static const char *const figures[] = {"coverage.html", "tsne.html", "figure.html"};
#define FIGURES (sizeof figures / sizeof *figures)

double report_json_real_of(const json_t *object, const char *name)
{
    const json_t *value = json_object_get(object, name);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

double report_site_here(const json_t *here, double scale, double *sd)
{
    const char *seed;
    json_t *value;
    double sum = 0, squares = 0, count = 0;
    json_object_foreach((json_t *)here, seed, value) if (json_is_number(value))
    {
        sum += json_number_value(value) * scale;
        count++;
    }
    double mean = count > 0 ? sum / count : NAN;
    json_object_foreach((json_t *)here, seed, value) if (json_is_number(value)) squares +=
        pow(json_number_value(value) * scale - mean, 2);
    *sd = count > 1 ? sqrt(squares / (count - 1)) : NAN;
    return mean;
}

void report_site_slug(const char *text, char *slug, size_t size)
{
    size_t length = 0;
    for (; *text && length + 1 < size; text++) {
        bool plain = (*text >= 'a' && *text <= 'z') || (*text >= 'A' && *text <= 'Z') ||
                     (*text >= '0' && *text <= '9') || strchr("_-", *text) ||
                     (*text == '.' && length);
        slug[length++] = plain ? *text : '-';
    }
    slug[length] = '\0';
}

void report_site_row_slug(const json_t *row, char *slug, size_t size)
{
    const char *column;
    json_t *cell;
    bool any = false;
    json_object_foreach(json_object_get(row, "cells"), column, cell) any =
        any || json_object_get(cell, "here") || json_object_get(cell, "recorded");
    report_site_slug(any ? gb_json_text(row, "row") : "", slug, size);
}

void report_site_begin(gb_text *out, const char *title, const char *up, const char *table_slug,
                       const char *table_title)
{
    char sheet[32];
    snprintf(sheet, sizeof sheet, "%sstyle.css", up);
    gb_page_begin(out, title, sheet, "");
    if (*up || table_slug || table_title) {
        gb_text_printf(out,
                       "<nav aria-label=\"where this page is\"><a href=\"%sindex.html\">All "
                       "tables</a>",
                       up);
        if (table_slug) {
            gb_text_printf(out, " / <a href=\"%s%s.html\">", up, table_slug);
            gb_page_escaped(out, table_title);
            gb_text_printf(out, "</a>");
        }
        gb_text_printf(out, "</nav>\n");
    }
    gb_page_heading(out, title);
}

/* ---- reading ---- */

/* The store that the steps of results.jsonl lie in. */
static char *store_root(const char *folder, gb_status *status)
{
    char *path = gb_path_join(status, folder, "results.jsonl"), *root = NULL, *line;
    size_t length;
    gb_lines *lines = path && gb_file_exists(path) ? gb_lines_open(path, status) : NULL;
    while (lines && !root && gb_lines_next(lines, &line, &length, status) == 1) {
        json_t *one = gb_json_line(lines, line, length, 0, NULL);
        const char *evaluation = gb_json_text(one, "evaluation");
        const char *slash = strrchr(evaluation, '/');
        if (slash && slash > evaluation)
            root =
                gb_os_is_absolute(evaluation)
                    ? gb_format(status, "%.*s", (int)(slash - evaluation), evaluation)
                    : gb_format(status, "%s/%.*s", folder, (int)(slash - evaluation), evaluation);
        json_decref(one);
    }
    gb_lines_close(lines);
    free(path);
    return root;
}

/* Verdicts become classes of the page's style. */
static bool knows_verdicts(const json_t *root)
{
    size_t counts[GB_VERDICTS] = {0}, known = 0;
    gb_count_verdicts(root, counts);
    for (size_t v = 0; v < GB_VERDICTS; v++)
        known += counts[v];
    return known == json_array_size(json_object_get(root, "claims"));
}

static bool check_table(const char *path, const json_t *root, gb_status *status)
{
    if (json_integer_value(json_object_get(root, "format")) == 1 && *gb_json_text(root, "table") &&
        json_is_array(json_object_get(root, "rows")) &&
        json_is_array(json_object_get(root, "columns")) &&
        json_is_array(json_object_get(root, "claims")) && knows_verdicts(root))
        return true;
    return gb_fail(status, GB_DATA, path, "make it again: gabbro report --out",
                   "no table of this program, or of an older version");
}

static bool open_table(site_table *table, const char *folder, const char *path, const char *store,
                       gb_status *status)
{
    *table = (site_table){.folder = folder, .root = gb_json_load(path, 0, status)};
    if (!table->root || !check_table(path, table->root, status))
        return false;
    char *found = store ? gb_strdup(store, status) : store_root(folder, status);
    char *named = gb_format(status, "%s.%s", gb_json_text(table->root, "table"),
                            gb_json_text(table->root, "scale"));
    if (found && gb_dir_exists(found))
        table->store = gb_store_open(found, status);
    if (named)
        report_site_slug(named, table->slug, sizeof table->slug - 8);
    free(named);
    free(found);
    return status->code == GB_OK;
}

/* Another slug than those before it, which begin at `first` every `stride` bytes. */
static void unique_slug(char *slug, size_t size, const char *first, size_t stride, size_t count)
{
    size_t length = strlen(slug), number = 2;
    for (size_t i = 0; i < count; i++)
        if (!strcmp(first + i * stride, slug)) {
            snprintf(slug + length, size - length, "-%zu", number++);
            i = SIZE_MAX; /* look again from the start */
        }
}

/* ---- figures ---- */

static const char *figure_page(const char *folder)
{
    for (size_t i = 0; i < FIGURES; i++) {
        char *path = gb_path_join(NULL, folder, figures[i]);
        bool found = path && gb_file_exists(path);
        free(path);
        if (found)
            return figures[i];
    }
    return NULL;
}

/* What stands in a page's <title>, as HTML. */
static void page_title(const char *folder, const char *page, gb_text *out)
{
    char *path = gb_path_join(NULL, folder, page);
    char *html = path ? gb_read_file(path, NULL, NULL) : NULL;
    const char *start = html ? strstr(html, "<title>") : NULL;
    start = start ? start + strlen("<title>") : NULL;
    const char *end = start ? strchr(start, '<') : NULL;
    if (end)
        gb_text_append(out, start, (size_t)(end - start));
    else
        gb_text_printf(out, "%s", page);
    free(html);
    free(path);
}

static void figure_slug(const char *folder, char *slug, size_t size)
{
    char name[128];
    size_t length;
    const char *start = gb_path_name(folder, &length);
    snprintf(name, sizeof name, "%.*s", (int)length, start);
    report_site_slug(name, slug, size);
}

/* The files of a folder into figures/<slug>/; the site may lie in that folder. */
static bool copy_figure(const site_figure *figure, const char *out, gb_status *status)
{
    char *target = gb_format(status, "%s/figures/%s", out, figure->slug);
    bool ok = target && gb_copy_files(figure->folder, target, status);
    free(target);
    return ok;
}

static void figure_list(const site_content *content, gb_text *out)
{
    bool any = false;
    for (size_t i = 0; i < content->figure_count; i++) {
        const site_figure *one = &content->figures[i];
        if (!one->listed)
            continue;
        gb_text_printf(out, "%s<li><a href=\"figures/%s/%s\">",
                       any ? "" : "<h2>Figures</h2>\n<ul>\n", one->slug, one->page);
        page_title(one->folder, one->page, out);
        gb_text_printf(out, "</a> <span class=\"dim\">%s</span></li>\n", one->slug);
        any = true;
    }
    gb_text_printf(out, "%s", any ? "</ul>\n" : "");
}

/* ---- the front page ---- */

static void count_cells(const size_t counts[GB_VERDICTS], gb_text *out)
{
    for (size_t v = GB_VERDICTS; v-- > 0;)
        gb_text_printf(out, "<td class=\"%s\">%zu</td>", report_site_count_class(v, counts[v]),
                       counts[v]);
}

static void table_line(const site_table *table, gb_text *out)
{
    size_t counts[GB_VERDICTS] = {0};
    gb_count_verdicts(table->root, counts);
    gb_text_printf(out, "<tr><td><a href=\"%s.html\">", table->slug);
    gb_page_escaped(out, gb_json_text(table->root, "title"));
    gb_text_printf(out, "</a> <span class=\"dim\">");
    gb_page_escaped(out, gb_json_text(table->root, "table"));
    gb_text_printf(out, ", ");
    gb_page_escaped(out, gb_json_text(table->root, "scale"));
    gb_text_printf(out, "</span></td>");
    count_cells(counts, out);
    gb_text_printf(out, "</tr>\n");
}

/* The tables of a paper under its sums. */
static void paper_lines(const site_table *tables, const size_t *of, size_t count, const char *title,
                        gb_text *out)
{
    size_t counts[GB_VERDICTS] = {0};
    for (size_t i = 0; i < count; i++)
        gb_count_verdicts(tables[of[i]].root, counts);
    gb_text_printf(out, "<tr class=\"group\"><td>");
    gb_page_escaped(out, title);
    gb_text_printf(out, "</td>");
    count_cells(counts, out);
    gb_text_printf(out, "</tr>\n");
    for (size_t i = 0; i < count; i++)
        table_line(&tables[of[i]], out);
}

static bool table_list(const site_content *content, gb_text *out, gb_status *status)
{
    size_t *of = gb_alloc(content->table_count + 1, sizeof *of, status), count;
    char title[SITE_TITLE];
    if (!of)
        return false;
    gb_text_printf(out, "<h2>Tables</h2>\n");
    gb_page_wide(out, "tables");
    gb_text_printf(out, "<table>\n<thead><tr><th>table</th>");
    for (size_t v = GB_VERDICTS; v-- > 0;)
        gb_text_printf(out, "<th>%s</th>", gb_verdict_name(v));
    gb_text_printf(out, "</tr></thead>\n<tbody>\n");
    for (size_t i = 0; i < content->table_count; i++)
        if (report_site_paper(content->tables, content->table_count, i, of, &count, title))
            paper_lines(content->tables, of, count, title, out);
    gb_text_printf(out, "</tbody></table></div>\n");
    free(of);
    return true;
}

/* The claims by verdict, scale by scale. */
static void count_scales(const site_content *content, gb_text *out)
{
    const site_table *tables = content->tables;
    for (size_t first = 0; first < content->table_count; first++) {
        size_t counts[GB_VERDICTS] = {0}, same = 0;
        while (!report_site_same_scale(&tables[same], &tables[first]))
            same++;
        if (same < first)
            continue; /* counted with that one */
        for (size_t i = first; i < content->table_count; i++)
            if (report_site_same_scale(&tables[i], &tables[first]))
                gb_count_verdicts(tables[i].root, counts);
        size_t all = 0;
        for (size_t v = 0; v < GB_VERDICTS; v++)
            all += counts[v];
        if (!all) /* a collection of one's own has no part in them */
            continue;
        gb_text_printf(out, "<p>Claims of the papers at scale ");
        gb_page_escaped(out, gb_json_text(tables[first].root, "scale"));
        gb_text_printf(out,
                       ": <b class=\"supported\">%zu supported</b>, <b class=\"contradicted\">%zu "
                       "contradicted</b>, <b class=\"undecided\">%zu undecided</b>, %zu not "
                       "judged.</p>\n",
                       counts[GB_SUPPORTED], counts[GB_CONTRADICTED], counts[GB_UNDECIDED],
                       counts[GB_NOT_JUDGED]);
    }
}

static bool front_page(const site_content *content, bool devices, const char *out_dir,
                       gb_status *status)
{
    gb_text out = {0};
    report_site_begin(&out, "What was reproduced", "", NULL, NULL);
    count_scales(content, &out);
    gb_text_printf(
        &out,
        "<p><a href=\"claims.html\">All claims, and how they are judged</a>. A table "
        "leads to its rows, and a row to the commands that made it, where it was made here.</p>\n");
    if (devices)
        gb_text_printf(&out, "<p><a href=\"devices.html\">Devices that were seen</a></p>\n");
    bool ok = report_site_forest(content->tables, content->table_count, &out, status) &&
              table_list(content, &out, status);
    figure_list(content, &out);
    gb_page_end(&out);
    ok = ok && gb_text_write_in(&out, out_dir, "index.html", status);
    gb_text_free(&out);
    return ok;
}

/* ---- all of it ---- */

static bool write_table(const site_table *table, const char *out, gb_status *status)
{
    char *folder = gb_path_join(status, out, table->slug);
    bool ok = folder && gb_make_dirs(folder, status) && report_site_table_page(table, out, status);
    size_t i;
    json_t *row;
    char slug[96];
    json_array_foreach(json_object_get(table->root, "rows"), i, row)
    {
        report_site_row_slug(row, slug, sizeof slug);
        ok = ok && (!*slug || report_site_row_page(table, row, out, status));
    }
    free(folder);
    return ok;
}

static void add_figure(site_content *content, const char *folder, const char *page, bool listed)
{
    site_figure *figure = &content->figures[content->figure_count];
    *figure = (site_figure){.folder = folder, .page = page, .listed = listed};
    figure_slug(folder, figure->slug, sizeof figure->slug - 8);
    unique_slug(figure->slug, sizeof figure->slug, content->figures->slug, sizeof *figure,
                content->figure_count++);
}

/* Read everything before anything is written. What has no result is left out: a folder of results
 * has trainings, too, and tables that were stopped. */
static bool read_all(const gb_site_params *params, site_content *content, gb_status *status)
{
    for (size_t i = 0; i < params->count; i++) {
        const char *folder = params->folders[i], *page = figure_page(folder);
        char *path = gb_path_join(status, folder, "table.json");
        bool is_table = path && gb_file_exists(path);
        bool ok = path != NULL;
        if (is_table) {
            site_table *table = &content->tables[content->table_count];
            ok = open_table(table, folder, path, params->store, status);
            unique_slug(table->slug, sizeof table->slug, content->tables->slug, sizeof *table,
                        content->table_count++);
        } else if (ok && !page && !gb_dir_exists(folder) && !gb_file_exists(folder)) {
            ok = gb_fail(status, GB_DATA, folder, "check the path", "there is no such folder");
        } else if (ok && !page) {
            gb_say_line("%s: left out: no table.json and no figure in it", folder);
        }
        if (page)
            add_figure(content, folder, page, !is_table);
        free(path);
        if (!ok)
            return false;
    }
    return content->table_count || content->figure_count ||
           gb_fail(status, GB_DATA, NULL, "give folders that gabbro report or coverage wrote",
                   "no folder has a table.json or a figure");
}

bool gb_site_write(const gb_site_params *params, const char *out, gb_status *status)
{
    site_content all = {.tables = gb_alloc(params->count, sizeof *all.tables, status),
                        .figures = gb_alloc(params->count, sizeof *all.figures, status)};
    bool devices = false;
    bool ok = all.tables && all.figures && read_all(params, &all, status) &&
              gb_target_check(out, "claims.html", status) && gb_make_dirs(out, status);
    for (size_t i = 0; ok && i < all.table_count; i++)
        ok = write_table(&all.tables[i], out, status);
    for (size_t i = 0; ok && i < all.figure_count; i++)
        ok = copy_figure(&all.figures[i], out, status);
    gb_text style = {0};
    gb_text_printf(&style, "%s", gb_page_style());
    ok = ok && gb_text_write_in(&style, out, "style.css", status) &&
         report_site_claims_page(all.tables, all.table_count, out, status) &&
         report_site_seen_page(params->seen, out, &devices, status) &&
         front_page(&all, devices, out, status);
    gb_text_free(&style);
    for (size_t i = 0; i < all.table_count; i++) {
        json_decref(all.tables[i].root);
        gb_store_close(all.tables[i].store);
    }
    free(all.tables);
    free(all.figures);
    return ok;
}
