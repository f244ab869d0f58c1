/* Regular expressions by ICU, under the flags by which DPR matches answers (Karpukhin et al. 2020,
 * as its released evaluation has it): ignore case, Unicode, many lines. */
#include "gabbro/text.h"

#include <stdlib.h>
#include <string.h>
#include <unicode/unorm2.h>
#include <unicode/uregex.h>
#include <unicode/ustring.h>

enum {
    FLAGS = UREGEX_CASE_INSENSITIVE | UREGEX_MULTILINE | UREGEX_UNIX_LINES,
    MOST_TIME = 1000 /* of a search: ICU's unit is 10,000 steps, so that no clock decides */
};

struct gb_regex {
    URegularExpression *compiled; /* decomposed */
    char *expression;             /* as it was given */
    char where[300];              /* file:line, or empty */
};

static bool icu_fail(gb_status *status, UErrorCode code)
{
    if (code == U_MEMORY_ALLOCATION_ERROR)
        return gb_fail_memory(status, "matching a regular expression");
    return gb_fail(status, GB_INTERNAL, NULL, "install ICU with its data (Debian: libicu72)",
                   "ICU cannot match a regular expression: %s", u_errorName(code));
}

/* UTF-8 as decomposed UTF-16 [*count]; bytes that are no UTF-8 become U+FFFD. The caller frees it.
 */
static UChar *decompose(const char *text, size_t length, int32_t *count, gb_status *status)
{
    if (length > INT32_MAX / 20) { /* no character has more than 18 */
        gb_fail(status, GB_DATA, NULL, "cut the text into passages",
                "a text of %zu bytes is too long for regular expressions", length);
        return NULL;
    }
    UErrorCode code = U_ZERO_ERROR, measured = U_ZERO_ERROR;
    int32_t plain_count = 0;
    UChar *plain = gb_alloc(length + 1, sizeof *plain, status), *decomposed = NULL;
    if (!plain)
        return NULL;
    u_strFromUTF8WithSub(plain, (int32_t)length + 1, &plain_count, text, (int32_t)length, 0xfffd,
                         NULL, &code);
    const UNormalizer2 *nfd = unorm2_getNFDInstance(&code);
    if (U_SUCCESS(code)) {
        *count = unorm2_normalize(nfd, plain, plain_count, NULL, 0, &measured);
        decomposed = gb_alloc((size_t)*count + 1, sizeof *decomposed, status);
    }
    if (decomposed)
        unorm2_normalize(nfd, plain, plain_count, decomposed, *count + 1, &code);
    free(plain);
    if (U_SUCCESS(code))
        return decomposed;
    icu_fail(status, code);
    free(decomposed);
    return NULL;
}

/* ---- compiling ---- */

static const struct {
    UErrorCode code;
    const char *words;
} faults[] = {
    {U_REGEX_BAD_ESCAPE_SEQUENCE, "an unknown escape behind \\"},
    {U_REGEX_PROPERTY_SYNTAX, "an unknown property of characters"},
    {U_REGEX_UNIMPLEMENTED, "ICU does not have this"},
    {U_REGEX_MISMATCHED_PAREN, "a parenthesis without its other one"},
    {U_REGEX_NUMBER_TOO_BIG, "a number that is too large"},
    {U_REGEX_BAD_INTERVAL, "{ begins {N}, {N,} or {N,M}, or is written \\{"},
    {U_REGEX_MAX_LT_MIN, "in {N,M}, M is less than N"},
    {U_REGEX_INVALID_BACK_REF, "there is no group of this number or name"},
    {U_REGEX_INVALID_FLAG, "an unknown flag in (?...)"},
    {U_REGEX_LOOK_BEHIND_LIMIT, "(?<=...) of no bounded length"},
    {U_REGEX_MISSING_CLOSE_BRACKET, "a [ without its ]; inside of [...], it is written \\["},
    {U_REGEX_INVALID_RANGE, "a range in [...] that ends before it begins"},
    {U_REGEX_PATTERN_TOO_BIG, "it is too long"},
    {U_REGEX_STACK_OVERFLOW, "it is nested too deeply"},
    {U_REGEX_INVALID_CAPTURE_GROUP_NAME, "the name of a group has letters and digits alone"},
};

