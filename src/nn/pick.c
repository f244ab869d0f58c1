/* The next token from its logits: transformers' order of temperature, top k and top p. */
#include <gabbro/language.h>

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

/* How many of the sorted candidates stay: those not below the k-th, and of these the fewest whose
 * probabilities reach top_p. */
static uint32_t survivors(const candidate *list, uint32_t count, const gb_pick_params *params)
{
    uint32_t kept = count;
    if (params->top_k && params->top_k < count) {
        kept = params->top_k;
        while (kept < count && list[kept].logit == list[kept - 1].logit)
            kept++;
    }
    if (params->top_p > 0 && params->top_p < 1) {
        double sum = 0, so_far = 0;
        uint32_t all = kept;
        for (uint32_t i = 0; i < all; i++)
            sum += exp(list[i].logit - list[0].logit);
        for (kept = 0; kept < all && so_far < params->top_p; kept++)
            so_far += exp(list[kept].logit - list[0].logit) / sum;
    }
    return kept;
}

uint32_t gb_pick_greedy(const float *logits, uint32_t count)
{
    uint32_t best = 0;
    for (uint32_t c = 1; c < count; c++)
        if (logits[c] > logits[best])
            best = c;
    return best;
}

bool gb_pick_token(const float *logits, uint32_t count, const gb_pick_params *params, gb_rng *rng,
                   uint32_t *token, gb_status *status)
{
    candidate *list = gb_alloc(count, sizeof *list, status);
    if (!list)
        return false;
    for (uint32_t c = 0; c < count; c++)
        list[c] = (candidate){(double)logits[c] / params->temperature, c};
    qsort(list, count, sizeof *list, by_logit);
    uint32_t kept = survivors(list, count, params);
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
