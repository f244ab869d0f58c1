/* What was noted of a server beside a file that is fetched in part. */
#include "fuzz.h"

#include "../../src/fetch/private.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_remote remote, again;
    gb_status status = {0};
    if (!fetch_remote_load(fuzz_file("part", data, size), &remote))
        return 0;
    if (!fetch_remote_same(&remote, &remote))
        abort();
    fuzz_check(fetch_remote_save(fuzz_path("noted"), &remote, &status), &status);
    if (!fetch_remote_load(fuzz_path("noted"), &again) || !fetch_remote_same(&remote, &again))
        abort();
    return 0;
}
