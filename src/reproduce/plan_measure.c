/* Measures how fast this device trains, and prints the whole plan. */
#include "plan.h"

#include <gabbro/fetch.h>

#include <stdlib.h>
#include <string.h>

/* ---- a short training ---- */

/* What a training took. */
typedef struct taken {
    double seconds;  /* of its steps */
    double beside;   /* of all else */
    double resident; /* bytes of the host's memory at most */
} taken;

/* A training of so many steps; an epoch of one batch is a step of a fine-tuning. */
static bool short_training(const repro_argv *argv, double batch, double steps, repro_argv *made,
                           gb_status *status)
{
    bool finetune = !strcmp(argv->items[0], "finetune"), ok = true;
    for (size_t i = 0; ok && i < argv->count; i++)
        ok = repro_argv_add(made, status, "%s", argv->items[i]);
    ok = ok && repro_argv_add(made, status, "--batch") &&
         repro_argv_add(made, status, "%.0f", batch);
    if (ok && finetune)
        ok = repro_argv_add(made, status, "--train-queries") &&
             repro_argv_add(made, status, "%.0f", batch) &&
             repro_argv_add(made, status, "--epochs") &&
             repro_argv_add(made, status, "%.0f", steps);
    else if (ok)
        ok = repro_argv_add(made, status, "--steps") && repro_argv_add(made, status, "%.0f", steps);
    return ok && repro_argv_add(made, status, "--quiet");
}

/* Starts the same in `jobs` processes: the others only keep the device as busy as it will be, each
 * in a store of its own. */
static bool start_jobs(const repro_plan *plan, const repro_argv *argv, repro_process *processes,
                       gb_status *status)
{
    bool ok = true;
    for (uint32_t j = 0; ok && j < plan->session->jobs; j++) {
        const char *environment[10];
        size_t count = 0;
        for (; plan->environment[count]; count++)
            environment[count] = plan->environment[count];
        char *store = j ? gb_format(status, "GABBRO_STORE=%s/store.%u", plan->root, j) : NULL;
        environment[count++] = store;
        environment[count] = NULL;
        repro_command command = {.program = plan->session->program,
                                 .words = argv->items,
                                 .environment = environment,
                                 .catch_output = true,
                                 .catch_errors = j > 0};
        ok = (!j || store) && repro_process_start(&processes[j], &command, status);
        free(store);
    }
    return ok;
}

static bool train(const repro_plan *plan, const repro_argv *argv, taken *took, gb_status *status)
{
    repro_process processes[REPRO_MAX_JOBS], *list[REPRO_MAX_JOBS];
    uint32_t jobs = plan->session->jobs;
    for (uint32_t j = 0; j < REPRO_MAX_JOBS; j++) {
        processes[j] = (repro_process){.output = -1, .errors = -1, .ended = true};
        list[j] = &processes[j];
    }
    bool ok = start_jobs(plan, argv, processes, status);
    for (uint32_t left = jobs; ok && left && !gb_interrupted();) {
        repro_process_watch(list, jobs, 1000);
        left = 0;
        for (uint32_t j = 0; j < jobs; j++)
            left += !processes[j].ended;
    }
    for (uint32_t j = 0; j < jobs; j++)
        repro_process_stop(&processes[j]);
    repro_process_wait_all(list, jobs);
    if (ok && gb_interrupted())
        ok = gb_fail(status, GB_INTERRUPTED, NULL, NULL, "%s", "");
    if (ok && processes[0].code)
        ok = gb_fail(status, (gb_code)processes[0].code, NULL, NULL, "%s", "");
    char *folder =
        ok ? gb_strdup(processes[0].printed.data ? processes[0].printed.data : "", status) : NULL;
    if (folder) {
        double work = 0, build = 0, wall = 0;
        folder[strcspn(folder, "\n")] = '\0';
        repro_record_number(folder, "run.json", "work_s", &work);
        repro_record_number(folder, "run.json", "build_s", &build);
        repro_record_number(folder, "run.json", "wall_s", &wall);
        repro_record_number(folder, "run.json", "peak_resident_bytes", &took->resident);
        took->seconds = work - build;
        took->beside = wall - took->seconds;
    }
    free(folder);
    for (uint32_t j = 0; j < jobs; j++)
        repro_process_free(&processes[j]);
    return ok && folder;
}

