/* Whole-word masking as the Condenser family of pre-training codes does it. */
#include <gabbro/text.h>

#include <math.h>

enum { MAX_MASKED = 512, SPECIALS_AROUND = 2 };

/* Python's round(): halves go to the even neighbour, whatever the floating-point environment. */
static size_t round_half_even(double x)
{
    double low = floor(x), rest = x - low;
    if (rest > 0.5 || (rest == 0.5 && fmod(low, 2.0) != 0.0))
        low += 1.0;
    return (size_t)low;
}

static size_t mask_budget(const gb_mask_params *params, size_t length)
{
    size_t counted = length + (params->count_specials ? SPECIALS_AROUND : 0);
    size_t budget = round_half_even((double)counted * params->ratio);
    if (budget < 1)
        budget = 1;
    return budget < MAX_MASKED ? budget : MAX_MASKED;
}

/* End of the group (a token and the continuations behind it) that starts at `start`. */
static size_t group_end(const gb_vocab *vocab, const uint32_t *ids, size_t length, size_t start)
{
    size_t end = start + 1;
    while (end < length && gb_vocab_is_continuation(vocab, ids[end]))
        end++;
    return end;
}

void gb_mask_words(const gb_vocab *vocab, const gb_mask_params *params, const uint32_t *ids,
                   size_t length, gb_rng *rng, uint32_t *masked, int32_t *labels)
{
    /* `masked` first holds the starts of the groups in shuffled order; a leading continuation
     * starts a group, a special belongs to none. */
    uint32_t groups = 0;
    for (size_t i = 0; i < length; i = group_end(vocab, ids, length, i))
        if (!gb_vocab_is_special(vocab, ids[i]))
            masked[groups++] = (uint32_t)i;
    gb_rng_shuffle(rng, masked, groups);
    for (size_t i = 0; i < length; i++)
        labels[i] = GB_IGNORE;
    size_t budget = mask_budget(params, length), chosen = 0;
    for (uint32_t g = 0; g < groups && chosen < budget; g++) {
        size_t start = masked[g], end = group_end(vocab, ids, length, start);
        if (chosen + (end - start) > budget)
            continue; /* a group is never cut, so the share masked is at most the ratio */
        for (size_t i = start; i < end; i++)
            labels[i] = (int32_t)ids[i];
        chosen += end - start;
    }
    uint32_t mask = gb_vocab_specials(vocab).mask;
    for (size_t i = 0; i < length; i++) {
        masked[i] = ids[i];
        if (labels[i] == GB_IGNORE)
            continue;
        double u = params->all_mask ? 0.0 : gb_rng_uniform(rng);
        if (u < 0.8)
            masked[i] = mask;
        else if (u < 0.9)
            masked[i] = gb_rng_below(rng, gb_vocab_size(vocab));
    }
}
