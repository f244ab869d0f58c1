/* The next token from its logits: transformers' order of temperature, top k and top p. */
#include <gabbro/lm.h>

#include <math.h>
#include <stdlib.h>

typedef struct candidate {
    double logit;   /* over the temperature */
    uint32_t token; /* its column */
} candidate;

static int by_logit(const void *a, const void *b)
{
    const candidate *x = a, *y = b;
    if (x->logit != y->logit)
        return x->logit < y->logit ? 1 : -1;
    return x->token < y->token ? -1 : x->token > y->token;
}

/* Make list[0..k) a heap with its smallest logit on top, from the place `at` down. */
static void sink(double *heap, uint32_t k, uint32_t at)
{
    for (;;) {
        uint32_t least = 2 * at + 1;
        if (least >= k)
            return;
        least += least + 1 < k && heap[least + 1] < heap[least];
        if (heap[at] <= heap[least])
            return;
        double other = heap[at];
        heap[at] = heap[least];
        heap[least] = other;
        at = least;
    }
}

/* The k-th largest of count > k logits over the temperature. */
static bool kth_logit(const float *logits, uint32_t count, uint32_t k, float temperature,
                      double *kth, gb_status *status)
{
    double *heap = gb_alloc(k, sizeof *heap, status);
    if (!heap)
        return false;
    for (uint32_t c = 0; c < k; c++)
        heap[c] = (double)logits[c] / temperature;
    for (uint32_t at = k / 2; at-- > 0;)
        sink(heap, k, at);
    for (uint32_t c = k; c < count; c++) {
        double logit = (double)logits[c] / temperature;
        if (logit > heap[0]) {
            heap[0] = logit;
            sink(heap, k, 0);
        }
    }
    *kth = heap[0];
    free(heap);
    return true;
}

/* Those not below the k-th largest, sorted, and how many; NULL on failure. */
static candidate *largest(const float *logits, uint32_t count, const gb_sampling_params *params,
                          uint32_t *kept, gb_status *status)
{
    double kth = -INFINITY;
    uint32_t k = params->top_k;
    if (k && k < count && !kth_logit(logits, count, k, params->temperature, &kth, status))
        return NULL;
    candidate *list = gb_alloc(count, sizeof *list, status);
    *kept = 0;
    for (uint32_t c = 0; list && c < count; c++) {
        double logit = (double)logits[c] / params->temperature;
        if (!(logit < kth))
            list[(*kept)++] = (candidate){logit, c};
    }
    if (list)
        qsort(list, *kept, sizeof *list, by_logit);
    return list;
}

/* The fewest of the sorted candidates whose probabilities among them reach top_p. */
static uint32_t nucleus(const candidate *list, uint32_t count, double top_p)
{
    double sum = 0, so_far = 0;
    uint32_t kept = 0;
    if (!(top_p > 0 && top_p < 1))
        return count;
    for (uint32_t i = 0; i < count; i++)
        sum += exp(list[i].logit - list[0].logit);
    while (kept < count && so_far < top_p)
        so_far += exp(list[kept++].logit - list[0].logit) / sum;
    return kept;
}

uint32_t gb_sample_greedy(const float *logits, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t c = 1; c < count; c++)
        if (logits[c] > logits[best])
            best = c;
    return best;
}

bool gb_sample_token(const float *logits, uint32_t count, const gb_sampling_params *params,
                     gb_rng *rng, uint32_t *token, gb_status *status)
{
    uint32_t kept;
    candidate *list = largest(logits, count, params, &kept, status);
    if (!list)
        return false;
    kept = nucleus(list, kept, params->top_p);
    double sum = 0, place = 0;
    for (uint32_t i = 0; i < kept; i++)
        sum += exp(list[i].logit - list[0].logit);
    double drawn = gb_rng_uniform(rng) * sum;
    *token = list[0].token;
    for (uint32_t i = 0; i < kept; i++) {
        *token = list[i].token;
        place += exp(list[i].logit - list[0].logit);
        if (drawn < place)
            break;
    }
    free(list);
    return true;
}
