/* Checks what the user asked for, and looks up what it names. */
#include "session.h"
#include "schedule.h"
#include "train.h"

#include <gabbro/artifact.h>
#include <gabbro/report.h>
#include <gabbro/os.h>

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *repro_session_keep(repro_session *session, gb_status *status, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    int length = vasprintf(&text, fmt, args);
    va_end(args);
    const char *kept =
        length < 0 ? NULL : gb_arena_strdup(session->arena, text, (size_t)length, status);
    if (length < 0)
        gb_fail_memory(status, "formatting text");
    else
        free(text);
    return kept;
}

static const char *absolute(repro_session *session, const char *path, gb_status *status)
{
    char *here = gb_os_is_absolute(path) ? NULL : getcwd(NULL, 0);
    const char *whole = here ? repro_session_keep(session, status, "%s/%s", here, path)
                             : repro_session_keep(session, status, "%s", path);
    free(here);
    return whole;
}

/* ---- what goes together ---- */

/* Plain refusals of a command line. */
static bool refuse(gb_status *status, const char *hint, const char *what)
{
    return gb_fail(status, GB_USAGE, NULL, hint, "%s", what);
}

static bool check_record(const gb_reproduce_params *params, bool some_rows, gb_status *status)
{
    if (!params->record)
        return true;
    if (params->collection || params->init || some_rows)
        return refuse(status, NULL,
                      "results of your own collection or model, or of some rows, are not recorded");
    return !params->generator || refuse(status, NULL, "results of --generator are not recorded");
}

static bool check_rows(const gb_reproduce_params *params, const repro_entry *entry,
                       gb_status *status)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789,*?._-";
    const char *rows = params->rows;
    if (!rows)
        return true;
    if (!*rows || rows[strspn(rows, letters)])
        return refuse(status, NULL, "--rows needs names of rows with commas between");
    if (!strcmp(rows, "all"))
        return true;
    if (!entry)
        return refuse(status, NULL, "--rows goes with one table");
    if (repro_entry_is_figure(entry) || repro_entry_is_study(entry))
        return refuse(status, NULL, "figures and studies make all their rows; leave --rows out");
    return true;
}

static bool check_all(const gb_reproduce_params *params, gb_status *status)
{
    if (params->action == GB_REPRODUCE_EXPLAIN)
        return refuse(status, NULL, "explain needs one table");
    return !params->collection || refuse(status, NULL, "all runs on the mini world");
}

static bool check_compared(const gb_reproduce_params *params, const repro_entry *entry,
                           gb_status *status)
{
    if (!params->compare_devices)
        return true;
    if (params->action != GB_REPRODUCE_TABLE || params->record || params->report ||
        params->submit || !entry)
        return refuse(
            status, NULL,
            "--compare-devices goes with one table, without --record, --report and --submit");
    if (params->device)
        return refuse(status, NULL, "--compare-devices names its devices; leave --device out");
    if (params->ranks || params->devices || params->gradient_shards || params->simulate_ranks)
        return refuse(status, NULL,
                      "--compare-devices compares devices, not ranks or gradient shards");
    if (repro_entry_is_figure(entry))
        return gb_fail(status, GB_USAGE, NULL, NULL,
                       "%s is a figure: --compare-devices compares the cells of a table",
                       entry->name);
    return true;
}

static bool check_submit(const gb_reproduce_params *params, const repro_entry *entry,
                         gb_status *status)
{
    const char *name = params->submit_name;
    if (params->submit && (!entry || repro_entry_is_figure(entry) || repro_entry_is_study(entry)))
        return refuse(status, NULL, "--submit goes with one table");
    if (name && !params->submit)
        return refuse(status, NULL, "--submit-name goes with --submit FILE");
    return !name || (*name && gb_utf8_valid(name, strlen(name))) ||
           refuse(status, NULL, "--submit-name needs a name in UTF-8");
}

