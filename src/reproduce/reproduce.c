/* Does what a call of gabbro reproduce asks for. */
#include "compare.h"
#include "judge.h"
#include "new.h"
#include "plan.h"
#include "train.h"

#include <gabbro/report.h>

#include <stdlib.h>
#include <string.h>

/* Prints what a table would run, and the sum of its recipe. */
static bool print_commands(const repro_session *session, const repro_entry *entry,
                           gb_status *status)
{
    repro_graph *graph = repro_graph_create(status);
    repro_table table = {0};
    gb_text lines = {0};
    bool ok = graph && repro_session_recipe(session, entry->name, graph, &table, status) &&
              repro_session_select(session, graph, &table, status) &&
              repro_session_sum(session, &table, status);
    if (ok) {
        repro_table_text(&table, session->flags, &lines);
        ok = !lines.failed || gb_fail_memory(status, "printing commands");
    }
    if (ok)
        printf("%s# recipe %s\n", lines.data ? lines.data : "", table.sum);
    gb_text_free(&lines);
    repro_table_free(&table);
    repro_graph_destroy(graph);
    return ok;
}

static bool dry_run(const repro_session *session, gb_status *status)
{
    const repro_catalog *catalog = &session->catalog;
    bool ok = true;
    if (session->entry)
        return print_commands(session, session->entry, status);
    for (size_t i = 0; ok && i < 2 * catalog->count; i++) {
        const repro_entry *entry = &catalog->entries[i % catalog->count];
        if (!entry->ready || repro_entry_is_study(entry) ||
            entry->measures_time != (i < catalog->count))
            continue;
        printf("# table %s\n", entry->name);
        ok = print_commands(session, entry, status);
    }
    return ok;
}

/* Prints what others sent of their tables. */
static bool print_log(const repro_session *session, gb_status *status)
{
    const char *given = session->params->seen;
    char *folder =
        given ? gb_strdup(given, status) : gb_path_join(status, session->tables_dir, "seen");
    gb_text text = {0};
    bool ok =
        folder && ((!given && !gb_dir_exists(folder)) || gb_seen_print(folder, &text, status));
    if (ok && text.length)
        fwrite(text.data, 1, text.length, stdout);
    else if (ok)
        gb_log(GB_LOG_INFO, "nothing was sent yet: no file in %s", folder);
    gb_text_free(&text);
    free(folder);
    return ok;
}

static bool act(repro_session *session, gb_status *status)
{
    const gb_reproduce_params *params = session->params;
    if (params->action == GB_REPRODUCE_EXPLAIN)
        return repro_explain(session, status);
    gb_install_signals();
    if (params->action == GB_REPRODUCE_JUDGE)
        return repro_judge(session, status);
    if (params->compare_devices)
        return repro_compare_devices(session, status);
    if (params->dry_run)
        return dry_run(session, status);
    if (!repro_session_choose_jobs(session, status))
        return false;
    return params->action == GB_REPRODUCE_PLAN ? repro_plan_tables(session, status)
                                               : repro_run(session, status);
}

/* An open number is none. */
static void close_numbers(gb_reproduce_params *params)
{
    uint32_t *numbers[] = {&params->seeds, &params->ranks, &params->gradient_shards,
                           &params->simulate_ranks, &params->jobs};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (*numbers[i] == GB_OPEN)
            *numbers[i] = 0;
}

/* What judge and new leave out of account: how a table is made, and that nothing is. */
static bool refuse_making(const gb_reproduce_params *params, gb_status *status)
{
    const struct {
        const char *option;
        bool given;
    } making[] = {{"--dry-run", params->dry_run},
                  {"--rows", params->rows != NULL},
                  {"--set", params->changes.count != 0},
                  {"--settings", params->settings_files.count != 0},
                  {"--seed", params->seed != REPRO_FIRST_SEED},
                  {"--seeds", params->seeds != 0},
                  {"--queries", params->queries != NULL},
                  {"--init", params->init != NULL},
                  {"--generator", params->generator != NULL},
                  {"--jobs", params->jobs != 0},
                  {"--ranks", params->ranks != 0},
                  {"--devices", params->devices != NULL},
                  {"--gradient-shards", params->gradient_shards != 0},
                  {"--simulate-ranks", params->simulate_ranks != 0},
                  {"--compare-devices", params->compare_devices != NULL},
                  {"--profile", params->profile}};
    for (size_t i = 0; i < sizeof making / sizeof *making; i++)
        if (making[i].given)
            return gb_fail(status, GB_USAGE, making[i].option, "leave it out",
                           "it is of tables that are made");
    return true;
}

/* What one action alone reads or writes. */
static bool check_action(const gb_reproduce_params *params, gb_status *status)
{
    gb_reproduce_action action = params->action;
    if (params->runs && action != GB_REPRODUCE_JUDGE)
        return gb_fail(status, GB_USAGE, "--runs", "reproduce judge TABLE --runs DIR",
                       "judge alone measures what is there");
    if (params->seen && action != GB_REPRODUCE_LOG)
        return gb_fail(status, GB_USAGE, "--seen", "reproduce log --seen DIR",
                       "log alone lists what was sent");
    if ((action == GB_REPRODUCE_JUDGE || action == GB_REPRODUCE_NEW) &&
        !refuse_making(params, status))
        return false;
    return action == GB_REPRODUCE_TABLE || action == GB_REPRODUCE_TRAIN ||
           (!params->record && !params->report && !params->submit) ||
           gb_fail(status, GB_USAGE, NULL, "leave them out",
                   "--record, --report and --submit are of tables that are made");
}

bool gb_reproduce_example(FILE *out, gb_status *status)
{
    return repro_train_example(out, status);
}

bool gb_reproduce(const gb_reproduce_params *params, gb_status *status)
{
    repro_session session;
    gb_reproduce_params own = *params;
    bool over = false;
    close_numbers(&own);
    if (!check_action(&own, status))
        return false;
    if (params->action == GB_REPRODUCE_NEW)
        return repro_new_paper(params->table, params->out, status);
    if (!repro_leave_mpirun(params->config, &own.ranks, &over, status) || over)
        return over;
    bool ok = repro_session_open(&session, &own, status);
    if (ok && params->action == GB_REPRODUCE_LIST)
        repro_catalog_print(&session.catalog);
    else if (ok && params->action == GB_REPRODUCE_LOG)
        ok = print_log(&session, status);
    else if (ok)
        ok = act(&session, status);
    repro_session_close(&session);
    return ok;
}
