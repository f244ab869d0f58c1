/* The page of a running reproduction, progress.html beside its results. Nothing depends on it: what
 * goes wrong here ends no run, and is not said. */
#include "run.h"

#include <gabbro/eval.h>
#include <gabbro/page.h>
#include <gabbro/report.h>
#include <gabbro/os.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static const double EVERY_S = 5;  /* the page is written anew at least so often */
static const double PAUSE_S = 1;  /* and at most so often */
static const double TABLE_S = 10; /* a table that grew is judged anew at most so often */
enum { CURVES = 12 };             /* trainings whose losses are drawn, the last ones */

/* What is shown of a table. */
typedef struct shown_table {
    gb_text html;    /* its content, of `results` */
    size_t results;  /* rows that were done then */
    double judged_s; /* when it was made */
} shown_table;

struct repro_page {
    const repro_work *work; /* that it is of */
    const char *folder;     /* where the page is */
    time_t begun;           /* the run */
    double written_s;       /* the page */
    shown_table *tables;    /* [makings] */
};

/* ---- what is done ---- */

static size_t count_done(const repro_work *work, const repro_table *table, size_t *all)
{
    size_t done = 0;
    *all = 0;
    for (size_t i = 0; i < table->result_count; i++) {
        const repro_result *result = &table->results[i];
        if (!repro_result_selected(result, work->session->rows, work->session->everything))
            continue;
        (*all)++;
        done += repro_result_done(result);
    }
    return done;
}

/* The table of the rows that are done, as table.html will have it. */
static void judge(const repro_work *work, const repro_making *making, gb_text *html)
{
    const repro_session *session = work->session;
    char *path = gb_path_join(NULL, making->out, "progress.jsonl");
    const gb_report_params params = {.tables_dir = session->tables_dir,
                                     .table = making->table.name,
                                     .scale = session->params->scale,
                                     .results = path,
                                     .judged = session->params->judged};
    gb_report *report = NULL;
    if (path && repro_results_lines(session, &making->table, path, NULL))
        report = gb_report_build(&params, NULL);
    html->length = 0;
    if (report)
        gb_report_content(report, html);
    gb_report_free(report);
    if (path)
        gb_os_remove(path);
    free(path);
}

/* Its name, which leads to its page where that is written. */
static void table_name(const repro_page *page, const repro_making *making, gb_text *out)
{
    char *path = making->finished ? gb_path_join(NULL, making->out, "table.html") : NULL;
    bool leads = path && gb_file_exists(path);
    size_t length;
    if (leads) {
        const char *folder = gb_path_name(making->out, &length);
        gb_text_printf(out, "<a href=\"");
        if (!page->work->session->entry) /* each in a folder of its own */
            gb_text_printf(out, "%.*s/", (int)length, folder);
        gb_text_printf(out, "table.html\">");
    }
    gb_page_escaped(out, making->table.name);
    gb_text_printf(out, "%s", leads ? "</a>" : "");
    free(path);
}

/* The points of a figure that are done. */
static void points_html(const repro_table *table, gb_text *out)
{
    bool any = false;
    for (size_t i = 0; i < table->result_count; i++) {
        const repro_result *result = &table->results[i];
        double value;
        char *folder = result->series && repro_result_done(result)
                           ? repro_word_text(result->evaluation, NULL)
                           : NULL;
        json_t *measures = folder ? gb_measures_read(folder, NULL) : NULL;
        if (measures && gb_measure_value(json_object_get(measures, table->measure), folder,
                                         table->measure, &value, NULL)) {
            gb_text_printf(out, "%s<li>", any ? "" : "<ul>\n");
            gb_page_escaped(out, result->series);
            gb_text_printf(out, "%s%s, seed %s: %.4f</li>\n", result->x ? ", " : "",
                           result->x ? result->x : "", result->seed, value);
            any = true;
        }
        json_decref(measures);
        free(folder);
    }
    gb_text_printf(out, "%s", any ? "</ul>\n" : "");
}

static void table_html(repro_page *page, size_t which, gb_text *out)
{
    const repro_making *making = &page->work->makings[which];
    shown_table *shown = &page->tables[which];
    size_t all, done = count_done(page->work, &making->table, &all);
    gb_text_printf(out, "<h2>");
    table_name(page, making, out);
    gb_text_printf(out, "</h2>\n<p>%zu of %zu results are there%s.</p>\n", done, all,
                   making->finished ? ", and the table is written"
                   : making->code   ? "; making it failed"
                                    : "");
    if (making->table.title)
        points_html(&making->table, out);
    if (making->finished || making->table.title || !done || making->code)
        return;
    if (done != shown->results && (!shown->judged_s || gb_now_s() - shown->judged_s >= TABLE_S)) {
        judge(page->work, making, &shown->html);
        shown->results = done;
        shown->judged_s = gb_now_s();
    }
    if (shown->html.length)
        gb_text_append(out, shown->html.data, shown->html.length);
}

/* ---- what runs ---- */

