/* Making a table on two devices. */
#include "compare.h"

#include <stdlib.h>
#include <string.h>

enum { STEPS = 10, MAX_ARGUMENTS = 256 }; /* steps of the training that is compared */

bool repro_compare_parse(const char *list, repro_side sides[2], gb_status *status)
{
    size_t count = 0;
    memset(sides, 0, 2 * sizeof *sides);
    for (const char *at = list; *at; at += *at == ',') {
        char word[128];
        size_t length = strcspn(at, ",");
        snprintf(word, sizeof word, "%.*s", (int)length, at);
        at += length;
        if (!strchr(word, '=')) {
            if (count == 2)
                return gb_fail(status, GB_USAGE, NULL, NULL,
                               "--compare-devices needs two devices, not more: %.200s", list);
            snprintf(sides[count++].device, sizeof sides->device, "%s", word);
            continue;
        }
        if (!count)
            return gb_fail(status, GB_USAGE, NULL, NULL,
                           "--compare-devices: the setting %s belongs behind a device", word);
        repro_side *side = &sides[count - 1];
        if (side->count == sizeof side->settings / sizeof *side->settings)
            return gb_fail(status, GB_USAGE, NULL, NULL,
                           "--compare-devices: too many settings of %s", side->device);
        snprintf(side->settings[side->count++], sizeof word, "%s", word);
    }
    return count == 2 || gb_fail(status, GB_USAGE, NULL, "see: gabbro doctor --list",
                                 "--compare-devices needs two devices, e.g. 0,1");
}

/* "DEVICE,NAME=VALUE,..." */
static void write_side(const repro_side *side, char text[1400])
{
    int length = snprintf(text, 1400, "%s", side->device);
    for (size_t i = 0; i < side->count; i++)
        length += snprintf(text + length, 1400 - (size_t)length, ",%s", side->settings[i]);
}

/* Variables of a process on a device. */
typedef struct variables {
    char device[300];      /* GABBRO_DEVICE=... */
    const char *items[16]; /* up to a NULL */
} variables;

static void set_variables(const repro_session *session, const repro_side *side, variables *v)
{
    size_t count = 0;
    for (; session->environment[count]; count++)
        v->items[count] = session->environment[count];
    snprintf(v->device, sizeof v->device, "GABBRO_DEVICE=%s", side->device);
    v->items[count++] = v->device;
    for (size_t i = 0; i < side->count; i++)
        v->items[count++] = side->settings[i];
    v->items[count] = NULL;
}

/* Runs a command; its exit code becomes that of the status. printed: NULL where it prints itself.
 */
static bool run_command(const repro_command *command, gb_text *printed, gb_status *status)
{
    int code = 0;
    return repro_process_run(command, printed, &code, status) &&
           repro_process_ok(command->words[0], code, status);
}

static bool name_sides(const repro_session *session, repro_side sides[2], gb_status *status)
{
    char a[1400], b[1400];
    write_side(&sides[0], a);
    write_side(&sides[1], b);
    const char *words[] = {"compare-devices", "--names", a, b, NULL};
    repro_command command = {
        .program = session->program, .words = words, .environment = session->environment};
    gb_text names = {0};
    bool ok = run_command(&command, &names, status);
    if (ok && names.data) {
        size_t first = strcspn(names.data, "\n");
        const char *second = names.data + first + (names.data[first] == '\n');
        snprintf(sides[0].name, sizeof sides->name, "%.*s", (int)first, names.data);
        snprintf(sides[1].name, sizeof sides->name, "%.*s", (int)strcspn(second, "\n"), second);
    }
    gb_text_free(&names);
    return ok;
}

/* ---- a table on one device ---- */

typedef struct arguments {
    const char *items[MAX_ARGUMENTS]; /* [count], then a NULL */
    size_t count;                     /* of them */
} arguments;

static void add(arguments *list, const char *option, const char *value)
{
    if (!value || list->count + 3 > MAX_ARGUMENTS)
        return;
    list->items[list->count++] = option;
    list->items[list->count++] = value;
    list->items[list->count] = NULL;
}

