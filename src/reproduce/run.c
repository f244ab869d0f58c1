/* From the recipes of tables to their results. */
#include "run.h"
#include "train.h"

#include <gabbro/artifact.h>
#include <gabbro/eval.h>
#include <gabbro/page.h>

#include <stdlib.h>
#include <string.h>

typedef repro_work run;
typedef repro_making making;

static bool say(const run *r)
{
    return !r->session->params->quiet;
}

/* ---- records ---- */

static const json_t *find_number(const json_t *object, const char *name)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)object, key, value)
    {
        const json_t *found = json_is_number(value) && !strcmp(key, name) ? value
                              : json_is_object(value)                     ? find_number(value, name)
                                                                          : NULL;
        if (found)
            return found;
    }
    return NULL;
}

bool repro_record_number(const char *folder, const char *file, const char *name, double *value)
{
    char *path = gb_path_join(NULL, folder, file);
    json_t *record = path ? gb_json_load(path, 0, NULL) : NULL;
    const json_t *found = record ? find_number(record, name) : NULL;
    if (found)
        *value = json_number_value(found);
    json_decref(record);
    free(path);
    return found != NULL;
}

/* ---- while it runs ---- */

static void begin(void *context, const repro_node *node)
{
    const run *r = context;
    char far[96];
    if (!say(r))
        return;
    repro_progress_text(&r->progress, r->session->jobs, far);
    gb_say_line("%s (%s)", node->label, far);
}

/* What recipes want to be told of an artifact. */
static void print_notices(const run *r, const repro_node *node)
{
    for (size_t t = 0; t < r->count; t++)
        for (size_t i = 0; i < r->makings[t].table.notice_count; i++) {
            const repro_notice *notice = &r->makings[t].table.notices[i];
            double share;
            if (notice->node == node &&
                repro_record_number(node->folder, "metrics.json", "value", &share)) {
                gb_say_line("%s%.1f%%%s", notice->before, 100 * share, notice->behind);
                return;
            }
        }
}

/* A command's split is in its collection; else the command would say so, maybe hours later. */
static bool check_split(const repro_node *node, const gb_collection *collection, gb_status *status)
{
    static const char *const options[] = {"--split", "--dev"};
    for (size_t i = 0; i < 2; i++) {
        const char *split = repro_node_option(node, options[i]).text;
        if (split && strcmp(split, "auto") != 0 && strcmp(split, GB_UNLABELLED) != 0 &&
            !gb_collection_has_split(collection, split))
            return gb_fail(
                status, GB_USAGE, NULL, NULL,
                "gabbro %s %s: the collection has no split \"%.60s\" (there are: %.200s)",
                node->words[0].text, options[i], split, collection->splits);
    }
    return true;
}

/* Once a collection is there, the splits that are asked of it can be known. */
static bool check_splits(const run *r, const repro_node *made, gb_status *status)
{
    if (strcmp(made->words[0].text, "collection") != 0)
        return true;
    gb_collection *collection = gb_open_collection(made->folder, NULL);
    bool ok = true; /* where it cannot be opened, its first reader says why */
    for (size_t n = 0; ok && collection && n < r->graph->count; n++) {
        const repro_node *node = r->graph->nodes[n];
        if (r->schedule.needed[n] && repro_node_option(node, "--collection").node == made)
            ok = check_split(node, collection, status);
    }
    gb_collection_close(collection);
    return ok;
}

static bool done(void *context, repro_node *node, double seconds, const gb_text *said,
                 gb_status *status)
{
    run *r = context;
    double took = 0;
    char far[96];
    repro_record_number(node->folder, "run.json", "wall_s", &took);
    repro_progress_note(&r->progress, node, took, seconds);
    repro_process_print_said(said);
    if (gb_say_get_form() == GB_SAY_JSON && say(r)) {
        const gb_say_member made[] = {
            {"label", node->label, 0}, {"folder", node->folder, 0}, {"seconds", NULL, seconds}};
        gb_say_event("artifact", made, 3);
    }
    if (r->schedule.jobs > 1 && say(r) && seconds >= .5) {
        repro_progress_text(&r->progress, r->session->jobs, far);
        gb_say_line("%s: %.0f s (%s)", node->label, seconds, far);
    }
    if (say(r))
        print_notices(r, node);
    repro_page_update(r->page, true);
    return check_splits(r, node, status);
}

/* ---- tables ---- */

static bool whole(const repro_table *table)
{
    for (size_t i = 0; i < table->call_count; i++) {
        const repro_node *node = table->calls[i].node;
        if (table->kept[node->index] && node->state != REPRO_DONE)
            return false;
    }
    return true;
}

/* What tables that can still be made need, of those from `first` up to `end`. */
static void set_needed(run *r, size_t first, size_t end)
{
    memset(r->schedule.needed, 0, r->graph->count);
    for (size_t t = first; t < end; t++)
        for (size_t n = 0; !r->makings[t].code && n < r->graph->count; n++)
            r->schedule.needed[n] |= r->makings[t].table.kept[n];
}

