/* Growable text, formatted strings, UTF-8 validity. */
#include "gabbro/base.h"

#include <stdlib.h>
#include <string.h>

char *gb_format(gb_status *status, const char *fmt, ...)
{
    char *text = NULL;
    va_list args;
    va_start(args, fmt);
    int length = gb_fault(GB_FAULT_MEMORY) ? -1 : vasprintf(&text, fmt, args);
    va_end(args);
    if (length < 0) {
        gb_fail_memory(status, "formatting text");
        return NULL;
    }
    return text;
}

/* Room for `extra` bytes and the NUL. */
static bool text_room(gb_text *text, size_t extra)
{
    if (text->failed)
        return false;
    if (extra > SIZE_MAX / 2 - text->length ||
        !gb_grow(&text->data, &text->capacity, text->length + extra + 1, 1, NULL))
        text->failed = true;
    return !text->failed;
}

void gb_text_append(gb_text *text, const char *bytes, size_t length)
{
    if (!text_room(text, length))
        return;
    if (length)
        memcpy(text->data + text->length, bytes, length);
    text->length += length;
    text->data[text->length] = '\0';
}

void gb_text_printf(gb_text *text, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    int length = vsnprintf(NULL, 0, fmt, args);
    va_end(args);
    if (length < 0) {
        text->failed = true;
        return;
    }
    if (!text_room(text, (size_t)length))
        return;
    va_start(args, fmt);
    vsnprintf(text->data + text->length, (size_t)length + 1, fmt, args);
    va_end(args);
    text->length += (size_t)length;
}

const char *gb_text_words(const gb_text *part, gb_text *out)
{
    out->failed = out->failed || part->failed;
    return part->failed || !part->data ? "" : part->data;
}

void gb_text_free(gb_text *text)
{
    if (!text)
        return;
    free(text->data);
    *text = (gb_text){0};
}

const char *gb_format_double(double value, char digits[40])
{
    for (int precision = 1; precision <= 17; precision++) {
        snprintf(digits, 40, "%.*g", precision, value);
        if (strtod(digits, NULL) == value)
            break;
    }
    return digits;
}

void gb_text_shell_word(gb_text *text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_./:=+,@%-";
    if (*word && !word[strspn(word, plain)]) {
        gb_text_printf(text, "%s", word);
        return;
    }
    gb_text_append(text, "'", 1);
    for (; *word; word++)
        if (*word == '\'')
            gb_text_printf(text, "'\\''");
        else
            gb_text_append(text, word, 1);
    gb_text_append(text, "'", 1);
}

size_t gb_utf8_step(const unsigned char *s, size_t n)
{
    unsigned char lead = s[0], low = 0x80, high = 0xBF;
    if (lead < 0x80)
        return 1;
    size_t need = lead >= 0xC2 && lead <= 0xDF ? 2 : lead >= 0xE0 && lead <= 0xEF ? 3 : 4;
    if (lead < 0xC2 || lead > 0xF4 || n < need)
        return 0;
    if (lead == 0xE0)
        low = 0xA0; /* shorter forms exist */
    else if (lead == 0xED)
        high = 0x9F; /* surrogates */
    else if (lead == 0xF0)
        low = 0x90; /* shorter forms exist */
    else if (lead == 0xF4)
        high = 0x8F; /* above U+10FFFF */
    if (s[1] < low || s[1] > high)
        return 0;
    for (size_t i = 2; i < need; i++)
        if ((s[i] & 0xC0) != 0x80)
            return 0;
    return need;
}

bool gb_utf8_valid(const char *bytes, size_t length)
{
    const unsigned char *s = (const unsigned char *)bytes;
    for (size_t i = 0; i < length;) {
        size_t step = gb_utf8_step(s + i, length - i);
        if (!step)
            return false;
        i += step;
    }
    return true;
}

const char *gb_next_word(const char **list, char separator, size_t *length)
{
    const char *word = *list;
    if (!*word)
        return NULL;
    const char *end = strchr(word, separator);
    *length = end ? (size_t)(end - word) : strlen(word);
    *list = end ? end + 1 : word + *length;
    return word;
}

bool gb_ends_with(const char *text, size_t length, const char *end)
{
    size_t size = strlen(end);
    return length >= size && memcmp(text + length - size, end, size) == 0;
}