/* Its batch is made so small that a step takes seconds at most, and it is repeated for some
 * seconds. It counts when another went before it: kernels that this machine has never run are
 * compiled in their first step. */
static bool measure_training(repro_plan *plan, repro_speed *speed, gb_status *status)
{
    static const double STEP_FLOPS = 5e10, ENOUGH_S = 5, MAX_STEPS = 2000;
    repro_argv *argv = &plan->training;
    repro_cost cost;
    taken took = {0};
    if (!repro_plan_cost(plan, argv, &cost, status))
        return false;
    double part = repro_cost_get(&cost, "part");
    double batch = (double)(uint64_t)(STEP_FLOPS / repro_cost_get(&cost, "flops") *
                                      repro_cost_get(&cost, "batch"));
    batch = batch < 1 ? 1 : batch < part ? batch : part;
    if (!repro_argv_add(argv, status, "--batch") || !repro_argv_add(argv, status, "%.0f", batch) ||
        !repro_plan_cost(plan, argv, &cost, status))
        return false;
    double flops = repro_cost_get(&cost, "flops"), steps = 1;
    for (bool warm = false, enough = false; !enough;) {
        repro_argv made = {0};
        bool ok =
            short_training(argv, batch, steps, &made, status) && train(plan, &made, &took, status);
        repro_argv_free(&made);
        if (!ok)
            return false;
        enough = warm && (took.seconds >= ENOUGH_S || steps > MAX_STEPS);
        if (enough)
            break;
        if (took.seconds >= ENOUGH_S || steps > MAX_STEPS) {
            steps++; /* as many again would be the training that is there */
            warm = true;
        } else {
            steps = 1 + (double)(uint64_t)(steps * (took.seconds > .5 ? 6 / took.seconds : 12));
            warm = false;
        }
    }
    speed->flops = flops * steps / took.seconds;
    speed->start_s = took.beside;
    speed->program = took.resident;
    if (speed->on_cpu)
        speed->program -=
            repro_cost_get(&cost, "parameter_bytes") + repro_cost_get(&cost, "activation_bytes");
    return true;
}

/* Measures and files. Of a stand-in they are not known; where the arithmetic alone takes long they
 * are little. */
static bool measure_evaluation(repro_plan *plan, repro_speed *speed, gb_status *status)
{
    repro_argv *argv = &plan->evaluation;
    gb_text folder = {0};
    double seconds = 0;
    if (!argv->count || plan->evaluation_flops > 20 * speed->flops)
        return true;
    bool ok = repro_argv_add(argv, status, "--quiet") &&
              repro_plan_command(plan, argv->items, &folder, status);
    if (ok && folder.data && repro_record_number(folder.data, "run.json", "wall_s", &seconds))
        seconds -= plan->evaluation_flops / speed->flops;
    speed->evaluate_s = seconds > 0 ? seconds : 0;
    gb_text_free(&folder);
    return ok;
}

bool repro_plan_measure(repro_plan *plan, repro_speed *speed, gb_status *status)
{
    const repro_session *session = plan->session;
    *speed = (repro_speed){.flops = 1};
    if (!plan->training.count) {
        repro_argv_free(&plan->training);
        plan->training = plan->finetuning;
        plan->finetuning = (repro_argv){0};
    }
    if (!plan->training.count)
        return true;
    if (!session->params->quiet && session->jobs > 1)
        fprintf(stderr, "measuring how fast the device is, %u steps at once\n", session->jobs);
    else if (!session->params->quiet)
        fprintf(stderr, "measuring how fast the device is\n");
    speed->on_cpu = repro_session_on_cpu(session);
    return measure_training(plan, speed, status) && measure_evaluation(plan, speed, status);
}

/* ---- printing ---- */

static const char *amount(double bytes, char text[32])
{
    snprintf(text, 32, bytes < 1e9 ? "%.2f GB" : "%.1f GB", bytes / 1e9);
    return text;
}

static const char *duration(double seconds, char text[32])
{
    if (seconds < 7200)
        snprintf(text, 32, "%7.1f minutes", seconds / 60);
    else if (seconds < 172800)
        snprintf(text, 32, "%7.1f hours", seconds / 3600);
    else if (seconds < 86400000)
        snprintf(text, 32, "%7.1f days", seconds / 86400);
    else
        snprintf(text, 32, "%7.1f years", seconds / 31557600);
    return text;
}

