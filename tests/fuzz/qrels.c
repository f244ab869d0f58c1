/* Judgements in all layouts. */
#include "fuzz.h"

#include <gabbro/eval.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    gb_qrels qrels = {0};
    gb_names *queries = gb_names_create(&status), *passages = gb_names_create(&status);
    fuzz_check(gb_qrels_read(fuzz_file("qrels", data, size), queries, passages, &qrels, &status),
               &status);
    free(qrels.rows);
    gb_names_destroy(queries);
    gb_names_destroy(passages);
    return 0;
}
