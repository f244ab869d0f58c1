/* The memory-mapped tables of texts and token ids. */
#include "fuzz.h"

#include <gabbro/rows.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    for (uint32_t bytes = 1; bytes <= 4; bytes += 3) {
        gb_status status = {0};
        gb_row_file *file = gb_row_file_open(fuzz_file("table.gbt", data, size), bytes, &status);
        fuzz_check(file != NULL, &status);
        volatile unsigned sum = 0; /* every byte is looked at */
        for (uint64_t i = 0; file && i < gb_row_file_count(file); i++) {
            size_t length;
            const unsigned char *row = gb_row_file_row(file, i, &length);
            for (size_t b = 0; b < length * bytes; b++)
                sum = sum + row[b];
        }
        gb_row_file_close(file);
    }
    return 0;
}
