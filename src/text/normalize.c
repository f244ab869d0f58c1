/* From text to words: BERT's clean-up, CJK spacing, accents, lower case, white space, punctuation.
 *
 * One pass over the text. A word grows in a buffer; marks that survive the stripping of accents
 * wait in `marks` until the next starter, because canonical order is by combining class. */
#include "text/tokenizer.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

/* What an ASCII byte does. */
enum ascii_class { ASCII_LETTER, ASCII_SPACE, ASCII_PUNCTUATION, ASCII_DROPPED };
static const unsigned char ascii_class[128] = {
    [0 ... 8] = ASCII_DROPPED,
    ['\t'] = ASCII_SPACE,
    ['\n'] = ASCII_SPACE,
    [11 ... 12] = ASCII_DROPPED,
    ['\r'] = ASCII_SPACE,
    [14 ... 31] = ASCII_DROPPED,
    [' '] = ASCII_SPACE,
    ['!' ... '/'] = ASCII_PUNCTUATION,
    [':' ... '@'] = ASCII_PUNCTUATION,
    ['[' ... '`'] = ASCII_PUNCTUATION,
    ['{' ... '~'] = ASCII_PUNCTUATION,
    [127] = ASCII_DROPPED,
};

typedef struct mark {
    int32_t c; /* a character with a combining class above 0 */
    int order; /* its combining class */
} mark;

typedef struct splitter {
    bool whole;                                                /* a text, not its words */
    gb_tokenizer_params params;                                /* what to do */
    bool (*emit)(void *ctx, const char *bytes, size_t length); /* takes a word */
    void *ctx;                                                 /* for emit */
    gb_status *status;                                         /* for running out of memory */
    char *word;                                                /* the word so far */
    size_t length;                                             /* bytes of word */
    size_t capacity;                                           /* bytes allocated */
    mark *marks;                                               /* marks behind the word so far */
    size_t mark_count;                                         /* marks waiting */
    size_t mark_capacity;                                      /* marks allocated */
} splitter;

/* Give out the word so far, if any. */
static bool end_word(splitter *s)
{
    size_t length = s->length;
    if (s->whole)
        return true;
    s->length = 0;
    return length == 0 || s->emit(s->ctx, s->word, length);
}

/* Append one character in its final form; punctuation stands alone. */
static bool put(splitter *s, int32_t c)
{
    if (s->params.lower_case)
        c = text_bert_lower(c);
    bool alone = text_bert_is_punctuation(c);
    if (alone && !end_word(s))
        return false;
    if (!gb_grow(&s->word, &s->capacity, s->length + 4, 1, s->status))
        return false;
    s->length += text_unicode_put(c, s->word + s->length);
    return !alone || end_word(s);
}

/* Append the waiting marks in canonical order: by class, equal classes as they came. */
static bool flush_marks(splitter *s)
{
    size_t count = s->mark_count;
    s->mark_count = 0;
    for (int class = 1; count && class < 256; class ++) {
        for (size_t i = 0; i < count; i++)
            if (s->marks[i].order == class && !put(s, s->marks[i].c))
                return false;
    }
    return true;
}

static bool put_byte(splitter *s, char c)
{
    if (s->length == s->capacity && !gb_grow(&s->word, &s->capacity, s->length + 1, 1, s->status))
        return false;
    s->word[s->length++] = c;
    return true;
}

/* Where white space is; a whole text keeps one. */
static bool end_run(splitter *s)
{
    return (s->mark_count == 0 || flush_marks(s)) && end_word(s) && (!s->whole || put_byte(s, ' '));
}

/* Decompose, strip accents, lower-case. */
static bool put_plain(splitter *s, int32_t c)
{
    int32_t parts[UNICODE_MAX_DECOMPOSED];
    size_t count = text_bert_decompose(c, parts);
    for (size_t i = 0; i < count; i++) {
        int order = text_bert_combining_class(parts[i]);
        if (order == 0 && s->mark_count && !flush_marks(s))
            return false;
        if (text_bert_is_accent(parts[i]))
            continue;
        if (order == 0) {
            if (!put(s, parts[i]))
                return false;
            continue;
        }
        if (!gb_grow(&s->marks, &s->mark_capacity, s->mark_count + 1, sizeof *s->marks, s->status))
            return false;
        s->marks[s->mark_count++] = (mark){parts[i], order};
    }
    return true;
}

static bool put_wide(splitter *s, int32_t c)
{
    if (c < 0 || text_bert_is_dropped(c))
        return true;
    if (text_bert_is_space(c))
        return end_run(s);
    bool alone = s->params.split_cjk && text_bert_is_cjk(c);
    if (alone && !end_run(s))
        return false;
    if (!(s->params.lower_case ? put_plain(s, c) : put(s, c)))
        return false;
    return !alone || end_run(s);
}

static bool put_ascii(splitter *s, unsigned char c)
{
    enum ascii_class class = ascii_class[c];
    if (class == ASCII_DROPPED)
        return true;
    if (s->mark_count && !flush_marks(s))
        return false;
    if (class == ASCII_SPACE)
        return end_run(s);
    if (class != ASCII_LETTER && !end_word(s))
        return false;
    bool upper = s->params.lower_case && c >= 'A' && c <= 'Z';
    return put_byte(s, (char)(upper ? c + ('a' - 'A') : c)) &&
           (class == ASCII_LETTER || end_word(s));
}

static bool run(splitter *s, const char *text, size_t length)
{
    bool ok = gb_grow(&s->word, &s->capacity, 128, 1, s->status);
    for (size_t at = 0; ok && at < length;) {
        unsigned char c = (unsigned char)text[at];
        if (c < 0x80) {
            ok = put_ascii(s, c);
            at++;
        } else {
            ok = put_wide(s, text_unicode_next(text, length, &at));
        }
    }
    return ok && (s->mark_count == 0 || flush_marks(s)) && end_word(s);
}

bool gb_pretokenize(gb_tokenizer_params params, const char *text, size_t length,
                    bool (*word)(void *ctx, const char *bytes, size_t length), void *ctx,
                    gb_status *status)
{
    splitter s = {.params = params, .emit = word, .ctx = ctx, .status = status};
    bool ok = run(&s, text, length);
    free(s.word);
    free(s.marks);
    return ok;
}

bool text_bert_normalize(token_job *job, const char *text, size_t length)
{
    splitter s = {.whole = true, .params = job->tokenizer->params, .status = job->status};
    bool ok = run(&s, text, length);
    job->normal.length = 0;
    if (ok)
        gb_text_append(&job->normal, s.word, s.length);
    free(s.word);
    free(s.marks);
    return ok && (!job->normal.failed || gb_fail_memory(job->status, "normalising a text"));
}
