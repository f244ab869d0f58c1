/* The manifest of public collections, of which a user may have one of his own. */
#include "fuzz.h"

#include <gabbro/fetch.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    gb_manifest manifest = {0};
    bool ok = gb_manifest_read(fuzz_file("manifest", data, size), &manifest, &status);
    fuzz_check(ok, &status);
    for (size_t i = 0; i < manifest.count; i++) {
        uint32_t unknown;
        gb_source_bytes(&manifest.sources[i], &unknown);
        if (!gb_manifest_find(&manifest, manifest.sources[i].name, &status))
            abort();
    }
    gb_manifest_free(&manifest);
    return 0;
}
