/* Byte-pair merging (Sennrich et al. 2016) with counts kept up to date, so that a merge costs only
 * the words that hold the pair. A heap gives the most frequent pair; its entries may be out of date
 * and are checked when they come out. */
#include "text/merges.h"

#include <stdlib.h>
#include <string.h>

typedef struct counted_word {
    size_t start;    /* first symbol of the word */
    uint32_t length; /* symbols now */
    uint64_t times;  /* how often the word was seen */
} counted_word;

typedef struct pair {
    uint32_t left, right; /* token ids */
    uint32_t stamp;       /* last merge that made this pair more frequent */
    uint64_t count;       /* times it stands in the words now */
    uint32_t *words;      /* words that hold or held it, with repeats */
    size_t word_count;    /* entries of words */
    size_t word_capacity; /* entries allocated */
} pair;

typedef struct heap_entry {
    uint64_t count; /* of the pair when the entry was made */
    uint32_t pair;  /* index of the pair */
} heap_entry;

struct merges {
    gb_vocab *vocab;        /* not owned */
    uint32_t *symbols;      /* token ids of all words */
    size_t symbol_count;    /* ids in use */
    size_t symbol_capacity; /* ids allocated */
    counted_word *words;    /* the words */
    size_t word_count;      /* words in use */
    size_t word_capacity;   /* words allocated */
    pair *pairs;            /* all pairs ever seen */
    size_t pair_count;      /* pairs in use */
    size_t pair_capacity;   /* pairs allocated */
    uint32_t *slots;        /* hash table: 1 + index of a pair, 0 for empty */
    size_t slot_count;      /* a power of two */
    heap_entry *heap;       /* binary heap, best first */
    size_t heap_count;      /* entries in use */
    size_t heap_capacity;   /* entries allocated */
    uint32_t *grown;        /* pairs that the running merge made more frequent */
    size_t grown_count;     /* entries of grown */
    size_t grown_capacity;  /* entries allocated */
    uint32_t stamp;         /* number of the running merge, from 1 */
    gb_text joined;         /* text of the running merge's token */
};

merges *text_merges_create(gb_vocab *vocab, gb_status *status)
{
    merges *m = gb_alloc(1, sizeof *m, status);
    if (!m)
        return NULL;
    m->vocab = vocab;
    m->slot_count = 1024;
    m->slots = gb_alloc(m->slot_count, sizeof *m->slots, status);
    if (!m->slots) {
        text_merges_destroy(m);
        return NULL;
    }
    return m;
}

void text_merges_destroy(merges *m)
{
    if (!m)
        return;
    for (size_t i = 0; i < m->pair_count; i++)
        free(m->pairs[i].words);
    free(m->symbols);
    free(m->words);
    free(m->pairs);
    free(m->slots);
    free(m->heap);
    free(m->grown);
    gb_text_free(&m->joined);
    free(m);
}

bool text_merges_add(merges *m, const uint32_t *ids, uint32_t length, uint64_t times,
                     gb_status *status)
{
    if (m->word_count >= UINT32_MAX)
        return gb_fail(status, GB_DATA, NULL, "train on a sample of the text",
                       "too many different words to learn a vocabulary from");
    if (!gb_grow(&m->symbols, &m->symbol_capacity, m->symbol_count + length, sizeof *m->symbols,
                 status) ||
        !gb_grow(&m->words, &m->word_capacity, m->word_count + 1, sizeof *m->words, status))
        return false;
    memcpy(m->symbols + m->symbol_count, ids, length * sizeof *ids);
    m->words[m->word_count++] = (counted_word){m->symbol_count, length, times};
    m->symbol_count += length;
    return true;
}

/* ---- pairs ---- */

static uint32_t *find_slot(const merges *m, uint32_t *slots, size_t count, uint32_t left,
                           uint32_t right)
{
    uint64_t hash = ((uint64_t)left << 32 | right) * 0x9e3779b97f4a7c15u;
    for (size_t i = (size_t)(hash >> 20) & (count - 1);; i = (i + 1) & (count - 1)) {
        const pair *p = slots[i] ? &m->pairs[slots[i] - 1] : NULL;
        if (!p || (p->left == left && p->right == right))
            return &slots[i];
    }
}