static bool fail_syntax(const char *expression, size_t length, const UChar *compiled,
                        const UParseError *at, UErrorCode code, const gb_lines *lines,
                        gb_status *status)
{
    const char *why = "it is not written as a regular expression is";
    for (size_t i = 0; i < sizeof faults / sizeof *faults; i++)
        if (faults[i].code == code)
            why = faults[i].words;
    int32_t characters = at->offset > 0 ? u_countChar32(compiled, at->offset) : 0;
    return gb_lines_fail(lines, status, "a character that stands for itself has \\ before it",
                         "the regular expression \"%.*s\" is wrong at character %d: %s",
                         (int)(length < 80 ? length : 80), expression,
                         (int)(characters ? characters : 1), why);
}

static bool compile(gb_regex *regex, size_t length, const gb_lines *lines, gb_status *status)
{
    UErrorCode code = U_ZERO_ERROR;
    UParseError at = {0};
    int32_t count;
    UChar *decomposed = decompose(regex->expression, length, &count, status);
    if (!decomposed)
        return false;
    if (gb_fault(GB_FAULT_MEMORY))
        code = U_MEMORY_ALLOCATION_ERROR;
    regex->compiled = uregex_open(decomposed, count, FLAGS, &at, &code);
    bool syntax =
        code >= U_REGEX_ERROR_START && code < U_REGEX_ERROR_LIMIT && code != U_REGEX_INTERNAL_ERROR;
    if (syntax)
        fail_syntax(regex->expression, length, decomposed, &at, code, lines, status);
    else if (U_SUCCESS(code))
        uregex_setTimeLimit(regex->compiled, MOST_TIME, &code);
    free(decomposed);
    if (U_FAILURE(code) && !syntax)
        icu_fail(status, code);
    return U_SUCCESS(code);
}

gb_regex *gb_regex_create(const char *expression, size_t length, const gb_lines *lines,
                          gb_status *status)
{
    gb_regex *regex = gb_alloc(1, sizeof *regex, status);
    bool ok = regex && (regex->expression = gb_alloc(length + 1, 1, status));
    if (ok) {
        memcpy(regex->expression, expression, length);
        if (lines)
            snprintf(regex->where, sizeof regex->where, "%.250s:%llu", gb_lines_path(lines),
                     (unsigned long long)gb_lines_number(lines));
        ok = compile(regex, length, lines, status);
    }
    if (ok)
        return regex;
    gb_regex_destroy(regex);
    return NULL;
}

void gb_regex_destroy(gb_regex *regex)
{
    if (!regex)
        return;
    uregex_close(regex->compiled);
    free(regex->expression);
    free(regex);
}

/* ---- searching ---- */

static bool search(gb_regex *regex, const UChar *text, int32_t count, bool *found,
                   gb_status *status)
{
    UErrorCode code = U_ZERO_ERROR;
    uregex_setText(regex->compiled, text, count, &code);
    *found = uregex_find(regex->compiled, 0, &code);
    if (U_SUCCESS(code))
        return true;
    if (code != U_REGEX_TIME_OUT && code != U_REGEX_STACK_OVERFLOW)
        return icu_fail(status, code);
    return gb_fail(
        status, GB_DATA, regex->where, "write it without repeating what repeats, as (a+)+ does",
        "the regular expression \"%.80s\" can match in so many ways that a search %s",
        regex->expression, code == U_REGEX_TIME_OUT ? "takes too long" : "needs too much memory");
}

bool gb_regex_search(gb_regex *const *regexes, size_t count, const char *text, size_t length,
                     bool *found, gb_status *status)
{
    int32_t characters;
    UChar *decomposed = decompose(text, length, &characters, status);
    bool ok = decomposed != NULL;
    *found = false;
    for (size_t i = 0; ok && !*found && i < count; i++)
        ok = search(regexes[i], decomposed, characters, found, status);
    free(decomposed);
    return ok;
}
