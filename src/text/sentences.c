/* Sentences by ICU's break iterator: Unicode's rules (UAX 29), root locale. */
#include "gabbro/text.h"
#include "text/unicode.h"

#include <unicode/ubrk.h>
#include <unicode/utext.h>

static bool icu_fail(gb_status *status, UErrorCode code)
{
    if (code == U_MEMORY_ALLOCATION_ERROR)
        return gb_fail_memory(status, "finding sentences");
    return gb_fail(status, GB_INTERNAL, NULL, "install ICU with its data (Debian: libicu72)",
                   "ICU cannot find sentences: %s", u_errorName(code));
}

/* Trim white space from both ends of text[span). */
static gb_span trim(const char *text, gb_span span)
{
    gb_span kept = {span.end, span.end};
    for (size_t at = span.start; at < span.end;) {
        size_t from = at;
        int32_t c = text_unicode_next(text, span.end, &at);
        if (c >= 0 && text_unicode_is_white_space(c))
            continue;
        if (kept.start == span.end)
            kept.start = from;
        kept.end = at;
    }
    return kept;
}

static bool collect(UBreakIterator *breaks, const char *text, gb_span **spans, size_t *capacity,
                    size_t *count, gb_status *status)
{
    size_t found = 0;
    int32_t start = ubrk_first(breaks);
    for (int32_t end; (end = ubrk_next(breaks)) != UBRK_DONE; start = end) {
        gb_span span = trim(text, (gb_span){(size_t)start, (size_t)end});
        if (span.start == span.end)
            continue;
        if (!gb_grow(spans, capacity, found + 1, sizeof **spans, status))
            return false;
        (*spans)[found++] = span;
    }
    *count = found;
    return true;
}

bool gb_sentences(const char *text, size_t length, gb_span **spans, size_t *capacity, size_t *count,
                  gb_status *status)
{
    if (length > INT32_MAX)
        return gb_fail(status, GB_DATA, NULL, "cut the text into documents",
                       "a text of %zu bytes is too long; the limit is 2^31 - 1", length);
    UErrorCode code = U_ZERO_ERROR;
    UText view = UTEXT_INITIALIZER;
    utext_openUTF8(&view, text, (int64_t)length, &code);
    UBreakIterator *breaks = ubrk_open(UBRK_SENTENCE, "root", NULL, 0, &code);
    if (U_SUCCESS(code))
        ubrk_setUText(breaks, &view, &code);
    bool ok = U_SUCCESS(code) ? collect(breaks, text, spans, capacity, count, status)
                              : icu_fail(status, code);
    ubrk_close(breaks);
    utext_close(&view);
    return ok;
}
