/* Text to ids: tokens that stand in it are found first, what lies between is normalised by itself
 * and becomes tokens as the vocabulary's rules say. */
#include "text/tokenizer.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

static void job_free(token_job *job)
{
    free(job->buffer);
    gb_text_free(&job->clean);
    gb_text_free(&job->normal);
    gb_text_free(&job->word);
    gb_text_free(&job->scratch);
    free(job->path);
    free(job->symbols);
    free(job->heap);
}

/* ---- making one ---- */

/* Text as the vocabulary's rules normalise it, into job->normal. */
static bool normalize(token_job *job, const char *text, size_t length)
{
    bool wordpiece = gb_vocab_get_rules(job->tokenizer->vocab)->kind == GB_VOCAB_WORDS;
    return wordpiece ? text_bert_normalize(job, text, length)
                     : text_normal_steps(job, text, length);
}

/* Puts a token into its place, the longest first; one of normalised text in its own normal form. */
static bool take_added(gb_tokenizer *t, token_job *job, const gb_added_token *token)
{
    vocab_added added = {strlen(token->text), *token};
    if (token->normalized) {
        if (!normalize(job, token->text, added.length))
            return false;
        added.length = job->normal.length;
        added.says.text = gb_arena_strdup(t->arena, added.length ? job->normal.data : "",
                                          added.length, job->status);
        if (!added.says.text)
            return false;
    }
    size_t at = t->added_count;
    if (!added.length)
        return true;
    for (; at > 0 && t->added[at - 1].length < added.length; at--)
        t->added[at] = t->added[at - 1];
    t->added[at] = added;
    t->added_count++;
    t->any_normalized |= token->normalized;
    return true;
}

static bool take_all_added(gb_tokenizer *t, gb_status *status)
{
    token_job job = {.tokenizer = t, .status = status};
    size_t count = 0;
    while (gb_vocab_added(t->vocab, count))
        count++;
    t->arena = gb_arena_create(256, status);
    t->added = t->arena ? gb_alloc(count + 1, sizeof *t->added, status) : NULL;
    bool ok = t->added != NULL;
    for (size_t i = 0; ok && i < count; i++)
        ok = take_added(t, &job, gb_vocab_added(t->vocab, i));
    job_free(&job);
    return ok;
}

gb_tokenizer *gb_tokenizer_create(const gb_vocab *vocab, gb_tokenizer_params params,
                                  gb_status *status)
{
    if (params.max_word_chars == 0) {
        gb_fail(status, GB_USAGE, NULL, "100 is BERT's value",
                "the longest word of a tokenizer must have at least 1 character");
        return NULL;
    }
    gb_tokenizer *tokenizer = gb_alloc(1, sizeof *tokenizer, status);
    if (!tokenizer)
        return NULL;
    *tokenizer = (gb_tokenizer){.vocab = vocab, .params = params};
    gb_vocab_kind kind = gb_vocab_get_rules(vocab)->kind;
    if (kind == GB_VOCAB_UNIGRAM)
        text_unigram_prepare(tokenizer);
    if (take_all_added(tokenizer, status) &&
        (kind != GB_VOCAB_BYTES || text_byte_pairs_prepare(tokenizer, status)))
        return tokenizer;
    gb_tokenizer_destroy(tokenizer);
    return NULL;
}

void gb_tokenizer_destroy(gb_tokenizer *tokenizer)
{
    if (!tokenizer)
        return;
    gb_map_destroy(tokenizer->pairs);
    gb_arena_destroy(tokenizer->arena);
    free(tokenizer->added);
    free(tokenizer);
}

bool gb_ids_append(gb_ids *ids, uint32_t id, gb_status *status)
{
    if (!gb_grow(&ids->data, &ids->capacity, ids->count + 1, sizeof *ids->data, status))
        return false;
    ids->data[ids->count++] = id;
    return true;
}

/* ---- tokens that stand in the text ---- */

/* Start of the character that ends at text[end]. */
static size_t char_before(const char *text, size_t end)
{
    size_t at = end - 1;
    while (at && ((unsigned char)text[at] & 0xC0) == 0x80)
        at--;
    return at;
}

static bool stands_alone(const char *text, size_t length, size_t from, size_t end)
{
    size_t before = from ? char_before(text, from) : 0, after = end;
    return (!from || !text_unicode_is_word(text_unicode_next(text, from, &before))) &&
           (end == length || !text_unicode_is_word(text_unicode_next(text, length, &after)));
}

