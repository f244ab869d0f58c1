/* Negatives of a known collection: training files, triples, lists. The first byte says whether
 * unknown ids are left out, and how many are taken. */
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    const gb_collection *collection = fuzz_collection();
    if (!size)
        return 0;
    gb_negatives_params params = {.skip_unknown = data[0] & 1, .per_query = data[0] >> 1 & 1};
    params.path = fuzz_file("negatives", data + 1, size - 1);
    gb_negatives *negatives = gb_negatives_read(collection, &params, &status);
    fuzz_check(negatives != NULL, &status);
    for (uint32_t q = 0; negatives && q < gb_row_file_count(collection->queries); q++) {
        uint32_t count;
        const uint32_t *rows = gb_negatives_of(negatives, q, &count);
        for (uint32_t i = 0; i < count; i++)
            if (rows[i] >= collection->passages)
                abort();
    }
    gb_negatives_destroy(negatives);
    return 0;
}
