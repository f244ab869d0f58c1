/* Judgements in all layouts. */
#include "fuzz.h"

#include <gabbro/eval.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    gb_qrels qrels = {0};
    gb_run_names names;
    fuzz_check(gb_run_names_create(&names, &status) &&
                   gb_qrels_read(fuzz_file("qrels", data, size), &names, &qrels, &status),
               &status);
    free(qrels.rows);
    gb_run_names_free(&names);
    return 0;
}