static bool check(const repro_session *session, gb_status *status)
{
    const gb_reproduce_params *params = session->params;
    if (!check_submit(params, session->entry, status))
        return false;
    const repro_recipe_params *recipe = &session->recipe;
    bool some_rows = params->rows && strcmp(params->rows, "all") != 0;
    if (params->queries && !params->collection)
        return refuse(status, NULL, "--queries belongs to a --collection");
    if (!check_record(params, some_rows, status) || !check_rows(params, session->entry, status) ||
        !check_compared(params, session->entry, status))
        return false;
    if (recipe->init && !recipe->vocabulary) {
        char *words = gb_path_join(status, recipe->init, "vocab.txt");
        bool there = words && gb_file_exists(words);
        free(words);
        if (!there)
            return gb_fail(status, GB_USAGE, NULL, "see --init",
                           "no BERT in %.200s: it has no vocab.txt", recipe->init);
    }
    if (recipe->generator && strcmp(recipe->generator, "trained") != 0 &&
        !gb_dir_exists(recipe->generator))
        return gb_fail(status, GB_USAGE, NULL, "see --generator", "no folder %.200s",
                       recipe->generator);
    if (recipe->generator && params->action == GB_REPRODUCE_PLAN)
        return refuse(status, NULL, "plan does not know what --generator costs");
    return session->entry || check_all(params, status);
}

/* ---- settings ---- */

/* Calls each(context, path, name) for the scales that there are. */
static bool each_scale(bool (*each)(void *context, const char *path, gb_status *status),
                       void *context, gb_status *status)
{
    char *shared = gb_installed_file("reproduce/sets.lua"); /* the catalog has found it */
    char *scales = NULL;
    gb_entries found = {0};
    if (shared)
        *strrchr(shared, '/') = '\0';
    bool ok = shared && (scales = gb_path_join(status, shared, "scales")) &&
              (!gb_dir_exists(scales) || gb_entries_read(scales, "*", &found, status));
    for (size_t i = 0; ok && i < found.count; i++) {
        char *path = gb_path_join(status, scales, found.names[i]);
        ok = path && each(context, path, status);
        free(path);
    }
    gb_entries_free(&found);
    free(scales);
    free(shared);
    return ok;
}

static bool add_scale_name(void *context, const char *path, gb_status *status)
{
    (void)status;
    gb_text *names = context;
    gb_text_printf(names, "%s%s", names->length ? " " : "", strrchr(path, '/') + 1);
    return !names->failed;
}

static bool add_known(void *context, const char *path, gb_status *status)
{
    repro_settings one = {0}, *known = context;
    bool ok =
        repro_settings_read(&one, path, NULL, status) && repro_settings_copy(&one, known, status);
    repro_settings_free(&one);
    return ok;
}

/* File of a scale; caller frees. */
static char *scale_file(const char *scale, gb_status *status)
{
    char name[80];
    snprintf(name, sizeof name, "reproduce/scales/%.60s", scale);
    char *path = strchr(scale, '/') || *scale == '.' ? NULL : gb_installed_file(name);
    if (!path) {
        gb_text names = {0};
        each_scale(add_scale_name, &names, NULL);
        gb_fail(status, GB_USAGE, NULL, NULL, "no scale %.60s (there is: %s)", scale,
                names.data ? names.data : "");
        gb_text_free(&names);
    }
    return path;
}

/* A scale can have the name of the collection that it is for. */
static bool check_collection(const repro_session *session, gb_status *status)
{
    const char *path = session->recipe.collection, *name = session->params->collection;
    if (!path || gb_file_exists(path) || gb_dir_exists(path))
        return true;
    char *scale = scale_file(name, NULL);
    char *hint = scale ? gb_format(NULL, "or do you mean --scale %.60s", name) : NULL;
    gb_fail(status, GB_DATA, NULL, hint ? hint : "check the path", "no collection at %.200s", path);
    free(hint);
    free(scale);
    return false;
}

/* The settings of a scale, over those of its base if it names one. */
static bool read_scale(repro_session *session, gb_status *status)
{
    repro_settings own = {0}, *settings = &session->settings;
    char *path = scale_file(session->params->scale, status), *base = NULL;
    bool ok = path && repro_settings_read(&own, path, NULL, status);
    const char *name = ok ? repro_settings_get(&own, "base") : NULL;
    if (name)
        ok = (base = scale_file(name, status)) && repro_settings_read(settings, base, NULL, status);
    ok = ok && repro_settings_copy(&own, settings, status);
    repro_settings_free(&own);
    free(base);
    free(path);
    return ok;
}

/* A file that the user may have for all that he runs; NULL where there is none. */
static char *user_file(const gb_config *config)
{
    char *path = NULL;
    if (config->config_home)
        path = gb_format(NULL, "%s/gabbro/settings", config->config_home);
    else if (config->home)
        path = gb_format(NULL, "%s/.config/gabbro/settings", config->home);
    if (path && gb_file_exists(path))
        return path;
    free(path);
    return NULL;
}

