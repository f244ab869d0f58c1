/* Token coverage: counting. */
#include "gabbro/figures.h"

#include <math.h>
#include <stdlib.h>

struct gb_coverage {
    const gb_vocab *vocab;              /* borrowed */
    uint32_t depth;                     /* K */
    const bool *rare;                   /* [V] borrowed, or NULL */
    uint32_t texts;                     /* counted */
    uint32_t texts_with_rare;           /* of them */
    double *sums[GB_COVERAGE_READINGS]; /* [depth] of the texts' ratios */
    uint32_t *rank;                     /* [V] place among the best of the current text, from 0 */
    uint32_t *rank_of;                  /* [V] text that `rank` was written for, counted from 1 */
    uint32_t *seen_in;                  /* [V] text in which a token was last seen */
    uint32_t *new_hits, *hits;          /* [depth] distinct tokens, tokens, that appear at a rank */
    uint32_t *rare_hits;                /* [depth] distinct rare tokens */
    uint32_t round;                     /* current text, from 1 */
};

const char *gb_coverage_reading_name(gb_coverage_reading reading)
{
    static const char *const names[GB_COVERAGE_READINGS] = {"set", "multiset", "top", "rare"};
    return names[reading];
}

gb_coverage *gb_coverage_create(const gb_vocab *vocab, uint32_t depth, const bool *rare,
                                gb_status *status)
{
    gb_coverage *c = gb_alloc(1, sizeof *c, status);
    if (!c)
        return NULL;
    uint32_t size = gb_vocab_size(vocab);
    c->vocab = vocab;
    c->depth = depth;
    c->rare = rare;
    bool ok = (c->rank = gb_alloc(size, sizeof *c->rank, status)) &&
              (c->rank_of = gb_alloc(size, sizeof *c->rank_of, status)) &&
              (c->seen_in = gb_alloc(size, sizeof *c->seen_in, status)) &&
              (c->new_hits = gb_alloc(depth, sizeof *c->new_hits, status)) &&
              (c->hits = gb_alloc(depth, sizeof *c->hits, status)) &&
              (c->rare_hits = gb_alloc(depth, sizeof *c->rare_hits, status));
    for (int r = 0; ok && r < GB_COVERAGE_READINGS; r++)
        ok = (c->sums[r] = gb_alloc(depth, sizeof *c->sums[r], status)) != NULL;
    if (ok)
        return c;
    gb_coverage_destroy(c);
    return NULL;
}

void gb_coverage_destroy(gb_coverage *c)
{
    if (!c)
        return;
    for (int r = 0; r < GB_COVERAGE_READINGS; r++)
        free(c->sums[r]);
    free(c->rank);
    free(c->rank_of);
    free(c->seen_in);
    free(c->new_hits);
    free(c->hits);
    free(c->rare_hits);
    free(c);
}

void gb_coverage_add(gb_coverage *c, const uint32_t *top, const uint32_t *ids, size_t length)
{
    uint32_t distinct = 0, all = 0, rare = 0;
    c->round++;
    for (uint32_t k = 0; k < c->depth; k++) {
        c->rank[top[k]] = k;
        c->rank_of[top[k]] = c->round;
        c->new_hits[k] = c->hits[k] = c->rare_hits[k] = 0;
    }
    for (size_t i = 0; i < length; i++) {
        uint32_t id = ids[i];
        if (id >= gb_vocab_size(c->vocab) || gb_vocab_is_special(c->vocab, id))
            continue;
        bool first = c->seen_in[id] != c->round, hit = c->rank_of[id] == c->round;
        c->seen_in[id] = c->round;
        bool counts = first && c->rare && c->rare[id];
        distinct += first;
        rare += counts;
        all++;
        if (hit) {
            c->new_hits[c->rank[id]] += first;
            c->hits[c->rank[id]]++;
            c->rare_hits[c->rank[id]] += counts;
        }
    }
    if (!all)
        return;
    c->texts++;
    c->texts_with_rare += rare > 0;
    uint32_t found = 0, found_all = 0, found_rare = 0;
    for (uint32_t k = 0; k < c->depth; k++) {
        found += c->new_hits[k];
        found_all += c->hits[k];
        found_rare += c->rare_hits[k];
        c->sums[GB_COVERAGE_SET][k] += (double)found / distinct;
        c->sums[GB_COVERAGE_MULTISET][k] += (double)found_all / all;
        c->sums[GB_COVERAGE_OF_TOP][k] += (double)found / (k + 1);
        if (rare)
            c->sums[GB_COVERAGE_RARE][k] += (double)found_rare / rare;
    }
}

uint32_t gb_coverage_texts(const gb_coverage *c)
{
    return c->texts;
}

double gb_coverage_at(const gb_coverage *c, gb_coverage_reading reading, uint32_t k)
{
    uint32_t texts = reading == GB_COVERAGE_RARE ? c->texts_with_rare : c->texts;
    return texts ? c->sums[reading][k - 1] / texts : NAN;
}