static void add_flag(arguments *list, const char *option, bool given)
{
    if (given && list->count + 2 <= MAX_ARGUMENTS)
        list->items[list->count++] = option;
    list->items[list->count] = NULL;
}

/* The table by an ordinary call of reproduce, with what this one was given. */
static bool make_table(const repro_session *session, const repro_side *side, const char *out,
                       bool dry_run, gb_status *status)
{
    const gb_reproduce_params *p = session->params;
    const repro_recipe_params *recipe = &session->recipe;
    char seed[24], jobs[16];
    arguments list = {{"reproduce", session->entry->name}, 2};
    variables environment;
    snprintf(seed, sizeof seed, "%llu", (unsigned long long)(p->seeds ? p->seeds : p->seed));
    snprintf(jobs, sizeof jobs, "%u", p->jobs);
    add(&list, p->seeds ? "--seeds" : "--seed", seed);
    add(&list, "--scale", p->scale);
    add(&list, "--data", session->data_dir);
    add(&list, "--paper", p->paper);
    add(&list, "--out", out);
    add(&list, "--jobs", p->jobs ? jobs : NULL);
    add(&list, "--collection", recipe->collection);
    add(&list, "--queries", recipe->queries);
    add(&list, "--init", recipe->init);
    add(&list, "--rows", p->rows);
    add(&list, "--generator", recipe->generator);
    add(&list, "--store", side->store ? side->store : p->store);
    for (size_t i = 0; i < p->settings_files.count; i++)
        add(&list, "--settings", p->settings_files.items[i]);
    for (size_t i = 0; i < p->changes.count; i++)
        add(&list, "--set", p->changes.items[i]);
    add_flag(&list, "--judged", p->judged);
    add_flag(&list, "--quiet", p->quiet);
    add_flag(&list, "--profile", p->profile);
    add_flag(&list, "--dry-run", dry_run);
    set_variables(session, side, &environment);
    repro_command command = {.words = list.items, .environment = environment.items};
    gb_text dropped = {0};
    bool ok = run_command(&command, dry_run ? NULL : &dropped, status);
    gb_text_free(&dropped);
    return ok;
}

/* ---- the first training ---- */

/* Runs a node's command on a device, of which its folder is the artifact. */
static bool make_node(const repro_session *session, const repro_side *side, repro_graph *graph,
                      repro_node *node, gb_status *status)
{
    const char **words = gb_alloc(node->count + 2, sizeof *words, status);
    bool ok = words != NULL;
    for (size_t i = 0; ok && i < node->count; i++)
        ok = (words[i] = repro_word_text(node->words[i], status)) != NULL;
    if (ok) {
        gb_text printed = {0};
        variables environment;
        set_variables(session, side, &environment);
        words[node->count] = "--quiet";
        repro_command command = {
            .program = session->program, .words = words, .environment = environment.items};
        ok = run_command(&command, &printed, status) &&
             (node->folder = repro_graph_keep(graph, printed.data ? printed.data : "", status)) !=
                 NULL;
        gb_text_free(&printed);
    }
    for (size_t i = 0; words && i < node->count; i++)
        free((char *)words[i]);
    free(words);
    return ok;
}

static bool compare_training(const repro_session *session, const repro_side sides[2],
                             const repro_node *node, gb_status *status)
{
    char a[1400], b[1400], steps[16];
    write_side(&sides[0], a);
    write_side(&sides[1], b);
    snprintf(steps, sizeof steps, "%d", STEPS);
    const char **words = gb_alloc(node->count + 8, sizeof *words, status);
    size_t n = 0, first = 0;
    bool ok = words != NULL;
    if (ok) {
        const char *const head[] = {"compare-devices", a, b, "--steps", steps, "--"};
        for (first = 0; first < sizeof head / sizeof *head; first++)
            words[n++] = head[first];
    }
    for (size_t i = 0; ok && i < node->count; i++)
        ok = (words[n++] = repro_word_text(node->words[i], status)) != NULL;
    if (ok && !session->params->quiet)
        gb_say_line("%s on both devices: the first %s steps of pretrain %s", session->entry->name,
                    steps, node->words[1].text);
    repro_command command = {
        .program = session->program, .words = words, .environment = session->environment};
    ok = ok && run_command(&command, NULL, status);
    for (size_t i = first; i < n; i++)
        free((char *)words[i]);
    free(words);
    return ok;
}