static bool read_settings(repro_session *session, gb_status *status)
{
    const gb_reproduce_params *params = session->params;
    repro_settings *settings = &session->settings, known = {0};
    char *own = user_file(params->config);
    bool ok = read_scale(session, status) && each_scale(add_known, &known, status);
    if (ok && own) {
        gb_log(GB_LOG_INFO, "settings of %s", own);
        ok = repro_settings_read(settings, own, &known, status);
    }
    for (size_t i = 0; ok && i < params->settings_files.count; i++)
        ok = repro_settings_read(settings, params->settings_files.items[i], &known, status);
    for (size_t i = 0; ok && i < params->changes.count; i++)
        ok = repro_settings_choose(settings, params->changes.items[i], &known, status);
    if (ok && params->init && repro_settings_get(settings, "initial_encoder"))
        ok = repro_settings_put(settings, "initial_encoder", session->recipe.init, status);
    if (ok && !params->collection && !repro_settings_get(settings, "world_seed") &&
        !repro_settings_get(settings, "data_main"))
        ok =
            gb_fail(status, GB_USAGE, NULL, NULL,
                    "scale %.60s is for a collection of your own: --collection DIR", params->scale);
    repro_settings_free(&known);
    free(own);
    return ok;
}

/* ---- looking up ---- */

static const char *patterns(repro_session *session, const char *rows, gb_status *status)
{
    char *copy = gb_strdup(rows, status);
    for (char *at = copy; at && *at; at++)
        if (*at == ',')
            *at = '|';
    const char *kept = copy ? repro_session_keep(session, status, "%s", copy) : NULL;
    free(copy);
    return kept;
}

static bool set_words(repro_session *session, repro_words *list, const char *const *words,
                      gb_status *status)
{
    size_t count = 0;
    while (words[count])
        count++;
    const char **items = gb_arena_alloc(session->arena, (count + 1) * sizeof *items, status);
    for (size_t i = 0; items && i < count; i++)
        if (!(items[i] = repro_session_keep(session, status, "%s", words[i])))
            return false;
    *list = (repro_words){items, count};
    return items != NULL;
}

/* The options of ranks and shards. Of either kind, results know the number of shards alone. */
static bool set_ranks(repro_session *session, gb_status *status)
{
    const gb_reproduce_params *params = session->params;
    uint32_t shards = params->gradient_shards ? params->gradient_shards : REPRO_SHARDS;
    char ranks[16], given[16], simulated[16], recorded[16];
    const char *of_ranks[5] = {NULL}, *of_shards[5] = {NULL}, *sum[3] = {NULL};
    size_t r = 0, s = 0;
    snprintf(ranks, sizeof ranks, "%u", params->ranks);
    snprintf(given, sizeof given, "%u", params->gradient_shards);
    snprintf(simulated, sizeof simulated, "%u", params->simulate_ranks);
    snprintf(recorded, sizeof recorded, "%u", shards);
    if (params->ranks) {
        of_ranks[r++] = "--ranks";
        of_ranks[r++] = ranks;
    }
    if (params->devices) {
        of_ranks[r++] = "--devices";
        of_ranks[r++] = params->devices;
    }
    if (params->gradient_shards) {
        of_shards[s++] = "--gradient-shards";
        of_shards[s++] = given;
    }
    if (params->simulate_ranks) {
        of_shards[s++] = "--simulate-ranks";
        of_shards[s++] = simulated;
    }
    if (r || s) {
        sum[0] = "--gradient-shards";
        sum[1] = recorded;
    }
    return set_words(session, &session->ranks, of_ranks, status) &&
           set_words(session, &session->shards, of_shards, status) &&
           set_words(session, &session->recorded_shards, sum, status);
}

static bool set_seeds(repro_session *session, gb_status *status)
{
    const gb_reproduce_params *params = session->params;
    if (params->seeds && params->seed != REPRO_FIRST_SEED)
        return gb_fail(status, GB_USAGE, "--seeds", "leave one of them out",
                       "the seeds begin with %d, so --seed has no part in them", REPRO_FIRST_SEED);
    session->seed_count = params->seeds ? params->seeds : 1;
    session->seeds =
        gb_arena_alloc(session->arena, session->seed_count * sizeof *session->seeds, status);
    for (size_t i = 0; session->seeds && i < session->seed_count; i++)
        session->seeds[i] = params->seeds ? REPRO_FIRST_SEED + i : params->seed;
    return session->seeds != NULL;
}