/* The longest added token that stands at text[at], or NULL. */
static const vocab_added *added_at(const gb_tokenizer *tokenizer, const char *text, size_t length,
                                   size_t at, bool normalized)
{
    for (size_t i = 0; i < tokenizer->added_count; i++) {
        const vocab_added *a = &tokenizer->added[i];
        if (a->says.normalized == normalized && a->length <= length - at &&
            text[at] == a->says.text[0] && memcmp(text + at, a->says.text, a->length) == 0 &&
            (!a->says.whole_word || stands_alone(text, length, at, at + a->length)))
            return a;
    }
    return NULL;
}

/* text[from..end) without the spaces at its end. */
static size_t trim_right(const char *text, size_t from, size_t end)
{
    while (end > from) {
        size_t at = char_before(text, end), next = at;
        if (at < from || !text_unicode_is_white_space(text_unicode_next(text, end, &next)))
            break;
        end = at;
    }
    return end;
}

static size_t skip_left(const char *text, size_t at, size_t length)
{
    for (size_t next = at; at < length; at = next)
        if (!text_unicode_is_white_space(text_unicode_next(text, length, &next)))
            break;
    return at;
}

typedef bool stretch_fn(token_job *job, const char *text, size_t length);

/* Ids of a text by the tokens that stand in it and by `between` of what lies between. */
static bool cut_added(token_job *job, const char *text, size_t length, bool normalized,
                      stretch_fn *between)
{
    size_t done = 0;
    for (size_t at = 0; at < length;) {
        const vocab_added *a = added_at(job->tokenizer, text, length, at, normalized);
        if (!a) {
            at++;
            continue;
        }
        size_t end = a->says.strip_left ? trim_right(text, done, at) : at;
        if ((end > done && !between(job, text + done, end - done)) || !text_put_id(job, a->says.id))
            return false;
        job->first = false;
        at += a->length;
        done = at = a->says.strip_right ? skip_left(text, at, length) : at;
    }
    return done == length || between(job, text + done, length - done);
}

/* ---- what lies between ---- */

static bool words(token_job *job, const char *text, size_t length)
{
    return gb_pretokenize(job->tokenizer->params, text, length, text_wordpiece, job, job->status);
}

/* Of WordPiece: normalised first only where a token is looked for in that. */
static bool word_stretch(token_job *job, const char *text, size_t length)
{
    if (!job->tokenizer->any_normalized)
        return words(job, text, length);
    return text_bert_normalize(job, text, length) &&
           (!job->normal.length ||
            cut_added(job, job->normal.data, job->normal.length, true, words));
}

static bool normal_stretch(token_job *job, const char *text, size_t length)
{
    bool bytes = gb_vocab_get_rules(job->tokenizer->vocab)->kind == GB_VOCAB_BYTES;
    bool ok = bytes ? text_byte_pairs(job, text, length) : text_unigram(job, text, length);
    job->first = false;
    return ok;
}

static bool raw_stretch(token_job *job, const char *text, size_t length)
{
    return text_normal_steps(job, text, length) &&
           (!job->normal.length ||
            cut_added(job, job->normal.data, job->normal.length, true, normal_stretch));
}

/* Text with every invalid byte replaced. */
static bool clean(token_job *job, const char *text, size_t length)
{
    for (size_t at = 0; at < length;) {
        size_t from = at;
        if (text_unicode_next(text, length, &at) < 0)
            gb_text_append(&job->clean, "\xEF\xBF\xBD", 3); /* U+FFFD */
        else
            gb_text_append(&job->clean, text + from, at - from);
    }
    return !job->clean.failed || gb_fail_memory(job->status, "tokenizing");
}

bool gb_tokenize(const gb_tokenizer *tokenizer, const char *text, size_t length, gb_ids *ids,
                 gb_status *status)
{
    token_job job = {.tokenizer = tokenizer, .ids = ids, .status = status, .first = true};
    size_t before = ids->count;
    bool wordpiece = gb_vocab_get_rules(tokenizer->vocab)->kind == GB_VOCAB_WORDS;
    bool ok = !length || (wordpiece ? cut_added(&job, text, length, false, word_stretch)
                                    : clean(&job, text, length) &&
                                          cut_added(&job, job.clean.data, job.clean.length, false,
                                                    raw_stretch));
    job_free(&job);
    if (!ok)
        ids->count = before;
    return ok;
}