static repro_node *first_training(const repro_table *table)
{
    for (size_t i = 0; i < table->call_count; i++) {
        repro_node *node = table->calls[i].node;
        if (table->kept[node->index] && !strcmp(node->words[0].text, "pretrain") &&
            strcmp(node->words[1].text, "none") != 0)
            return node;
    }
    return NULL;
}

/* What the training needs is there already, in the store of the first device. */
static bool compare_first(const repro_session *session, const repro_side sides[2],
                          repro_graph *graph, const repro_table *table, gb_status *status)
{
    repro_node *training = first_training(table);
    if (!training) {
        if (!session->params->quiet)
            gb_say_line("%s trains nothing that could be compared step by step", table->name);
        return true;
    }
    bool *needed = gb_alloc(graph->count, 1, status), ok = needed != NULL;
    if (ok)
        repro_graph_mark(graph, training, needed);
    for (size_t i = 0; ok && i < training->index; i++)
        if (needed[i])
            ok = make_node(session, &sides[0], graph, graph->nodes[i], status);
    free(needed);
    return ok && compare_training(session, sides, training, status);
}

/* ---- all of it ---- */

static size_t count_kept(const repro_graph *graph, const repro_table *table)
{
    size_t count = 0;
    for (size_t i = 0; i < graph->count; i++)
        count += table->kept[i];
    return count;
}

static bool compare(const repro_session *session, repro_side sides[2], const char *const outs[2],
                    repro_graph *graph, const repro_table *table, gb_status *status)
{
    const char *same = sides[1].store ? " (the same: with a store of its own, " : "";
    const char *store = sides[1].store ? sides[1].store : "", *end = sides[1].store ? ")" : "";
    if (session->params->dry_run) {
        printf("# A  %s\n# B  %s%s%s%s\n", sides[0].name, sides[1].name, same, store, end);
        printf("# cost: on each device %zu steps (%s), and %d steps of training on both\n",
               count_kept(graph, table), session->entry->cost, STEPS);
        return make_table(session, &sides[0], outs[0], true, status);
    }
    if (!session->params->quiet)
        gb_say_line("A  %s\nB  %s%s%s%s", sides[0].name, sides[1].name, same, store, end);
    for (int i = 0; i < 2; i++) {
        if (!session->params->quiet)
            gb_say_line("==== %s on %c", table->name, 'A' + i);
        if (!make_table(session, &sides[i], outs[i], false, status))
            return false;
    }
    const char *words[] = {"compare-devices", "--tables", outs[0], outs[1], NULL};
    repro_command command = {
        .program = session->program, .words = words, .environment = session->environment};
    if (!run_command(&command, NULL, status))
        return false;
    printf("\n");
    fflush(stdout);
    return compare_first(session, sides, graph, table, status);
}

bool repro_compare_devices(const repro_session *session, gb_status *status)
{
    repro_side sides[2];
    repro_table table = {0};
    repro_graph *graph = NULL;
    char *outs[2] = {gb_path_join(status, session->out, "A"),
                     gb_path_join(status, session->out, "B")};
    char *store = outs[1] ? gb_path_join(status, outs[1], "store") : NULL;
    bool ok = outs[0] && store &&
              repro_compare_parse(session->params->compare_devices, sides, status) &&
              name_sides(session, sides, status) && (graph = repro_graph_create(status)) != NULL &&
              repro_session_recipe(session, session->entry->name, graph, &table, status) &&
              repro_session_select(session, graph, &table, status);
    /* Under one name the store would give B what A made. */
    if (ok && !strcmp(sides[0].name, sides[1].name))
        sides[1].store = store;
    ok = ok && compare(session, sides, (const char *const *)outs, graph, &table, status);
    repro_table_free(&table);
    repro_graph_destroy(graph);
    free(outs[0]);
    free(outs[1]);
    free(store);
    return ok;
}
