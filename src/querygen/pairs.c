/* Pairs of a passage and a query for it, of the training split alone. */
#include "gabbro/querygen.h"

#include <stdlib.h>
#include <string.h>

void gb_querygen_pairs_free(gb_querygen_pairs *set)
{
    free(set->train.rows);
    free(set->held_out.rows);
    *set = (gb_querygen_pairs){0};
}

/* What is known of queries and passages, by row. */
typedef struct marks {
    gb_map *texts;      /* texts of queries of other splits */
    bool *refused;      /* [queries] must not be learned from */
    bool *chosen;       /* [queries] of the training split, and in the subset */
    bool *held_query;   /* [queries] one of its passages is held out */
    bool *held_passage; /* [passages] */
} marks;

static bool mark_split(const gb_collection *c, const char *split, marks *m, gb_status *status)
{
    gb_qrels qrels;
    if (!gb_collection_qrels(c, split, &qrels, status))
        return false;
    bool ok = true;
    for (size_t i = 0; ok && i < qrels.count; i++) {
        size_t length;
        const char *text = gb_row_file_row(c->queries, qrels.rows[i].query, &length);
        m->refused[qrels.rows[i].query] = true;
        ok = gb_map_set(m->texts, text, length, 0, status);
    }
    free(qrels.rows);
    return ok;
}

/* Queries of all splits but train, and their texts. */
static bool mark_others(const gb_collection *c, marks *m, gb_status *status)
{
    char *splits = gb_strdup(c->splits, status), *rest = NULL;
    bool ok = splits != NULL;
    for (char *split = ok ? strtok_r(splits, " ", &rest) : NULL; ok && split;
         split = strtok_r(NULL, " ", &rest))
        ok = !strcmp(split, "train") || mark_split(c, split, m, status);
    free(splits);
    return ok;
}

static bool refuse(const gb_collection *c, const marks *m, uint32_t query)
{
    size_t length;
    const char *text = gb_row_file_row(c->queries, query, &length);
    return m->refused[query] || gb_map_get(m->texts, text, length) != GB_MAP_NONE;
}

/* Keep what may be learned from, in place: of `most` queries drawn by seed, or of all. */
static bool choose_queries(const gb_collection *c, gb_qrels *qrels, marks *m, uint32_t most,
                           uint64_t seed, uint32_t *refused, gb_status *status)
{
    uint32_t *order = gb_alloc(qrels->count, sizeof *order, status), count = 0;
    bool *counted = gb_alloc(gb_row_file_count(c->queries), sizeof *counted, status);
    bool ok = order && counted;
    size_t kept = 0;
    for (size_t i = 0; ok && i < qrels->count; i++) {
        const gb_qrel *row = &qrels->rows[i];
        bool bad = refuse(c, m, row->query);
        if (!counted[row->query] && (bad || row->grade > 0)) {
            counted[row->query] = true;
            *refused += bad;
            if (!bad)
                order[count++] = row->query;
        }
        if (!bad && row->grade > 0)
            qrels->rows[kept++] = *row;
    }
    qrels->count = kept;
    gb_rng rng = gb_rng_make(seed, GB_RNG_SPLIT, 4, 0);
    if (ok)
        gb_rng_shuffle(&rng, order, count);
    for (uint32_t i = 0; ok && i < count && (!most || i < most); i++)
        m->chosen[order[i]] = true;
    free(order);
    free(counted);
    return ok;
}

/* Hold out a share of the passages that have pairs. */
static bool hold_out(const gb_collection *c, const gb_qrels *qrels, marks *m, double share,
                     uint64_t seed, gb_status *status)
{
    uint32_t *passages = gb_alloc(qrels->count, sizeof *passages, status), count = 0;
    bool *seen = gb_alloc(c->passages, sizeof *seen, status);
    bool ok = passages && seen;
    for (size_t i = 0; ok && i < qrels->count; i++) {
        const gb_qrel *row = &qrels->rows[i];
        if (m->chosen[row->query] && !seen[row->passage]) {
            seen[row->passage] = true;
            passages[count++] = row->passage;
        }
    }
    uint32_t held = (uint32_t)(share * count);
    held += share > 0 && !held && count > 1;
    gb_rng rng = gb_rng_make(seed, GB_RNG_SPLIT, 3, 0);
    if (ok)
        gb_rng_shuffle(&rng, passages, count);
    for (uint32_t i = 0; ok && i < held; i++)
        m->held_passage[passages[i]] = true;
    for (size_t i = 0; ok && i < qrels->count; i++)
        if (m->held_passage[qrels->rows[i].passage])
            m->held_query[qrels->rows[i].query] = true;
    free(passages);
    free(seen);
    return ok;
}

static bool deal(gb_querygen_pairs *set, const gb_qrels *qrels, const marks *m, gb_status *status)
{
    set->train.rows = gb_alloc(qrels->count, sizeof *set->train.rows, status);
    set->held_out.rows = gb_alloc(qrels->count, sizeof *set->held_out.rows, status);
    if (!set->train.rows || !set->held_out.rows)
        return false;
    for (size_t i = 0; i < qrels->count; i++) {
        const gb_qrel *row = &qrels->rows[i];
        if (!m->chosen[row->query])
            continue;
        if (m->held_passage[row->passage])
            set->held_out.rows[set->held_out.count++] = *row;
        else if (!m->held_query[row->query])
            set->train.rows[set->train.count++] = *row;
    }
    return true;
}

bool gb_querygen_pairs_make(gb_querygen_pairs *set, const gb_collection *collection,
                            double held_out, uint32_t most, uint64_t seed, gb_status *status)
{
    *set = (gb_querygen_pairs){0};
    if (!gb_collection_has_split(collection, "train"))
        return gb_fail(status, GB_DATA, collection->path,
                       "a generator learns from training queries",
                       "the collection has no split \"train\"");
    size_t queries = gb_row_file_count(collection->queries);
    gb_qrels qrels = {0};
    marks m = {gb_map_create(status), gb_alloc(queries, sizeof(bool), status),
               gb_alloc(queries, sizeof(bool), status), gb_alloc(queries, sizeof(bool), status),
               gb_alloc(collection->passages, sizeof(bool), status)};
    bool ok = m.texts && m.refused && m.chosen && m.held_query && m.held_passage &&
              gb_collection_qrels(collection, "train", &qrels, status) &&
              mark_others(collection, &m, status) &&
              choose_queries(collection, &qrels, &m, most, seed, &set->refused, status) &&
              hold_out(collection, &qrels, &m, held_out, seed, status) &&
              deal(set, &qrels, &m, status);
    if (ok && !set->train.count)
        ok = gb_fail(status, GB_DATA, collection->path,
                     "judge at least one passage of a training query relevant",
                     "no training query has a passage to learn from");
    gb_map_destroy(m.texts);
    free(m.refused);
    free(m.chosen);
    free(m.held_query);
    free(m.held_passage);
    free(qrels.rows);
    if (!ok)
        gb_querygen_pairs_free(set);
    return ok;
}
