/* run.json of a finished artifact. */
#include "fuzz.h"

#include <gabbro/store.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    fuzz_file("run.json", data, size);
    json_t *run = gb_artifact_read(fuzz_folder, &status);
    fuzz_check(run != NULL, &status);
    json_decref(run);
    return 0;
}
