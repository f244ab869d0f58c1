/* RM3: the query is mixed with a relevance model of the first passages (gb_rm3 has the formula). */
#include "bm25.h"

#include <stdlib.h>

enum { SHORTEST_WORD = 2, LONGEST_WORD = 20 }; /* of a word that feedback may choose */
#define LARGEST_SHARE 0.1                      /* of the texts that have it */

bool lexical_bm25_feedback_word(const char *bytes, size_t length)
{
    if (length < SHORTEST_WORD || length > LONGEST_WORD)
        return false;
    for (size_t i = 0; i < length; i++)
        if (!((bytes[i] >= 'a' && bytes[i] <= 'z') || (bytes[i] >= '0' && bytes[i] <= '9')))
            return false;
    return true;
}

static bool usable(const gb_bm25 *index, uint32_t term)
{
    double texts = (double)(index->starts[term + 1] - index->starts[term]);
    return index->words[term] && texts <= LARGEST_SHARE * index->text_count;
}

static int by_weight(const void *a, const void *b)
{
    const bm25_feedback_term *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight > y->weight ? -1 : 1;
    return (x->term > y->term) - (x->term < y->term);
}

/* Keeps the `most` terms of the largest weights; gives their sum. */
static double prune(bm25_feedback_term *terms, size_t *count, uint32_t most)
{
    double sum = 0;
    if (!*count)
        return 0; /* qsort wants an array, even of nothing */
    qsort(terms, *count, sizeof *terms, by_weight);
    if (*count > most)
        *count = most;
    for (size_t i = 0; i < *count; i++)
        sum += terms[i].weight;
    return sum;
}

static bool add_to_model(gb_bm25_searcher *s, bm25_feedback_term term, gb_status *status)
{
    for (size_t i = 0; i < s->model_count; i++)
        if (s->model[i].term == term.term) {
            s->model[i].weight += term.weight;
            return true;
        }
    if (!gb_grow(&s->model, &s->model_capacity, s->model_count + 1, sizeof *s->model, status))
        return false;
    s->model[s->model_count++] = term;
    return true;
}

/* Adds score P(w | d) of a passage's most frequent terms. */
static bool add_passage(gb_bm25_searcher *s, gb_hit hit, gb_status *status)
{
    const gb_bm25 *index = s->index;
    size_t first = index->first[hit.passage], end = index->first[hit.passage + 1], count = 0;
    if (!gb_grow(&s->passage, &s->passage_capacity, end - first + 1, sizeof *s->passage, status))
        return false;
    for (size_t i = first; i < end; i++)
        if (usable(index, index->log[i].term))
            s->passage[count++] =
                (bm25_feedback_term){index->log[i].term, (double)index->log[i].count};
    double sum = prune(s->passage, &count, index->params.rm3.terms);
    for (size_t i = 0; i < count; i++) {
        s->passage[i].weight *= hit.score / sum;
        if (!add_to_model(s, s->passage[i], status))
            return false;
    }
    return true;
}

/* Adds a term of the model to those of the query. */
static bool add_to_query(gb_bm25_searcher *s, uint32_t term, float weight, gb_status *status)
{
    for (size_t i = 0; i < s->term_count; i++)
        if (s->terms[i].term == term) {
            s->terms[i].weight += weight;
            return true;
        }
    if (!gb_grow(&s->terms, &s->term_capacity, s->term_count + 1, sizeof *s->terms, status))
        return false;
    s->terms[s->term_count++] = (bm25_query_term){term, weight};
    return true;
}

bool lexical_bm25_feedback(gb_bm25_searcher *s, uint32_t count, gb_status *status)
{
    const gb_rm3 *how = &s->index->params.rm3;
    s->model_count = 0;
    for (uint32_t i = 0; i < count; i++)
        if (!add_passage(s, s->feedback[i], status))
            return false;
    double sum = prune(s->model, &s->model_count, how->terms);
    for (size_t i = 0; i < s->term_count; i++)
        s->terms[i].weight = (float)(how->original * s->terms[i].weight / s->length);
    for (size_t i = 0; i < s->model_count; i++) {
        double share = s->model[i].weight / sum;
        if (!add_to_query(s, s->model[i].term, (float)((1 - how->original) * share), status))
            return false;
    }
    return true;
}
