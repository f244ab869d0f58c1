/* The best texts of a search by terms, kept in a heap with the worst on top. */
#include "best.h"

#include <stdlib.h>

bool lexical_scores_make(lexical_scores *scores, uint32_t texts, gb_status *status)
{
    *scores = (lexical_scores){0};
    scores->scores = gb_alloc(texts, sizeof *scores->scores, status);
    scores->texts = scores->scores ? gb_alloc(texts, sizeof *scores->texts, status) : NULL;
    return scores->texts != NULL;
}

void lexical_scores_free(lexical_scores *scores)
{
    free(scores->scores);
    free(scores->texts);
    *scores = (lexical_scores){0};
}

static bool better(gb_hit a, gb_hit b)
{
    return a.score != b.score ? a.score > b.score : a.passage < b.passage;
}

/* Restore the heap (the worst hit on top) from place `i` down. */
static void sift_down(gb_hit *heap, uint32_t count, uint32_t i)
{
    gb_hit hit = heap[i];
    while (true) {
        uint64_t child = 2 * (uint64_t)i + 1;
        if (child >= count)
            break;
        if (child + 1 < count && better(heap[child], heap[child + 1]))
            child++;
        if (!better(hit, heap[child]))
            break;
        heap[i] = heap[child];
        i = (uint32_t)child;
    }
    heap[i] = hit;
}

static int by_rank(const void *a, const void *b)
{
    return better(*(const gb_hit *)b, *(const gb_hit *)a) ? 1 : -1;
}

static void order_heap(gb_hit *hits, uint32_t k)
{
    for (uint32_t i = k / 2; i-- > 0;)
        sift_down(hits, k, i);
}

uint32_t lexical_best(lexical_scores *scores, uint32_t first, gb_hit *hits, uint32_t count,
                      uint32_t k)
{
    if (k && count == k)
        order_heap(hits, k);
    for (uint32_t i = 0; i < scores->touched; i++) {
        uint32_t text = scores->texts[i];
        gb_hit hit = {first + text, (float)scores->scores[text]};
        scores->scores[text] = 0;
        if (count < k) {
            hits[count++] = hit;
            if (count == k)
                order_heap(hits, k);
        } else if (k && better(hit, hits[0])) {
            hits[0] = hit;
            sift_down(hits, k, 0);
        }
    }
    scores->touched = 0;
    qsort(hits, count, sizeof *hits, by_rank);
    return count;
}