/* The last line of progress that a process printed: "120/600 steps  20.0%  ...". */
static void last_progress(const gb_text *said, gb_text *out)
{
    size_t end = said->length;
    while (end) {
        size_t start = end - 1;
        while (start && said->data[start - 1] != '\n')
            start--;
        const char *line = said->data + start, *colon = memchr(line, ':', end - start);
        const char *second =
            colon ? memchr(colon + 1, ':', end - (size_t)(colon + 1 - said->data)) : NULL;
        if (second && memchr(second, '%', end - (size_t)(second - said->data))) {
            gb_text part = {0};
            size_t length = end - (size_t)(second + 1 - said->data);
            gb_text_append(&part, second + 1, length - (second[length] == '\n'));
            gb_text_printf(out, "<br><span class=\"dim\">");
            gb_page_escaped(out, gb_text_words(&part, out));
            gb_text_printf(out, "</span>");
            gb_text_free(&part);
            return;
        }
        end = start;
    }
}

/* The losses in the lines of progress that a training has printed. */
static void losses_so_far(const gb_text *said, gb_text *out)
{
    static const char word[] = "  loss ";
    double *losses = NULL;
    size_t count = 0, capacity = 0;
    for (size_t at = 0; at < said->length;) {
        const char *line = said->data + at, *end = memchr(line, '\n', said->length - at);
        size_t length = end ? (size_t)(end - line) : said->length - at;
        const char *loss = end ? gb_find_bytes(line, length, word, sizeof word - 1) : NULL;
        if (loss && gb_grow(&losses, &capacity, count + 1, sizeof *losses, NULL))
            losses[count++] = strtod(loss + sizeof word - 1, NULL);
        at += length + 1;
    }
    gb_report_spark_so_far(losses, count, out);
    free(losses);
}

static void span_text(double seconds, gb_text *out)
{
    if (seconds < 90)
        gb_text_printf(out, "%.0f s", seconds);
    else
        gb_text_printf(out, "%.0f min", seconds / 60);
}

static void now_html(const repro_page *page, gb_text *out)
{
    const repro_schedule *schedule = &page->work->schedule;
    bool any = false;
    for (uint32_t i = 0; i < schedule->jobs; i++) {
        const repro_job *job = &schedule->slots[i];
        if (!job->node)
            continue;
        double usual = repro_progress_usual(&page->work->progress, job->node);
        gb_text_printf(out, "%s<li>",
                       any ? "" : "<section id=\"now\"><h2>Now</h2>\n<ul class=\"now\">\n");
        gb_page_escaped(out, job->node->label);
        gb_text_printf(out, ", for ");
        span_text(gb_now_s() - job->begun_s, out);
        if (!isnan(usual)) {
            gb_text_printf(out, "; those before took ");
            span_text(usual, out);
        }
        last_progress(&job->process.said, out);
        losses_so_far(&job->process.said, out);
        gb_text_printf(out, "</li>\n");
        any = true;
    }
    gb_text_printf(out, "%s", any ? "</ul></section>\n" : "");
}

/* The losses of the trainings that were made last. */
static void curves_html(const repro_page *page, gb_text *out)
{
    const repro_graph *graph = page->work->graph;
    gb_text figures = {0};
    size_t drawn = 0;
    for (size_t i = graph->count; i > 0 && drawn < CURVES; i--) {
        const repro_node *node = graph->nodes[i - 1];
        char *path =
            node->state == REPRO_DONE ? gb_path_join(NULL, node->folder, "losses.tsv") : NULL;
        if (path && gb_file_exists(path) && gb_report_spark(path, node->label, &figures, NULL))
            drawn++;
        free(path);
    }
    if (drawn)
        gb_text_printf(out,
                       "<h2>Losses of the last trainings</h2>\n<div class=\"figures\">\n%s</div>\n",
                       gb_text_words(&figures, out));
    gb_text_free(&figures);
}

/* ---- the page ---- */

static void state_html(const repro_page *page, const char *state, gb_text *out)
{
    static const char *const classes[][2] = {{"running", "undecided"},
                                             {"finished", "supported"},
                                             {"stopped", "contradicted"},
                                             {"failed", "contradicted"}};
    const char *class = "dim";
    char begun[40], far[96];
    size_t made = 0, all = 0;
    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        class = strcmp(classes[i][0], state) ? class : classes[i][1];
    strftime(begun, sizeof begun, "%Y-%m-%d %H:%M:%S", localtime(&page->begun));
    repro_progress_text(&page->work->progress, page->work->session->jobs, far);
    repro_progress_count(&page->work->progress, &made, &all);
    gb_text_printf(
        out,
        "<p><span class=\"state %s\" id=\"state\" role=\"status\" data-written=\"%lld\">%s"
        "</span></p>\n<p>%s. Begun %s.</p>\n"
        "<progress max=\"%zu\" value=\"%zu\" aria-label=\"artifacts that are made\"></progress>\n",
        class, (long long)time(NULL), state, far, begun, all, made);
}

/* Where nobody writes the page any more, the one that says so is the reader. */
static const char script[] =
    "<script>\n(function(){'use strict';var s=document.getElementById('state');\n"
    "if(s.textContent==='" REPRO_PAGE_RUNNING "'&&Date.now()/1000-s.dataset.written>%d){\n"
    "s.textContent='" REPRO_PAGE_STOPPED "';s.className='state contradicted';\n"
    "var n=document.getElementById('now');if(n)n.hidden=true;}})();\n</script>\n";