/* Whether a command has a word that begins with a path. */
static bool reads(const repro_node *node, const char *path)
{
    size_t length = strlen(path);
    for (size_t i = 0; i < node->count; i++)
        if (!strncmp(node->words[i].text, path, length))
            return true;
    return false;
}

static bool fail_input(const repro_session *session, const char *name, const char *path,
                       gb_status *status)
{
    const char *words[] = {"data", "fetch", name, "--dry-run", NULL};
    repro_command command = {.program = session->program, .words = words, .catch_errors = true};
    gb_text printed = {0};
    int code = 1;
    char how[300] = "it cannot be fetched, its files must be put there (datasets/README.md)";
    if (!repro_process_run(&command, &printed, &code, status))
        return false;
    gb_text_free(&printed);
    if (code == 0)
        snprintf(how, sizeof how, "gabbro data fetch %.60s --to %.200s", name, path);
    return gb_fail(status, GB_DATA, NULL, NULL, "no folder %.200s (see --data): %s", path, how);
}

/* The public folders that a table reads are there. */
static bool check_inputs(const run *r, const repro_table *table, gb_status *status)
{
    bool ok = true;
    for (size_t i = 0; ok && i < table->input_count; i++) {
        char *path = gb_path_join(status, r->session->data_dir, table->inputs[i]);
        ok = path != NULL;
        bool read = false;
        for (size_t c = 0; ok && !read && c < table->call_count; c++)
            read = table->kept[table->calls[c].node->index] && reads(table->calls[c].node, path);
        if (read && !gb_dir_exists(path))
            ok = fail_input(r->session, table->inputs[i], path, status);
        free(path);
    }
    return ok;
}

/* A process failed: so do all tables that need what it makes. */
static void fail_tables(run *r, const repro_node *node, int code, size_t first, size_t end)
{
    for (size_t t = first; t < r->count; t++) /* also those that wait behind `end` */
        if (r->makings[t].table.kept[node->index])
            r->makings[t].code = code;
    set_needed(r, first, end);
    repro_schedule_trim(&r->schedule);
}

/* Makes one table; those behind it, up to `end`, are worked on beside it. */
static bool make_artifacts(run *r, size_t which, size_t end, gb_status *status)
{
    making *m = &r->makings[which];
    bool ok = true;
    set_needed(r, which, end);
    while (ok && !m->code && !whole(&m->table)) {
        repro_node *failed = NULL;
        int code = 0;
        ok = repro_schedule_advance(&r->schedule, &failed, &code, status);
        repro_page_update(r->page, false);
        if (failed)
            fail_tables(r, failed, code, which, end);
    }
    return ok;
}

/* Where a table fails alone its code is in the making, and what is wrong has been said. */
static bool make_table(run *r, size_t which, size_t end, gb_status *status)
{
    making *m = &r->makings[which];
    double started_s = gb_now_s();
    gb_status why = {0};
    bool ok = m->code || (repro_results_check(m->out, &why) && check_inputs(r, &m->table, &why));
    ok = ok && make_artifacts(r, which, end, &why);
    if (ok && !m->code)
        ok = repro_results_finish(r->session, &m->table, m->out, (int64_t)(gb_now_s() - started_s),
                                  &why);
    m->finished = ok && !m->code;
    if (!ok && why.code == GB_INTERRUPTED) {
        *status = why;
        return false;
    }
    if (!ok) {
        m->code = why.code;
        if (*why.what)
            gb_status_print(&why);
    }
    return true;
}

/* ---- several tables ---- */

static const char *out_of(run *r, const repro_entry *entry, gb_status *status)
{
    char *path = r->session->entry ? gb_strdup(r->session->out, status)
                                   : gb_format(status, "%s/%s", r->session->out, entry->name);
    char *slash = path && !r->session->entry ? strrchr(path, '/') : NULL;
    if (slash)
        *slash = '-';
    const char *kept = path ? repro_graph_keep(r->graph, path, status) : NULL;
    free(path);
    return kept;
}

static bool add_table(run *r, const repro_entry *entry, gb_status *status)
{
    making *m = &r->makings[r->count++];
    m->entry = entry;
    return (m->out = out_of(r, entry, status)) &&
           repro_session_recipe(r->session, entry->name, r->graph, &m->table, status) &&
           repro_session_sum(r->session, &m->table, status);
}

