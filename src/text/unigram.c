/* Unigrams (Kudo, 2018): of all ways to cut a word into tokens, the one with the largest sum of
 * scores. A character that no token covers costs 10 more than the worst token; several of them in a
 * row are one unknown token. */
#include "text/tokenizer.h"
#include "text/unicode.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SPACE           "\xE2\x96\x81" /* U+2581, a space in tokens */
#define SPACE_BYTES     (sizeof SPACE - 1)
#define UNKNOWN_PENALTY 10.0

void text_unigram_prepare(gb_tokenizer *tokenizer)
{
    double least = INFINITY;
    for (uint32_t id = 0; id < gb_vocab_pieces(tokenizer->vocab); id++)
        least = fmin(least, text_vocab_score(tokenizer->vocab, id));
    tokenizer->unknown_score = least - UNKNOWN_PENALTY;
}

static void reach(path_node *node, uint32_t from, uint32_t id, double score)
{
    if (!node->reached || score > node->score)
        *node = (path_node){score, from, id, true};
}

/* The best paths through the characters from `at` on. */
static void step(token_job *job, const char *word, size_t length, size_t at, size_t next)
{
    const gb_vocab *vocab = job->tokenizer->vocab;
    size_t most = text_vocab_longest(vocab);
    bool alone = false;
    double here = job->path[at].score;
    for (size_t end = next; end <= length && end - at <= most;) {
        uint32_t id = gb_vocab_id(vocab, word + at, end - at);
        if (id < gb_vocab_pieces(vocab)) {
            reach(&job->path[end], (uint32_t)at, id, here + text_vocab_score(vocab, id));
            alone = alone || end == next;
        }
        if (end == length)
            break;
        text_unicode_next(word, length, &end);
    }
    if (!alone)
        reach(&job->path[next], (uint32_t)at, GB_MAP_NONE, here + job->tokenizer->unknown_score);
}

static bool put_word(token_job *job, const char *word, size_t length)
{
    const gb_vocab *vocab = job->tokenizer->vocab;
    uint32_t unknown = gb_vocab_specials(vocab).unk;
    size_t before = job->ids->count;
    if (!gb_grow(&job->path, &job->path_capacity, length + 1, sizeof *job->path, job->status))
        return false;
    memset(job->path, 0, sizeof *job->path * (length + 1));
    for (size_t at = 0, next; at < length; at = next) {
        next = at;
        text_unicode_next(word, length, &next);
        step(job, word, length, at, next);
    }
    bool was_unknown = false;
    for (size_t end = length; end > 0; end = job->path[end].from) {
        uint32_t id = job->path[end].id;
        bool is_unknown = id == GB_MAP_NONE || id == unknown;
        if (!(is_unknown && was_unknown) && !text_put_id(job, is_unknown ? unknown : id))
            return false;
        was_unknown = is_unknown;
    }
    uint32_t *ids = job->ids->data + before;
    for (size_t i = 0, j = job->ids->count - before; i + 1 < j; i++) {
        uint32_t id = ids[i];
        ids[i] = ids[--j];
        ids[j] = id;
    }
    return true;
}

/* Where the word that begins at `at` ends: before the next space. */
static size_t word_end(const char *text, size_t length, size_t at)
{
    const char *next =
        length > at + 1 ? gb_find_bytes(text + at + 1, length - at - 1, SPACE, SPACE_BYTES) : NULL;
    return next ? (size_t)(next - text) : length;
}

/* A stretch with spaces as tokens have them, one in front where the rules say so. */
static bool put_stretch(token_job *job, const char *text, size_t length)
{
    const gb_vocab_rules *rules = gb_vocab_get_rules(job->tokenizer->vocab);
    gb_text *w = &job->word;
    w->length = 0;
    bool spaced =
        text[0] == ' ' || (length >= SPACE_BYTES && memcmp(text, SPACE, SPACE_BYTES) == 0);
    if (rules->prefix_space && !spaced && (job->first || !rules->prefix_first))
        gb_text_append(w, SPACE, SPACE_BYTES);
    for (size_t i = 0; i < length; i++)
        if (text[i] == ' ')
            gb_text_append(w, SPACE, SPACE_BYTES);
        else
            gb_text_append(w, text + i, 1);
    if (w->failed)
        return gb_fail_memory(job->status, "tokenizing");
    job->first = false;
    for (size_t at = 0, end; at < w->length; at = end) {
        end = rules->cut ? word_end(w->data, w->length, at) : w->length;
        if (!put_word(job, w->data + at, end - at))
            return false;
    }
    return true;
}

bool text_unigram(token_job *job, const char *text, size_t length)
{
    if (!gb_vocab_get_rules(job->tokenizer->vocab)->split_spaces)
        return !length || put_stretch(job, text, length);
    for (size_t at = 0; at < length;) {
        size_t from = at, next = at;
        while (next < length &&
               !text_unicode_is_white_space(text_unicode_next(text, length, &next)))
            at = next;
        if (at > from && !put_stretch(job, text + from, at - from))
            return false;
        if (at == from || at < length)
            at = next;
    }
    return true;
}
