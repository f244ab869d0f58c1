/* Passages that stay as they are while the encoder of queries is trained: vectors of gabbro encode,
 * and a search among them in every step. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

static bool search(void *context, const gb_vectors *queries, uint32_t k, uint32_t *rows,
                   gb_status *status)
{
    train_fixed *fixed = context;
    const gb_search_params params = {.k = k, .quiet = true};
    float *scores = gb_alloc((size_t)queries->rows * k, sizeof *scores, status);
    const gb_found found = {.rows = rows, .scores = scores};
    bool ok =
        scores && gb_search(fixed->device, queries, &fixed->set.vectors, &params, &found, status);
    free(scores);
    return ok;
}

/* The vectors are of the collection's passages, all of them in their order. */
static bool check_ids(const gb_vector_set *set, const gb_collection *collection, gb_status *status)
{
    size_t wanted = gb_row_file_count(collection->passage_ids), length, other;
    if (set->vectors.rows != wanted)
        return gb_fail(status, GB_DATA, set->folder, "encode the passages of this collection",
                       "%u vectors, but the collection has %zu passages", set->vectors.rows,
                       wanted);
    for (uint32_t row = 0; row < wanted; row++) {
        const char *id = gb_row_file_row(collection->passage_ids, row, &length);
        const char *own = gb_vector_set_id(set, row, &other);
        if (length != other || memcmp(id, own, length))
            return gb_fail(status, GB_DATA, set->folder, "encode the passages of this collection",
                           "vector %u is of the passage %.*s, in the collection it is %.*s", row,
                           (int)other, own, (int)length, id);
    }
    return true;
}

/* Another model's vectors have nothing to do with those of the queries. */
static bool check_model(const gb_vector_set *set, const train_fixed_params *params,
                        gb_status *status)
{
    char identity[GB_IDENTITY];
    if (set->vectors.width != params->width)
        return gb_fail(status, GB_DATA, set->folder, "gabbro encode with the model of --init",
                       "vectors of %u numbers, the model to start from makes %u",
                       set->vectors.width, params->width);
    if (!gb_identity(params->init, identity, status))
        return false;
    return !*set->model || !strcmp(set->model, identity) ||
           gb_fail(status, GB_DATA, set->folder, "gabbro encode with the model of --init",
                   "the passages were encoded by another model than the one to start from");
}

bool train_fixed_open(train_fixed *fixed, const train_fixed_params *params, gb_status *status)
{
    const gb_words *folders = params->folders;
    *fixed = (train_fixed){0};
    if (!gb_vector_set_open(&fixed->set, (const char *const *)folders->items, folders->count,
                            status) ||
        !check_ids(&fixed->set, params->collection, status) ||
        !check_model(&fixed->set, params, status))
        return false;
    fixed->passages =
        (gb_fixed_passages){.vectors = fixed->set.vectors, .search = search, .context = fixed};
    return true;
}

void train_fixed_close(train_fixed *fixed)
{
    gb_vector_set_close(&fixed->set);
}
