/* Batches without two equal texts, as sentence-transformers' sampler without duplicates fills them:
 * a query with a text that is in the batch waits for the next one. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* ---- the batches of an epoch ---- */

/* Where a text is among those of the batch, or would be. */
static uint64_t *slot_of(const finetune_distinct *x, uint64_t text)
{
    size_t slot = (size_t)text & (x->slots - 1);
    while (x->seen[slot] && x->seen[slot] != text)
        slot = (slot + 1) & (x->slots - 1);
    return &x->seen[slot];
}

/* Takes a query into the batch, unless one of its texts is there. */
static bool take(finetune_distinct *x, uint32_t query)
{
    const uint64_t *texts = x->texts + (size_t)query * x->width;
    for (uint32_t i = 0; i < x->width; i++)
        if (*slot_of(x, texts[i]))
            return false;
    for (uint32_t i = 0; i < x->width; i++)
        *slot_of(x, texts[i]) = texts[i];
    return true;
}

/* Fills a batch, with those that wait before others. It may be a part of the order: what was read
 * of that is in batches or waits, so that no unread query is overwritten. */
static uint32_t fill_batch(finetune_distinct *x, uint32_t *batch)
{
    uint32_t filled = 0, waited = x->waiting_count;
    x->waiting_count = 0;
    memset(x->seen, 0, sizeof *x->seen * x->slots);
    for (uint32_t i = 0; i < waited; i++) {
        uint32_t query = x->waiting[i];
        if (filled < x->batch && take(x, query))
            batch[filled++] = query;
        else
            x->waiting[x->waiting_count++] = query;
    }
    for (; filled < x->batch && x->next < x->count; x->next++) {
        uint32_t query = x->order[x->next];
        if (take(x, query)) {
            batch[filled++] = query;
        } else {
            x->waiting[x->waiting_count++] = query;
            x->put_off++;
        }
    }
    return filled;
}

void finetune_distinct_fill(finetune_distinct *x)
{
    uint32_t done = 0, filled;
    x->next = x->waiting_count = x->put_off = 0;
    while ((filled = fill_batch(x, x->order + done)) == x->batch)
        done += filled;
    x->batches = done / x->batch;
    if (x->waiting_count)
        memcpy(x->order + done + filled, x->waiting, sizeof *x->order * x->waiting_count);
}

/* ---- the batches of a training ---- */

/* No text has the hash that stands for none. */
static uint64_t hash_of(const uint64_t *hashes, uint32_t row)
{
    return hashes[row] ? hashes[row] : 1;
}

/* Texts of a query in the epoch. The rows of the batch are free: it is drawn later. */
static bool find_texts(finetune_drawer *d, uint32_t at, gb_status *status)
{
    finetune_distinct *x = &d->distinct;
    const gb_training_query *query = &d->data.set->queries[at];
    uint64_t *texts = x->texts + (size_t)at * x->width;
    uint32_t *passages = d->batch.rows;
    if (!finetune_draw_passages(d, query, x->epoch, passages, status))
        return false;
    texts[0] = hash_of(d->data.distinct->queries, query->query);
    for (uint32_t i = 1; i < x->width; i++)
        texts[i] = hash_of(d->data.distinct->passages, passages[i - 1]);
    return true;
}

/* The batches of the next epoch; of the first one behind UINT32_MAX. */
static bool next_epoch(finetune_drawer *d, gb_status *status)
{
    finetune_distinct *x = &d->distinct;
    x->first += x->batches;
    x->batches = 0;
    x->epoch++;
    for (uint32_t i = 0; i < x->count; i++)
        x->order[i] = gb_epochs_at(&d->order, (uint64_t)x->epoch * x->count + i);
    for (uint32_t at = 0; at < x->count; at++)
        if (!find_texts(d, at, status))
            return false;
    finetune_distinct_fill(x);
    return x->batches || gb_fail(status, GB_DATA, "--no-duplicates",
                                 "give a smaller --batch, or fewer --negatives-per-query",
                                 "%u training queries do not fill a batch of %u in which no text "
                                 "is there twice",
                                 x->count, x->batch);
}

bool finetune_distinct_go(finetune_drawer *d, uint32_t step, gb_status *status)
{
    finetune_distinct *x = &d->distinct;
    if (step < x->first) {
        x->epoch = UINT32_MAX;
        x->first = x->batches = 0;
    }
    while (step - x->first >= x->batches)
        if (!next_epoch(d, status))
            return false;
    return true;
}

bool finetune_distinct_make(finetune_distinct *x, uint32_t count, uint32_t width, uint32_t batch,
                            gb_status *status)
{
    *x = (finetune_distinct){
        .count = count, .width = width, .batch = batch, .epoch = UINT32_MAX, .slots = 1};
    while (x->slots < 2 * (size_t)batch * width)
        x->slots *= 2;
    return (x->order = gb_alloc(count, sizeof *x->order, status)) &&
           (x->waiting = gb_alloc(count, sizeof *x->waiting, status)) &&
           (x->texts = gb_alloc((size_t)count * width, sizeof *x->texts, status)) &&
           (x->seen = gb_alloc(x->slots, sizeof *x->seen, status));
}

void finetune_distinct_free(finetune_distinct *x)
{
    free(x->order);
    free(x->waiting);
    free(x->texts);
    free(x->seen);
}

bool gb_finetune_distinct(const gb_finetune_params *params, const gb_finetune_data *data,
                          uint32_t epochs, gb_distinct *found, gb_status *status)
{
    finetune_drawer d = {.params = params,
                         .data = *data,
                         .scoring = params->scoring ? params->scoring : gb_scorings[0]};
    const finetune_distinct *x = &d.distinct;
    *found = (gb_distinct){0};
    bool ok = finetune_drawer_make(&d, status);
    for (uint32_t epoch = 0; ok && epoch < epochs; epoch++) {
        ok = finetune_distinct_go(&d, found->steps, status);
        found->steps += x->batches;
        found->put_off += x->put_off;
        found->left_out += x->count - x->batches * x->batch;
    }
    finetune_drawer_free(&d);
    return ok;
}
