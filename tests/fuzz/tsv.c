/* TSV: passages, queries, answers; topics in TREC's form too. */
#include "import.h"

static void read_answers(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    gb_names *queries = gb_names_create(&status);
    gb_answers *answers = gb_answers_read(fuzz_file("answers.tsv", data, size), queries, &status);
    fuzz_check(answers != NULL, &status);
    for (uint32_t q = 0; answers && q < gb_names_count(queries); q++) {
        bool held;
        fuzz_check(gb_answers_hold(answers, q, (const char *)data, size, &held, &status), &status);
    }
    gb_answers_destroy(answers);
    gb_names_destroy(queries);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_import("collection.tsv", data, size);
    fuzz_topics("queries.tsv", data, size);
    read_answers(data, size);
    return 0;
}
