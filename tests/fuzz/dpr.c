/* DPR's and Pyserini's results of retrieval: as runs and as judgements (answers given, by
 * words, and as regular expressions), of any ids and of a collection; what was read is written in
 * both layouts and read again. */
#include "import.h"

static void again(const gb_run *run, const gb_run_names *names, gb_run_format format)
{
    gb_status status = {0};
    gb_run other = {0};
    char path[128];
    snprintf(path, sizeof path, "%s/written", fuzz_folder);
    if (!gb_run_write_dpr(run, names->collection, names, &(gb_run_style){.format = format}, path,
                          &status))
        abort();
    if (run->hit_count && (!gb_run_read(path, GB_RUN_AUTO, names, &other, NULL, &status) ||
                           other.hit_count != run->hit_count))
        abort();
    gb_run_free(&other);
}

static void use(const char *path, gb_run_names *names)
{
    gb_status status = {0};
    gb_run run = {0};
    bool ok = gb_run_read(path, GB_RUN_DPR, names, &run, NULL, &status);
    fuzz_check(ok, &status);
    for (int rule = GB_ANSWERS_GIVEN; rule <= GB_ANSWERS_REGEX; rule++) {
        gb_status refused = {0};
        gb_qrels qrels = {0};
        fuzz_check(gb_qrels_read_by((gb_answer_rule)rule, path, names, &qrels, &refused), &refused);
        free(qrels.rows);
    }
    if (ok && names->collection) {
        again(&run, names, GB_RUN_DPR);
        again(&run, names, GB_RUN_PYSERINI);
    }
    gb_run_free(&run);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    gb_run_names any, known;
    char path[192];
    const gb_collection *collection = fuzz_collection();
    snprintf(path, sizeof path, "%s", fuzz_file("run.json", data, size));
    if (!gb_run_names_create(&any, &status) || !gb_run_names_of(collection, &known, &status))
        abort();
    use(path, &any);
    use(path, &known);
    gb_run_names_free(&any);
    gb_run_names_free(&known);
    return 0;
}
