/* The best texts of a search by terms: shared by BM25 and impacts. Private to the module. */
#ifndef LEXICAL_BEST_H
#define LEXICAL_BEST_H

#include <gabbro/lexical.h>

/* Scores of texts while terms add to them. */
typedef struct lexical_scores {
    double *scores;   /* [texts] 0 between searches */
    uint32_t *texts;  /* [texts] those with a score in this search */
    uint32_t touched; /* number of them */
} lexical_scores;
/* Makes them for `texts` texts; free with lexical_scores_free. */
bool lexical_scores_make(lexical_scores *scores, uint32_t texts, gb_status *status);
void lexical_scores_free(lexical_scores *scores);

/* Adds a positive gain to the score of a text. */
static inline void lexical_gain(lexical_scores *scores, uint32_t text, double gain)
{
    if (scores->scores[text] == 0)
        scores->texts[scores->touched++] = text;
    scores->scores[text] += gain;
}

/* Takes the best k of what is in hits[0..count) (any order, room for k) and of all touched texts,
 * whose passages are first + text; clears the scores. Sorted by score descending, then by passage.
 * Returns their number. */
uint32_t lexical_best(lexical_scores *scores, uint32_t first, gb_hit *hits, uint32_t count,
                      uint32_t k);

#endif
