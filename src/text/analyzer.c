/* Terms as Lucene's EnglishAnalyzer makes them. */
#include "gabbro/text.h"
#include "text/porter.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/ubrk.h>
#include <unicode/ustring.h>
#include <unicode/utext.h>

/* Words as Lucene's StandardTokenizer finds them: the word rules of UAX 29 without tailoring; runs
 * of South East Asian scripts stay whole, Han and Hiragana are cut into single characters, emoji
 * sequences (UTS 51) are words. The longest match wins; one with a status above 0 is a word.
 * Names: x is what may follow a character without a break (WB4); A letter, N digit, K katakana,
 * H Hebrew letter, J joiner such as "_", L and M what may stand between letters or digits. */
static const char word_rules[] =
    "$x = [[[:WB=Extend:][:WB=Format:][:WB=ZWJ:]]-[:Emoji_Modifier:]]*;"
    "$A = [[:WB=ALetter:][:WB=Hebrew_Letter:]] $x;"
    "$N = [[:WB=Numeric:][[:Block=Halfwidth_And_Fullwidth_Forms:]&[:Nd:]]] $x;"
    "$K = [:WB=Katakana:] $x;"
    "$H = [:WB=Hebrew_Letter:] $x;"
    "$J = [:WB=ExtendNumLet:] $x;"
    "$L = [[:WB=MidLetter:][:WB=MidNumLet:][:WB=Single_Quote:]] $x;"
    "$M = [[:WB=MidNum:][:WB=MidNumLet:][:WB=Single_Quote:]] $x;"
    /* WB5 to WB13: letters and digits in any mixture, or katakana. */
    "$letters = $A ($L? $A)*;"
    "$digits = $N ($M? $N)*;"
    "$hebrew = $H ([:WB=Single_Quote:] $x | [:WB=Double_Quote:] $x $H);"
    "$part = ($letters | $digits | $hebrew)+ | $K+;"
    /* WB13a, WB13b: joiners between parts and around them. */
    "$J* $part ($J+ $part)* $J* {1};"
    /* Beyond UAX 29. */
    "([:LB=Complex_Context:] $x)+ {1};"
    "[[:Script=Han:][:Script=Hiragana:]] $x {1};"
    /* Emoji. A presentation selector must not vanish into what may follow a character. */
    "$y = [[[:WB=Extend:][:WB=Format:][:WB=ZWJ:]]-[:Emoji_Modifier:]"
    "-[\\uFE0E\\uFE0F]]*;"
    "$picture = [[:Extended_Pictographic:][[:Emoji:]-[:WB=Regional_Indicator:]"
    "-[:Emoji_Modifier:]-[0-9#*\\u00A9\\u00AE\\u2122\\u3030\\u303D]]] $y;"
    "$modified = ([:WB=ZWJ:]* [:Emoji_Modifier_Base:] $y)? [:Emoji_Modifier:] $y;"
    "$emoji = [:WB=ZWJ:]* $picture \\uFE0F? | $modified;"
    "$emoji (([:WB=ZWJ:] $emoji)* | [\\U000E0020-\\U000E007E]+ \\U000E007F) {1};"
    "[0-9#*] $y \\uFE0F? \\u20E3 $y {1};"
    "[:WB=Regional_Indicator:] $x [:WB=Regional_Indicator:] $x {1};"
    ".;";

enum { MAX_TERM_UNITS = 255 }; /* Lucene cuts longer words into pieces of so many UTF-16 units */

struct gb_analyzer {
    UBreakIterator *breaks; /* with word_rules */
    char *term;             /* the term being made */
    size_t capacity;        /* bytes allocated for term */
};

static const char *const stop_words[] = {
    "a",   "an",    "and",  "are",   "as",    "at",   "be",   "but", "by",  "for",  "if",
    "in",  "into",  "is",   "it",    "no",    "not",  "of",   "on",  "or",  "such", "that",
    "the", "their", "then", "there", "these", "they", "this", "to",  "was", "will", "with",
};

bool gb_is_stop_word(const char *word, size_t length)
{
    if (length > 5)
        return false;
    for (size_t i = 0; i < sizeof stop_words / sizeof *stop_words; i++)
        if (strlen(stop_words[i]) == length && memcmp(stop_words[i], word, length) == 0)
            return true;
    return false;
}

static bool icu_fail(gb_status *status, UErrorCode code)
{
    if (code == U_MEMORY_ALLOCATION_ERROR)
        return gb_fail_memory(status, "finding words");
    return gb_fail(status, GB_INTERNAL, NULL, "install ICU with its data (Debian: libicu72)",
                   "ICU cannot find words: %s", u_errorName(code));
}

gb_analyzer *gb_analyzer_create(gb_status *status)
{
    gb_analyzer *analyzer = gb_alloc(1, sizeof *analyzer, status);
    if (!analyzer)
        return NULL;
    UChar rules[sizeof word_rules];
    u_charsToUChars(word_rules, rules, sizeof word_rules);
    UErrorCode code = U_ZERO_ERROR;
    analyzer->breaks = ubrk_openRules(rules, sizeof word_rules - 1, NULL, 0, NULL, &code);
    if (U_FAILURE(code)) {
        icu_fail(status, code);
        gb_analyzer_destroy(analyzer);
        return NULL;
    }
    return analyzer;
}