static const char *name_behind(repro_session *session, const char *so_far, const char *path,
                               gb_status *status)
{
    size_t length = 0;
    const char *name = path ? gb_path_name(path, &length) : "";
    return so_far ? repro_session_keep(session, status, "%s%s%.*s", so_far, path ? "." : "",
                                       (int)length, name)
                  : NULL;
}

/* results/TABLE.SCALE, and what of the user's own it is made of. Judged runs are apart from what is
 * made here. */
static bool set_out(repro_session *session, gb_status *status)
{
    const gb_reproduce_params *params = session->params;
    char table[80];
    snprintf(table, sizeof table, "%s", session->entry ? session->entry->name : "all");
    for (char *at = table; *at; at++)
        if (*at == '/')
            *at = '-';
    const char *out = repro_session_keep(session, status, "results/%s.%s", table, params->scale);
    out = name_behind(session, out, params->collection, status);
    out = name_behind(session, out, params->init, status);
    out = name_behind(session, out, params->generator, status);
    if (params->action == GB_REPRODUCE_JUDGE)
        out = name_behind(session, out, "judged", status);
    session->out = params->out ? params->out : out;
    return out != NULL;
}

static const char *absolute_or_none(repro_session *session, const char *path, bool *ok,
                                    gb_status *status)
{
    const char *whole = path ? absolute(session, path, status) : NULL;
    *ok = *ok && (whole || !path);
    return whole;
}

/* --init: a folder, or a model by another name. */
static const char *initial_model(repro_session *session, bool *ok, gb_status *status)
{
    const char *init = session->params->init;
    if (!*ok || !init || gb_dir_exists(init))
        return absolute_or_none(session, init, ok, status);
    char *found = gb_find_model(session->params->config, init, status);
    const char *whole = found ? absolute_or_none(session, found, ok, status) : NULL;
    free(found);
    *ok = whole != NULL;
    return whole;
}

static bool set_recipe(repro_session *session, gb_status *status)
{
    const gb_reproduce_params *params = session->params;
    bool trained = params->generator && !strcmp(params->generator, "trained"), ok = true;
    session->data_dir =
        absolute_or_none(session, params->data ? params->data : "data", &ok, status);
    session->recipe = (repro_recipe_params){
        .settings = &session->settings,
        .seeds = session->seeds,
        .seed_count = session->seed_count,
        .collection = absolute_or_none(session, params->collection, &ok, status),
        .queries = absolute_or_none(session, params->queries, &ok, status),
        .init = initial_model(session, &ok, status),
        .generator =
            trained ? params->generator : absolute_or_none(session, params->generator, &ok, status),
        .ranks = session->ranks,
        .shards = session->shards,
        .data_dir = session->data_dir,
        .paper = params->paper,
        .commands = params->commands,
        .config = params->config,
    };
    return ok;
}

static bool set_environment(repro_session *session, gb_status *status)
{
    const gb_reproduce_params *params = session->params;
    size_t variables = 0, flags = 0;
    bool ok = true;
    if (params->store)
        ok = (session->environment[variables++] =
                  repro_session_keep(session, status, "GABBRO_STORE=%s", params->store)) != NULL;
    if (ok && params->device)
        ok = (session->environment[variables++] =
                  repro_session_keep(session, status, "GABBRO_DEVICE=%s", params->device)) != NULL;
    if (ok && params->paper)
        ok = (session->environment[variables++] = repro_session_keep(
                  session, status, "GABBRO_TABLES=%s", session->tables_dir)) != NULL;
    if (params->quiet)
        session->flag_words[flags++] = "--quiet";
    if (params->profile)
        session->flag_words[flags++] = "--profile";
    return ok;
}

static char *find_tables(const gb_reproduce_params *params, gb_status *status)
{
    char *own = params->paper ? gb_path_join(status, params->paper, "tables") : NULL;
    char *found = own || !params->paper ? gb_tables_find(params->config, own, status) : NULL;
    free(own);
    return found;
}

