/* Folders of vectors: vectors.npy (whose length the first two bytes say), ids.txt, and vectors.json
 * where gabbro made them. */
#include "fuzz.h"

#include <gabbro/retrieve.h>

static const char *const names[] = {"ids.txt", "vectors.json", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    gb_vector_set set = {0};
    char folder[192];
    if (size < 2)
        return 0;
    size_t length = data[0] | data[1] << 8;
    length = length < size - 2 ? length : size - 2;
    snprintf(folder, sizeof folder, "%s",
             fuzz_parts("vectors", names, data + 2 + length, size - 2 - length));
    fuzz_file("vectors/vectors.npy", data + 2, length);
    bool opened = gb_vector_set_open(&set, &(const char *){folder}, 1, &status), ok = opened;
    fuzz_check(ok, &status);
    volatile float sum = 0; /* every number is looked at */
    for (uint32_t row = 0; ok && row < set.vectors.rows; row++) {
        size_t bytes;
        const char *id = gb_vector_set_id(&set, row, &bytes);
        const float *values = set.vectors.read(set.vectors.context, row, 1, &status);
        ok = values != NULL;
        fuzz_check(ok, &status);
        for (uint32_t i = 0; ok && i < set.vectors.width; i++)
            sum = sum + values[i];
        sum = sum + (bytes ? (float)id[bytes - 1] : 0);
    }
    if (opened)
        gb_vector_set_close(&set);
    return 0;
}
