/* Judgements of queries that nobody judged, by the scores of a cross-encoder. */
#include <gabbro/finetune.h>

#include <stdlib.h>

/* Labels being made. */
typedef struct labels {
    const gb_pseudo_bounds *bounds; /* which scores */
    gb_qrels *qrels;                /* positives */
    size_t capacity;                /* of its rows */
    gb_run *negatives;              /* the others */
    gb_hit *hits;                   /* scratch: negatives of a query */
    size_t hit_capacity;            /* of it */
    gb_pseudo_counts *counts;       /* how many */
} labels;

static bool is_listed(const uint32_t *rows, uint32_t count, uint32_t row)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (rows[middle] < row)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && rows[low] == row;
}

static bool add_positive(labels *l, uint32_t query, uint32_t passage, gb_status *status)
{
    gb_qrels *qrels = l->qrels;
    if (!gb_grow(&qrels->rows, &l->capacity, qrels->count + 1, sizeof *qrels->rows, status))
        return false;
    qrels->rows[qrels->count++] = (gb_qrel){.query = query, .passage = passage, .grade = 1};
    return true;
}

static bool label_query(labels *l, const gb_run *scored, const gb_run_list *list, gb_status *status)
{
    size_t before = l->qrels->count;
    uint32_t negatives = 0;
    if (!gb_grow(&l->hits, &l->hit_capacity, (size_t)list->count + 1, sizeof *l->hits, status))
        return false;
    for (uint32_t i = 0; i < list->count; i++) {
        gb_hit hit = scored->hits[list->first + i];
        if (!(hit.score >= 0 && hit.score <= 1))
            return gb_fail(status, GB_DATA, NULL, "gabbro rerank --scores probability",
                           "a score is %g; labels are made of probabilities", hit.score);
        if (hit.score >= l->bounds->positive) {
            if (!add_positive(l, list->query, hit.passage, status))
                return false;
        } else if (hit.score <= l->bounds->negative) {
            l->hits[negatives++] = hit;
        }
    }
    size_t positives = l->qrels->count - before;
    if (!positives) {
        l->counts->without++;
        return true;
    }
    l->counts->queries++;
    l->counts->positives += positives;
    l->counts->negatives += negatives;
    l->counts->between += list->count - positives - negatives;
    gb_hits_sort(l->hits, negatives);
    return !negatives || gb_run_add(l->negatives, list->query, l->hits, negatives, status);
}

static int by_rows(const void *a_, const void *b_)
{
    const gb_qrel *a = a_, *b = b_;
    if (a->query != b->query)
        return a->query < b->query ? -1 : 1;
    return (a->passage > b->passage) - (a->passage < b->passage);
}

bool gb_pseudo_labels(const gb_run *scored, const uint32_t *unlabelled, uint32_t count,
                      const gb_pseudo_bounds *bounds, gb_qrels *qrels, gb_run *negatives,
                      gb_pseudo_counts *counts, gb_status *status)
{
    labels l = {.bounds = bounds, .qrels = qrels, .negatives = negatives, .counts = counts};
    bool ok = true;
    *counts = (gb_pseudo_counts){0};
    for (size_t i = 0; ok && i < scored->list_count; i++)
        if (is_listed(unlabelled, count, scored->lists[i].query))
            ok = label_query(&l, scored, &scored->lists[i], status);
    if (ok && !qrels->count)
        ok = gb_fail(status, GB_DATA, NULL, "lower --positive, or score other queries",
                     "of %llu unlabelled queries none has a passage that scores %g or more",
                     (unsigned long long)counts->without, bounds->positive);
    if (ok)
        qsort(qrels->rows, qrels->count, sizeof *qrels->rows, by_rows);
    free(l.hits);
    return ok;
}
