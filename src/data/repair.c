/* Text that was encoded twice: UTF-8 taken for Latin-1 and encoded again. */
#include "data/import.h"

#include <stdlib.h>

/* A character of U+0080..U+00FF at text: its code, else 0. */
static unsigned char latin(const unsigned char *text, size_t left)
{
    if (left < 2 || (text[0] != 0xc2 && text[0] != 0xc3))
        return 0;
    return (unsigned char)((text[0] & 3) << 6 | (text[1] & 0x3f));
}

/* The bytes of one UTF-8 character, said in Latin-1 characters from text on: how many, else 0. */
static size_t wrapped(const unsigned char *text, size_t left, char bytes[4])
{
    unsigned char first = latin(text, left);
    size_t count = first >= 0xc2 && first < 0xe0   ? 2
                   : first >= 0xe0 && first < 0xf0 ? 3
                   : first >= 0xf0 && first < 0xf5 ? 4
                                                   : 0;
    for (size_t i = 0; i < count; i++) {
        unsigned char byte = 2 * i < left ? latin(text + 2 * i, left - 2 * i) : 0;
        if (!byte)
            return 0;
        bytes[i] = (char)byte;
    }
    return count && gb_utf8_valid(bytes, count) ? count : 0;
}

bool data_repair_utf8(const char *text, size_t length, gb_text *out)
{
    const unsigned char *bytes = (const unsigned char *)text;
    size_t kept = 0;
    bool changed = false;
    gb_text_append(out, "", 0);
    for (size_t at = 0; at < length;) {
        char character[4];
        size_t count = wrapped(bytes + at, length - at, character);
        if (!count) {
            at++;
            continue;
        }
        gb_text_append(out, text + kept, at - kept);
        gb_text_append(out, character, count);
        at += 2 * count;
        kept = at;
        changed = true;
    }
    gb_text_append(out, text + kept, length - kept);
    return changed;
}