/* The table asked for, or all; those whose times are measured come first. */
static bool add_tables(run *r, gb_status *status)
{
    const repro_catalog *catalog = &r->session->catalog;
    const repro_entry *one = r->session->entry;
    bool ok = true;
    r->makings = gb_alloc(catalog->count, sizeof *r->makings, status);
    if (!r->makings)
        return false;
    if (one)
        ok = add_table(r, one, status);
    for (size_t i = 0; ok && !one && i < 2 * catalog->count; i++) {
        const repro_entry *entry = &catalog->entries[i % catalog->count];
        if (entry->ready && !repro_entry_is_study(entry) &&
            entry->measures_time == (i < catalog->count))
            ok = add_table(r, entry, status);
    }
    for (size_t t = 0; ok && t < r->count; t++) {
        r->alone += r->makings[t].entry->measures_time;
        ok = repro_session_select(r->session, r->graph, &r->makings[t].table, status);
    }
    return ok;
}

static bool prepare(run *r, gb_status *status)
{
    const repro_session *session = r->session;
    if (!(r->graph = repro_graph_create(status)) || !add_tables(r, status))
        return false;
    r->schedule = (repro_schedule){.graph = r->graph,
                                   .needed = gb_alloc(r->graph->count, 1, status),
                                   .program = session->program,
                                   .flags = session->flag_words,
                                   .environment = session->environment,
                                   .threads = session->threads,
                                   .threads_alone = session->threads_alone,
                                   .begin = begin,
                                   .done = done,
                                   .context = r};
    if (!r->schedule.needed)
        return false;
    set_needed(r, 0, r->count);
    for (size_t n = 0; n < r->graph->count; n++)
        if (r->schedule.needed[n])
            repro_progress_expect(&r->progress, r->graph->nodes[n]);
    return true;
}

static bool make_tables(run *r, gb_status *status)
{
    bool ok = true;
    for (size_t t = 0; ok && t < r->count; t++) {
        r->schedule.jobs = t < r->alone ? 1 : r->session->jobs;
        if (!r->session->entry && say(r))
            gb_say_line("==== %s", r->makings[t].entry->name);
        ok = make_table(r, t, t < r->alone ? t + 1 : r->count, status);
    }
    return ok;
}

/* A line per paper of all tables: how many of its claims came out how. The folder of a table that
 * failed may have what an earlier run left; it does not count. */
static void summarize(const run *r)
{
    for (size_t t = 0; t < r->count; t++) {
        const char *name = r->makings[t].entry->name, *folders[64];
        size_t paper = strcspn(name, "/") + 1, count = 0;
        bool seen = false;
        for (size_t i = 0; i < r->count; i++) {
            bool same = !strncmp(r->makings[i].entry->name, name, paper);
            seen = seen || (same && i < t);
            if (same && !r->makings[i].code && count < 64)
                folders[count++] = r->makings[i].out;
        }
        if (!seen)
            repro_results_summary(name, folders, count);
    }
}

static bool write_site(const run *r, gb_status *status)
{
    const char **folders = gb_alloc(r->count, sizeof *folders, status);
    size_t count = 0;
    for (size_t t = 0; folders && t < r->count; t++)
        if (!r->makings[t].code)
            folders[count++] = r->makings[t].out;
    bool ok = folders && repro_results_site(r->session, folders, count, status);
    free(folders);
    return ok;
}

/* Names the tables that failed. */
static bool fail_all(const run *r, gb_status *status)
{
    gb_text names = {0};
    for (size_t t = 0; t < r->count; t++)
        if (r->makings[t].code)
            gb_text_printf(&names, " %s", r->makings[t].entry->name);
    bool failed = names.length != 0;
    if (failed)
        gb_fail(status, GB_MISMATCH, NULL, NULL, "failed:%s", names.data);
    gb_text_free(&names);
    return !failed;
}

static bool finish(const run *r, gb_status *status)
{
    if (r->session->entry && r->makings[0].code)
        return gb_fail(status, (gb_code)r->makings[0].code, NULL, NULL, "%s", "");
    if (!r->session->entry)
        summarize(r);
    return write_site(r, status) && (r->session->entry || fail_all(r, status));
}

bool repro_run(const repro_session *session, gb_status *status)
{
    run *r = gb_alloc(1, sizeof *r, status);
    if (!r)
        return false;
    r->session = session;
    gb_status own = {0};
    bool ok = prepare(r, &own);
    if (ok && session->entry != &repro_train_entry) /* whose folder says all itself */
        r->page = repro_page_open(r);
    if (r->page && say(r)) {
        size_t made, all;
        repro_progress_count(&r->progress, &made, &all);
        gb_say_line("%zu artifact%s needed; progress: %s/" GB_PAGE_PROGRESS, all,
                    all == 1 ? " is" : "s are", session->out);
    }
    ok = ok && make_tables(r, &own) && finish(r, &own);
    repro_page_close(r->page, &own);
    if (!ok)
        *status = own;
    repro_schedule_stop(&r->schedule);
    for (size_t t = 0; t < r->count; t++)
        repro_table_free(&r->makings[t].table);
    free(r->makings);
    free(r->schedule.needed);
    repro_graph_destroy(r->graph);
    free(r);
    return ok;
}
