/* gabbro mean: averages evaluations. */
#include "cli.h"

#include <gabbro/eval.h>
#include <gabbro/experiment.h>

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

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const gb_words *of = self;
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
    ok = ok && gb_maker_write_metrics(maker, means, status);
    json_decref(means);
    return ok;
}

static int run(int argc, char **argv)
{
    gb_words of = {0};
    const gb_option options[] = {{"of", GB_OPTION_LIST, &of, GB_OPTION_REQUIRED | GB_OPTION_INPUT,
                                  "ARTIFACT", "evaluation to average; may be repeated"},
                                 {0}};
    const gb_make_params params = {
        .command = &gb_cli_mean, .version = 2, .options = options, .self = &of, .make = make};
    return gb_make(&params, argc, argv);
}

const gb_command gb_cli_mean = {
    .name = "mean",
    .summary = "average evaluations, each counting alike",
    .description =
        "Average each measure that all of the evaluations have, every evaluation counting alike: "
        "what BEIR calls the result of CQADupStack, from its twelve forums. Prints the artifact's "
        "folder: metrics.json.",
    .run = run};
