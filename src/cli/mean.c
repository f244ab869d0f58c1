/* gabbro mean: the step that averages evaluations. */
#include "step.h"

#include <gabbro/store.h>

static const char usage[] =
    "usage: gabbro mean --of EVALUATION --of EVALUATION [--of ...]\n\n"
    "Each measure that all of the evaluations have, as the mean of theirs, every evaluation "
    "counting "
    "alike:\n"
    "what BEIR calls the result of CQADupStack, from its twelve forums. Prints the step's folder:\n"
    "metrics.json.\n";

/* measure -> sum over the evaluations so far; what one of them does not have is dropped. */
static bool add(json_t *sums, const char *folder, bool first, gb_status *status)
{
    json_t *measures = gb_measures_read(folder, status), *sum;
    const char *name;
    void *next;
    bool ok = measures != NULL;
    if (first && ok)
        json_object_foreach(measures, name, sum) json_object_set_new(sums, name, json_real(0));
    json_object_foreach_safe(sums, next, name, sum)
    {
        const json_t *measure = json_object_get(measures, name);
        double value;
        if (!ok)
            break;
        if (!measure)
            json_object_del(sums, name);
        else if ((ok = gb_measure_value(measure, folder, name, &value, status)))
            json_real_set(sum, json_real_value(sum) + value);
    }
    json_decref(measures);
    return ok;
}

static bool write_mean(const step_run *run, const step_list *of, gb_status *status)
{
    json_t *means = json_object(), *mean;
    const char *name;
    bool ok = true;
    for (size_t i = 0; ok && i < of->count; i++)
        ok = add(means, of->items[i], i == 0, status);
    if (ok && !json_object_size(means))
        ok = gb_fail(status, GB_DATA, of->items[0], "average evaluations with the same splits",
                     "no measure that all the evaluations have");
    json_object_foreach(means, name, mean)
        json_real_set(mean, json_real_value(mean) / (double)of->count);
    ok = ok && step_write_metrics(run, means, status);
    json_decref(means);
    return ok;
}

int gb_cli_mean(int argc, char **argv)
{
    gb_status status = {0};
    step_list of = {0};
    const step_option options[] = {
        {"of", OPTION_LIST, &of, true, true, "step of an evaluation; may be repeated"}, {0}};
    step_run run = {.kind = "mean", .options = options};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    if (step_begin(&run, 1, false, NULL, &status) &&
        (step_there(&run) || write_mean(&run, &of, &status)))
        step_end(&run, NULL, &status);
    return step_close(&run, &status);
}
