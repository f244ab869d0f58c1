/* What a killed search had found: taken up only where all of it can be true. */
#include "fuzz.h"

#include "../../src/retrieve/search_found.c"
#include "../../src/retrieve/search_chunks.c"

enum { QUERIES = 2, BEST = 2, PASSAGES = 5 };

/* A stand-in for the device: nothing more is found. */
bool retrieve_search_whole(gb_device *device, const gb_vectors *queries, const gb_vectors *passages,
                           const gb_search_params *params, const gb_found *found, gb_status *status)
{
    (void)device;
    (void)passages;
    (void)status;
    for (uint32_t i = 0; i < queries->rows * params->k; i++) {
        found->rows[i] = GB_NO_ROW;
        found->scores[i] = 0;
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    float values[PASSAGES] = {0}, scores[QUERIES * BEST];
    uint32_t rows[QUERIES * BEST];
    gb_vectors queries = {.rows = QUERIES, .width = 1, .values = values};
    gb_vectors passages = {.rows = PASSAGES, .width = 1, .values = values};
    gb_search_params params = {
        .k = BEST, .quiet = true, .piece = 3, .resume = fuzz_file("found", data, size)};
    fuzz_check(retrieve_search_pieces(NULL, &queries, &passages, &params, &(gb_found){rows, scores},
                                      &status),
               &status);
    for (int i = 0; i < QUERIES * BEST; i++)
        if (rows[i] != GB_NO_ROW && rows[i] >= PASSAGES)
            abort();
    return 0;
}
