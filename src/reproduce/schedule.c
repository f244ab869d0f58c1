/* Decides which command runs when. */
#include "schedule.h"

#include <stdlib.h>
#include <string.h>

static const double PAUSE_S = 1; /* before what somebody else makes is asked for again */

static bool ready(const repro_schedule *schedule, const repro_node *node)
{
    if (!schedule->needed[node->index] ||
        (node->state != REPRO_WAITING &&
         (node->state != REPRO_BUSY || gb_now_s() < schedule->ask_again_s)))
        return false;
    for (size_t i = 0; i < node->count; i++)
        if (node->words[i].node && node->words[i].node->state != REPRO_DONE)
            return false;
    return true;
}

/* The words of a node's command as a process gets them; free with free_words. */
static char **make_words(const repro_schedule *schedule, const repro_node *node, gb_status *status)
{
    size_t flags = 0;
    while (schedule->flags && schedule->flags[flags])
        flags++;
    char **words = gb_alloc(node->count + flags + 2, sizeof *words, status);
    bool ok = words != NULL;
    size_t n = 0;
    for (size_t i = 0; ok && i < node->count; i++)
        ok = (words[n++] = repro_word_text(node->words[i], status)) != NULL;
    if (ok && schedule->jobs > 1)
        ok = (words[n++] = gb_strdup("--no-wait", status)) != NULL;
    for (size_t i = 0; ok && i < flags; i++)
        ok = (words[n++] = gb_strdup(schedule->flags[i], status)) != NULL;
    if (ok)
        return words;
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
    return NULL;
}

static void free_words(char **words)
{
    for (size_t i = 0; words && words[i]; i++)
        free(words[i]);
    free(words);
}

static size_t running(const repro_schedule *schedule)
{
    size_t count = 0;
    for (uint32_t i = 0; i < schedule->jobs; i++)
        count += schedule->slots[i].node != NULL;
    return count;
}

static bool start(repro_schedule *schedule, repro_job *job, repro_node *node, gb_status *status)
{
    enum { MAX_VARIABLES = 8 };
    const char *environment[MAX_VARIABLES + 2] = {NULL};
    size_t count = 0;
    const char *threads = running(schedule) ? schedule->threads : schedule->threads_alone;
    for (; schedule->environment && schedule->environment[count] && count < MAX_VARIABLES; count++)
        environment[count] = schedule->environment[count];
    environment[count] = threads;
    char **words = make_words(schedule, node, status);
    repro_command command = {.program = schedule->program,
                             .words = (const char *const *)words,
                             .environment = environment,
                             .catch_output = true,
                             .catch_errors = schedule->jobs > 1};
    if (words && schedule->jobs == 1 && schedule->begin)
        schedule->begin(schedule->context, node);
    bool ok = words && repro_process_start(&job->process, &command, status);
    if (ok) {
        job->node = node;
        job->begun_s = gb_now_s();
        node->state = REPRO_RUNNING;
    }
    free_words(words);
    return ok;
}

static bool start_all(repro_schedule *schedule, gb_status *status)
{
    const repro_graph *graph = schedule->graph;
    size_t next = 0;
    for (uint32_t i = 0; i < schedule->jobs; i++) {
        if (schedule->slots[i].node)
            continue;
        while (next < graph->count && !ready(schedule, graph->nodes[next]))
            next++;
        if (next == graph->count)
            return true;
        if (!start(schedule, &schedule->slots[i], graph->nodes[next], status))
            return false;
    }
    return true;
}

static size_t list_processes(repro_schedule *schedule, repro_process **list)
{
    size_t count = 0;
    for (uint32_t i = 0; i < schedule->jobs; i++)
        if (schedule->slots[i].node)
            list[count++] = &schedule->slots[i].process;
    return count;
}

static void free_job(repro_job *job)
{
    repro_process_free(&job->process);
    job->node = NULL;
}

