/* What the self-test found on a device, kept for each driver and set of shaders: a text file of
 * four lines (what it is for, the device, "wrong LIST", "refused LIST"), beside the pipeline cache.
 * One that is for something else, or damaged, counts as none. */
#include "vk/private.h"
#include <stdlib.h>
#include <string.h>

static bool asked(const char *word)
{
    const char *wish = gb_env("GABBRO_SELFTEST");
    return wish && !strcmp(wish, word);
}

static char *record_path(const gb_device_caps *caps)
{
    const char *kind = gb_env("GABBRO_LIMITS") ? "selftest-min" : "selftest";
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
static char *read_record(const gb_device_caps *caps)
{
    char key[GB_HASH_SIZE], *path = record_path(caps), *text = NULL;
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

bool gb_selftest_known(const gb_device_caps *caps)
{
    char *path = record_path(caps), *text = read_record(caps);
    bool known = text || !path;
    free(path);
    free(text);
    return known;
}

uint32_t gb_selftest_quirks(const gb_device_caps *caps)
{
    gb_status ignored = {0};
    uint32_t bits = 0;
    char *text = read_record(caps);
    const char *list = text ? line_of(text, "\nwrong ") : "none";
    if (strcmp(list, "none") && !gb_quirks_apply(list, &bits, &ignored))
        bits = 0;
    free(text);
    return bits & GB_QUIRK_VARIANTS;
}

bool gb_selftest_passed(const gb_device_caps *caps, gb_status *status)
{
    char *text = read_record(caps);
    const char *list = text ? line_of(text, "\nrefused ") : "none";
    bool ok = !strcmp(list, "none") ||
              gb_fail(status, GB_DEVICE, caps->name,
                      "see gabbro doctor; choose another device or driver, or GABBRO_SELFTEST=off",
                      "its kernels compute wrong numbers: %s", list);
    free(text);
    return ok;
}

bool gb_selftest_store(const gb_device_caps *caps, uint32_t wrong, const char *refused,
                       gb_status *status)
{
    char key[GB_HASH_SIZE], list[256], *path = record_path(caps);
    if (!path)
        return true;
    char *slash = strrchr(path, '/');
    *slash = '\0';
    bool ok = gb_make_dirs(path, status);
    *slash = '/';
    gb_out *out = ok ? gb_out_open(path, status) : NULL;
    free(path);
    if (!out)
        return false;
    key_of(caps, key);
    gb_quirks_text(wrong & GB_QUIRK_VARIANTS, list, sizeof list);
    fprintf(gb_out_stream(out), "%s\n%s, %s\nwrong %s\nrefused %s\n", key, caps->name, caps->driver,
            list, refused ? refused : "none");
    return gb_out_commit(out, status);
}

void gb_device_avoid(gb_device *device, uint32_t variants)
{
    uint32_t *quirks = &device->adapter.caps.quirks;
    *quirks = (*quirks & ~(uint32_t)GB_QUIRK_VARIANTS) | (variants & GB_QUIRK_VARIANTS);
}
