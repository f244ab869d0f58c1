/* Several runs become one. */
#include "placed.h"

#include <math.h>
#include <stdlib.h>

const char *const gb_fusion_names[] = {"ranks", "sum", "turns", NULL};

/* The fused list of a query. */
typedef struct fusing {
    const gb_fusion *how; /* method */
    gb_map *seen;         /* passage -> index in fused */
    eval_placed *fused;   /* [count] sums so far */
    size_t count;         /* passages */
    size_t capacity;      /* passages allocated */
    eval_placed *list;    /* scratch: a list by rank */
    size_t list_capacity; /* places allocated */
    gb_hit *hits;         /* scratch: the result */
    size_t hit_capacity;  /* hits allocated */
} fusing;

static bool add_passage(fusing *f, uint32_t passage, double part, gb_status *status)
{
    uint32_t at = gb_map_get(f->seen, (const char *)&passage, sizeof passage);
    if (at != GB_MAP_NONE) {
        double *score = &f->fused[at].hit.score;
        *score = f->how->method != GB_FUSION_TURNS ? *score + part : part > *score ? part : *score;
        return true;
    }
    if (!gb_grow(&f->fused, &f->capacity, f->count + 1, sizeof *f->fused, status) ||
        !gb_map_set(f->seen, (const char *)&passage, sizeof passage, (uint32_t)f->count, status))
        return false;
    f->fused[f->count] = (eval_placed){{passage, part}, (uint32_t)f->count};
    f->count++;
    return true;
}

/* Adds the parts of the list of run `number` of `count`. */
static bool add_list(fusing *f, const gb_run *run, const gb_run_list *list, size_t number,
                     size_t count_of_runs, gb_status *status)
{
    double weight = f->how->weights ? f->how->weights[number] : 1;
    if (!gb_grow(&f->list, &f->list_capacity, list->count, sizeof *f->list, status))
        return false;
    uint32_t count = 0;
    for (uint32_t i = 0; i < list->count; i++)
        if (run->hits[list->first + i].passage != GB_NO_PASSAGE)
            f->list[count++] = (eval_placed){run->hits[list->first + i], i};
    eval_placed_sort(f->list, count);
    double largest = count ? f->list[0].hit.score : 0;
    double range = count ? largest - f->list[count - 1].hit.score : 0;
    bool ok = f->how->method != GB_FUSION_SUM || isfinite(range) ||
              gb_fail(status, GB_DATA, NULL, "--fusion ranks needs no scores",
                      "the scores of run %zu cannot be scaled: they range from %g to %g",
                      number + 1, f->list[count - 1].hit.score, largest);
    for (uint32_t i = 0; ok && i < count; i++) {
        double fraction = range > 0 ? 1 - (largest - f->list[i].hit.score) / range : 1;
        double part = f->how->method == GB_FUSION_RANKS ? weight * (1 / (f->how->k + i + 1))
                      : f->how->method == GB_FUSION_SUM
                          ? weight * fraction
                          : -((double)i * (double)count_of_runs + (double)number);
        ok = add_passage(f, f->list[i].hit.passage, part, status);
    }
    return ok;
}

static bool fuse_query(fusing *f, const gb_run *runs, size_t count, uint32_t query, gb_run *fused,
                       gb_status *status)
{
    f->count = 0;
    bool ok = (f->seen = gb_map_create(status)) != NULL;
    for (size_t r = 0; ok && r < count; r++) {
        const gb_run_list *list = gb_run_find(&runs[r], query);
        ok = !list || add_list(f, &runs[r], list, r, count, status);
    }
    gb_map_destroy(f->seen);
    if (!ok || !gb_grow(&f->hits, &f->hit_capacity, f->count, sizeof *f->hits, status))
        return false;
    eval_placed_sort(f->fused, f->count);
    uint32_t depth = f->how->depth && f->how->depth < f->count ? f->how->depth : (uint32_t)f->count;
    for (uint32_t i = 0; i < depth; i++) {
        f->hits[i] = f->fused[i].hit;
        if (f->how->method == GB_FUSION_TURNS)
            f->hits[i].score = 1. / (i + 1.);
    }
    return gb_run_add(fused, query, f->hits, depth, status);
}

bool gb_run_fuse(const gb_run *runs, size_t count, const gb_fusion *how, gb_run *fused,
                 gb_status *status)
{
    fusing f = {.how = how};
    gb_map *done = gb_map_create(status);
    bool ok = done != NULL;
    for (size_t r = 0; ok && r < count; r++)
        for (size_t i = 0; ok && i < runs[r].list_count; i++) {
            uint32_t query = runs[r].lists[i].query;
            const char *key = (const char *)&query;
            if (gb_map_get(done, key, sizeof query) != GB_MAP_NONE)
                continue;
            ok = gb_map_set(done, key, sizeof query, 0, status) &&
                 fuse_query(&f, runs, count, query, fused, status);
        }
    gb_map_destroy(done);
    free(f.fused);
    free(f.list);
    free(f.hits);
    return ok;
}