/* What a process printed is the folder of its artifact. */
static bool take_folder(repro_schedule *schedule, repro_job *job, gb_status *status)
{
    const gb_text *printed = &job->process.printed;
    size_t length = printed->length;
    while (length && printed->data[length - 1] == '\n')
        length--;
    if (!length)
        return gb_fail(status, GB_INTERNAL, job->node->words[0].text, NULL,
                       "the command printed no folder");
    job->node->folder = gb_arena_strdup(schedule->graph->arena, printed->data, length, status);
    return job->node->folder != NULL;
}

/* Of several commands at once, whose own words are caught; one alone has said it itself. */
static bool stopped(const repro_schedule *schedule, gb_status *status)
{
    return gb_fail(status, GB_INTERRUPTED, NULL, "the same command goes on where it stopped", "%s",
                   schedule->jobs > 1 ? "stopped" : "");
}

static bool finish(repro_schedule *schedule, repro_job *job, repro_node **failed, int *code,
                   gb_status *status)
{
    repro_node *node = job->node;
    int how = job->process.code;
    bool ok = true;
    if (how == GB_OK) {
        double seconds = gb_now_s() - job->begun_s;
        ok = take_folder(schedule, job, status);
        node->state = ok ? REPRO_DONE : REPRO_FAILED;
        if (ok && schedule->done)
            ok = schedule->done(schedule->context, node, seconds, &job->process.said, status);
    } else if (how == GB_BUSY && schedule->jobs > 1) {
        node->state = REPRO_BUSY;
        schedule->ask_again_s = gb_now_s() + PAUSE_S;
    } else if (how == GB_INTERRUPTED) {
        node->state = REPRO_WAITING;
        ok = stopped(schedule, status);
    } else {
        gb_status why = {0};
        node->state = REPRO_FAILED;
        *failed = node;
        repro_process_print_said(&job->process.said);
        repro_process_ok(node->label, how, &why);
        *code = (int)why.code;
        if (*why.what)
            gb_status_print(&why);
    }
    free_job(job);
    return ok;
}

/* Whether something is left for later. */
static bool waits(const repro_schedule *schedule)
{
    for (size_t i = 0; i < schedule->graph->count; i++)
        if (schedule->needed[i] && schedule->graph->nodes[i]->state == REPRO_BUSY)
            return true;
    return false;
}

bool repro_schedule_advance(repro_schedule *schedule, repro_node **failed, int *code,
                            gb_status *status)
{
    repro_process *list[REPRO_MAX_JOBS];
    *failed = NULL;
    if (gb_interrupted())
        return stopped(schedule, status);
    if (!start_all(schedule, status))
        return false;
    size_t count = list_processes(schedule, list);
    if (!count && !waits(schedule))
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "nothing is left that could be run");
    repro_process_watch(list, count, (int)(PAUSE_S * 1000));
    for (uint32_t i = 0; i < schedule->jobs; i++)
        if (schedule->slots[i].node && schedule->slots[i].process.ended)
            return finish(schedule, &schedule->slots[i], failed, code, status);
    return true;
}

/* ---- stopping ---- */

static void stop_jobs(repro_schedule *schedule, bool all)
{
    repro_process *list[REPRO_MAX_JOBS] = {0};
    repro_job *stopped[REPRO_MAX_JOBS] = {0};
    size_t count = 0;
    for (uint32_t i = 0; i < schedule->jobs; i++) {
        repro_job *job = &schedule->slots[i];
        if (!job->node || (!all && schedule->needed[job->node->index]))
            continue;
        repro_process_stop(&job->process);
        stopped[count] = job;
        list[count++] = &job->process;
    }
    repro_process_wait_all(list, count);
    for (size_t i = 0; i < count; i++) {
        stopped[i]->node->state = REPRO_WAITING;
        free_job(stopped[i]);
    }
}

void repro_schedule_trim(repro_schedule *schedule)
{
    stop_jobs(schedule, false);
}

void repro_schedule_stop(repro_schedule *schedule)
{
    stop_jobs(schedule, true);
}
