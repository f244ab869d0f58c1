/* What a site is made of: a finished table and the results behind it. */
#include "fuzz.h"

#include <gabbro/report.h>

/* Plots name a font; what fontconfig keeps of it is its own. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void)
{
    return "leak:libfontconfig\n";
}

static const char *const files[] = {"table.json", "results.jsonl", NULL};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    char folder[FUZZ_PATH], out[FUZZ_PATH];
    snprintf(folder, sizeof folder, "%s", fuzz_parts("table", files, data, size));
    snprintf(out, sizeof out, "%s", fuzz_path("site"));
    const char *folders[] = {folder};
    gb_site_params params = {.folders = folders, .count = 1, .store = folder};
    fuzz_check(gb_site_write(&params, out, &status), &status);
    return 0;
}
