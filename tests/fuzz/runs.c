/* Runs in all layouts; one that was read can be written and measured. */
#include "fuzz.h"

#include <gabbro/eval.h>

static void use(const gb_run *run, const gb_run_names *names)
{
    gb_status status = {0};
    gb_eval_params params = GB_EVAL_TREC;
    gb_metrics metrics = {0};
    gb_evaluation evaluation = {0};
    gb_qrels qrels = {0};
    char out[128];
    snprintf(out, sizeof out, "%s/written", fuzz_folder);
    fuzz_check(gb_run_write(run, names, &(gb_run_style){.tag = "fuzz"}, out, &status), &status);
    if (!gb_metrics_add(&metrics, "all", &status))
        abort();
    params.metrics = &metrics;
    fuzz_check(gb_evaluate(run, &qrels, names, &params, &evaluation, &status), &status);
    gb_evaluation_free(&evaluation);
    free(metrics.items);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (int format = GB_RUN_AUTO; format <= GB_RUN_DPR; format++) {
        gb_status status = {0};
        gb_run run = {0};
        char *tag = NULL;
        gb_run_names names;
        bool ok = gb_run_names_create(&names, &status) &&
                  gb_run_read(fuzz_file("run", data, size), (gb_run_format)format, &names, &run,
                              &tag, &status);
        fuzz_check(ok, &status);
        if (ok)
            use(&run, &names);
        gb_run_free(&run);
        free(tag);
        gb_run_names_free(&names);
    }
    return 0;
}