static bool enlarge_slots(merges *m, gb_status *status)
{
    size_t count = m->slot_count * 2;
    uint32_t *slots = gb_alloc(count, sizeof *slots, status);
    if (!slots)
        return false;
    for (size_t i = 0; i < m->pair_count; i++)
        *find_slot(m, slots, count, m->pairs[i].left, m->pairs[i].right) = (uint32_t)i + 1;
    free(m->slots);
    m->slots = slots;
    m->slot_count = count;
    return true;
}

/* Index of the pair, made when new; UINT32_MAX without memory. */
static uint32_t get_pair(merges *m, uint32_t left, uint32_t right, gb_status *status)
{
    if (m->pair_count >= m->slot_count / 2 && !enlarge_slots(m, status))
        return UINT32_MAX;
    uint32_t *slot = find_slot(m, m->slots, m->slot_count, left, right);
    if (!*slot) {
        if (!gb_grow(&m->pairs, &m->pair_capacity, m->pair_count + 1, sizeof *m->pairs, status))
            return UINT32_MAX;
        m->pairs[m->pair_count++] = (pair){.left = left, .right = right};
        *slot = (uint32_t)m->pair_count;
    }
    return *slot - 1;
}

/* The pair stands `times` times more, in this word. */
static bool pair_gains(merges *m, uint32_t index, uint32_t word, uint64_t times, gb_status *status)
{
    pair *p = &m->pairs[index];
    p->count += times;
    if (p->word_count == 0 || p->words[p->word_count - 1] != word) {
        if (!gb_grow(&p->words, &p->word_capacity, p->word_count + 1, sizeof *p->words, status))
            return false;
        p->words[p->word_count++] = word;
    }
    if (p->stamp == m->stamp)
        return true;
    p->stamp = m->stamp;
    if (!gb_grow(&m->grown, &m->grown_capacity, m->grown_count + 1, sizeof *m->grown, status))
        return false;
    m->grown[m->grown_count++] = index;
    return true;
}

/* ---- heap ---- */

static int compare_tokens(const gb_vocab *vocab, uint32_t a, uint32_t b)
{
    size_t an = text_vocab_token_length(vocab, a), bn = text_vocab_token_length(vocab, b);
    int order = memcmp(gb_vocab_token(vocab, a), gb_vocab_token(vocab, b), an < bn ? an : bn);
    return order ? order : (an > bn) - (an < bn);
}

static bool comes_before(const merges *m, heap_entry a, heap_entry b)
{
    if (a.count != b.count)
        return a.count > b.count;
    const pair *p = &m->pairs[a.pair], *q = &m->pairs[b.pair];
    int order = compare_tokens(m->vocab, p->left, q->left);
    return (order ? order : compare_tokens(m->vocab, p->right, q->right)) < 0;
}

static bool heap_push(merges *m, heap_entry entry, gb_status *status)
{
    if (!gb_grow(&m->heap, &m->heap_capacity, m->heap_count + 1, sizeof *m->heap, status))
        return false;
    size_t at = m->heap_count++;
    for (; at > 0 && comes_before(m, entry, m->heap[(at - 1) / 2]); at = (at - 1) / 2)
        m->heap[at] = m->heap[(at - 1) / 2];
    m->heap[at] = entry;
    return true;
}

static heap_entry heap_pop(merges *m)
{
    heap_entry top = m->heap[0], last = m->heap[--m->heap_count];
    size_t at = 0;
    for (size_t child; (child = 2 * at + 1) < m->heap_count; at = child) {
        if (child + 1 < m->heap_count && comes_before(m, m->heap[child + 1], m->heap[child]))
            child++;
        if (!comes_before(m, m->heap[child], last))
            break;
        m->heap[at] = m->heap[child];
    }
    m->heap[at] = last;
    return top;
}

static bool push_grown(merges *m, gb_status *status)
{
    for (size_t i = 0; i < m->grown_count; i++) {
        uint32_t index = m->grown[i];
        heap_entry entry = {m->pairs[index].count, index};
        if (entry.count && !heap_push(m, entry, status))
            return false;
    }
    m->grown_count = 0;
    return true;
}

/* ---- merging ---- */

static bool count_pairs(merges *m, gb_status *status)
{
    m->stamp = 1;
    for (size_t w = 0; w < m->word_count; w++) {
        const uint32_t *symbols = m->symbols + m->words[w].start;
        for (uint32_t i = 0; i + 1 < m->words[w].length; i++) {
            uint32_t index = get_pair(m, symbols[i], symbols[i + 1], status);
            if (index == UINT32_MAX ||
                !pair_gains(m, index, (uint32_t)w, m->words[w].times, status))
                return false;
        }
    }
    return push_grown(m, status);
}

