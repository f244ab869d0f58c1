/* JSON lines: documents, and queries. */
#include "import.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_import("documents.jsonl", data, size);
    fuzz_topics("queries.jsonl", data, size);
    return 0;
}
