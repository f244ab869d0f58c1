/* What the self-test found on a device, kept for each driver and set of shaders: a text file of
 * four lines (what it is for, the device, "wrong LIST", "refused LIST"), beside the pipeline cache;
 * another of cooperative matrices, which are tested only where they are asked for. One that is for
 * something else, or damaged, counts as none. */
#include "vk/private.h"
#include <stdlib.h>
#include <string.h>

static bool asked(const char *word)
{
    const char *wish = gb_env("GABBRO_SELFTEST");
    return wish && !strcmp(wish, word);
}

static const char of_halves[] = "selftest-matrix", of_bfloats[] = "selftest-bfloat16";

static const char *of_matrices(gb_precision precision)
{
    return precision == GB_BF16 ? of_bfloats : of_halves;
}

static const char *of_kernels(void)
{
    return gb_env("GABBRO_LIMITS") ? "selftest-min" : "selftest";
}

static char *record_path(const gb_device_caps *caps, const char *kind)
{
    return asked("off") ? NULL : gb_cache_path(caps, kind, "txt");
}

/* Hash of everything that the result depends on. */
static void key_of(const gb_device_caps *caps, char key[GB_HASH_SIZE])
{
    char words[GB_HASH_SIZE];
    gb_text text = {0};
    const char *spoiled = gb_env("GABBRO_SPOIL");
    gb_text_printf(&text, "1 %s %s %x %x %s ", caps->name, caps->driver, caps->driver_version,
                   caps->api_version, spoiled ? spoiled : "");
    for (size_t i = 0; i < gb_shader_binary_count; i++) {
        const gb_shader_binary *shader = gb_shader_at(i);
        gb_hash_bytes(shader->words, shader->word_count * sizeof *shader->words, words);
        gb_text_printf(&text, "%s %s ", shader->name, words);
    }
    gb_hash_bytes(text.data ? text.data : "", text.length, key);
    gb_text_free(&text);
}

/* The file's text if it is for this device and program, else NULL; caller frees. */
static char *read_record(const gb_device_caps *caps, const char *kind)
{
    char key[GB_HASH_SIZE], *path = record_path(caps, kind), *text = NULL;
    size_t length = 0;
    if (path && !asked("afresh") && gb_file_exists(path))
        text = gb_read_file(path, &length, NULL);
    free(path);
    if (!text)
        return NULL;
    key_of(caps, key);
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

static bool known(const gb_device_caps *caps, const char *kind)
{
    char *path = record_path(caps, kind), *text = read_record(caps, kind);
    bool there = text || !path;
    free(path);
    free(text);
    return there;
}

bool gb_selftest_known(const gb_device_caps *caps)
{
    return known(caps, of_kernels()) &&
           (caps->precision == GB_FP32 || known(caps, of_matrices(caps->precision)));
}

/* What a record says is wrong, of the bits it is about. */
static uint32_t wrong_of(const gb_device_caps *caps, const char *kind, uint32_t about)
{
    gb_status ignored = {0};
    uint32_t bits = 0;
    char *text = read_record(caps, kind);
    const char *list = text ? line_of(text, "\nwrong ") : "none";
    if (strcmp(list, "none") && !gb_quirks_apply(list, &bits, &ignored))
        bits = 0;
    free(text);
    return bits & about;
}

uint32_t gb_selftest_quirks(const gb_device_caps *caps)
{
    return wrong_of(caps, of_kernels(), GB_QUIRK_VARIANTS) |
           wrong_of(caps, of_halves, GB_QUIRK_MATRICES) |
           wrong_of(caps, of_bfloats, GB_QUIRK_MATRICES);
}

bool gb_selftest_passed(const gb_device_caps *caps, gb_status *status)
{
    char *text = read_record(caps, of_kernels());
    const char *list = text ? line_of(text, "\nrefused ") : "none";
    bool ok = !strcmp(list, "none") ||
              gb_fail(status, GB_DEVICE, caps->name,
                      "see gabbro doctor; choose another device or driver, or GABBRO_SELFTEST=off",
                      "its kernels compute wrong numbers: %s", list);
    free(text);
    return ok;
}

static bool store(const gb_device_caps *caps, const char *kind, uint32_t wrong, const char *refused,
                  gb_status *status)
{
    char key[GB_HASH_SIZE], list[256], *path = record_path(caps, kind);
    if (!path)
        return true;
    gb_out *out = gb_cache_open(path, status);
    free(path);
    if (!out)
        return false;
    key_of(caps, key);
    gb_quirks_text(wrong, list, sizeof list);
    fprintf(gb_out_stream(out), "%s\n%s, %s\nwrong %s\nrefused %s\n", key, caps->name, caps->driver,
            list, refused ? refused : "none");
    return gb_out_commit(out, status);
}

bool gb_selftest_store(const gb_device_caps *caps, uint32_t wrong, const char *refused,
                       gb_status *status)
{
    uint32_t before = wrong_of(caps, of_kernels(), GB_QUIRK_VARIANTS);
    return store(caps, of_kernels(), (wrong & GB_QUIRK_VARIANTS) | before, refused, status);
}

bool gb_selftest_store_matrices(const gb_device_caps *caps, gb_precision precision, uint32_t wrong,
                                gb_status *status)
{
    const char *kind = of_matrices(precision);
    uint32_t before = wrong_of(caps, kind, GB_QUIRK_MATRICES);
    return store(caps, kind, (wrong & GB_QUIRK_MATRICES) | before, NULL, status);
}

void gb_device_avoid(gb_device *device, uint32_t variants)
{
    uint32_t *quirks = &device->adapter.caps.quirks;
    *quirks = (*quirks & ~(uint32_t)GB_QUIRK_TESTED) | (variants & GB_QUIRK_TESTED);
}
