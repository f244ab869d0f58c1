/* gabbro efficiency: the step that reads the cost of training from finished pre-trainings. */
#include "step.h"

#include <gabbro/store.h>

#include <string.h>

static const char usage[] =
    "usage: gabbro efficiency --of STEP [--baseline STEP]\n\n"
    "What a pre-training cost, from its own record: time to draw and mask a batch, samples a "
    "second\n"
    "(of the median step; starting and recording programs left out), and against a baseline the\n"
    "share of speed lost and the time a step takes beyond it, data apart. Both must have run\n"
    "undisturbed on one device, without being resumed. Prints the step's folder: metrics.json.\n";

/* Of one pre-training, a step. */
typedef struct cost {
    double data_s;        /* drawing and masking the batch */
    double rest_s;        /* the device's work and waiting for it */
    double samples_per_s; /* passages, or pairs */
} cost;

static bool read_cost(const char *folder, cost *out, gb_status *status)
{
    json_t *run = gb_step_read(folder, status);
    const json_t *times = json_object_get(run, "times");
    double steps = (double)json_integer_value(json_object_get(times, "steps"));
    double batch =
        (double)json_integer_value(json_object_get(json_object_get(run, "settings"), "batch"));
    double step_s = json_number_value(json_object_get(times, "step_s"));
    double data_s = json_number_value(json_object_get(times, "data_s"));
    bool whole = !json_is_true(json_object_get(times, "resumed"));
    json_decref(run);
    if (!run)
        return false;
    if (!(steps > 0 && batch > 0 && step_s > data_s / steps))
        return gb_fail(status, GB_DATA, folder, "give a finished pre-training",
                       "no time of a training step in its record");
    if (!whole)
        return gb_fail(status, GB_DATA, folder, "remove the step and run it in one go",
                       "the training was resumed: its times are those of a part");
    out->data_s = data_s / steps;
    out->rest_s = step_s - out->data_s;
    out->samples_per_s = batch / step_s;
    return true;
}

static bool write_costs(const step_run *run, const cost *of, const cost *baseline,
                        gb_status *status)
{
    json_t *json = json_pack("{s:f, s:f}", "efficiency:data_s", of->data_s,
                             "efficiency:samples_per_s", of->samples_per_s);
    if (baseline) {
        json_object_set_new(json, "efficiency:decoder_s", json_real(of->rest_s - baseline->rest_s));
        json_object_set_new(json, "efficiency:degeneration",
                            json_real(1 - of->samples_per_s / baseline->samples_per_s));
    }
    bool ok = step_write_metrics(run, json, status);
    json_decref(json);
    return ok;
}

int gb_cli_efficiency(int argc, char **argv)
{
    gb_status status = {0};
    const char *of = NULL, *baseline = NULL;
    const step_option options[] = {
        {"of", OPTION_TEXT, &of, true, true, "step of a pre-training"},
        {"baseline", OPTION_TEXT, &baseline, false, true, "the pre-training it is compared with"},
        {0}};
    step_run run = {.kind = "efficiency", .options = options};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    bool ok = step_begin(&run, 1, false, NULL, &status);
    cost costs[2];
    if (ok && !gb_step_done(run.step))
        ok = read_cost(of, &costs[0], &status) &&
             (!baseline || read_cost(baseline, &costs[1], &status)) &&
             write_costs(&run, &costs[0], baseline ? &costs[1] : NULL, &status);
    if (ok)
        step_end(&run, NULL, &status);
    return step_close(&run, &status);
}
