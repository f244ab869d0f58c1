/* Base 64 (RFC 4648), as JSON holds bytes. */
#include "gabbro/base.h"

#include <stdlib.h>
#include <string.h>

static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

unsigned char *gb_base64_read(const char *text, size_t length, size_t *bytes, gb_status *status)
{
    unsigned char *out = gb_alloc(length / 4 * 3 + 3, 1, status);
    if (!out)
        return NULL;
    uint32_t held = 0;
    int bits = 0;
    *bytes = 0;
    while (length && text[length - 1] == '=')
        length--;
    for (size_t i = 0; i < length; i++) {
        const char *digit = text[i] ? strchr(digits, text[i]) : NULL;
        if (!digit) {
            gb_fail(status, GB_DATA, NULL, NULL, "a text that should be base 64 is not");
            free(out);
            return NULL;
        }
        held = held << 6 | (uint32_t)(digit - digits);
        if ((bits += 6) >= 8) {
            bits -= 8;
            out[(*bytes)++] = (unsigned char)(held >> bits);
        }
    }
    return out;
}

void gb_base64_append(gb_text *text, const void *bytes, size_t length)
{
    const unsigned char *from = bytes;
    for (size_t i = 0; i < length; i += 3) {
        unsigned char three[3] = {0};
        size_t count = length - i < 3 ? length - i : 3;
        memcpy(three, from + i, count);
        uint32_t held = (uint32_t)three[0] << 16 | (uint32_t)three[1] << 8 | three[2];
        for (size_t d = 0; d < 4; d++)
            gb_text_append(text, d <= count ? &digits[held >> (18 - 6 * d) & 63] : "=", 1);
    }
}
