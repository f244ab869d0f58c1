/* sentencepiece's table of replacements, "precompiled_charsmap": 4 bytes with the size of a
 * double-array trie (Aoe, 1989, as Darts-clone stores it: units of 32 bits), the trie, and the
 * replacements, each ended by a zero byte. The trie gives the place of a replacement among them. */
#include "text/tokenizer.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/ubrk.h>

#define GRAPHEME_BYTES 6 /* longer graphemes are replaced character by character alone */

typedef struct charsmap {
    const unsigned char *units; /* [count] of 4 bytes each, little endian */
    uint32_t count;             /* units */
    const char *words;          /* replacements */
    size_t words_length;        /* bytes of them */
} charsmap;

static uint32_t word_at(const unsigned char *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static bool open_map(const unsigned char *bytes, size_t length, charsmap *map)
{
    uint32_t size = length >= 4 ? word_at(bytes) : 0;
    if (length < 4 || size % 4 || size > length - 4)
        return false;
    *map = (charsmap){bytes + 4, size / 4, (const char *)bytes + 4 + size, length - 4 - size};
    return map->count > 0 && map->words_length > 0 && map->words[map->words_length - 1] == '\0';
}

bool text_charsmap_check(const void *bytes, size_t length)
{
    charsmap map;
    return open_map(bytes, length, &map);
}

/* Distance from a unit to its children. */
static uint32_t offset_of(uint32_t unit)
{
    return (unit >> 10) << ((unit & (1u << 9)) >> 6);
}

/* The replacement of the shortest beginning of text that has one, as Hugging Face takes it; or
 * NULL.
 */
static const char *find(const charsmap *map, const char *text, size_t length)
{
    uint32_t at = 0, unit = word_at(map->units);
    at ^= offset_of(unit);
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)text[i];
        at ^= byte;
        if (byte == 0 || at >= map->count)
            return NULL;
        unit = word_at(map->units + (size_t)at * 4);
        if ((unit & (1u << 31 | 0xFF)) != byte)
            return NULL;
        at ^= offset_of(unit);
        if (unit >> 8 & 1) { /* something ends here */
            if (at >= map->count)
                return NULL;
            uint32_t value = word_at(map->units + (size_t)at * 4) & 0x7FFFFFFF;
            return value < map->words_length ? map->words + value : NULL;
        }
    }
    return NULL;
}

/* A grapheme as a whole where it has a replacement, else its characters. */
static void put_grapheme(const charsmap *map, const char *text, size_t length, gb_text *out)
{
    const char *whole = length < GRAPHEME_BYTES ? find(map, text, length) : NULL;
    if (whole) {
        gb_text_append(out, whole, strlen(whole));
        return;
    }
    for (size_t at = 0, next = 0; at < length; at = next) {
        text_unicode_next(text, length, &next);
        const char *by = find(map, text + at, next - at);
        if (by)
            gb_text_append(out, by, strlen(by));
        else
            gb_text_append(out, text + at, next - at);
    }
}

static UBreakIterator *graphemes_of(const char *text, size_t length, UText *utext)
{
    UErrorCode code = U_ZERO_ERROR;
    UBreakIterator *graphemes = ubrk_open(UBRK_CHARACTER, "", NULL, 0, &code);
    utext_openUTF8(utext, text, (int64_t)length, &code);
    if (graphemes)
        ubrk_setUText(graphemes, utext, &code);
    if (U_SUCCESS(code))
        return graphemes;
    ubrk_close(graphemes);
    return NULL;
}

/* Plain ASCII needs no rules of graphemes. */
static bool is_ascii(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)text[i] >= 0x80 || text[i] == '\r')
            return false;
    return true;
}

bool text_charsmap_apply(const unsigned char *bytes, size_t map_length, const char *text,
                         size_t length, gb_text *out, gb_status *status)
{
    charsmap map;
    if (!open_map(bytes, map_length, &map))
        return gb_fail(status, GB_INTERNAL, NULL, NULL, "a damaged table of replacements");
    if (is_ascii(text, length)) {
        for (size_t i = 0; i < length; i++)
            put_grapheme(&map, text + i, 1, out);
        return true;
    }
    UText utext = UTEXT_INITIALIZER;
    UBreakIterator *graphemes = graphemes_of(text, length, &utext);
    if (graphemes) {
        int32_t from = ubrk_first(graphemes), end;
        while ((end = ubrk_next(graphemes)) != UBRK_DONE) {
            put_grapheme(&map, text + from, (size_t)(end - from), out);
            from = end;
        }
    }
    ubrk_close(graphemes);
    utext_close(&utext);
    return graphemes || gb_fail_memory(status, "normalising a text");
}
