/* Generated queries of a known collection. The first byte says how they lie: JSON lines,
 * docTTTTTquery's lines, or a folder of samples in parts. */
#include "import.h"

static const char *const names[] = {"predicted_queries_topk_sample000.txt000",
                                    "predicted_queries_topk_sample000.txt001",
                                    "predicted_queries_topk_sample001.txt000", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    const gb_collection *collection = fuzz_collection();
    gb_queries_params params = GB_QUERIES_DEFAULTS;
    char path[192], out[128];
    if (!size)
        return 0;
    const char *from = data[0] % 3 == 0   ? fuzz_file("queries.jsonl", data + 1, size - 1)
                       : data[0] % 3 == 1 ? fuzz_file("queries.txt", data + 1, size - 1)
                                          : fuzz_parts("samples", names, data + 1, size - 1);
    snprintf(path, sizeof path, "%s", from);
    snprintf(out, sizeof out, "%s/generated", fuzz_folder);
    params.from = path;
    params.per_passage = data[0] & 2;
    if (!gb_make_dirs(out, &status))
        abort();
    fuzz_check(gb_queries_make(collection, &params, out, &status), &status);
    if (!gb_remove_tree(out, NULL))
        abort();
    return 0;
}
