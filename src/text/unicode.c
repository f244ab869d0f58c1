/* Character properties: utf8proc for categories and mappings, ICU for ages and white space. */
#include "text/unicode.h"

#include <unicode/uchar.h>
#include <utf8proc.h>

/* Unicode versions of the tables inside Hugging Face's tokenizers (found by comparing every
 * character with tokenizers 0.23.3). */
enum { CATEGORY_VERSION = 8, NORMALIZATION_VERSION = 9 };

int32_t text_unicode_next(const char *bytes, size_t length, size_t *at)
{
    const utf8proc_uint8_t *from = (const utf8proc_uint8_t *)bytes + *at;
    utf8proc_int32_t c = -1;
    size_t left = length - *at;
    utf8proc_ssize_t used = utf8proc_iterate(from, left < 4 ? (utf8proc_ssize_t)left : 4, &c);
    if (used <= 0) {
        *at += 1;
        return -1;
    }
    *at += (size_t)used;
    return c;
}

size_t text_unicode_put(int32_t c, char out[4])
{
    return (size_t)utf8proc_encode_char(c, (utf8proc_uint8_t *)out);
}

size_t text_unicode_count(const char *bytes, size_t length)
{
    size_t count = 0;
    for (size_t i = 0; i < length; i++)
        count += ((unsigned char)bytes[i] & 0xC0) != 0x80;
    return count;
}

bool text_unicode_is_white_space(int32_t c)
{
    return u_isUWhiteSpace(c);
}

bool text_unicode_is_letter(int32_t c)
{
    utf8proc_category_t category = utf8proc_category(c);
    return category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
}

bool text_unicode_is_number(int32_t c)
{
    utf8proc_category_t category = utf8proc_category(c);
    return category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
}

bool text_unicode_is_word(int32_t c)
{
    enum { WORD = U_GC_M_MASK | U_GC_ND_MASK | U_GC_PC_MASK };
    return u_isUAlphabetic(c) || (U_MASK(u_charType(c)) & WORD) ||
           u_hasBinaryProperty(c, UCHAR_JOIN_CONTROL);
}

/* Whether c was encoded in Unicode `version` or before. */
static bool known_in(int32_t c, int version)
{
    UVersionInfo age;
    u_charAge(c, age);
    return age[0] < version || (age[0] == version && age[1] == 0);
}

bool text_bert_is_dropped(int32_t c)
{
    switch (utf8proc_category(c)) {
    case UTF8PROC_CATEGORY_CC:
        return c != '\t' && c != '\n' && c != '\r';
    case UTF8PROC_CATEGORY_CO:
        return true;
    case UTF8PROC_CATEGORY_CF:
        return known_in(c, CATEGORY_VERSION);
    default:
        return c == 0xFFFD;
    }
}

bool text_bert_is_space(int32_t c)
{
    return text_unicode_is_white_space(c);
}

bool text_bert_is_cjk(int32_t c)
{
    /* U+2B820..U+2B91F are left out by Hugging Face, unlike in Google's first code. */
    return (c >= 0x4E00 && c <= 0x9FFF) || (c >= 0x3400 && c <= 0x4DBF) ||
           (c >= 0x20000 && c <= 0x2A6DF) || (c >= 0x2A700 && c <= 0x2B81F) ||
           (c >= 0x2B920 && c <= 0x2CEAF) || (c >= 0xF900 && c <= 0xFAFF) ||
           (c >= 0x2F800 && c <= 0x2FA1F);
}

bool text_bert_is_punctuation(int32_t c)
{
    if (c < 0x80)
        return (c >= 33 && c <= 47) || (c >= 58 && c <= 64) || (c >= 91 && c <= 96) ||
               (c >= 123 && c <= 126);
    utf8proc_category_t category = utf8proc_category(c);
    if (category < UTF8PROC_CATEGORY_PC || category > UTF8PROC_CATEGORY_PO)
        return c == 0x166D || c == 0x111C9; /* punctuation in Unicode 8 only */
    return known_in(c, CATEGORY_VERSION);
}

bool text_bert_is_accent(int32_t c)
{
    if (utf8proc_category(c) != UTF8PROC_CATEGORY_MN)
        return c == 0x1734; /* Mn in Unicode 8, Mc today */
    /* Of these the category was another one in Unicode 8. */
    return c != 0x1885 && c != 0x1886 && c != 0xA9BD && c != 0x111C9 &&
           known_in(c, CATEGORY_VERSION);
}

int32_t text_bert_lower(int32_t c)
{
    return utf8proc_tolower(c);
}

size_t text_bert_decompose(int32_t c, int32_t out[UNICODE_MAX_DECOMPOSED])
{
    utf8proc_ssize_t count = 1;
    int boundary = 0;
    out[0] = c;
    if (known_in(c, NORMALIZATION_VERSION))
        count =
            utf8proc_decompose_char(c, out, UNICODE_MAX_DECOMPOSED, UTF8PROC_DECOMPOSE, &boundary);
    if (count < 1 || count > UNICODE_MAX_DECOMPOSED) {
        out[0] = c;
        return 1;
    }
    return (size_t)count;
}

int text_bert_combining_class(int32_t c)
{
    int combining = utf8proc_get_property(c)->combining_class;
    return combining && known_in(c, NORMALIZATION_VERSION) ? combining : 0;
}
