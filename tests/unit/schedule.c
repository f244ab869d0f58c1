/* Commands as processes: a script stands for the program. */
#include "reproduce/run.h"
#include "scratch.h"

#include <sys/stat.h>

/* Notes its words and begin and end in a log, and prints a folder named by its first word. What its
 * first word begins with says how it ends. */
static const char program[] =
    "#!/bin/sh\n"
    "echo \"$* threads=${LP_NUM_THREADS:-unset}\" >>log\n"
    "echo \"gabbro: device: none\" >&2\n"
    "case $1 in\n"
    "fail*) echo 'gabbro: it failed' >&2; exit 3 ;;\n"
    "busy*) if mkdir been 2>/dev/null; then exit 76; fi ;;\n"
    "stopped*) exit 75 ;;\n"
    "slow*) while [ ! -e go ]; do sleep .01; done ;;\n"
    "forever*) trap 'echo stopped >>log; exit 75' TERM; : >ready; while :; do sleep .01; done ;;\n"
    "silent*) exit 0 ;;\n"
    "esac\n"
    "echo \"folder/$1\"\n";

/* A graph, and the schedule of all of it. */
typedef struct work {
    scratch s;
    repro_graph *graph;
    repro_schedule schedule;
    bool needed[16];
    char order[256]; /* words of artifacts as they came, with blanks between */
    gb_status status;
} work;

static bool note(void *context, repro_node *node, double seconds, const gb_text *said,
                 gb_status *status)
{
    work *w = context;
    (void)seconds;
    (void)said;
    (void)status;
    strcat(w->order, node->words[0].text);
    strcat(w->order, " ");
    return true;
}

static void enter(work *w, uint32_t jobs)
{
    memset(w, 0, sizeof *w);
    w->s = scratch_enter();
    scratch_write("program", program);
    cr_assert_eq(chmod("program", 0755), 0);
    w->graph = repro_graph_create(&w->status);
    memset(w->needed, true, sizeof w->needed);
    w->schedule = (repro_schedule){.graph = w->graph,
                                   .needed = w->needed,
                                   .program = "./program",
                                   .jobs = jobs,
                                   .done = note,
                                   .context = w};
}

static void leave(work *w)
{
    repro_schedule_stop(&w->schedule);
    repro_graph_destroy(w->graph);
    scratch_leave(&w->s);
}

static repro_node *add(work *w, const char *name, repro_node *needs)
{
    repro_word words[] = {{name, NULL}, {"", needs}};
    repro_node *node = repro_graph_node(w->graph, name, words, needs ? 2 : 1, &w->status);
    cr_assert_not_null(node);
    return node;
}

/* To the end of all, or to a failure. */
static repro_node *advance(work *w, int *code)
{
    repro_node *failed = NULL;
    for (bool more = true; more && !failed;) {
        more = false;
        cr_assert(repro_schedule_advance(&w->schedule, &failed, code, &w->status), "%s",
                  w->status.what);
        for (size_t i = 0; i < w->graph->count; i++)
            more = more || (w->needed[i] && w->graph->nodes[i]->state != REPRO_DONE);
    }
    return failed;
}

static char *read_log(void)
{
    char *text = gb_read_file("log", NULL, NULL);
    cr_assert_not_null(text);
    return text;
}

Test(schedule, one_after_another_in_order)
{
    static work w;
    int code;
    enter(&w, 1);
    repro_node *a = add(&w, "a", NULL), *b = add(&w, "b", a);
    add(&w, "c", NULL);
    cr_expect_null(advance(&w, &code));
    cr_expect_str_eq(w.order, "a b c ");
    cr_expect_str_eq(b->folder, "folder/b");
    char *log = read_log();
    cr_expect_str_eq(log, "a threads=unset\nb folder/a threads=unset\nc threads=unset\n");
    free(log);
    leave(&w);
}

Test(schedule, what_needs_nothing_goes_on_beside_a_slow_one)
{
    static work w;
    int code;
    repro_node *failed;
    enter(&w, 2);
    w.schedule.threads = "LP_NUM_THREADS=3";
    w.schedule.threads_alone = "LP_NUM_THREADS=6";
    repro_node *slow = add(&w, "slow", NULL);
    add(&w, "after", slow);
    add(&w, "b", NULL);
    add(&w, "c", NULL);
    while (strcmp(w.order, "b c ") != 0)
        cr_assert(repro_schedule_advance(&w.schedule, &failed, &code, &w.status));
    scratch_write("go", "");
    cr_expect_null(advance(&w, &code));
    cr_expect_str_eq(w.order, "b c slow after ");
    char *log = read_log();
    cr_expect(strstr(log, "slow --no-wait threads=6\n"), "the first is alone: %s", log);
    cr_expect(strstr(log, "b --no-wait threads=3\n"), "beside another: %s", log);
    cr_expect(strstr(log, "after folder/slow --no-wait threads=6\n"), "alone again: %s", log);
    free(log);
    leave(&w);
}

Test(schedule, what_is_not_needed_is_not_made)
{
    static work w;
    int code;
    enter(&w, 2);
    add(&w, "a", NULL);
    add(&w, "b", NULL);
    w.needed[0] = false;
    cr_expect_null(advance(&w, &code));
    cr_expect_str_eq(w.order, "b ");
    leave(&w);
}

