/* datasets/manifest: entries, files, accepted versions, official counts. */
#include "gabbro/fetch.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

bool gb_manifest_open(const gb_config *config, const char *given, gb_manifest *manifest,
                      gb_status *status)
{
    char *path = gb_manifest_path(config, given, status);
    bool ok = path && gb_manifest_read(path, manifest, status);
    free(path);
    return ok;
}

void gb_manifest_free(gb_manifest *manifest)
{
    for (size_t s = 0; s < manifest->count; s++) {
        gb_source *source = &manifest->sources[s];
        for (size_t f = 0; f < source->file_count; f++) {
            gb_source_file *file = &source->files[f];
            for (size_t u = 0; u < file->url_count; u++)
                free(file->urls[u]);
            free(file->urls);
            free(file->versions);
            free(file->name);
            free(file->header);
        }
        for (size_t c = 0; c < source->count_count; c++)
            free(source->counts[c].what);
        free(source->files);
        free(source->counts);
        free(source->name);
        free(source->about);
        free(source->terms);
        free(source->unpack);
    }
    free(manifest->sources);
    *manifest = (gb_manifest){0};
}

/* ---- values ---- */

static bool is_hex(const char *text, size_t length)
{
    return strlen(text) == length && strspn(text, "0123456789abcdef") == length;
}

static bool is_date(const char *text)
{
    static const char form[] = "dddd-dd-dd";
    if (strlen(text) != sizeof form - 1)
        return false;
    for (size_t i = 0; form[i]; i++)
        if (form[i] == 'd' ? !isdigit((unsigned char)text[i]) : text[i] != form[i])
            return false;
    return true;
}

static bool parse_count(const char *text, uint64_t *value)
{
    if (!*text || strspn(text, "0123456789") != strlen(text) || strlen(text) > 18)
        return false;
    *value = strtoull(text, NULL, 10);
    return true;
}

/* DATE BYTES SUM...: BYTES and the sums may be "-" or missing. */
static bool parse_version(const gb_lines *lines, char *value, gb_version *version,
                          gb_status *status)
{
    static const char hint[] = "version = YYYY-MM-DD BYTES [md5:HEX] [sha256:HEX], - for unknown";
    char *rest = NULL, *word = strtok_r(value, " \t", &rest);
    *version = (gb_version){0};
    if (!word || !is_date(word))
        return gb_lines_fail(lines, status, hint, "a version without a date");
    memcpy(version->date, word, sizeof version->date);
    word = strtok_r(NULL, " \t", &rest);
    if (!word || (strcmp(word, "-") != 0 && !parse_count(word, &version->bytes)))
        return gb_lines_fail(lines, status, hint, "a version without a number of bytes");
    while ((word = strtok_r(NULL, " \t", &rest))) {
        if (!strncmp(word, "md5:", 4) && is_hex(word + 4, 32))
            memcpy(version->md5, word + 4, 33);
        else if (!strncmp(word, "sha256:", 7) && is_hex(word + 7, 64))
            memcpy(version->sha256, word + 7, 65);
        else
            return gb_lines_fail(lines, status, hint, "not a sum: \"%.80s\"", word);
    }
    if (!version->bytes && !version->md5[0] && !version->sha256[0])
        return gb_lines_fail(lines, status, "leave the line out",
                             "a version of unknown everything");
    return true;
}

static bool set_once(const gb_lines *lines, char **to, const char *value, gb_status *status)
{
    if (*to)
        return gb_lines_fail(lines, status, NULL, "said twice");
    *to = gb_strdup(value, status);
    return *to != NULL;
}

/* A rule that an entry has, or does not mention. */
static bool set_rule(const gb_lines *lines, bool *to, const char *value, gb_status *status)
{
    if (strcmp(value, "yes") != 0)
        return gb_lines_fail(lines, status, "write yes, or leave the line out",
                             "neither a rule nor none: \"%.40s\"", value);
    if (*to)
        return gb_lines_fail(lines, status, NULL, "said twice");
    *to = true;
    return true;
}

/* Files become parts of paths: no way out of the folder. */
static bool is_file_name(const char *name)
{
    return *name && *name != '.' && !strchr(name, '/');
}

/* ---- lines ---- */

