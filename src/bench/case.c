/* One case: whether it is wanted and can run, its row of the table, and its record. */
#include "private.h"

#include <math.h>
#include <string.h>

static bool chosen(const bench *b, const bench_case *c)
{
    return !b->only || strstr(c->name, b->only);
}

static json_t *case_json(const bench *b, const bench_case *c)
{
    json_t *row = json_pack("{s:s, s:s, s:O}", "part", b->part, "case", c->name, "shape", c->shape);
    if (row && c->size)
        json_object_set_new(row, "size", json_string(c->size->name));
    return row;
}

static void note_refused(bench *b, const bench_case *c, const char *why)
{
    fprintf(b->out, "%-34s not run: %s\n", c->name, why);
    json_t *row = case_json(b, c);
    json_object_set_new(row, "not_run", json_string(why));
    json_array_append_new(b->results, row);
}

/* Share of the least time that the ceiling allows; 0 if unknown. */
static double share_of_ceiling(const bench *b, double flops, double bytes, double seconds)
{
    double least = 0;
    if (b->ceiling.gflops > 0)
        least = flops / b->ceiling.gflops / 1e9;
    if (b->ceiling.gbs > 0)
        least = fmax(least, bytes / b->ceiling.gbs / 1e9);
    return least / seconds;
}

static void print_number(FILE *out, double value, int width)
{
    if (value > 0)
        fprintf(out, " %*.*f", width, value < 10 ? 3 : value < 100 ? 2 : 1, value);
    else
        fprintf(out, " %*s", width, "-");
}

/* Of the wall time, what the kernels take when they run one after the other; 0 if unknown. More
 * than 1: kernels overlap. */
static double device_share(const bench_times *t)
{
    return t->device_s / t->median_s;
}

static void print_share(FILE *out, double share)
{
    if (share > 0)
        fprintf(out, " %6.0f%%", 100 * share);
    else
        fprintf(out, " %7s", "-");
}

/* What the times come to. */
typedef struct rates {
    double flops, bytes; /* of one time the work is done */
    double seconds;      /* that the rates are of */
    bool device;         /* of the device's time, not the wall's */
    double share;        /* of the ceiling */
} rates;

static rates rates_of(const bench *b, const bench_case *c, const bench_times *t)
{
    rates r = {.flops = c->flops > 0 ? c->flops : t->flops,
               .bytes = c->bytes > 0 ? c->bytes : t->bytes,
               .device = t->device_s > 0 && !c->whole};
    r.seconds = r.device ? t->device_s : t->median_s;
    r.share = share_of_ceiling(b, r.flops, r.bytes, r.seconds);
    return r;
}

static void print_times(const bench *b, const bench_case *c, const bench_times *t, const rates *r)
{
    fprintf(b->out, "%-34s", c->name);
    print_number(b->out, 1e3 * t->median_s, 10);
    fprintf(b->out, " %6.0f%%", 100 * (t->high_s - t->low_s) / t->median_s);
    print_number(b->out, 1e3 * t->device_s, 10);
    print_share(b->out, device_share(t));
    print_number(b->out, r->flops / r->seconds / 1e9, 9);
    print_number(b->out, r->bytes / r->seconds / 1e9, 8);
    fprintf(b->out, " %7.0f%%", 100 * r->share);
    if (t->peer_s > 0)
        fprintf(b->out, "   %9.3f %6.2f", 1e3 * t->peer_s, t->peer_s / t->median_s);
    fprintf(b->out, "\n");
}

