/* What a pre-training costs beside another, from steps timed while interleaved. */
#include "step_times.h"

#include <stdlib.h>
#include <string.h>

/* Times of an objective's steps. */
typedef struct turn_times {
    size_t steps;   /* how many */
    double *data_s; /* [steps] drawing and masking */
    double *step_s; /* [steps] all of it */
} turn_times;

static double *read_numbers(const json_t *times, const char *name, size_t *count, gb_status *status)
{
    const json_t *list = json_object_get(times, name);
    *count = json_array_size(list);
    double *numbers = gb_alloc(*count, sizeof *numbers, status);
    for (size_t i = 0; numbers && i < *count; i++)
        numbers[i] = json_number_value(json_array_get(list, i));
    return numbers;
}

static bool read_times(const json_t *all, const char *path, const char *objective, turn_times *out,
                       gb_status *status)
{
    const json_t *times = json_object_get(all, objective);
    size_t data = 0;
    out->data_s = read_numbers(times, "data_s", &data, status);
    out->step_s = read_numbers(times, "step_s", &out->steps, status);
    if (!out->data_s || !out->step_s)
        return false;
    for (size_t i = 0; i < out->steps; i++)
        data = out->step_s[i] > 0 ? data : 0;
    return (out->steps && data == out->steps) ||
           gb_fail(status, GB_DATA, path, "give an artifact of pretrain --interleave-with",
                   "no times of the steps of %s", objective);
}

static void free_times(turn_times *times)
{
    free(times->data_s);
    free(times->step_s);
}

static double median(double *values, size_t n)
{
    gb_sort_doubles(values, n);
    return (values[(n - 1) / 2] + values[n / 2]) / 2;
}

/* Medians over steps; scratch [steps]. */
static double median_of(const double *values, size_t n, double *scratch)
{
    memcpy(scratch, values, n * sizeof *scratch);
    return median(scratch, n);
}

static double time_beyond(const turn_times *of, const turn_times *first, double *scratch)
{
    for (size_t i = 0; i < of->steps; i++)
        scratch[i] = of->step_s[i] - of->data_s[i] - (first->step_s[i] - first->data_s[i]);
    return median(scratch, of->steps);
}

static double speed_lost(const turn_times *of, const turn_times *first, double *scratch)
{
    for (size_t i = 0; i < of->steps; i++)
        scratch[i] = 1 - first->step_s[i] / of->step_s[i];
    return median(scratch, of->steps);
}

/* first: NULL for the first objective itself */
static bool write_costs(gb_maker *maker, const turn_times *of, const turn_times *first,
                        double batch, gb_status *status)
{
    double *scratch = gb_alloc(of->steps, sizeof *scratch, status);
    if (!scratch)
        return false;
    double lost = first ? speed_lost(of, first, scratch) : 0;
    double first_per_s = batch / median_of((first ? first : of)->step_s, of->steps, scratch);
    json_t *json =
        json_pack("{s:f, s:f}", "efficiency:data_s", median_of(of->data_s, of->steps, scratch),
                  "efficiency:samples_per_s", (1 - lost) * first_per_s);
    if (first) {
        json_object_set_new(json, "efficiency:degeneration", json_real(lost));
        json_object_set_new(json, "efficiency:decoder_s",
                            json_real(time_beyond(of, first, scratch)));
    }
    bool ok = gb_maker_write_metrics(maker, json, status);
    json_decref(json);
    free(scratch);
    return ok;
}

bool gb_write_efficiency(gb_maker *maker, const char *folder, const char *objective,
                         gb_status *status)
{
    json_t *record = gb_artifact_read(folder, status);
    if (!record)
        return false;
    const json_t *settings = json_object_get(record, "settings");
    const char *first = json_string_value(json_object_get(settings, "objective"));
    double batch = json_number_value(json_object_get(settings, "batch"));
    bool itself = first && !strcmp(first, objective);
    char *path = gb_path_join(status, folder, STEP_TIMES_FILE);
    json_t *all = path ? gb_json_load(path, 0, NULL) : NULL;
    turn_times times[2] = {{0}, {0}};
    bool ok = path && read_times(all, path, objective, &times[0], status) &&
              (itself || read_times(all, path, first ? first : "", &times[1], status));
    if (ok && !itself && times[0].steps != times[1].steps)
        ok = gb_fail(status, GB_DATA, path, "make the artifact anew", "%s has %zu steps, %s %zu",
                     objective, times[0].steps, first, times[1].steps);
    ok = ok && write_costs(maker, &times[0], itself ? NULL : &times[1], batch, status);
    for (int i = 0; i < 2; i++)
        free_times(&times[i]);
    json_decref(all);
    json_decref(record);
    free(path);
    return ok;
}
