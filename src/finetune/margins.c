/* Negatives balanced by the teacher's margin, as in TAS-B (Hofstaetter et al., "Efficiently
 * teaching an effective dense retriever with balanced topic aware sampling", SIGIR 2021,
 * section 3.3): of most queries nearly all negatives are far below the positive, and would be
 * nearly all that is drawn. */
#include "private.h"

#include <math.h>
#include <stdlib.h>

/* The bin of a margin among equally wide ones from the least to the largest. */
static uint32_t bin_of(double margin, double least, double most, uint32_t bins)
{
    uint32_t bin = most > least ? (uint32_t)((margin - least) / (most - least) * bins) : 0;
    return bin < bins ? bin : bins - 1;
}

/* The bins of a pool: bins[i] of pool[i], by the positive's score less its own. */
static void find_bins(const finetune_drawer *d, const gb_training_query *q, uint32_t positive,
                      uint32_t *bins)
{
    const gb_run *teacher = d->data.teacher;
    const gb_run_list *list = gb_run_find(teacher, q->query);
    double base = finetune_score_of(teacher, list, positive), least = INFINITY, most = -INFINITY;
    for (uint32_t i = 0; i < q->negative_count; i++) {
        double margin = base - finetune_score_of(teacher, list, d->pool[i]);
        least = fmin(least, margin);
        most = fmax(most, margin);
    }
    for (uint32_t i = 0; i < q->negative_count; i++)
        bins[i] = bin_of(base - finetune_score_of(teacher, list, d->pool[i]), least, most,
                         d->params->margin_bins);
}

/* The place of one of `left` that are left: a bin that is not empty, each equally likely, then one
 * of it. counts [bins] is scratch. */
static uint32_t draw_place(gb_rng *rng, const uint32_t *bins, uint32_t left, uint32_t *counts,
                           uint32_t bin_count)
{
    uint32_t filled = 0, bin = 0, place = 0;
    for (uint32_t b = 0; b < bin_count; b++)
        counts[b] = 0;
    for (uint32_t i = 0; i < left; i++)
        filled += !counts[bins[i]]++;
    for (uint32_t at = gb_rng_below(rng, filled);; bin++)
        if (counts[bin] && !at--)
            break;
    for (uint32_t at = gb_rng_below(rng, counts[bin]);; place++)
        if (bins[place] == bin && !at--)
            return place;
}

bool finetune_draw_balanced(finetune_drawer *d, const gb_training_query *q, uint32_t epoch,
                            uint32_t count, uint32_t *rows, gb_status *status)
{
    uint32_t bin_count = d->params->margin_bins, left = q->negative_count, drawn = 0;
    gb_rng rng =
        gb_rng_make(d->params->seed ^ FINETUNE_MARGIN_SEED, GB_RNG_NEGATIVE, epoch, q->query);
    uint32_t *bins = gb_alloc((size_t)left + bin_count, sizeof *bins, status);
    for (uint32_t i = 0; bins && i < left; i++)
        d->pool[i] = d->data.set->passages[q->negative_first + i];
    if (bins)
        find_bins(d, q, rows[0], bins);
    for (; bins && left && drawn < count; left--) {
        uint32_t place = draw_place(&rng, bins, left, bins + q->negative_count, bin_count);
        rows[1 + drawn++] = d->pool[place];
        d->pool[place] = d->pool[left - 1];
        bins[place] = bins[left - 1];
    }
    bool ok = bins;
    free(bins);
    return ok && (drawn == count || finetune_draw_random(d, q, FINETUNE_RANDOM_SEED, epoch,
                                                         count - drawn, rows + 1 + drawn, status));
}
