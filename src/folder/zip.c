/* The members of a zip file that lie in it uncompressed, as torch writes them. All is read from the
 * directory at the end of the file:
 *   members ... directory [end of directory, 64 bits] [its place] end of directory
 * (PKWARE, APPNOTE 6.3, sections 4.3.7 to 4.3.16). */
#include "folder/internal.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#define END_BYTES     22    /* of the end of the directory */
#define PLACE_BYTES   20    /* of the place of its twin of 64 bits */
#define END_64_BYTES  56    /* of that */
#define ENTRY_BYTES   46    /* of an entry of the directory, without its name */
#define LOCAL_BYTES   30    /* of the header before a member, without its name */
#define COMMENT_LIMIT 65535 /* behind the end of the directory */
#define ENCRYPTED     1     /* flag of a member */
#define EXTRA_64      1     /* extra field with numbers of 64 bits */
#define MOST_MEMBERS  (1u << 20)

static const char damaged[] = "the file is damaged or cut short; fetch or write it again";

typedef struct source {
    const char *path;           /* file */
    const unsigned char *bytes; /* its contents */
    size_t size;                /* bytes */
} source;

static uint64_t little(const unsigned char *at, int bytes)
{
    uint64_t value = 0;
    for (int i = bytes - 1; i >= 0; i--)
        value = value << 8 | at[i];
    return value;
}

/* Whether [first, first + bytes) lies in the file. */
static bool inside(const source *s, uint64_t first, uint64_t bytes)
{
    return first <= s->size && bytes <= s->size - first;
}

static bool signature(const source *s, uint64_t at, unsigned char a, unsigned char b)
{
    return s->bytes[at] == 'P' && s->bytes[at + 1] == 'K' && s->bytes[at + 2] == a &&
           s->bytes[at + 3] == b;
}

/* Where the directory lies and how many entries it has. */
typedef struct directory {
    uint64_t first, bytes; /* place in the file */
    uint64_t count;        /* entries */
} directory;

static bool find_directory(const source *s, directory *d, gb_status *status)
{
    size_t least = s->size > END_BYTES + COMMENT_LIMIT ? s->size - END_BYTES - COMMENT_LIMIT : 0;
    size_t end = s->size < END_BYTES ? 0 : s->size - END_BYTES;
    while (s->size >= END_BYTES && end > least && !signature(s, end, 5, 6))
        end--;
    if (s->size < END_BYTES || !signature(s, end, 5, 6))
        return gb_fail(status, GB_DATA, s->path, damaged, "the zip has no directory at its end");
    *d = (directory){.first = little(s->bytes + end + 16, 4),
                     .bytes = little(s->bytes + end + 12, 4),
                     .count = little(s->bytes + end + 10, 2)};
    if (end >= PLACE_BYTES && signature(s, end - PLACE_BYTES, 6, 7)) {
        uint64_t wide = little(s->bytes + end - PLACE_BYTES + 8, 8);
        if (!inside(s, wide, END_64_BYTES) || !signature(s, wide, 6, 6))
            return gb_fail(status, GB_DATA, s->path, damaged,
                           "the zip's directory of 64 bits is not where it should be");
        *d = (directory){.first = little(s->bytes + wide + 48, 8),
                         .bytes = little(s->bytes + wide + 40, 8),
                         .count = little(s->bytes + wide + 32, 8)};
    }
    if (!inside(s, d->first, d->bytes) || d->count > d->bytes / ENTRY_BYTES ||
        d->count > MOST_MEMBERS)
        return gb_fail(status, GB_DATA, s->path, damaged,
                       "the zip's directory does not lie in the file");
    return true;
}

/* Numbers of an entry that do not fit 32 bits lie in an extra field, in this order. */
static bool widen(const unsigned char *extra, uint64_t length, uint64_t *numbers[3])
{
    bool needed =
        *numbers[0] == UINT32_MAX || *numbers[1] == UINT32_MAX || *numbers[2] == UINT32_MAX;
    for (uint64_t at = 0; needed && at + 4 <= length;) {
        uint64_t kind = little(extra + at, 2), bytes = little(extra + at + 2, 2);
        if (bytes > length - at - 4)
            return false;
        if (kind == EXTRA_64) {
            uint64_t used = 0;
            for (int i = 0; i < 3; i++) {
                if (*numbers[i] != UINT32_MAX)
                    continue;
                if (used + 8 > bytes)
                    return false;
                *numbers[i] = little(extra + at + 4 + used, 8);
                used += 8;
            }
            return true;
        }
        at += 4 + bytes;
    }
    return !needed;
}

