/* False negatives: which passages of the runs are no negatives of their queries. */
#include "private.h"

#include <math.h>
#include <stdlib.h>

/* ---- texts by their tokens ---- */

/* One more id into a hash (the finaliser of splitmix64 on each). */
static uint64_t mix(uint64_t hash, uint32_t id)
{
    hash = (hash ^ id) + 0x9e3779b97f4a7c15u;
    hash = (hash ^ hash >> 30) * 0xbf58476d1ce4e5b9u;
    hash = (hash ^ hash >> 27) * 0x94d049bb133111ebu;
    return hash ^ hash >> 31;
}

static uint64_t *hash_rows(const gb_row_file *rows, gb_status *status)
{
    size_t count = gb_row_file_count(rows);
    uint64_t *hashes = gb_alloc(count, sizeof *hashes, status);
    for (size_t row = 0; hashes && row < count; row++) {
        size_t length;
        const uint32_t *ids = gb_row_file_row(rows, (uint32_t)row, &length);
        uint64_t hash = length;
        for (size_t i = 0; i < length; i++)
            hash = mix(hash, ids[i]);
        hashes[row] = hash;
    }
    return hashes;
}

bool gb_text_hashes_make(gb_text_hashes *hashes, const gb_tokens *tokens, gb_status *status)
{
    hashes->passages = hash_rows(tokens->passages, status);
    hashes->queries = hashes->passages ? hash_rows(tokens->queries, status) : NULL;
    return hashes->queries;
}

void gb_text_hashes_free(gb_text_hashes *hashes)
{
    free(hashes->passages);
    free(hashes->queries);
    *hashes = (gb_text_hashes){0};
}

bool gb_text_is_positive(const gb_text_hashes *hashes, const gb_training_set *set,
                         const gb_training_query *query, uint32_t passage)
{
    const uint32_t *positives = set->passages + query->positive_first;
    for (uint32_t i = 0; i < query->positive_count; i++)
        if (hashes->passages[positives[i]] == hashes->passages[passage])
            return true;
    return false;
}

/* ---- the filter ---- */

/* A query that is being filtered. */
typedef struct filtering {
    const gb_negative_filter *how; /* what is dropped */
    gb_training_set *set;          /* of the query */
    gb_training_query *query;      /* it */
    const gb_run_list *scored;     /* its scores, or NULL */
    double largest;                /* score that a negative may have at most */
    gb_filtered *counts;           /* of all queries */
} filtering;

/* Whether a run has the passage among its first. */
static bool ranks_high(const filtering *f, uint32_t passage)
{
    for (size_t r = 0; r < f->how->run_count; r++) {
        const gb_run *run = &f->how->runs[r];
        const gb_run_list *list = f->how->skip ? gb_run_find(run, f->query->query) : NULL;
        for (uint32_t i = 0; list && i < list->count && i < f->how->skip; i++)
            if (run->hits[list->first + i].passage == passage)
                return true;
    }
    return false;
}

/* The upper bound on scores: below the lowest positive by the margins, and not above what is given.
 */
static void find_bound(filtering *f)
{
    const uint32_t *positives = f->set->passages + f->query->positive_first;
    double lowest = INFINITY;
    f->scored = f->how->scores ? gb_run_find(f->how->scores, f->query->query) : NULL;
    for (uint32_t i = 0; i < f->query->positive_count; i++)
        lowest = fmin(lowest, finetune_score_of(f->how->scores, f->scored, positives[i]));
    f->counts->unscored_queries += f->how->scores && isinf(lowest);
    f->largest = f->how->max_score;
    if (isinf(lowest))
        return;
    f->largest = fmin(f->largest, lowest - f->how->margin);
    if (f->how->relative_margin != -INFINITY)
        f->largest = fmin(f->largest, lowest - f->how->relative_margin * fabs(lowest));
}

static bool text_is_listed(const filtering *f, uint32_t kept, uint32_t passage)
{
    const uint64_t *hashes = f->how->texts->passages;
    const uint32_t *pool = f->set->passages + f->query->negative_first;
    for (uint32_t i = 0; i < kept; i++)
        if (hashes[pool[i]] == hashes[passage])
            return true;
    return gb_text_is_positive(f->how->texts, f->set, f->query, passage);
}

/* Is it a negative? kept: those before it that are. */
static bool keep(filtering *f, uint32_t kept, uint32_t passage)
{
    if (f->how->skip && ranks_high(f, passage)) {
        f->counts->by_rank++;
        return false;
    }
    if (f->how->texts && text_is_listed(f, kept, passage)) {
        f->counts->by_text++;
        return false;
    }
    if (!f->how->scores)
        return true;
    double score = finetune_score_of(f->how->scores, f->scored, passage);
    if (isnan(score)) {
        f->counts->unscored++;
        return false;
    }
    bool fits = score >= f->how->min_score && score <= f->largest;
    f->counts->by_score += !fits;
    return fits;
}

void gb_training_set_filter(gb_training_set *set, const gb_negative_filter *how,
                            gb_filtered *counts)
{
    *counts = (gb_filtered){0};
    set->without_negatives = 0;
    for (uint32_t q = 0; q < set->count; q++) {
        filtering f = {.how = how, .set = set, .query = &set->queries[q], .counts = counts};
        uint32_t *pool = set->passages + f.query->negative_first, kept = 0;
        find_bound(&f);
        counts->before += f.query->negative_count;
        for (uint32_t i = 0; i < f.query->negative_count; i++)
            if (keep(&f, kept, pool[i]))
                pool[kept++] = pool[i];
        f.query->negative_count = kept;
        counts->left += kept;
        set->without_negatives += kept == 0;
    }
}
