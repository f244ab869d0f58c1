/* Document language models over whole words, and word sets drawn from them. */
#include "prop.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the words of a collection ---- */

uint32_t pretrain_prop_number_of(const prop_words *w, const uint32_t *ids, uint32_t length)
{
    return gb_map_get(w->numbers, (const char *)ids, sizeof *ids * length);
}

bool pretrain_prop_split(prop_words *w, const gb_pretrain_data *data, text_ids text,
                         uint32_t *count, gb_status *status)
{
    if (!gb_grow(&w->starts, &w->start_capacity, text.length + 1, sizeof *w->starts, status))
        return false;
    *count = gb_word_starts(data->vocab, text.ids, (uint32_t)text.length, w->starts);
    return true;
}

static bool add_word(prop_words *w, const gb_pretrain_data *data, uint32_t passage, uint32_t start,
                     uint32_t length, gb_status *status)
{
    const uint32_t *ids = pretrain_passage_ids(data, passage).ids + start;
    uint32_t number = pretrain_prop_number_of(w, ids, length);
    if (number == GB_MAP_NONE) {
        number = w->count;
        if (!gb_grow(&w->words, &w->word_capacity, w->count + 1, sizeof *w->words, status) ||
            !gb_map_set(w->numbers, (const char *)ids, sizeof *ids * length, number, status))
            return false;
        w->words[w->count++] = (prop_word){.passage = passage, .start = start, .length = length};
    }
    w->words[number].passages++;
    return true;
}

/* Words that a passage has several times count once. */
static bool add_passage(prop_words *w, const gb_pretrain_data *data, uint32_t passage,
                        uint32_t max_length, uint64_t *length, gb_status *status)
{
    text_ids text = pretrain_cut_text(pretrain_passage_ids(data, passage), max_length);
    uint32_t count;
    if (!pretrain_prop_split(w, data, text, &count, status))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t start = w->starts[i], size = w->starts[i + 1] - start;
        bool again = false;
        if (!w->keeps(data->vocab, text.ids, start, start + size))
            continue;
        ++*length;
        for (uint32_t k = 0; k < i && !again; k++)
            again = w->starts[k + 1] - w->starts[k] == size &&
                    !memcmp(text.ids + w->starts[k], text.ids + start, sizeof *text.ids * size);
        if (!again && !add_word(w, data, passage, start, size, status))
            return false;
    }
    return true;
}

bool pretrain_prop_words_make(prop_words *w, prop_keeps *keeps, const gb_pretrain_data *data,
                              uint32_t max_length, gb_status *status)
{
    *w = (prop_words){.keeps = keeps, .numbers = gb_map_create(status)};
    uint32_t passages = data->collection->passages;
    uint64_t length = 0, pairs = 0, sum = 0;
    bool ok = w->numbers != NULL;
    for (uint32_t p = 0; ok && p < passages; p++)
        ok = add_passage(w, data, p, max_length, &length, status);
    if (ok && !w->count)
        ok = gb_fail(status, GB_DATA, data->collection->path, NULL,
                     "no passage has a word that sets could be made of");
    ok = ok && (w->up_to = gb_alloc(w->count, sizeof *w->up_to, status)) &&
         (w->last_seen = gb_alloc(w->count, sizeof *w->last_seen, status));
    for (uint32_t i = 0; ok && i < w->count; i++)
        pairs += w->words[i].passages;
    for (uint32_t i = 0; ok && i < w->count; i++)
        w->up_to[i] = (double)(sum += w->words[i].passages) / (double)pairs;
    if (ok)
        w->mean_length = (double)length / passages;
    else
        pretrain_prop_words_free(w);
    return ok;
}

void pretrain_prop_words_free(prop_words *w)
{
    gb_map_destroy(w->numbers);
    free(w->words);
    free(w->up_to);
    free(w->starts);
    free(w->last_seen);
    *w = (prop_words){0};
}

/* ---- one text ---- */

static double share(const prop_words *w, uint32_t word)
{
    return w->up_to[word] - (word ? w->up_to[word - 1] : 0);
}

uint32_t pretrain_prop_meet(prop_words *w, prop_language *language, uint32_t word, bool own)
{
    uint32_t at = w->last_seen[word];
    if (at && at <= language->count && language->words[at - 1] == word) {
        language->frequency[at - 1] += own;
        return at - 1;
    }
    if (language->count == PROP_CANDIDATES)
        return UINT32_MAX;
    language->words[language->count] = word;
    language->frequency[language->count] = own;
    w->last_seen[word] = ++language->count;
    return language->count - 1;
}

static uint32_t draw_word(const prop_words *w, gb_rng *rng)
{
    double u = gb_rng_uniform(rng);
    uint32_t low = 0, high = w->count - 1;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (w->up_to[middle] > u)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

bool pretrain_prop_language_of(prop_words *w, const gb_pretrain_data *data, text_ids text,
                               gb_rng *rng, prop_language *language, gb_status *status)
{
    uint32_t count, length = 0;
    language->count = 0;
    if (!pretrain_prop_split(w, data, text, &count, status))
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t start = w->starts[i], size = w->starts[i + 1] - start;
        uint32_t word = pretrain_prop_number_of(w, text.ids + start, size);
        if (word == GB_MAP_NONE)
            continue;
        pretrain_prop_meet(w, language, word, true);
        length++;
    }
    uint32_t wanted = w->count < PROP_CANDIDATES ? w->count : PROP_CANDIDATES;
    for (uint32_t tries = 0; language->count < wanted && tries < 4 * PROP_CANDIDATES; tries++)
        pretrain_prop_meet(w, language, draw_word(w, rng), false);
    for (uint32_t i = 0; i < language->count; i++) {
        double background = w->mean_length * share(w, language->words[i]);
        language->probability[i] =
            (language->frequency[i] + background) / (length + w->mean_length);
        language->worth[i] = log(language->probability[i]);
    }
    return true;
}

double pretrain_prop_draw_set(const prop_language *language, uint32_t size, gb_rng *rng,
                              uint32_t *places)
{
    bool taken[PROP_CANDIDATES] = {false};
    double left = 0, score = 0;
    for (uint32_t i = 0; i < language->count; i++)
        left += language->probability[i];
    for (uint32_t s = 0; s < size; s++) {
        double u = gb_rng_uniform(rng) * left;
        uint32_t chosen = UINT32_MAX;
        for (uint32_t i = 0; i < language->count; i++) {
            if (taken[i])
                continue;
            chosen = i; /* the last one left where rounding takes u beyond the end */
            u -= language->probability[i];
            if (u < 0)
                break;
        }
        taken[chosen] = true;
        left -= language->probability[chosen];
        score += language->worth[chosen];
        places[s] = chosen;
    }
    return score;
}

uint32_t pretrain_prop_set_size(gb_rng *rng)
{
    const double none = 0.049787068367863944; /* exp(-3) */
    for (;;) {
        uint32_t size = 0;
        for (double product = gb_rng_uniform(rng); product > none; size++)
            product *= gb_rng_uniform(rng);
        if (size)
            return size;
    }
}