static void note_times(bench *b, const bench_case *c, const bench_times *t)
{
    rates r = rates_of(b, c, t);
    print_times(b, c, t, &r);
    if (b->kernels && t->device_s > 0)
        gb_timing_print(b->device, b->out);
    json_t *row = case_json(b, c);
    json_object_update_new(
        row,
        json_pack("{s:i, s:{s:f, s:f, s:f, s:f}, s:f, s:f, s:f, s:f, s:f, s:s}", "runs",
                  (int)t->runs, "wall_ms", "median", 1e3 * t->median_s, "best", 1e3 * t->best_s,
                  "low", 1e3 * t->low_s, "high", 1e3 * t->high_s, "flops", r.flops, "bytes",
                  r.bytes, "gflops", r.flops / r.seconds / 1e9, "gbs", r.bytes / r.seconds / 1e9,
                  "of_ceiling", r.share, "rates_of", r.device ? "device time" : "wall time"));
    if (t->device_s > 0) {
        json_object_set_new(row, "device_ms", json_real(1e3 * t->device_s));
        json_object_set_new(row, "device_share", json_real(device_share(t)));
        json_object_set_new(row, "kernels", json_integer(t->kernels));
        json_object_set(row, "shaders", t->variants);
    }
    if (t->peer_s > 0) {
        json_object_set_new(row, "openblas_ms", json_real(1e3 * t->peer_s));
        json_object_set_new(row, "openblas_ratio", json_real(t->peer_s / t->median_s));
    }
    json_array_append_new(b->results, row);
    b->measured++;
}

static void list_case(bench *b, const bench_case *c)
{
    double flops = c->expected > 0 ? c->expected : c->flops;
    fprintf(b->out, "%-34s", c->name);
    if (flops > 0)
        fprintf(b->out, " %10.3f GFLOP", flops / 1e9);
    fprintf(b->out, "\n");
    json_array_append_new(b->results, case_json(b, c));
}

/* Whether a case failed for want of something that this device lacks; for GB_USAGE, its sizes are
 * more than kernels of a CPU driver take. */
static bool for_other_devices(const gb_status *why)
{
    return why->code == GB_MEMORY || why->code == GB_DEVICE || why->code == GB_USAGE;
}

static bool run_case(bench *b, const bench_case *c, bench_fn *measure, void *context,
                     gb_status *status)
{
    double flops = c->expected > 0 ? c->expected : c->flops;
    double foreseen_s = b->ceiling.gflops > 0 ? flops / b->ceiling.gflops / 1e9 : 0;
    char why[300];
    if (foreseen_s > b->seconds) {
        snprintf(why, sizeof why, "one run would take some %.0f s; see --seconds", foreseen_s);
        note_refused(b, c, why);
        return true;
    }
    bench_times times = {0};
    bool ok = measure(b, context, &times, status);
    if (ok) {
        note_times(b, c, &times);
    } else if (for_other_devices(status)) {
        snprintf(why, sizeof why, "%.90s%s%.200s", status->where, status->where[0] ? ": " : "",
                 status->what);
        note_refused(b, c, why);
        b->refused = *status;
        *status = (gb_status){0};
        ok = true;
    }
    json_decref(times.variants);
    fflush(b->out);
    return ok;
}

/* What cannot be made is named, and the others follow. */
static bool survey_case(bench *b, const bench_case *c, bench_fn *measure, void *context,
                        gb_status *status)
{
    bench_times none = {0};
    char program[120];
    snprintf(program, sizeof program, "%s, %s%s", c->name, b->part, b->operands);
    if (!gb_survey_begin(b->device, program, status))
        return false;
    if (measure(b, context, &none, status))
        return true;
    if (!for_other_devices(status))
        return false;
    fprintf(b->out, "%s: not made: %s%s%s\n", program, status->where, status->where[0] ? ": " : "",
            status->what);
    b->refusals += status->code != GB_USAGE;
    *status = (gb_status){0};
    return true;
}

bool bench_case_run(bench *b, const bench_case *c, bench_fn *measure, void *context,
                    gb_status *status)
{
    bool ok = true;
    if (!c->shape)
        ok = gb_fail_memory(status, "noting a case");
    else if (b->survey)
        ok = survey_case(b, c, measure, context, status);
    else if (chosen(b, c) && b->dry)
        list_case(b, c);
    else if (chosen(b, c))
        ok = run_case(b, c, measure, context, status);
    json_decref(c->shape);
    return ok;
}
