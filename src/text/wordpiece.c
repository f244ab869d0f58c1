/* WordPiece: the longest known piece first, from left to right (Wu et al. 2016; Devlin et al.
 * 2019). A word with any unknown rest, or one too long, becomes a single [UNK]. */
#include "text/tokenizer.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

/* Id of a piece of a word; a token that was added is none. */
static uint32_t piece_id(const gb_vocab *vocab, const char *bytes, size_t length)
{
    uint32_t id = gb_vocab_id(vocab, bytes, length);
    return id < gb_vocab_pieces(vocab) ? id : GB_MAP_NONE;
}

/* The longest token that starts at `from` (bytes up to `end`); its length in *used. A token is
 * whole characters, so only lengths that end at one can match. */
static uint32_t max_piece_length(const gb_vocab *vocab, const char *from, const char *end,
                                 size_t *used)
{
    size_t length = (size_t)(end - from), max_length = text_vocab_longest(vocab);
    if (length > max_length)
        length = max_length;
    for (; length > 0; length--) {
        uint32_t id = piece_id(vocab, from, length);
        if (id != GB_MAP_NONE) {
            *used = length;
            return id;
        }
    }
    return GB_MAP_NONE;
}

bool text_wordpiece(void *ctx, const char *bytes, size_t length)
{
    token_job *job = ctx;
    const gb_vocab *vocab = job->tokenizer->vocab;
    uint32_t unknown = gb_vocab_specials(vocab).unk;
    if (length > job->tokenizer->params.max_word_chars &&
        text_unicode_count(bytes, length) > job->tokenizer->params.max_word_chars)
        return text_put_id(job, unknown);
    uint32_t whole = piece_id(vocab, bytes, length);
    if (whole != GB_MAP_NONE)
        return text_put_id(job, whole);
    if (!gb_grow(&job->buffer, &job->capacity, length + 2, 1, job->status))
        return false;
    memcpy(job->buffer + 2, bytes, length);
    char *at = job->buffer + 2, *end = at + length;
    size_t first = job->ids->count, mark = 0;
    while (at + mark < end) {
        size_t used = 0;
        uint32_t id = max_piece_length(vocab, at, end, &used);
        if (id == GB_MAP_NONE || used <= mark) {
            job->ids->count = first;
            return text_put_id(job, unknown);
        }
        if (!text_put_id(job, id))
            return false;
        /* The bytes before the rest are done with: "##" goes over the last two of them. */
        mark = 2;
        at = at + used - mark;
        at[0] = at[1] = '#';
    }
    return true;
}
