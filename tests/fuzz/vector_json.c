/* Vectors as lines of JSON. */
#include "fuzz.h"

#include "../../src/retrieve/vector_json.c"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    char path[192], folder[200];
    snprintf(path, sizeof path, "%s", fuzz_file("lines.jsonl", data, size));
    snprintf(folder, sizeof folder, "%s.made", path);
    fuzz_check(gb_vectors_read_json(path, folder, &status), &status);
    return 0;
}