bool repro_session_open(repro_session *session, const gb_reproduce_params *params,
                        gb_status *status)
{
    *session = (repro_session){.params = params,
                               .arena = gb_arena_create(1 << 14, status),
                               .program = params->config->program};
    char *tables = session->arena ? find_tables(params, status) : NULL;
    bool ok = tables && (session->tables_dir = repro_session_keep(session, status, "%s", tables)) &&
              repro_catalog_read(&session->catalog, session->tables_dir, params->paper, status);
    free(tables);
    if (!ok || params->action == GB_REPRODUCE_LIST || params->action == GB_REPRODUCE_LOG)
        return ok;
    bool train = params->action == GB_REPRODUCE_TRAIN,
         all = !train && !strcmp(params->table, "all");
    if (train)
        session->entry = &repro_train_entry;
    for (size_t i = 0; all && i < session->catalog.count; i++)
        if (session->catalog.entries[i].fault.code != GB_OK) {
            *status = session->catalog.entries[i].fault;
            return false;
        }
    if (!all && !train &&
        !(session->entry = repro_catalog_find(&session->catalog, params->table, status)))
        return false;
    if (params->action == GB_REPRODUCE_JUDGE)
        return set_environment(session, status) && set_out(session, status);
    session->everything = all || (params->rows && !strcmp(params->rows, "all"));
    session->flags = repro_session_keep(session, status, "%s%s", params->quiet ? " --quiet" : "",
                                        params->profile ? " --profile" : "");
    ok = session->flags && set_environment(session, status) && set_ranks(session, status) &&
         set_seeds(session, status) && set_recipe(session, status) && set_out(session, status) &&
         check(session, status) && check_collection(session, status);
    if (ok && params->rows && !session->everything)
        ok = (session->rows = patterns(session, params->rows, status)) != NULL;
    return ok && (train ? repro_train_settings(session, status) : read_settings(session, status));
}

void repro_session_close(repro_session *session)
{
    repro_settings_free(&session->settings);
    repro_catalog_free(&session->catalog);
    gb_arena_destroy(session->arena);
}

/* ---- processes ---- */

bool repro_session_command(const repro_session *session, const char *const *words,
                           gb_status *status)
{
    int code = 0;
    repro_command command = {
        .program = session->program, .words = words, .environment = session->environment};
    return repro_process_run(&command, NULL, &code, status) &&
           repro_process_ok(words[0], code, status);
}

/* ---- recipes ---- */

bool repro_session_recipe(const repro_session *session, const char *name, repro_graph *graph,
                          repro_table *table, gb_status *status)
{
    repro_recipe_params recipe = session->recipe;
    recipe.table = name;
    const repro_entry *entry = repro_catalog_find(&session->catalog, name, NULL);
    gb_table_spec *spec = entry && entry->published
                              ? gb_table_spec_load(session->tables_dir, entry->name, status)
                              : NULL;
    recipe.spec = spec;
    bool ok =
        (spec || !entry || !entry->published) && repro_recipe_run(&recipe, graph, table, status);
    gb_table_spec_free(spec);
    return ok;
}

bool repro_session_select(const repro_session *session, const repro_graph *graph,
                          repro_table *table, gb_status *status)
{
    return repro_table_select(table, graph, session->rows, session->everything, status);
}

/* The sums of rows on request, of a table that was run for them. */
static bool sum_rows(const repro_session *session, const repro_graph *graph, repro_table *table,
                     json_t **sums, gb_status *status)
{
    bool ok = true;
    for (size_t i = 0; ok && i < table->result_count; i++) {
        const repro_result *result = &table->results[i];
        char sum[40];
        if (!result->on_request || !result->row || json_object_get(*sums, result->row))
            continue;
        *sums = *sums ? *sums : json_object();
        ok = repro_table_select(table, graph, result->row, false, status) &&
             repro_table_checksum(table, session->data_dir, true, sum, status) &&
             (json_object_set_new(*sums, result->row, json_string(sum)) == 0 ||
              gb_fail_memory(status, "summing up a recipe"));
    }
    return ok;
}

bool repro_session_sum(const repro_session *session, repro_table *table, gb_status *status)
{
    static const uint64_t seed = REPRO_FIRST_SEED;
    repro_recipe_params recipe = session->recipe;
    repro_table plain = {0};
    recipe.table = table->name;
    recipe.seeds = &seed;
    recipe.seed_count = 1;
    recipe.ranks = (repro_words){0};
    recipe.shards = session->recorded_shards;
    repro_graph *graph = repro_graph_create(status);
    bool ok = graph && repro_recipe_run(&recipe, graph, &plain, status) &&
              repro_table_select(&plain, graph, NULL, false, status) &&
              repro_table_checksum(&plain, session->data_dir, false, table->sum, status) &&
              sum_rows(session, graph, &plain, &table->row_sums, status);
    repro_table_free(&plain);
    repro_graph_destroy(graph);
    return ok;
}