/* Id of the token that a pair joins to: left text and right text without its "##". */
static bool join_token(merges *m, uint32_t left, uint32_t right, uint32_t *id, gb_status *status)
{
    m->joined.length = 0;
    gb_text_append(&m->joined, gb_vocab_token(m->vocab, left),
                   text_vocab_token_length(m->vocab, left));
    gb_text_append(&m->joined, gb_vocab_token(m->vocab, right) + 2,
                   text_vocab_token_length(m->vocab, right) - 2);
    if (m->joined.failed)
        return gb_fail_memory(status, "learning a vocabulary");
    *id = gb_vocab_id(m->vocab, m->joined.data, m->joined.length);
    if (*id != GB_MAP_NONE)
        return true; /* the same text was reached by other merges */
    *id = gb_vocab_size(m->vocab);
    return text_vocab_append(m->vocab, m->joined.data, m->joined.length, status);
}

/* Replace left, right by joined in one word and bring the counts up to date. */
static bool merge_word(merges *m, uint32_t w, uint32_t left, uint32_t right, uint32_t joined,
                       gb_status *status)
{
    counted_word *word = &m->words[w];
    uint32_t *symbols = m->symbols + word->start, length = 0, old = word->length;
    bool found = false;
    for (uint32_t i = 0; i + 1 < old && !found; i++)
        found = symbols[i] == left && symbols[i + 1] == right;
    if (!found)
        return true; /* an out-of-date entry */
    for (uint32_t i = 0; i + 1 < old; i++) {
        uint32_t index = get_pair(m, symbols[i], symbols[i + 1], status);
        if (index == UINT32_MAX)
            return false;
        m->pairs[index].count -= word->times;
    }
    for (uint32_t i = 0; i < old; i++) {
        bool here = i + 1 < old && symbols[i] == left && symbols[i + 1] == right;
        symbols[length++] = here ? joined : symbols[i];
        i += here;
    }
    word->length = length;
    for (uint32_t i = 0; i + 1 < length; i++) {
        uint32_t index = get_pair(m, symbols[i], symbols[i + 1], status);
        if (index == UINT32_MAX)
            return false;
        if (symbols[i] != joined && symbols[i + 1] != joined)
            m->pairs[index].count += word->times;
        else if (!pair_gains(m, index, w, word->times, status))
            return false;
    }
    return true;
}

static bool merge_pair(merges *m, uint32_t index, gb_status *status)
{
    uint32_t left = m->pairs[index].left, right = m->pairs[index].right, joined = 0;
    if (!join_token(m, left, right, &joined, status))
        return false;
    /* The list is taken out first: m->pairs may move while new pairs are made. */
    uint32_t *words = m->pairs[index].words;
    size_t count = m->pairs[index].word_count;
    m->pairs[index].words = NULL;
    m->pairs[index].word_count = m->pairs[index].word_capacity = 0;
    m->stamp++;
    bool ok = true;
    for (size_t i = 0; i < count && ok; i++)
        ok = merge_word(m, words[i], left, right, joined, status);
    free(words);
    return ok && push_grown(m, status);
}

bool text_merges_learn(merges *m, uint32_t size, uint64_t min_count, gb_status *status)
{
    gb_progress progress;
    gb_progress_begin(&progress, "learn tokens", "tokens", size, gb_vocab_size(m->vocab));
    if (!count_pairs(m, status))
        return false;
    while (gb_vocab_size(m->vocab) < size && m->heap_count > 0) {
        heap_entry top = heap_pop(m);
        uint64_t count = m->pairs[top.pair].count;
        if (count < min_count || count == 0) {
            if (top.count < min_count)
                break; /* nothing left is as frequent as this entry claims to be */
            continue;
        }
        if (count != top.count) {
            top.count = count;
            if (!heap_push(m, top, status))
                return false;
        } else if (!merge_pair(m, top.pair, status)) {
            return false;
        }
        gb_progress_update(&progress, gb_vocab_size(m->vocab), NULL);
    }
    gb_progress_end_long(&progress, gb_vocab_size(m->vocab));
    return true;
}
