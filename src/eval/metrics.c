/* What a step measured: metrics.json in its folder. */
#include <gabbro/eval.h>

#include <stdlib.h>

static const char file_name[] = "metrics.json", hint[] = "evaluate again";

json_t *gb_measures_read(const char *folder, gb_status *status)
{
    char *path = gb_path_join(status, folder, file_name);
    size_t length = 0;
    char *text = path ? gb_read_file(path, &length, status) : NULL;
    json_t *measures = text ? json_loadb(text, length, JSON_REJECT_DUPLICATES, NULL) : NULL;
    if (text && !json_is_object(measures)) {
        gb_fail(status, GB_DATA, path, hint, "no JSON object of measures");
        json_decref(measures);
        measures = NULL;
    }
    free(text);
    free(path);
    return measures;
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
