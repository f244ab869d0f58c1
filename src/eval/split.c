/* Splits of a collection: their queries, and by which of them a model can be judged. */
#include <gabbro/eval.h>

#include <stdlib.h>
#include <string.h>

static bool open_labelled(const gb_collection *collection, const char *name, gb_split *split,
                          gb_status *status);

/* Queries of all splits get a mark. */
static bool mark_labelled(const gb_collection *collection, bool *labelled, gb_status *status)
{
    char *names = gb_strdup(collection->splits, status), *rest = names;
    bool ok = names != NULL;
    for (char *name; ok && (name = gb_take_field(&rest, " "));) {
        gb_split split = {0};
        ok = !*name || open_labelled(collection, name, &split, status);
        for (uint32_t i = 0; ok && i < split.count; i++)
            labelled[split.queries[i]] = true;
        gb_split_free(&split);
    }
    free(names);
    return ok;
}

static bool open_unlabelled(const gb_collection *collection, gb_split *split, gb_status *status)
{
    uint32_t all = (uint32_t)gb_row_file_count(collection->query_ids);
    *split = (gb_split){.name = gb_strdup(GB_UNLABELLED, status),
                        .queries = gb_alloc((size_t)all + 1, sizeof *split->queries, status)};
    bool *labelled = split->queries ? gb_alloc((size_t)all + 1, sizeof *labelled, status) : NULL;
    bool ok = split->name && labelled && mark_labelled(collection, labelled, status);
    for (uint32_t q = 0; ok && q < all; q++)
        if (!labelled[q])
            split->queries[split->count++] = q;
    if (ok && !split->count)
        ok = gb_fail(status, GB_DATA, collection->path,
                     "give queries.jsonl more queries than the judgements name",
                     "every query of the collection is in a split");
    free(labelled);
    if (!ok)
        gb_split_free(split);
    return ok;
}

bool gb_split_open(const gb_collection *collection, const char *name, gb_split *split,
                   gb_status *status)
{
    return strcmp(name, GB_UNLABELLED) || gb_collection_has_split(collection, name)
               ? open_labelled(collection, name, split, status)
               : open_unlabelled(collection, split, status);
}

static bool open_labelled(const gb_collection *collection, const char *name, gb_split *split,
                          gb_status *status)
{
    *split = (gb_split){.name = gb_strdup(name, status)};
    bool ok = split->name && gb_collection_qrels(collection, name, &split->qrels, status) &&
              gb_collection_split_queries(collection, name, &split->qrels, &split->queries,
                                          &split->count, status);
    if (!ok)
        gb_split_free(split);
    return ok;
}

void gb_split_free(gb_split *split)
{
    free(split->name);
    free(split->qrels.rows);
    free(split->queries);
    *split = (gb_split){0};
}

/* Queries of a split that are training queries, too. Measured on, they show what was learnt by
 * heart. */
static uint32_t shared(const gb_split *split, const gb_split *training)
{
    uint32_t found = 0;
    for (uint32_t i = 0, t = 0; i < split->count; i++) {
        while (t < training->count && training->queries[t] < split->queries[i])
            t++;
        found += t < training->count && training->queries[t] == split->queries[i];
    }
    return found;
}

/* Add the split where it can judge a model. */
static bool add_split(const gb_collection *collection, const char *name, const gb_split *training,
                      gb_splits *splits, gb_status *status)
{
    gb_split *split = &splits->items[splits->count];
    if (!gb_split_open(collection, name, split, status))
        return false;
    uint32_t found = shared(split, training);
    if (found && found == training->count) {
        gb_log(GB_LOG_INFO, "split %s is left out: it holds the training queries", name);
        gb_split_free(split);
        return true;
    }
    if (found)
        gb_log(GB_LOG_WARN,
               "%u of %u queries of split %s are training queries, too: what is measured there is "
               "partly learnt by heart (take them out of one of the two)",
               found, split->count, name);
    splits->count++;
    return true;
}

bool gb_splits_open(const gb_collection *collection, gb_splits *splits, gb_status *status)
{
    gb_split training = {0};
    char *names = gb_strdup(collection->splits, status), *rest = names;
    *splits = (gb_splits){0};
    splits->items = gb_alloc(strlen(collection->splits) / 2 + 1, sizeof *splits->items, status);
    bool ok = names && splits->items &&
              (!gb_collection_has_split(collection, "train") ||
               gb_split_open(collection, "train", &training, status));
    for (char *name; ok && (name = gb_take_field(&rest, " "));)
        if (*name && strcmp(name, "train"))
            ok = add_split(collection, name, &training, splits, status);
    gb_split_free(&training);
    free(names);
    if (!ok)
        gb_splits_free(splits);
    return ok;
}

void gb_splits_free(gb_splits *splits)
{
    for (size_t i = 0; i < splits->count; i++)
        gb_split_free(&splits->items[i]);
    free(splits->items);
    *splits = (gb_splits){0};
}
