/* Byte pairs (Sennrich et al., 2016) over the bytes of words, as GPT-2 has them (Radford et al.,
 * 2019): of the pairs of neighbours that the list of merges has, the earliest in it is joined
 * first, and of equal ones the leftmost. */
#include "text/tokenizer.h"
#include "text/unicode.h"

#include <stdlib.h>
#include <string.h>

/* ---- bytes as characters ---- */

static bool is_printed(unsigned byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

size_t text_byte_spelling(unsigned char byte, char out[4])
{
    int32_t c = byte;
    if (!is_printed(byte)) { /* the n-th byte that is not printed: U+0100 + n */
        c = 0x100;
        for (unsigned b = 0; b < byte; b++)
            c += !is_printed(b);
    }
    return text_unicode_put(c, out);
}

bool text_byte_pairs_prepare(gb_tokenizer *tokenizer, gb_status *status)
{
    size_t count;
    const vocab_merge *merges = text_vocab_merges(tokenizer->vocab, &count);
    for (unsigned b = 0; b < 256; b++) {
        char spelled[4];
        size_t length = text_byte_spelling((unsigned char)b, spelled);
        tokenizer->byte_ids[b] = gb_vocab_id(tokenizer->vocab, spelled, length);
    }
    if (!(tokenizer->pairs = gb_map_create(status)))
        return false;
    for (size_t i = count; i > 0; i--) { /* of equal pairs the first counts */
        const uint32_t pair[2] = {merges[i - 1].left, merges[i - 1].right};
        if (!gb_map_set(tokenizer->pairs, (const char *)pair, sizeof pair, (uint32_t)(i - 1),
                        status))
            return false;
    }
    return true;
}

/* ---- joining ---- */

static bool comes_before(pair_candidate a, pair_candidate b)
{
    return a.merge != b.merge ? a.merge < b.merge : a.at < b.at;
}

static bool push_candidate(token_job *job, uint32_t at)
{
    const pair_symbol *s = &job->symbols[at];
    if (s->next == GB_MAP_NONE)
        return true;
    const uint32_t pair[2] = {s->id, job->symbols[s->next].id};
    uint32_t merge = gb_map_get(job->tokenizer->pairs, (const char *)pair, sizeof pair);
    if (merge == GB_MAP_NONE)
        return true;
    size_t i = job->heap_count;
    if (!gb_grow(&job->heap, &job->heap_capacity, i + 1, sizeof *job->heap, job->status))
        return false;
    const pair_candidate candidate = {merge, at};
    for (; i > 0 && comes_before(candidate, job->heap[(i - 1) / 2]); i = (i - 1) / 2)
        job->heap[i] = job->heap[(i - 1) / 2];
    job->heap[i] = candidate;
    job->heap_count++;
    return true;
}

static pair_candidate pop_candidate(token_job *job)
{
    pair_candidate best = job->heap[0], last = job->heap[--job->heap_count];
    size_t i = 0;
    for (size_t child; (child = 2 * i + 1) < job->heap_count; i = child) {
        if (child + 1 < job->heap_count && comes_before(job->heap[child + 1], job->heap[child]))
            child++;
        if (!comes_before(job->heap[child], last))
            break;
        job->heap[i] = job->heap[child];
    }
    job->heap[i] = last;
    return best;
}

/* Joins a pair, unless one of its two was joined to another meanwhile. */
static bool join(token_job *job, pair_candidate candidate)
{
    size_t count;
    const vocab_merge *merge = &text_vocab_merges(job->tokenizer->vocab, &count)[candidate.merge];
    pair_symbol *left = &job->symbols[candidate.at];
    if (left->id != merge->left || left->next == GB_MAP_NONE ||
        job->symbols[left->next].id != merge->right)
        return true;
    pair_symbol *right = &job->symbols[left->next];
    left->id = merge->joined;
    right->id = GB_MAP_NONE;
    left->next = right->next;
    if (left->next != GB_MAP_NONE)
        job->symbols[left->next].prev = candidate.at;
    return (left->prev == GB_MAP_NONE || push_candidate(job, left->prev)) &&
           push_candidate(job, candidate.at);
}

/* The word's bytes as a list of tokens; bytes without one are left out, as Hugging Face does. */
static bool spell(token_job *job, const char *word, size_t length, uint32_t *count)
{
    uint32_t unknown = gb_vocab_specials(job->tokenizer->vocab).unk;
    *count = 0;
    if (!gb_grow(&job->symbols, &job->symbol_capacity, length, sizeof *job->symbols, job->status))
        return false;
    for (size_t i = 0; i < length; i++) {
        uint32_t id = job->tokenizer->byte_ids[(unsigned char)word[i]];
        if (id == GB_MAP_NONE)
            id = unknown;
        if (id == GB_MAP_NONE)
            continue;
        job->symbols[*count] = (pair_symbol){id, *count ? *count - 1 : GB_MAP_NONE, *count + 1};
        ++*count;
    }
    if (*count)
        job->symbols[*count - 1].next = GB_MAP_NONE;
    return true;
}

/* The id of a word that is a piece as it is, or GB_MAP_NONE. */
static uint32_t whole_word(token_job *job, const char *word, size_t length)
{
    job->word.length = 0;
    for (size_t i = 0; i < length; i++) {
        char spelled[4];
        gb_text_append(&job->word, spelled, text_byte_spelling((unsigned char)word[i], spelled));
    }
    const gb_vocab *vocab = job->tokenizer->vocab;
    uint32_t id =
        job->word.failed ? GB_MAP_NONE : gb_vocab_id(vocab, job->word.data, job->word.length);
    return id < gb_vocab_pieces(vocab) ? id : GB_MAP_NONE;
}

static bool put_word(token_job *job, const char *word, size_t length)
{
    uint32_t count;
    if (gb_vocab_get_rules(job->tokenizer->vocab)->whole_words) {
        uint32_t id = whole_word(job, word, length);
        if (id != GB_MAP_NONE)
            return text_put_id(job, id);
    }
    if (!spell(job, word, length, &count))
        return false;
    job->heap_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!push_candidate(job, i))
            return false;
    while (job->heap_count)
        if (!join(job, pop_candidate(job)))
            return false;
    for (uint32_t i = 0; count && i != GB_MAP_NONE; i = job->symbols[i].next)
        if (!text_put_id(job, job->symbols[i].id))
            return false;
    return true;
}

