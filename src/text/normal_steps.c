/* Normalisation step by step, as a tokenizer.json lists the steps. */
#include "text/tokenizer.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>
#include <utf8proc.h>

/* Unicode's normal forms. */
static bool normal_form(const char *text, size_t length, gb_normal_step step, gb_text *out)
{
    static const int forms[] = {
        [GB_NORMAL_NFC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE,
        [GB_NORMAL_NFD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE,
        [GB_NORMAL_NFKC] = UTF8PROC_STABLE | UTF8PROC_COMPOSE | UTF8PROC_COMPAT,
        [GB_NORMAL_NFKD] = UTF8PROC_STABLE | UTF8PROC_DECOMPOSE | UTF8PROC_COMPAT};
    utf8proc_uint8_t *made = NULL;
    utf8proc_ssize_t bytes =
        gb_fault(GB_FAULT_MEMORY)
            ? -1
            : utf8proc_map((const utf8proc_uint8_t *)text, (utf8proc_ssize_t)length, &made,
                           (utf8proc_option_t)forms[step]);
    if (bytes < 0)
        out->failed = true;
    else
        gb_text_append(out, (const char *)made, (size_t)bytes);
    free(made);
    return bytes >= 0;
}

static void put(gb_text *out, int32_t c)
{
    char bytes[4];
    gb_text_append(out, bytes, text_unicode_put(c, bytes));
}

static bool is_mark(int32_t c)
{
    utf8proc_category_t category = utf8proc_category(c);
    return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
           category == UTF8PROC_CATEGORY_ME;
}

/* Steps that go character by character. */
static void by_characters(const char *text, size_t length, gb_normal_step step, gb_text *out)
{
    for (size_t at = 0; at < length;) {
        int32_t c = text_unicode_next(text, length, &at);
        if (step == GB_NORMAL_LOWER && c == 0x130) { /* the one that becomes two */
            put(out, 'i');
            put(out, 0x307);
        } else if (step == GB_NORMAL_LOWER) {
            put(out, utf8proc_tolower(c));
        } else if (!is_mark(c)) {
            put(out, c);
        }
    }
}

/* Several spaces become one, or a mark. */
static void collapse(const char *text, size_t length, int32_t by, gb_text *out)
{
    for (size_t at = 0, spaces; at < length; at += spaces ? spaces : 1) {
        for (spaces = 0; at + spaces < length && text[at + spaces] == ' ';)
            spaces++;
        if (spaces > 1)
            put(out, by);
        else
            gb_text_append(out, text + at, 1);
    }
}

static void strip(const char *text, size_t length, bool left, gb_text *out)
{
    size_t from = 0, end = 0;
    for (size_t at = 0, next = 0; at < length; at = next) {
        bool space = text_unicode_is_white_space(text_unicode_next(text, length, &next));
        if (space && end == 0)
            from = next;
        if (!space)
            end = next;
    }
    if (left)
        gb_text_append(out, text + from, length - from);
    else
        gb_text_append(out, text, end);
}

static bool run_step(token_job *job, gb_normal_step step, const char *text, size_t length,
                     gb_text *out)
{
    size_t map_length;
    const unsigned char *map = text_vocab_charsmap(job->tokenizer->vocab, &map_length);
    switch (step) {
    case GB_NORMAL_NFC:
    case GB_NORMAL_NFD:
    case GB_NORMAL_NFKC:
    case GB_NORMAL_NFKD:
        normal_form(text, length, step, out);
        break;
    case GB_NORMAL_LOWER:
    case GB_NORMAL_ACCENTS:
        by_characters(text, length, step, out);
        break;
    case GB_NORMAL_COLLAPSE:
    case GB_NORMAL_MARK:
        collapse(text, length, step == GB_NORMAL_MARK ? 0x2581 : ' ', out);
        break;
    case GB_NORMAL_LEFT:
    case GB_NORMAL_RIGHT:
        strip(text, length, step == GB_NORMAL_LEFT, out);
        break;
    case GB_NORMAL_CHARSMAP:
        if (map && !text_charsmap_apply(map, map_length, text, length, out, job->status))
            return false;
        if (!map)
            gb_text_append(out, text, length);
        break;
    case GB_NORMAL_NONE:
        break;
    }
    return !out->failed || gb_fail_memory(job->status, "normalising a text");
}

bool text_normal_steps(token_job *job, const char *text, size_t length)
{
    const gb_vocab_rules *rules = gb_vocab_get_rules(job->tokenizer->vocab);
    gb_text *out = &job->normal;
    out->length = 0;
    gb_text_append(out, text, length);
    for (int i = 0; i < GB_NORMAL_STEPS && rules->steps[i] != GB_NORMAL_NONE; i++) {
        gb_text made = job->scratch;
        made.length = 0;
        if (!run_step(job, rules->steps[i], out->data ? out->data : "", out->length, &made)) {
            job->scratch = made;
            return false;
        }
        job->scratch = *out;
        *out = made;
    }
    return !out->failed || gb_fail_memory(job->status, "normalising a text");
}