/* The entry at *at of the directory, which ends at `end`; *at moves behind it. */
static bool read_entry(const source *s, uint64_t *at, uint64_t end, gb_arena *arena,
                       folder_member *member, gb_status *status)
{
    const unsigned char *e = s->bytes + *at;
    if (end - *at < ENTRY_BYTES || !signature(s, *at, 1, 2))
        return gb_fail(status, GB_DATA, s->path, damaged, "an entry of the zip is damaged");
    uint64_t name = little(e + 28, 2), extra = little(e + 30, 2), comment = little(e + 32, 2);
    uint64_t stored = little(e + 20, 4), bytes = little(e + 24, 4), local = little(e + 42, 4);
    uint64_t *numbers[] = {&bytes, &stored, &local};
    if (end - *at - ENTRY_BYTES < name + extra + comment ||
        !widen(e + ENTRY_BYTES + name, extra, numbers))
        return gb_fail(status, GB_DATA, s->path, damaged, "an entry of the zip is cut short");
    *at += ENTRY_BYTES + name + extra + comment;
    member->name = gb_arena_strdup(arena, (const char *)e + ENTRY_BYTES, name, status);
    if (!member->name)
        return false;
    if (little(e + 8, 2) & ENCRYPTED || little(e + 10, 2) != 0 || stored != bytes)
        return gb_fail(status, GB_DATA, s->path, "write it with torch.save",
                       "%.100s is packed or encrypted", member->name);
    if (!inside(s, local, LOCAL_BYTES) || !signature(s, local, 3, 4))
        return gb_fail(status, GB_DATA, s->path, damaged, "%.100s does not lie in the zip",
                       member->name);
    const unsigned char *l = s->bytes + local;
    uint64_t first = local + LOCAL_BYTES + little(l + 26, 2) + little(l + 28, 2);
    if (!inside(s, first, bytes))
        return gb_fail(status, GB_DATA, s->path, damaged, "%.100s is cut short", member->name);
    member->data = s->bytes + first;
    member->bytes = bytes;
    member->crc = (uint32_t)little(e + 16, 4);
    return true;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const folder_member *)a)->name, ((const folder_member *)b)->name);
}

bool folder_zip_read(const char *path, const unsigned char *bytes, size_t size, gb_arena *arena,
                     folder_zip *zip, gb_status *status)
{
    source s = {path, bytes, size};
    directory d = {0};
    *zip = (folder_zip){0};
    if (!find_directory(&s, &d, status))
        return false;
    zip->members = gb_arena_alloc(arena, (size_t)d.count * sizeof *zip->members + 1, status);
    if (!zip->members)
        return false;
    uint64_t at = d.first;
    for (; zip->count < d.count; zip->count++)
        if (!read_entry(&s, &at, d.first + d.bytes, arena, &zip->members[zip->count], status))
            return false;
    qsort(zip->members, zip->count, sizeof *zip->members, by_name);
    for (size_t i = 1; i < zip->count; i++)
        if (strcmp(zip->members[i - 1].name, zip->members[i].name) == 0)
            return gb_fail(status, GB_DATA, path, damaged, "%.100s is in the zip twice",
                           zip->members[i].name);
    return true;
}

const folder_member *folder_zip_find(const folder_zip *zip, const char *name)
{
    folder_member key = {.name = name};
    return zip->count ? bsearch(&key, zip->members, zip->count, sizeof key, by_name) : NULL;
}

bool folder_member_check(const folder_member *member, const char *path, gb_status *status)
{
    uLong crc = crc32(0, NULL, 0);
    for (uint64_t at = 0; at < member->bytes;) {
        uint64_t rest = member->bytes - at, part = rest < (1u << 30) ? rest : 1u << 30;
        crc = crc32(crc, member->data + at, (uInt)part);
        at += part;
    }
    return crc == member->crc ||
           gb_fail(status, GB_DATA, path, damaged, "%.100s has another checksum than the zip says",
                   member->name);
}
