/* SQuAD's JSON in two parts, whose questions are divided. */
#include "import.h"

static const char *const names[] = {"dev-part1.json", "dev-part2.json", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_import_path(fuzz_parts("squad", names, data, size), (gb_import_variant){0}, NULL);
    return 0;
}
