/* Progress of long jobs on stderr. */
#include "gabbro/base.h"
#include "gabbro/os.h"

#include <math.h>
#include <unistd.h>

static const double TERMINAL_EVERY_S = 0.1, LOG_EVERY_S = 10.0, JSON_EVERY_S = 1.0;

/* Seconds as 42s, 3m05s or 2h07m. */
static void format_span(char *text, size_t size, double seconds)
{
    uint64_t s = seconds > 0 && seconds < 1e9 ? (uint64_t)(seconds + 0.5) : 0;
    unsigned hours = (unsigned)(s / 3600), minutes = (unsigned)(s / 60 % 60);
    if (hours)
        snprintf(text, size, "%uh%02um", hours, minutes);
    else if (minutes)
        snprintf(text, size, "%um%02us", minutes, (unsigned)(s % 60));
    else
        snprintf(text, size, "%us", (unsigned)s);
}

/* {"event": "progress", "label": "finetune", "unit": "steps", "done": 120, "total": 600, ...} */
static void show_json(const gb_progress *progress, uint64_t done, const char *note, double rate,
                      double elapsed, bool last)
{
    double total = progress->total ? (double)progress->total : NAN;
    double left = rate > 0 && total >= (double)done ? (total - (double)done) / rate : NAN;
    const gb_say_member members[] = {{"label", progress->label, 0},
                                     {"unit", progress->unit, 0},
                                     {"done", NULL, (double)done},
                                     {"total", NULL, total},
                                     {"per_s", NULL, rate},
                                     {"elapsed_s", NULL, elapsed},
                                     {"left_s", NULL, last ? 0 : left},
                                     {"note", note ? note : "", 0}};
    gb_say_event(last ? "end" : "progress", members, sizeof members / sizeof *members);
}

static void show(const gb_progress *progress, uint64_t done, const char *note, bool last)
{
    double elapsed = gb_now_s() - progress->start_s;
    uint64_t fresh = done > progress->first ? done - progress->first : 0;
    double rate = elapsed > 0 ? (double)fresh / elapsed : 0.0;
    if (gb_say_get_form() == GB_SAY_JSON) {
        show_json(progress, done, note, rate, elapsed, last);
        return;
    }
    char span[32] = "?", count[80], line[512];
    if (last)
        format_span(span, sizeof span, elapsed);
    else if (rate > 0 && progress->total)
        format_span(span, sizeof span,
                    progress->total > done ? (double)(progress->total - done) / rate : 0.0);
    if (progress->total)
        snprintf(count, sizeof count, "%llu/%llu %s  %.1f%%", (unsigned long long)done,
                 (unsigned long long)progress->total, progress->unit,
                 100.0 * (double)done / (double)progress->total);
    else /* total unknown */
        snprintf(count, sizeof count, "%llu %s", (unsigned long long)done, progress->unit);
    snprintf(line, sizeof line, "%s: %s  %.4g %s/s  %s %s%s%s", progress->label, count, rate,
             progress->unit, last ? "in" : "left", span, note && note[0] ? "  " : "",
             note ? note : "");
    unsigned columns = progress->terminal ? gb_os_columns() : 0;
    if (columns > 1 && columns <= sizeof line)
        line[columns - 1] = '\0'; /* a wrapped line could not be rewritten */
    if (progress->terminal)
        fprintf(stderr, "\r\033[K%s%s", line, last ? "\n" : "");
    else
        fprintf(stderr, "gabbro: %s\n", line);
    fflush(stderr);
}

void gb_progress_begin(gb_progress *progress, const char *label, const char *unit, uint64_t total,
                       uint64_t done)
{
    double now = gb_now_s();
    *progress = (gb_progress){
        .label = label,
        .unit = unit,
        .total = total,
        .start_s = now,
        .shown_s = now,
        .first = done,
        .terminal = gb_say_get_form() == GB_SAY_TEXT && isatty(STDERR_FILENO) == 1,
    };
    if (gb_say_get_form() == GB_SAY_JSON && gb_log_get_level() >= GB_LOG_INFO)
        show_json(progress, done, NULL, 0, 0, false);
}

void gb_progress_update(gb_progress *progress, uint64_t done, const char *note)
{
    if (gb_log_get_level() < GB_LOG_INFO)
        return;
    double now = gb_now_s();
    double every_s = progress->terminal                 ? TERMINAL_EVERY_S
                     : gb_say_get_form() == GB_SAY_JSON ? JSON_EVERY_S
                                                        : LOG_EVERY_S;
    if (now - progress->shown_s < every_s)
        return;
    progress->shown_s = now;
    show(progress, done, note, false);
}

void gb_progress_end(gb_progress *progress, uint64_t done, const char *note)
{
    if (gb_log_get_level() >= GB_LOG_INFO)
        show(progress, done, note, true);
}

void gb_progress_end_long(gb_progress *progress, uint64_t done)
{
    if (progress->shown_s > progress->start_s || gb_say_get_form() == GB_SAY_JSON)
        gb_progress_end(progress, done, NULL);
}

void gb_progress_clear(const gb_progress *progress)
{
    if (gb_log_get_level() >= GB_LOG_INFO && progress->terminal)
        fputs("\r\033[K", stderr);
}
