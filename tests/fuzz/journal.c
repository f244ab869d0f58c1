/* The list of finished work that gabbro generate goes on from: what it holds can be read, and a row
 * that it lacks added. */
#include "fuzz.h"

#include <gabbro/querygen.h>

#define ROWS 5

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    gb_journal *journal = gb_journal_open(fuzz_file("journal", data, size), ROWS, &status);
    fuzz_check(journal != NULL, &status);
    for (uint32_t row = 0; journal && row < ROWS; row++) {
        if (!gb_journal_has(journal, row) && !gb_journal_add(journal, row, "[\"a\"]", &status))
            abort();
        const char *line = gb_journal_line(journal, row, &status);
        if (!line || strchr(line, '\n'))
            abort();
    }
    if (journal && gb_journal_count(journal) != ROWS)
        abort();
    gb_journal_close(journal);
    return 0;
}
