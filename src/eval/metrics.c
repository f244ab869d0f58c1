/* Measured values in a folder: metrics.json, and means of several. */
#include <gabbro/eval.h>

#include <stdlib.h>

static const char file_name[] = "metrics.json", hint[] = "evaluate again";

json_t *gb_measures_read(const char *folder, gb_status *status)
{
    return gb_json_load_in(folder, file_name, 0, status);
}

bool gb_measure_value(const json_t *measure, const char *folder, const char *name, double *value,
                      gb_status *status)
{
    const json_t *number = json_is_object(measure) ? json_object_get(measure, "value") : measure;
    if (json_is_number(number)) {
        *value = json_number_value(number);
        return true;
    }
    char *path = gb_path_join(status, folder, file_name);
    if (path)
        gb_fail(status, GB_DATA, path, hint, "no number for %s", name);
    free(path);
    return false;
}

/* Add what one folder has to the sums: measure -> {"value", "chance"}. What one of the folders does
 * not have is dropped, a measure or what a random order has of it. */
static bool add_measures(json_t *sums, const char *folder, bool first, gb_status *status)
{
    json_t *measures = gb_measures_read(folder, status), *sum;
    const char *name;
    void *next;
    bool ok = measures != NULL;
    if (first && ok)
        json_object_foreach(measures, name, sum)
            json_object_set_new(sums, name, json_pack("{s:f, s:f}", "value", 0., "chance", 0.));
    json_object_foreach_safe(sums, next, name, sum)
    {
        const json_t *measure = json_object_get(measures, name);
        const json_t *chance = json_object_get(measure, "chance");
        json_t *value = json_object_get(sum, "value"), *chances = json_object_get(sum, "chance");
        double own;
        if (!ok)
            break;
        if (!measure) {
            json_object_del(sums, name);
            continue;
        }
        ok = gb_measure_value(measure, folder, name, &own, status);
        if (ok)
            json_real_set(value, json_real_value(value) + own);
        if (json_is_number(chance))
            json_real_set(chances, json_real_value(chances) + json_number_value(chance));
        else
            json_object_del(sum, "chance");
    }
    json_decref(measures);
    return ok;
}

json_t *gb_measures_mean(const char *const *folders, size_t count, gb_status *status)
{
    json_t *means = json_object(), *mean, *number;
    const char *name, *what;
    bool ok = means || gb_fail_memory(status, "averaging measures");
    for (size_t i = 0; ok && i < count; i++)
        ok = add_measures(means, folders[i], i == 0, status);
    if (ok && !json_object_size(means))
        ok = gb_fail(status, GB_DATA, folders[0], "average evaluations with the same splits",
                     "no measure that all the evaluations have");
    json_object_foreach(means, name, mean) json_object_foreach(mean, what, number)
        json_real_set(number, json_real_value(number) / (double)count);
    if (ok)
        return means;
    json_decref(means);
    return NULL;
}
