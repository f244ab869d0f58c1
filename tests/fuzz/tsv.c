/* TSV: passages, queries, answers (words, regular expressions); topics in TREC's form too. */
#include "import.h"

static void read_answers(gb_answer_rule rule, const uint8_t *data, size_t size)
{
    gb_status status = {0};
    gb_names *queries = gb_names_create(&status);
    gb_answers *answers =
        gb_answers_read(fuzz_file("answers.tsv", data, size), rule, queries, &status);
    fuzz_check(answers != NULL, &status);
    /* one expression that takes too long is enough */
    for (uint32_t q = 0; answers && status.code == GB_OK && q < gb_names_count(queries); q++) {
        bool held, ok = gb_answers_hold(answers, q, (const char *)data, size, &held, &status);
        fuzz_check(ok, &status);
    }
    gb_answers_destroy(answers);
    gb_names_destroy(queries);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_import("collection.tsv", data, size);
    fuzz_topics("queries.tsv", data, size);
    read_answers(GB_ANSWERS_WORDS, data, size);
    read_answers(GB_ANSWERS_REGEX, data, size);
    return 0;
}
