/* Whether contexts are related to their passages. */
#include <gabbro/retrieve.h>
#include <gabbro/synth.h>

enum { BM25_DEPTH = 10 };

/* A passage that is itself the context finds itself first: it does not count. */
static bool judge_by_bm25(const gb_collection *collection, const gb_pair *pairs, uint32_t count,
                          bool *related, gb_status *status)
{
    gb_bm25 *index = gb_bm25_of(collection, status);
    gb_bm25_searcher *searcher = index ? gb_bm25_searcher_create(index, status) : NULL;
    bool ok = searcher != NULL;
    for (uint32_t i = 0; i < count && ok; i++) {
        gb_hit hits[BM25_DEPTH + 1];
        uint32_t found = BM25_DEPTH + 1, rank = 0;
        related[i] = false;
        ok = gb_bm25_search(searcher, pairs[i].text, pairs[i].length, hits, &found, status);
        for (uint32_t h = 0; ok && h < found && rank < BM25_DEPTH; h++) {
            if (hits[h].passage == pairs[i].other)
                continue;
            related[i] |= hits[h].passage == pairs[i].passage;
            rank++;
        }
    }
    gb_bm25_searcher_destroy(searcher);
    gb_bm25_destroy(index);
    return ok;
}

bool gb_pairs_judge(const gb_collection *collection, const gb_pair *pairs, uint32_t count,
                    bool *related, const char **judge, gb_status *status)
{
    gb_synth *world = NULL;
    if (!gb_synth_of_collection(collection, &world, status))
        return false;
    *judge = world ? "mini world" : "BM25, first ten";
    for (uint32_t i = 0; i < count && world; i++)
        related[i] = gb_synth_related(world, &pairs[i]);
    bool ok = world || judge_by_bm25(collection, pairs, count, related, status);
    gb_synth_destroy(world);
    return ok;
}