/* What is fetched for a table. */
static void print_download(const repro_table_cost *cost, const gb_manifest *manifest)
{
    double bytes = 0;
    bool more = false;
    char text[32];
    for (size_t i = 0; i < cost->data_count; i++) {
        bool seen = false;
        for (size_t j = 0; j < i; j++)
            seen = seen || !strcmp(cost->data[j], cost->data[i]);
        const gb_source *source = seen ? NULL : gb_manifest_find(manifest, cost->data[i], NULL);
        uint32_t unknown = 0;
        bytes += source ? (double)gb_source_bytes(source, &unknown) : 0;
        more = more || unknown;
    }
    if (bytes > 0)
        printf(", download %s%s", more ? "at least " : "", amount(bytes, text));
}

static void print_line(const repro_plan *plan, const repro_table_cost *cost,
                       const repro_speed *speed, const gb_manifest *manifest)
{
    double jobs = plan->session->jobs;
    repro_bytes most = {0};
    char time[32], device[32], memory[32], disk[32];
    for (size_t i = 0; i < cost->need_count; i++) {
        const repro_bytes *need = &cost->needs[i];
        /* A CPU device has the memory of the host. */
        double host = need->memory + speed->program + (speed->on_cpu ? need->device : 0);
        most.device = need->device > most.device ? need->device : most.device;
        most.memory = host > most.memory ? host : most.memory;
        most.disk = need->disk > most.disk ? need->disk : most.disk;
    }
    double seconds = (cost->train_flops + cost->encode_flops) / speed->flops +
                     (double)cost->trainings * speed->start_s +
                     (double)cost->encodings * speed->evaluate_s + cost->host_s;
    printf("%-14s %15s  device %s, memory %s, disk %s", cost->name, duration(seconds / jobs, time),
           amount(most.device, device), amount(jobs * most.memory, memory),
           amount(cost->disk + jobs * most.disk, disk));
    print_download(cost, manifest);
    printf("\n");
}

static bool add_cost(repro_table_cost *all, const repro_table_cost *cost, gb_status *status)
{
    all->train_flops += cost->train_flops;
    all->encode_flops += cost->encode_flops;
    all->host_s += cost->host_s;
    all->trainings += cost->trainings;
    all->encodings += cost->encodings;
    all->disk += cost->disk;
    if (!gb_grow(&all->needs, &all->need_capacity, all->need_count + cost->need_count,
                 sizeof *all->needs, status) ||
        !gb_grow(&all->data, &all->data_capacity, all->data_count + cost->data_count,
                 sizeof *all->data, status))
        return false;
    for (size_t i = 0; i < cost->need_count; i++)
        all->needs[all->need_count++] = cost->needs[i];
    for (size_t i = 0; i < cost->data_count; i++)
        all->data[all->data_count++] = cost->data[i];
    return true;
}

bool repro_plan_print(const repro_plan *plan, const repro_speed *speed, gb_status *status)
{
    repro_table_cost *all = &plan->costs[plan->count];
    gb_manifest manifest = {0};
    char *path = gb_manifest_path(plan->session->params->config, NULL, NULL);
    if (path)
        gb_manifest_read(path, &manifest, NULL); /* without it sizes are left out */
    free(path);
    bool ok = true;
    all->name = "all";
    for (size_t t = 0; ok && t < plan->count; t++) {
        print_line(plan, &plan->costs[t], speed, &manifest);
        ok = add_cost(all, &plan->costs[t], status);
    }
    if (ok) {
        print_line(plan, all, speed, &manifest);
        printf("A seed; each step is counted where it is first needed.");
        if (speed->flops > 1)
            printf(" This device: %.1f GFLOP/s in training.", speed->flops / 1e9);
        printf("\n");
    }
    gb_manifest_free(&manifest);
    return ok;
}

/* ---- all of it ---- */