void gb_analyzer_destroy(gb_analyzer *analyzer)
{
    if (!analyzer)
        return;
    ubrk_close(analyzer->breaks);
    free(analyzer->term);
    free(analyzer);
}

/* ---- terms ---- */

/* One call of gb_analyze. */
typedef struct analysis {
    gb_analyzer *analyzer;                                     /* whose */
    bool (*term)(void *ctx, const char *bytes, size_t length); /* takes a term */
    void *ctx;                                                 /* for term */
    gb_status *status;                                         /* where a failure is told */
} analysis;

/* UTF-16 units of valid UTF-8. */
static size_t count_units(const char *bytes, size_t length)
{
    size_t units = 0;
    for (size_t i = 0; i < length; i++) {
        unsigned char byte = (unsigned char)bytes[i];
        units += ((byte & 0xC0) != 0x80) + (byte >= 0xF0);
    }
    return units;
}

/* Bytes of the longest start of the word that has at most MAX_TERM_UNITS. */
static size_t piece_length(const char *word, size_t length)
{
    size_t units = 0;
    for (size_t at = 0; at < length;) {
        size_t from = at;
        units += text_unicode_next(word, length, &at) >= 0x10000 ? 2 : 1;
        if (units > MAX_TERM_UNITS)
            return from;
    }
    return length;
}

/* Lower-case the word into the analyzer's term without a possessive 's; bytes in *length. */
static bool fill_term(const analysis *a, const char *word, size_t word_length, size_t *length)
{
    static const char *const possessives[] = {"'s", "\xE2\x80\x99s", "\xEF\xBC\x87s"};
    gb_analyzer *analyzer = a->analyzer;
    size_t done = 0;
    for (size_t at = 0; at < word_length;) {
        int32_t c = text_unicode_next(word, word_length, &at);
        if (!gb_grow(&analyzer->term, &analyzer->capacity, done + 4, 1, a->status))
            return false;
        done += text_unicode_put(u_tolower(c), analyzer->term + done);
    }
    for (int i = 0; i < 3; i++) {
        if (gb_ends_with(analyzer->term, done, possessives[i])) {
            done -= strlen(possessives[i]);
            break;
        }
    }
    *length = done;
    return true;
}

/* A word through the filters. */
static bool take_word(const analysis *a, const char *word, size_t length)
{
    size_t done = 0;
    if (!fill_term(a, word, length, &done))
        return false;
    char *term = a->analyzer->term;
    if (gb_is_stop_word(term, done))
        return true;
    /* Lucene leaves one and two UTF-16 units alone. */
    if (count_units(term, done) > 2)
        done = text_porter_stem(term, done);
    return a->term(a->ctx, term, done);
}

/* Let the break iterator look at a text; view must stay open while it does. */
static bool look_at(const analysis *a, UText *view, const char *text, size_t length)
{
    UErrorCode code = U_ZERO_ERROR;
    utext_openUTF8(view, text, (int64_t)length, &code);
    ubrk_setUText(a->analyzer->breaks, view, &code);
    if (U_FAILURE(code))
        return icu_fail(a->status, code);
    ubrk_first(a->analyzer->breaks);
    return true;
}

/* A word longer than MAX_TERM_UNITS: as Lucene's buffer ends there, take the longest word inside
 * the buffer and begin again behind it. */
static bool take_long_word(const analysis *a, UText *view, const char *word, size_t length)
{
    for (size_t at = 0, size; at < length; at += size) {
        if (!look_at(a, view, word + at, piece_length(word + at, length - at)))
            return false;
        size = (size_t)ubrk_next(a->analyzer->breaks);
        if (ubrk_getRuleStatus(a->analyzer->breaks) > 0 && !take_word(a, word + at, size))
            return false;
    }
    return true;
}

/* Take words from the start of the text up to its end or behind a long word; *done is where. */
static bool take_words(const analysis *a, UText *view, const char *text, size_t length,
                       size_t *done)
{
    if (!look_at(a, view, text, length))
        return false;
    UBreakIterator *breaks = a->analyzer->breaks;
    for (int32_t start = 0, end; (end = ubrk_next(breaks)) != UBRK_DONE; start = end) {
        if (ubrk_getRuleStatus(breaks) == 0)
            continue;
        const char *word = text + start;
        size_t size = (size_t)(end - start);
        if (size > MAX_TERM_UNITS && count_units(word, size) > MAX_TERM_UNITS) {
            *done = (size_t)end;
            return take_long_word(a, view, word, size);
        }
        if (!take_word(a, word, size))
            return false;
    }
    *done = length;
    return true;
}

bool gb_analyze(gb_analyzer *analyzer, const char *text, size_t length,
                bool (*term)(void *ctx, const char *bytes, size_t length), void *ctx,
                gb_status *status)
{
    if (length > INT32_MAX)
        return gb_fail(status, GB_DATA, NULL, "cut the text into documents",
                       "a text of %zu bytes is too long; the limit is 2^31 - 1", length);
    analysis a = {analyzer, term, ctx, status};
    UText view = UTEXT_INITIALIZER;
    bool ok = true;
    for (size_t at = 0, done = 0; ok && at < length; at += done)
        ok = take_words(&a, &view, text + at, length - at, &done);
    utext_close(&view);
    return ok;
}