static bool add_source(const gb_lines *lines, gb_manifest *manifest, char *line, gb_status *status)
{
    size_t length = strlen(line);
    if (length < 3 || line[length - 1] != ']')
        return gb_lines_fail(lines, status, "an entry begins with [NAME]", "unfinished name");
    line[length - 1] = '\0';
    for (size_t i = 0; i < manifest->count; i++)
        if (!strcmp(manifest->sources[i].name, line + 1))
            return gb_lines_fail(lines, status, NULL, "a second entry \"%.80s\"", line + 1);
    if (!gb_grow(&manifest->sources, &manifest->space, manifest->count + 1,
                 sizeof *manifest->sources, status))
        return false;
    gb_source *source = &manifest->sources[manifest->count];
    *source = (gb_source){.name = gb_strdup(line + 1, status)};
    manifest->count += source->name != NULL;
    return source->name != NULL;
}

static bool add_file(const gb_lines *lines, gb_source *source, const char *name, gb_status *status)
{
    if (!is_file_name(name))
        return gb_lines_fail(lines, status, NULL, "not a name of a file: \"%.80s\"", name);
    if (!gb_grow(&source->files, &source->file_space, source->file_count + 1, sizeof *source->files,
                 status))
        return false;
    gb_source_file *file = &source->files[source->file_count];
    *file = (gb_source_file){.name = gb_strdup(name, status)};
    source->file_count += file->name != NULL;
    return file->name != NULL;
}

static bool add_count(const gb_lines *lines, gb_source *source, char *value, gb_status *status)
{
    char *number = strpbrk(value, " \t");
    uint64_t count = 0;
    if (number) {
        *number++ = '\0';
        number += strspn(number, " \t");
    }
    if (!number || !parse_count(number, &count))
        return gb_lines_fail(lines, status, "count = WHAT NUMBER", "not a count");
    if (!gb_grow(&source->counts, &source->count_space, source->count_count + 1,
                 sizeof *source->counts, status))
        return false;
    gb_source_count *to = &source->counts[source->count_count];
    *to = (gb_source_count){gb_strdup(value, status), count};
    source->count_count += to->what != NULL;
    return to->what != NULL;
}

/* url, header, version: of the last file. */
static bool file_line(const gb_lines *lines, gb_source *source, const char *key, char *value,
                      gb_status *status)
{
    if (source->file_count == 0)
        return gb_lines_fail(lines, status, "file = NAME comes first", "%s of no file", key);
    gb_source_file *file = &source->files[source->file_count - 1];
    if (!strcmp(key, "header"))
        return set_once(lines, &file->header, value, status);
    if (!strcmp(key, "url")) {
        if (strncmp(value, "http://", 7) != 0 && strncmp(value, "https://", 8) != 0)
            return gb_lines_fail(lines, status, "give a http or https address", "not an address");
        if (!gb_grow(&file->urls, &file->url_space, file->url_count + 1, sizeof *file->urls,
                     status) ||
            !(file->urls[file->url_count] = gb_strdup(value, status)))
            return false;
        file->url_count++;
        return true;
    }
    gb_version version;
    if (!parse_version(lines, value, &version, status) ||
        !gb_grow(&file->versions, &file->version_space, file->version_count + 1,
                 sizeof *file->versions, status))
        return false;
    file->versions[file->version_count++] = version;
    return true;
}

static bool read_line(const gb_lines *lines, gb_manifest *manifest, char *line, gb_status *status)
{
    for (size_t end = strlen(line); end && strchr(" \t", line[end - 1]);)
        line[--end] = '\0';
    line += strspn(line, " \t");
    if (!*line || *line == '#')
        return true;
    if (*line == '[')
        return add_source(lines, manifest, line, status);
    char *value = strstr(line, " = ");
    if (!value || manifest->count == 0)
        return gb_lines_fail(lines, status, "lines are \"key = value\" below a [NAME]",
                             "neither an entry nor a value");
    *value = '\0';
    value += 3;
    gb_source *source = &manifest->sources[manifest->count - 1];
    if (!strcmp(line, "about"))
        return set_once(lines, &source->about, value, status);
    if (!strcmp(line, "terms"))
        return set_once(lines, &source->terms, value, status);
    if (!strcmp(line, "unpack"))
        return set_once(lines, &source->unpack, value, status);
    if (!strcmp(line, "drop_identical"))
        return set_rule(lines, &source->drop_identical, value, status);
    if (!strcmp(line, "count"))
        return add_count(lines, source, value, status);
    if (!strcmp(line, "file"))
        return add_file(lines, source, value, status);
    if (!strcmp(line, "url") || !strcmp(line, "header") || !strcmp(line, "version"))
        return file_line(lines, source, line, value, status);
    return gb_lines_fail(lines, status, "see datasets/README.md", "unknown key \"%.40s\"", line);
}