/* ---- words ---- */

typedef enum char_class { CLASS_LETTER, CLASS_NUMBER, CLASS_SPACE, CLASS_OTHER } char_class;

static char_class class_of(int32_t c)
{
    return text_unicode_is_letter(c)        ? CLASS_LETTER
           : text_unicode_is_number(c)      ? CLASS_NUMBER
           : text_unicode_is_white_space(c) ? CLASS_SPACE
                                            : CLASS_OTHER;
}

/* Length of an English ending that is cut off, such as 's, or 0. */
static size_t ending(const char *text, size_t length)
{
    static const char *const endings[] = {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"};
    for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
        size_t size = strlen(endings[i]);
        if (size <= length && memcmp(text, endings[i], size) == 0)
            return size;
    }
    return 0;
}

/* End of the run of characters of a class that begins at `at`; *last gets where its last one does.
 */
static size_t run_end(const char *text, size_t length, size_t at, char_class class, size_t *last)
{
    *last = at;
    for (size_t next = at; at < length; at = next) {
        if (class_of(text_unicode_next(text, length, &next)) != class)
            break;
        *last = at;
    }
    return at;
}

/* Length of the first word of a text by GPT-2's pattern: an ending; a run of letters, of numbers,
 * or of what is neither, with a space before it; or white space, whose last character is left to a
 * word behind it. */
static size_t word_length(const char *text, size_t length)
{
    size_t cut = ending(text, length), last;
    if (cut)
        return cut;
    size_t from = text[0] == ' ' && length > 1 ? 1 : 0, at = from;
    char_class class = class_of(text_unicode_next(text, length, &at));
    if (class != CLASS_SPACE)
        return run_end(text, length, from, class, &last);
    size_t end = run_end(text, length, 0, CLASS_SPACE, &last);
    return end < length && last > 0 ? last : end;
}

bool text_byte_pairs(token_job *job, const char *text, size_t length)
{
    const gb_vocab_rules *rules = gb_vocab_get_rules(job->tokenizer->vocab);
    if (rules->prefix_space && length && text[0] != ' ') {
        job->scratch.length = 0;
        gb_text_append(&job->scratch, " ", 1);
        gb_text_append(&job->scratch, text, length);
        if (job->scratch.failed)
            return gb_fail_memory(job->status, "tokenizing");
        text = job->scratch.data;
        length = job->scratch.length;
    }
    for (size_t at = 0; at < length;) {
        size_t size = rules->cut ? word_length(text + at, length - at) : length - at;
        if (!put_word(job, text + at, size))
            return false;
        at += size;
    }
    return true;
}