Test(schedule, what_somebody_else_makes_is_asked_for_again)
{
    static work w;
    int code;
    enter(&w, 2);
    repro_node *busy = add(&w, "busy", NULL);
    add(&w, "after", busy);
    add(&w, "b", NULL);
    cr_expect_null(advance(&w, &code));
    cr_expect_str_eq(w.order, "b busy after ");
    leave(&w);
}

Test(schedule, a_failure_is_told_with_its_code)
{
    static work w;
    int code = 0;
    enter(&w, 1);
    repro_node *a = add(&w, "a", NULL), *fails = add(&w, "fails", a);
    add(&w, "after", fails);
    cr_expect_eq(advance(&w, &code), fails);
    cr_expect_eq(code, 3);
    cr_expect_eq(fails->state, REPRO_FAILED);
    cr_expect_str_eq(w.order, "a ");
    leave(&w);
}

Test(schedule, a_command_must_print_its_folder)
{
    static work w;
    repro_node *failed;
    int code;
    enter(&w, 1);
    add(&w, "silent", NULL);
    cr_expect_not(repro_schedule_advance(&w.schedule, &failed, &code, &w.status));
    cr_expect_eq(w.status.code, GB_INTERNAL);
    leave(&w);
}

Test(schedule, an_interrupted_command_ends_all)
{
    static work w;
    repro_node *failed;
    int code;
    enter(&w, 1);
    add(&w, "stopped", NULL);
    cr_expect_not(repro_schedule_advance(&w.schedule, &failed, &code, &w.status));
    cr_expect_eq(w.status.code, GB_INTERRUPTED);
    leave(&w);
}

Test(schedule, processes_are_asked_to_stop_and_waited_for)
{
    static work w;
    repro_node *failed;
    int code;
    enter(&w, 2);
    repro_node *forever = add(&w, "forever", NULL);
    add(&w, "b", NULL);
    while (strcmp(w.order, "b ") != 0 || !gb_file_exists("ready"))
        cr_assert(repro_schedule_advance(&w.schedule, &failed, &code, &w.status));
    w.needed[0] = false;
    repro_schedule_trim(&w.schedule);
    cr_expect_eq(forever->state, REPRO_WAITING);
    char *log = read_log();
    cr_expect(strstr(log, "stopped\n"), "%s", log);
    free(log);
    leave(&w);
}

/* ---- how far ---- */

static repro_node *command(repro_graph *graph, const char *const *texts)
{
    repro_word words[16];
    size_t count = 0;
    for (; texts[count]; count++)
        words[count] = (repro_word){texts[count], NULL};
    return repro_graph_node(graph, "a", words, count, NULL);
}

Test(schedule, time_left_goes_by_kinds)
{
    repro_graph *graph = repro_graph_create(NULL);
    repro_progress progress = {0};
    char text[96];
    const char *mlm[] = {"pretrain", "mlm",       "--steps", "10", "--batch",
                         "4",        "--context", "none",    NULL};
    const char *costa[] = {"pretrain", "costa",     "--steps", "10", "--batch",
                           "4",        "--context", "span",    NULL};
    const char *collection[] = {"collection", NULL}, *evaluate[] = {"evaluate", NULL};
    const char *const *all[] = {collection, mlm, costa, evaluate};
    for (size_t i = 0; i < 4; i++)
        repro_progress_expect(&progress, command(graph, all[i]));
    repro_progress_text(&progress, 1, text);
    cr_expect_str_eq(text, "0 of 4 artifacts");
    repro_progress_note(&progress, command(graph, collection), 60, 0);
    repro_progress_text(&progress, 1, text);
    cr_expect_str_eq(text, "1 of 4 artifacts"); /* no training has been timed */
    repro_progress again = progress;
    repro_progress_note(&again, command(graph, mlm), 180, 1);
    repro_progress_text(&again, 1, text);
    cr_expect_str_eq(text, "2 of 4 artifacts"); /* both were found, and so may the others be */
    repro_progress_note(&progress, command(graph, mlm), 180, 182);
    /* costa sees twice as many texts as mlm: 360 s. evaluate takes the mean, 120 s. */
    repro_progress_text(&progress, 1, text);
    cr_expect_str_eq(text, "2 of 4 artifacts, about 8 minutes left");
    repro_progress_text(&progress, 2, text);
    cr_expect_str_eq(text, "2 of 4 artifacts, about 4 minutes left");
    repro_progress_text(&progress, 8, text);
    cr_expect_str_eq(text, "2 of 4 artifacts, about 1 minute left");
    repro_progress_text(&progress, 100, text);
    cr_expect_str_eq(text, "2 of 4 artifacts, less than a minute left");
    repro_graph_destroy(graph);
}

Test(schedule, processes_that_said_something)
{
    scratch s = scratch_enter();
    repro_command command = {
        .program = "/bin/sh",
        .words = (const char *const[]){"-c", "echo out; echo err >&2; exit 7", NULL},
        .catch_errors = true};
    gb_text printed = {0};
    gb_status status = {0};
    int code = 0;
    cr_assert(repro_process_run(&command, &printed, &code, &status));
    cr_expect_eq(code, 7);
    cr_expect_str_eq(printed.data, "out");
    gb_text_free(&printed);
    command.program = "/no/such/program";
    cr_expect(!repro_process_run(&command, &printed, &code, &status));
    cr_expect_eq(status.code, GB_USAGE);
    cr_expect_str_eq(status.where, "/no/such/program");
    gb_text_free(&printed);
    scratch_leave(&s);
}