/* Every entry can be shown and fetched. */
static bool check_whole(const gb_manifest *manifest, const char *path, gb_status *status)
{
    for (size_t i = 0; i < manifest->count; i++) {
        const gb_source *source = &manifest->sources[i];
        if (!source->about || !source->terms)
            return gb_fail(
                status, GB_DATA, path, "every entry says what it is and under what terms",
                "[%.80s] has no \"%s\"", source->name, source->about ? "terms" : "about");
    }
    return true;
}

bool gb_manifest_read(const char *path, gb_manifest *manifest, gb_status *status)
{
    gb_manifest fresh = {0};
    gb_lines *lines = gb_lines_open(path, status);
    char *line;
    size_t length;
    int got = lines ? 1 : -1;
    while (got == 1 && (got = gb_lines_next(lines, &line, &length, status)) == 1) {
        if (!gb_utf8_valid(line, length) || memchr(line, '\0', length))
            gb_lines_fail(lines, status, "save the file as UTF-8", "invalid UTF-8");
        else if (read_line(lines, &fresh, line, status))
            continue;
        got = -1;
    }
    gb_lines_close(lines);
    if (got == 0 && check_whole(&fresh, path, status)) {
        *manifest = fresh;
        return true;
    }
    gb_manifest_free(&fresh);
    return false;
}

/* ---- asking ---- */

const gb_source *gb_manifest_find(const gb_manifest *manifest, const char *name, gb_status *status)
{
    char near[200] = "";
    for (size_t i = 0; i < manifest->count; i++) {
        const char *other = manifest->sources[i].name;
        if (!strcmp(other, name))
            return &manifest->sources[i];
        size_t used = strlen(near);
        if (strstr(other, name) && used + strlen(other) + 3 < sizeof near)
            snprintf(near + used, sizeof near - used, "%s%s", used ? ", " : "", other);
    }
    gb_fail(status, GB_USAGE, NULL, "gabbro data list shows all", "no entry \"%.80s\"%s%s", name,
            near[0] ? "; there is " : "", near);
    return NULL;
}

const gb_source *gb_manifest_match(const gb_manifest *manifest, const char *path)
{
    size_t length;
    const char *name = gb_path_name(path, &length);
    for (size_t i = 0; i < manifest->count; i++)
        if (strlen(manifest->sources[i].name) == length &&
            !strncmp(manifest->sources[i].name, name, length))
            return &manifest->sources[i];
    return NULL;
}

const gb_version *gb_version_newest(const gb_source_file *file)
{
    return file->version_count ? &file->versions[file->version_count - 1] : NULL;
}

uint64_t gb_newest_bytes(const gb_source_file *file)
{
    const gb_version *newest = gb_version_newest(file);
    return newest ? newest->bytes : 0;
}

uint64_t gb_source_bytes(const gb_source *source, uint32_t *unknown)
{
    uint64_t bytes = 0;
    *unknown = 0;
    for (size_t i = 0; i < source->file_count; i++) {
        uint64_t size = gb_newest_bytes(&source->files[i]);
        bytes += size;
        *unknown += size == 0;
    }
    return bytes;
}

/* ---- where it is ---- */

char *gb_manifest_path(const gb_config *config, const char *given, gb_status *status)
{
    const char *named = given ? given : config->manifest;
    if (named && named[0])
        return gb_strdup(named, status);
    char *found = gb_installed_file("datasets/manifest");
    if (!found)
        gb_fail(status, GB_USAGE, NULL, "give --manifest FILE or set GABBRO_MANIFEST",
                "the manifest of datasets was not found");
    return found;
}
