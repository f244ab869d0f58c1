/* The line reader, plain and gzip. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    gb_lines *lines = gb_lines_open(fuzz_file("lines", data, size), &status);
    char *line;
    size_t length;
    int got = -1;
    while (lines && (got = gb_lines_next(lines, &line, &length, &status)) == 1)
        if (line[length] || memchr(line, '\n', length))
            abort();
    fuzz_check(got == 0, &status);
    gb_lines_close(lines);
    return 0;
}
