/* Log, clock and signals. The verbosity and the stop flag are the process's own by nature, and
 * what stops a thread in the place of signals is the thread's. */
#include "gabbro/base.h"
#include "gabbro/os.h"

#include <stdatomic.h>
#include <time.h>
#include <unistd.h>

static atomic_int log_level = GB_LOG_INFO;
static atomic_bool stop_asked;                      /* set in a handler, read by all threads */
static _Thread_local bool (*stop_when)(void *self); /* NULL: the signals stop this thread */
static _Thread_local void *stop_when_self;

void gb_log_set_level(gb_log_level level)
{
    atomic_store(&log_level, (int)level);
}

gb_log_level gb_log_get_level(void)
{
    return (gb_log_level)atomic_load(&log_level);
}

void gb_log(gb_log_level level, const char *fmt, ...)
{
    static const char *const names[] = {"error: ", "warning: ", "warning: ", "", "debug: "};
    if (level > gb_log_get_level())
        return;
    char line[2048];
    va_list args;
    va_start(args, fmt);
    vsnprintf(line, sizeof line, fmt, args);
    va_end(args);
    if (gb_say_get_form() == GB_SAY_JSON) {
        static const char *const levels[] = {"error", "warning", "warning", "info", "debug"};
        const gb_say_member members[] = {{"level", levels[level], 0}, {"text", line, 0}};
        gb_say_event("message", members, 2);
        return;
    }
    /* One call, so that lines of threads do not mix; on a terminal over a progress line. */
    fprintf(stderr, "%sgabbro: %s%s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "", names[level],
            line);
}

double gb_now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void gb_date_now(char date[GB_DATE])
{
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(date, GB_DATE, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

static void on_signal(int number)
{
    (void)number;
    atomic_store(&stop_asked, true);
}

void gb_install_signals(void)
{
    gb_os_on_stop(on_signal);
}

bool gb_interrupted(void)
{
    return stop_when ? stop_when(stop_when_self) : atomic_load(&stop_asked);
}

bool gb_not_interrupted(const char *where, gb_status *status)
{
    return !gb_interrupted() ||
           gb_fail(status, GB_INTERRUPTED, where, "run it again", "stopped by a signal");
}

bool gb_wait_for_input(int file, const char *where, gb_status *status)
{
    while (!gb_os_input_there(file))
        if (!gb_not_interrupted(where, status))
            return false;
    return true;
}

void gb_stop_when(bool (*over)(void *self), void *self)
{
    stop_when = over;
    stop_when_self = self;
}
