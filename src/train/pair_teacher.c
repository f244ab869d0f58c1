/* A model of this kit as teacher: its vectors of the training queries and of all passages, single
 * ones or of tokens, from which every pair of a batch is scored when it is drawn. */
#include "private.h"

#include <gabbro/ops.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* One side's vectors. */
typedef struct side {
    bool tokens;            /* several a text */
    gb_vector_set single;   /* if not */
    gb_token_set set;       /* if they are */
    uint32_t *texts;        /* [rows of the collection] which text of the set, or UINT32_MAX */
    const gb_row_file *ids; /* of the collection */
    const char *what;       /* "query" or "passage" */
} side;

struct train_pair_teacher {
    side queries, passages; /* both of one kind */
    gb_pair_teacher as;     /* for the task */
    float *query;           /* vectors of one query */
    size_t query_capacity;  /* floats */
};

/* ---- opening ---- */

static const char *id_of(const side *s, uint32_t text, size_t *length)
{
    if (!s->tokens)
        return gb_vector_set_id(&s->single, text, length);
    *length = strcspn(s->set.names[text], "\r\n");
    return s->set.names[text];
}

static bool open_side(side *s, const gb_words *folders, const gb_row_file *ids, const char *what,
                      gb_status *status)
{
    const char *const *paths = (const char *const *)folders->items;
    uint64_t count = gb_row_file_count(ids);
    s->ids = ids;
    s->what = what;
    s->tokens = gb_is_token_set(paths[0]);
    if (!(s->tokens ? gb_token_set_open(&s->set, paths, folders->count, status)
                    : gb_vector_set_open(&s->single, paths, folders->count, status)))
        return false;
    gb_map *map = gb_row_file_map(ids, status);
    bool ok = map && (s->texts = gb_alloc(count, sizeof *s->texts, status));
    for (uint64_t row = 0; ok && row < count; row++)
        s->texts[row] = UINT32_MAX;
    uint32_t texts = s->tokens ? s->set.vectors.texts : s->single.vectors.rows;
    for (uint32_t t = 0; ok && t < texts; t++) {
        size_t length;
        const char *id = id_of(s, t, &length);
        uint32_t row = gb_map_get(map, id, length);
        if (row != GB_MAP_NONE)
            s->texts[row] = t;
    }
    gb_map_destroy(map);
    return ok;
}

static void close_side(side *s)
{
    gb_vector_set_close(&s->single);
    gb_token_set_close(&s->set);
    free(s->texts);
}

/* What the vectors of one model have in common. */
static bool check_sides(const side *q, const side *p, gb_status *status)
{
    const char *folder = p->tokens ? p->set.folder : p->single.folder;
    const char *models[] = {q->tokens ? q->set.model : q->single.model,
                            p->tokens ? p->set.model : p->single.model};
    uint32_t widths[] = {q->tokens ? q->set.vectors.tokens.width : q->single.vectors.width,
                         p->tokens ? p->set.vectors.tokens.width : p->single.vectors.width};
    if (q->tokens == p->tokens && widths[0] == widths[1] &&
        !q->set.vectors.tags == !p->set.vectors.tags &&
        (!*models[0] || !*models[1] || !strcmp(models[0], models[1])))
        return true;
    return gb_fail(status, GB_DATA, folder, "gabbro encode both with the same model",
                   "vectors of queries and of passages are of different models");
}

/* ---- scores ---- */

/* Vectors of a text: [*count, width], valid until the next call; NULL where it has none, or on
 * failure, with status. */
static const float *vectors_of(const side *s, uint32_t row, uint32_t *count, gb_status *status)
{
    uint32_t text = s->texts[row], first = text;
    size_t length;
    const char *id = gb_row_file_row(s->ids, row, &length);
    if (text == UINT32_MAX) {
        gb_fail(status, GB_DATA, s->tokens ? s->set.folder : s->single.folder,
                "gabbro encode all passages, and the queries with --split train",
                "the %s %.*s has no vector of the teacher", s->what, (int)length, id);
        return NULL;
    }
    const gb_vectors *all = s->tokens ? &s->set.vectors.tokens : &s->single.vectors;
    *count = 1;
    if (s->tokens) {
        first = s->set.vectors.starts[text];
        *count = s->set.vectors.starts[text + 1] - first;
    }
    static const float nothing[1];
    return !*count       ? nothing
           : all->values ? all->values + (size_t)first * all->width
                         : all->read(all->context, first, *count, status);
}

