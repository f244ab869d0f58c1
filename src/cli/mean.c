/* gabbro mean: the step that averages evaluations. */
#include "cli.h"

#include <gabbro/eval.h>
#include <gabbro/experiment.h>

static const char usage[] =
    "usage: gabbro mean --of EVALUATION --of EVALUATION [--of ...]\n\n"
    "Each measure that all of the evaluations have, as the mean of theirs, every evaluation "
    "counting "
    "alike:\n"
    "what BEIR calls the result of CQADupStack, from its twelve forums. Prints the step's folder:\n"
    "metrics.json.\n";

/* Add what one evaluation measured to the sums: measure -> {"value", "chance"}. What one of the
 * evaluations does not have is dropped, a measure or what a random order has of it. */
static bool add(json_t *sums, const char *folder, bool first, gb_status *status)
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

static bool write_mean(const step_run *run, const step_list *of, gb_status *status)
{
    json_t *means = json_object(), *mean, *number;
    const char *name, *what;
    bool ok = true;
    for (size_t i = 0; ok && i < of->count; i++)
        ok = add(means, of->items[i], i == 0, status);
    if (ok && !json_object_size(means))
        ok = gb_fail(status, GB_DATA, of->items[0], "average evaluations with the same splits",
                     "no measure that all the evaluations have");
    json_object_foreach(means, name, mean) json_object_foreach(mean, what, number)
        json_real_set(number, json_real_value(number) / (double)of->count);
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
    if (step_begin(&run, 2, false, NULL, &status) &&
        (step_there(&run) || write_mean(&run, &of, &status)))
        step_end(&run, NULL, &status);
    return step_close(&run, &status);
}