/* A public folder that a recipe asks for. */
static bool stand_in(void *context, const char *name, gb_status *status)
{
    const repro_plan *plan = context;
    const repro_settings *settings = &plan->session->settings;
    const char *encoder = repro_settings_get(settings, "initial_encoder");
    const char *tokens = repro_settings_get(settings, "vocabulary_tokens");
    uint32_t count = tokens ? (uint32_t)strtoul(tokens, NULL, 10) : 2048;
    repro_sizes sizes;
    char *folder = gb_path_join(status, plan->stand_ins, name);
    bool ok = folder != NULL;
    if (ok && !gb_dir_exists(folder)) {
        if (encoder && !strcmp(encoder, name))
            ok = repro_stand_in_vocabulary(folder, count, status);
        else
            ok = repro_sizes_read(name, &sizes, status) &&
                 repro_stand_in_collection(folder, &sizes, count, status);
    }
    free(folder);
    return ok;
}

/* The recipes of the tables, for one seed, into the graph. */
static bool read_recipes(repro_plan *plan, repro_session *session, gb_status *status)
{
    const repro_catalog *catalog = &session->catalog;
    bool ok = true;
    session->recipe.seed_count = 1;
    session->recipe.plan = true;
    session->recipe.data_dir = plan->stand_ins;
    session->recipe.input = stand_in;
    session->recipe.context = plan;
    for (size_t i = 0; ok && i < catalog->count; i++) {
        const repro_entry *entry = &catalog->entries[i];
        bool wanted =
            session->entry ? entry == session->entry : entry->ready && !repro_entry_is_study(entry);
        if (wanted)
            ok = repro_session_recipe(session, entry->name, plan->graph,
                                      &plan->tables[plan->count++], status);
    }
    for (size_t t = 0; ok && t < plan->count; t++)
        ok = repro_session_select(session, plan->graph, &plan->tables[t], status);
    return ok;
}

static bool prepare(repro_plan *plan, repro_session *session, gb_status *status)
{
    size_t most = session->catalog.count, variables = 0;
    plan->session = session;
    plan->root = gb_temporary_folder(session->params->config, "plan", status);
    plan->graph = plan->root ? repro_graph_create(status) : NULL;
    plan->tables = gb_alloc(most, sizeof *plan->tables, status);
    plan->costs = gb_alloc(most + 1, sizeof *plan->costs, status);
    plan->counted = gb_map_create(status);
    if (!plan->graph || !plan->tables || !plan->costs || !plan->counted)
        return false;
    for (; session->environment[variables]; variables++)
        plan->environment[variables] = session->environment[variables];
    plan->environment[variables++] =
        repro_session_keep(session, status, "GABBRO_STORE=%s/store", plan->root);
    plan->environment[variables] = session->threads;
    plan->stand_ins = repro_session_keep(session, status, "%s/stand-in", plan->root);
    if (!plan->environment[variables - 1] || !plan->stand_ins ||
        !read_recipes(plan, session, status))
        return false;
    size_t nodes = plan->graph->count;
    plan->public = gb_alloc(nodes, sizeof *plan->public, status);
    plan->needs = gb_alloc(nodes, sizeof *plan->needs, status);
    plan->runs = gb_alloc(nodes, sizeof *plan->runs, status);
    return plan->public && plan->needs && plan->runs;
}

static void plan_free(repro_plan *plan)
{
    for (size_t t = 0; t < plan->count; t++)
        repro_table_free(&plan->tables[t]);
    for (size_t t = 0; plan->costs && t <= plan->count; t++) {
        free(plan->costs[t].needs);
        free(plan->costs[t].data);
    }
    repro_argv_free(&plan->training);
    repro_argv_free(&plan->finetuning);
    repro_argv_free(&plan->evaluation);
    free(plan->tables);
    free(plan->costs);
    free(plan->public);
    free(plan->needs);
    free(plan->runs);
    free(plan->kinds);
    gb_map_destroy(plan->counted);
    repro_graph_destroy(plan->graph);
    gb_temporary_remove(plan->root);
    free(plan);
}

bool repro_plan_tables(repro_session *session, gb_status *status)
{
    repro_plan *plan = gb_alloc(1, sizeof *plan, status);
    repro_speed speed;
    if (!plan)
        return false;
    if (!session->params->quiet)
        fprintf(stderr, "counting what the tables take\n");
    bool ok = prepare(plan, session, status) && repro_plan_count(plan, status) &&
              repro_plan_measure(plan, &speed, status) && repro_plan_print(plan, &speed, status);
    plan_free(plan);
    return ok;
}