static float product(const float *a, const float *b, uint32_t width)
{
    float sum = 0;
    for (uint32_t d = 0; d < width; d++)
        sum += a[d] * b[d];
    return sum;
}

/* The best product of a token of the query with one of the passage's that it is compared with; -INF
 * if there is none. */
static float best_of(const train_pair_teacher *t, uint32_t q, const float *passage,
                     uint32_t p_first, uint32_t count, uint32_t q_first)
{
    const gb_token_vectors *queries = &t->queries.set.vectors, *passages = &t->passages.set.vectors;
    uint32_t width = queries->tokens.width;
    uint32_t tag = queries->tags ? queries->tags[q_first + q] : 0;
    float best = -INFINITY;
    for (uint32_t i = 0; i < count; i++)
        if (!queries->tags || (tag != GB_NO_ROW && passages->tags[p_first + i] == tag))
            best = fmaxf(best,
                         product(t->query + (size_t)q * width, passage + (size_t)i * width, width));
    return queries->tags ? fmaxf(best, 0) : best;
}

/* The inner product of [CLS] of both, where tokens of equal ids alone are compared. */
static bool add_whole(const train_pair_teacher *t, uint32_t query, uint32_t passage, float *score,
                      gb_status *status)
{
    const gb_vectors *q = &t->queries.set.vectors.whole, *p = &t->passages.set.vectors.whole;
    if (!q->width)
        return true;
    float *copy = gb_alloc(q->width, sizeof *copy, status);
    const float *from = copy ? q->read(q->context, t->queries.texts[query], 1, status) : NULL;
    if (from)
        memcpy(copy, from, sizeof *copy * q->width);
    const float *other = from ? p->read(p->context, t->passages.texts[passage], 1, status) : NULL;
    if (other)
        *score += product(copy, other, q->width);
    free(copy);
    return other;
}

static bool score_pair(const train_pair_teacher *t, uint32_t query, uint32_t passage,
                       uint32_t tokens, float *score, gb_status *status)
{
    uint32_t count;
    const float *vectors = vectors_of(&t->passages, passage, &count, status);
    if (!vectors)
        return false;
    *score = 0;
    if (!t->queries.tokens) {
        *score = product(t->query, vectors, t->queries.single.vectors.width);
        return true;
    }
    uint32_t q_first = t->queries.set.vectors.starts[t->queries.texts[query]];
    uint32_t p_first = t->passages.set.vectors.starts[t->passages.texts[passage]];
    for (uint32_t q = 0; q < tokens; q++) {
        float best = best_of(t, q, vectors, p_first, count, q_first);
        *score += isinf(best) ? 0 : best;
    }
    return add_whole(t, query, passage, score, status);
}

/* It is a gb_pair_teacher.score. */
static bool score(void *context, uint32_t query, const uint32_t *passages, uint32_t count,
                  float *scores, gb_status *status)
{
    train_pair_teacher *t = context;
    uint32_t tokens, width = t->queries.tokens ? t->queries.set.vectors.tokens.width
                                               : t->queries.single.vectors.width;
    const float *vectors = vectors_of(&t->queries, query, &tokens, status);
    if (!vectors || !gb_grow(&t->query, &t->query_capacity, (size_t)tokens * width + 1,
                             sizeof *t->query, status))
        return false;
    memcpy(t->query, vectors, sizeof *t->query * tokens * width);
    for (uint32_t i = 0; i < count; i++)
        if (!score_pair(t, query, passages[i], tokens, &scores[i], status))
            return false;
    return true;
}

/* ---- the whole ---- */

train_pair_teacher *train_pair_teacher_open(const gb_collection *collection,
                                            const gb_words *queries, const gb_words *passages,
                                            gb_status *status)
{
    train_pair_teacher *t = gb_alloc(1, sizeof *t, status);
    if (t && open_side(&t->queries, queries, collection->query_ids, "query", status) &&
        open_side(&t->passages, passages, collection->passage_ids, "passage", status) &&
        check_sides(&t->queries, &t->passages, status)) {
        t->as = (gb_pair_teacher){score, t};
        return t;
    }
    train_pair_teacher_close(t);
    return NULL;
}

void train_pair_teacher_close(train_pair_teacher *t)
{
    if (!t)
        return;
    close_side(&t->queries);
    close_side(&t->passages);
    free(t->query);
    free(t);
}

const gb_pair_teacher *train_pair_teacher_of(const train_pair_teacher *t)
{
    return t ? &t->as : NULL;
}
