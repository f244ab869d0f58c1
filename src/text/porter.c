/* M. F. Porter, "An algorithm for suffix stripping", Program 14(3), 1980, with the two departures
 * of his own later program, which Lucene has too: step 2 turns -bli into -ble (not only -abli into
 * -able) and -logi into -log; words of one or two letters stay as they are. (Snowball's "porter"
 * lacks these and undoubles fewer consonants, so it gives other terms for possibly, technology and
 * trekking.) Bytes beyond ASCII count as consonants. */
#include "text/porter.h"

#include <stdbool.h>
#include <string.h>

/* The word being stemmed. */
typedef struct word {
    char *bytes;   /* the letters */
    size_t length; /* letters now */
} word;

static bool is_consonant(const char *bytes, size_t at)
{
    switch (bytes[at]) {
    case 'a':
    case 'e':
    case 'i':
    case 'o':
    case 'u':
        return false;
    case 'y': {
        /* Behind a consonant y is a vowel; in a run of y's they take turns. */
        size_t first = at;
        while (first > 0 && bytes[first - 1] == 'y')
            first--;
        bool start = first == 0 || !is_consonant(bytes, first - 1);
        return start == ((at - first) % 2 == 0);
    }
    default:
        return true;
    }
}

/* Porter's m: the number of vowel-consonant turns in the first `length` bytes; counts to 2. */
static int measure(const word *w, size_t length)
{
    int turns = 0;
    bool vowel = false;
    for (size_t i = 0; i < length && turns < 2; i++) {
        bool consonant = is_consonant(w->bytes, i);
        turns += vowel && consonant;
        vowel = !consonant;
    }
    return turns;
}

static bool has_vowel(const word *w, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (!is_consonant(w->bytes, i))
            return true;
    return false;
}

/* Where the letter starts that ends before `end` > 0. */
static size_t letter_before(const word *w, size_t end)
{
    do
        end--;
    while (end > 0 && ((unsigned char)w->bytes[end] & 0xC0) == 0x80);
    return end;
}

/* *d: the word ends in a double consonant; *last is where the second one starts. */
static bool ends_double(const word *w, size_t *last)
{
    *last = w->length ? letter_before(w, w->length) : 0;
    size_t size = w->length - *last;
    return *last >= size && memcmp(w->bytes + *last - size, w->bytes + *last, size) == 0 &&
           is_consonant(w->bytes, *last);
}

/* *o: the first `length` bytes end in consonant, vowel, consonant, the last not w, x or y. */
static bool ends_cvc(const word *w, size_t length)
{
    if (length < 3 || strchr("wxy", w->bytes[length - 1]))
        return false;
    size_t last = letter_before(w, length);
    return is_consonant(w->bytes, last) && last >= 2 && !is_consonant(w->bytes, last - 1) &&
           is_consonant(w->bytes, last - 2);
}

/* If the word ends in suffix: true and the bytes before it. */
static bool ends(const word *w, const char *suffix, size_t *before)
{
    size_t size = strlen(suffix);
    if (size > w->length || memcmp(w->bytes + w->length - size, suffix, size) != 0)
        return false;
    *before = w->length - size;
    return true;
}

/* Put text behind the first `length` bytes. */
static void put(word *w, size_t length, const char *text)
{
    size_t size = strlen(text);
    memcpy(w->bytes + length, text, size);
    w->length = length + size;
}

/* Plurals and -ed, -ing. */
static void step_1(word *w)
{
    size_t before, last;
    if (ends(w, "sses", &before) || ends(w, "ies", &before))
        w->length -= 2;
    else if (w->length >= 2 && w->bytes[w->length - 1] == 's' && w->bytes[w->length - 2] != 's')
        w->length--;

    if (ends(w, "eed", &before)) {
        if (measure(w, before) > 0)
            w->length--;
    } else if ((ends(w, "ed", &before) || ends(w, "ing", &before)) && has_vowel(w, before)) {
        w->length = before;
        if (ends(w, "at", &before) || ends(w, "bl", &before) || ends(w, "iz", &before))
            put(w, w->length, "e");
        else if (ends_double(w, &last) && !strchr("lsz", w->bytes[last]))
            w->length = last;
        else if (measure(w, w->length) == 1 && ends_cvc(w, w->length))
            put(w, w->length, "e");
    }
    if (ends(w, "y", &before) && has_vowel(w, before))
        w->bytes[before] = 'i';
}

/* The first matching suffix of a table decides; longer ones stand before their own ends. */
typedef struct rule {
    const char *suffix;      /* what the word ends in */
    const char *replacement; /* what takes its place when the rest has m > 0 */
} rule;

static void replace_suffix(word *w, const rule *rules, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        size_t before;
        if (!ends(w, rules[i].suffix, &before))
            continue;
        if (measure(w, before) > 0)
            put(w, before, rules[i].replacement);
        return;
    }
}

static void steps_2_and_3(word *w)
{
    static const rule step_2[] = {
        {"ational", "ate"}, {"tional", "tion"}, {"enci", "ence"},   {"anci", "ance"},
        {"izer", "ize"},    {"bli", "ble"},     {"alli", "al"},     {"entli", "ent"},
        {"eli", "e"},       {"ousli", "ous"},   {"ization", "ize"}, {"ation", "ate"},
        {"ator", "ate"},    {"alism", "al"},    {"iveness", "ive"}, {"fulness", "ful"},
        {"ousness", "ous"}, {"aliti", "al"},    {"iviti", "ive"},   {"biliti", "ble"},
        {"logi", "log"},
    };
    static const rule step_3[] = {
        {"icate", "ic"}, {"ative", ""}, {"alize", "al"}, {"iciti", "ic"},
        {"ical", "ic"},  {"ful", ""},   {"ness", ""},
    };
    replace_suffix(w, step_2, sizeof step_2 / sizeof *step_2);
    replace_suffix(w, step_3, sizeof step_3 / sizeof *step_3);
}

static void step_4(word *w)
{
    static const char *const suffixes[] = {"al",  "ance",  "ence", "er",  "ic",  "able", "ible",
                                           "ant", "ement", "ment", "ent", "ion", "ou",   "ism",
                                           "ate", "iti",   "ous",  "ive", "ize"};
    for (size_t i = 0; i < sizeof suffixes / sizeof *suffixes; i++) {
        size_t before;
        if (!ends(w, suffixes[i], &before))
            continue;
        bool ion = strcmp(suffixes[i], "ion") == 0;
        if (ion && (before == 0 || !strchr("st", w->bytes[before - 1])))
            continue;
        if (measure(w, before) > 1)
            w->length = before;
        return;
    }
}

static void step_5(word *w)
{
    size_t before;
    if (ends(w, "e", &before)) {
        int turns = measure(w, before);
        if (turns > 1 || (turns == 1 && !ends_cvc(w, before)))
            w->length = before;
    }
    if (ends(w, "ll", &before) && measure(w, before + 1) > 1)
        w->length--;
}

size_t text_porter_stem(char *bytes, size_t length)
{
    word w = {bytes, length};
    if (length <= 2)
        return length;
    step_1(&w);
    steps_2_and_3(&w);
    step_4(&w);
    step_5(&w);
    return w.length;
}
