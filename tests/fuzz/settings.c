/* Files of settings, of a scale and of a user. */
#include "fuzz.h"

#include "reproduce/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0}, refused = {0};
    repro_settings scale = {0}, user = {0};
    const char *path = fuzz_file("settings", data, size);
    bool ok = repro_settings_read(&scale, path, NULL, &status);
    fuzz_check(ok, &status);
    /* Names that are not known are refused, those of the scale itself are not. */
    ok = ok && repro_settings_read(&user, path, &scale, &status);
    fuzz_check(ok, &status);
    repro_settings none = {0};
    bool taken = repro_settings_read(&user, path, &none, &refused);
    fuzz_check(taken, &refused);
    if (ok && taken && scale.count)
        abort();
    repro_settings_free(&scale);
    repro_settings_free(&user);
    return 0;
}
