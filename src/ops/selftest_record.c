/* What the self-test found on a device, kept for each driver and set of shaders: a text file of
 * four lines (what it is for, the device, "wrong LIST", "refused LIST"), beside the pipeline cache;
 * another of cooperative matrices, which are tested only where they are asked for. One that is for
 * something else, or damaged, counts as none. */
#include "kernels.h"

#include <stdlib.h>
#include <string.h>

static bool asked(const gb_config *config, const char *word)
{
    return config->selftest && !strcmp(config->selftest, word);
}

static const char of_halves[] = "selftest-matrix", of_bfloats[] = "selftest-bfloat16";

static const char *of_matrices(gb_precision precision)
{
    return precision == GB_BF16 ? of_bfloats : of_halves;
}

static const char of_kernels[] = "selftest";

/* Settings that choose among kernels have records of their own: what one set of kernels computes
 * says nothing of the others, and a fault that is worked around by hand is still there. */
static char *record_path(const gb_config *config, const gb_device_caps *caps, const char *kind)
{
    const char *quirks = config->quirks ? config->quirks : "", *profile = config->profile;
    bool small = config->limits && strstr(config->limits, "min");
    bool chosen = profile && (!strcmp(profile, "cpu") || !strcmp(profile, "scalar"));
    char own[64], hex[GB_HASH_SIZE];
    if (asked(config, "off"))
        return NULL;
    snprintf(own, sizeof own, "%s", kind);
    if (small || chosen || *quirks) {
        gb_text text = {0};
        gb_text_printf(&text, "%d %s %s", small, chosen ? profile : "", quirks);
        gb_hash_bytes(text.data ? text.data : "", text.length, hex);
        gb_text_free(&text);
        snprintf(own, sizeof own, "%s-%.8s", kind, hex);
    }
    return gb_device_cache(config, caps, own, "txt");
}

/* Hash of everything that the result depends on. */
static void key_of(const gb_config *config, const gb_device_caps *caps, char key[GB_HASH_SIZE])
{
    char kernels[GB_HASH_SIZE];
    gb_text text = {0};
    gb_shaders_hash(GB_USER_ALL, kernels);
    gb_text_printf(&text, "3 %s %s %x %x %s %s", caps->name, caps->driver, caps->driver_version,
                   caps->api_version, config->corrupt ? config->corrupt : "", kernels);
    gb_hash_bytes(text.data ? text.data : "", text.length, key);
    gb_text_free(&text);
}

/* The file's text if it is for this device and program, else NULL; caller frees. */
static char *read_record(const gb_config *config, const gb_device_caps *caps, const char *kind)
{
    char key[GB_HASH_SIZE], *path = record_path(config, caps, kind), *text = NULL;
    size_t length = 0;
    if (path && !asked(config, "afresh") && gb_file_exists(path))
        text = gb_read_file(path, &length, NULL);
    free(path);
    if (!text)
        return NULL;
    key_of(config, caps, key);
    if (strncmp(text, key, GB_HASH_SIZE - 1) || !strstr(text, "\nwrong ") ||
        !strstr(text, "\nrefused ")) {
        free(text);
        return NULL;
    }
    return text;
}

/* What follows a word at the start of a line, cut at the end of the line. */
static char *line_of(char *text, const char *word)
{
    char *at = strstr(text, word) + strlen(word);
    at[strcspn(at, "\n")] = '\0';
    return at;
}

static bool known(const gb_config *config, const gb_device_caps *caps, const char *kind)
{
    char *path = record_path(config, caps, kind), *text = read_record(config, caps, kind);
    bool there = text || !path;
    free(path);
    free(text);
    return there;
}

bool gb_selftest_known(const gb_config *config, const gb_device_caps *caps)
{
    return known(config, caps, of_kernels) &&
           (caps->precision == GB_FP32 || known(config, caps, of_matrices(caps->precision)));
}

/* What a record says is wrong, of the bits it is about. */
static uint32_t wrong_of(const gb_config *config, const gb_device_caps *caps, const char *kind,
                         uint32_t about)
{
    gb_status ignored = {0};
    uint32_t bits = 0;
    char *text = read_record(config, caps, kind);
    const char *list = text ? line_of(text, "\nwrong ") : "none";
    if (strcmp(list, "none") && !gb_quirks_apply(&gb_ops_rules, list, &bits, &ignored))
        bits = 0;
    free(text);
    return bits & about;
}

uint32_t ops_kernels_found(const gb_config *config, const gb_device_caps *caps)
{
    return wrong_of(config, caps, of_kernels, GB_QUIRK_VARIANTS) |
           wrong_of(config, caps, of_halves, GB_QUIRK_MATRICES) |
           wrong_of(config, caps, of_bfloats, GB_QUIRK_MATRICES);
}

bool ops_kernels_allow(const gb_config *config, const gb_device_caps *caps, gb_status *status)
{
    char *text = read_record(config, caps, of_kernels);
    const char *list = text ? line_of(text, "\nrefused ") : "none";
    bool ok = !strcmp(list, "none") ||
              gb_fail(status, GB_DEVICE, caps->name,
                      "see gabbro doctor; choose another device or driver, or GABBRO_SELFTEST=off",
                      "its kernels compute wrong numbers: %s", list);
    free(text);
    return ok;
}

static bool store(const gb_config *config, const gb_device_caps *caps, const char *kind,
                  uint32_t wrong, const char *refused, gb_status *status)
{
    char key[GB_HASH_SIZE], list[256], *path = record_path(config, caps, kind);
    if (!path)
        return true;
    gb_out *out = gb_device_cache_open(path, status);
    free(path);
    if (!out)
        return false;
    key_of(config, caps, key);
    gb_quirks_text(&gb_ops_rules, wrong, list, sizeof list);
    fprintf(gb_out_stream(out), "%s\n%s, %s\nwrong %s\nrefused %s\n", key, caps->name, caps->driver,
            list, refused ? refused : "none");
    return gb_out_commit(out, status);
}

bool gb_selftest_store(const gb_config *config, const gb_device_caps *caps, uint32_t wrong,
                       const char *refused, gb_status *status)
{
    uint32_t before = wrong_of(config, caps, of_kernels, GB_QUIRK_VARIANTS);
    return store(config, caps, of_kernels, (wrong & GB_QUIRK_VARIANTS) | before, refused, status);
}

bool gb_selftest_store_matrices(const gb_config *config, const gb_device_caps *caps,
                                gb_precision precision, uint32_t wrong, gb_status *status)
{
    const char *kind = of_matrices(precision);
    uint32_t before = wrong_of(config, caps, kind, GB_QUIRK_MATRICES);
    return store(config, caps, kind, (wrong & GB_QUIRK_MATRICES) | before, NULL, status);
}