static void page_html(repro_page *page, const char *state, gb_text *out)
{
    const repro_session *session = page->work->session;
    bool running = !strcmp(state, REPRO_PAGE_RUNNING);
    char *title =
        gb_format(NULL, "%s: reproduction, scale %s",
                  session->entry ? session->entry->name : "all tables", session->params->scale);
    gb_page_begin(out, title ? title : "reproduction", NULL,
                  running ? "<meta http-equiv=\"refresh\" content=\"5\">\n" : "");
    gb_page_heading(out, title ? title : "reproduction");
    state_html(page, state, out);
    if (running) {
        now_html(page, out);
        gb_text_printf(out, script, GB_PAGE_STALE_S);
    }
    if (!strcmp(state, "stopped"))
        gb_text_printf(out, "<p>The same command goes on where it stopped.</p>\n");
    for (size_t t = 0; t < page->work->count; t++)
        table_html(page, t, out);
    curves_html(page, out);
    gb_page_end(out);
    free(title);
}

/* Without waiting for the disk: the next one comes soon. */
static void write_page(const repro_page *page, const gb_text *html)
{
    char *path = gb_path_join(NULL, page->folder, GB_PAGE_PROGRESS);
    char *draft = gb_path_join(NULL, page->folder, "." GB_PAGE_PROGRESS ".draft");
    FILE *file = path && draft && !html->failed ? gb_os_fopen(draft, "w") : NULL;
    bool ok = file && fwrite(html->data, 1, html->length, file) == html->length;
    ok = (!file || fclose(file) == 0) && ok;
    if (file && (!ok || gb_os_rename(draft, path) != 0))
        gb_os_remove(draft);
    free(path);
    free(draft);
}

static void show(repro_page *page, const char *state)
{
    gb_text html = {0};
    if (!gb_dir_exists(page->folder))
        return; /* it is made when results are begun */
    page_html(page, state, &html);
    write_page(page, &html);
    gb_text_free(&html);
    page->written_s = gb_now_s();
}

repro_page *repro_page_open(const repro_work *work)
{
    repro_page *page = gb_alloc(1, sizeof *page, NULL);
    if (page)
        *page = (repro_page){.work = work,
                             .folder = work->session->out,
                             .begun = time(NULL),
                             .tables = gb_alloc(work->count, sizeof *page->tables, NULL)};
    if (page && page->tables)
        return page;
    free(page);
    return NULL;
}

void repro_page_update(repro_page *page, bool news)
{
    if (page && gb_now_s() - page->written_s >= (news ? PAUSE_S : EVERY_S))
        show(page, REPRO_PAGE_RUNNING);
}

void repro_page_close(repro_page *page, const gb_status *status)
{
    if (!page)
        return;
    show(page, status->code == GB_OK            ? "finished"
               : status->code == GB_INTERRUPTED ? "stopped"
                                                : "failed");
    for (size_t t = 0; t < page->work->count; t++)
        gb_text_free(&page->tables[t].html);
    free(page->tables);
    free(page);
}

/* ---- for those who serve it ---- */

void gb_reproduce_page_missing(gb_text *html)
{
    gb_page_begin(html, "reproduction", NULL, "<meta http-equiv=\"refresh\" content=\"5\">\n");
    gb_page_heading(html, "reproduction");
    gb_text_printf(html,
                   "<p>There is no " GB_PAGE_PROGRESS " in this folder yet; this page looks again "
                   "in a few seconds.</p>\n");
    gb_page_end(html);
}

/* Appends a text with the first `what` in it replaced. */
static void replaced(gb_text *out, const char *text, const char *what, const char *with)
{
    const char *at = strstr(text, what);
    size_t before = at ? (size_t)(at - text) : strlen(text);
    gb_text_append(out, text, before);
    if (at)
        gb_text_printf(out, "%s%s", with, at + strlen(what));
}

void gb_reproduce_page_mark(gb_text *html)
{
    static const char written[] = "data-written=\"", running[] = "\">" REPRO_PAGE_RUNNING "</span>";
    const char *at = html->data ? strstr(html->data, written) : NULL;
    char *end = NULL;
    long long when = at ? strtoll(at + sizeof written - 1, &end, 10) : 0;
    if (!at || strncmp(end, running, sizeof running - 1) != 0 ||
        (long long)time(NULL) - when <= GB_PAGE_STALE_S)
        return;
    static const char *const changes[][2] = {
        {running, "\">" REPRO_PAGE_STOPPED "</span>"},
        {"state undecided", "state contradicted"},
        {"<section id=\"now\">", "<section id=\"now\" hidden>"}};
    for (size_t i = 0; i < sizeof changes / sizeof *changes; i++) {
        gb_text changed = {0};
        replaced(&changed, html->data ? html->data : "", changes[i][0], changes[i][1]);
        gb_text_free(html);
        *html = changed;
    }
}
