/* Sparse vectors of texts, text after text, and which of their weights are kept. */
#include "sparse.h"

#include <stdlib.h>

#define FIELD(member) GB_FIELD(gb_sparse_settings, member)
const gb_option gb_sparse_options[] = {
    {"passage-terms", GB_OPTION_U32, FIELD(passage_terms), 0, NULL,
     "keep the N terms of a passage with the largest weights; 0: all", .with = "model"},
    {"query-terms", GB_OPTION_U32, FIELD(query_terms), 0, NULL, "the same of a query",
     .with = "model"},
    {"least-weight", GB_OPTION_REAL, FIELD(least_weight), 0, NULL,
     "drop smaller weights of passages and queries", .with = "model"},
    {0}};
#undef FIELD

static int by_weight(const void *a_, const void *b_)
{
    const sparse_term *a = a_, *b = b_;
    return a->weight != b->weight ? (a->weight < b->weight ? 1 : -1) : a->id < b->id ? -1 : 1;
}

static int by_id(const void *a, const void *b)
{
    uint32_t left = ((const sparse_term *)a)->id, right = ((const sparse_term *)b)->id;
    return left < right ? -1 : left > right;
}

/* Texts that are being turned into vectors. */
typedef struct giving {
    sparse_source *source; /* how */
    sparse_take_fn *take;  /* who gets them */
    void *ctx;             /* its first argument */
} giving;

/* The first `count` terms of the scratch, ordered by id, as far as they are kept. */
static bool give(const giving *g, uint32_t text, uint32_t count, gb_status *status)
{
    sparse_source *s = g->source;
    if (s->most && count > s->most) {
        qsort(s->terms, count, sizeof *s->terms, by_weight);
        count = s->most;
        qsort(s->terms, count, sizeof *s->terms, by_id);
    }
    return g->take(g->ctx, text, s->terms, count, status);
}

static bool take_weights(void *ctx, uint32_t text, const float *weights, gb_status *status)
{
    const giving *g = ctx;
    sparse_source *s = g->source;
    uint32_t width = gb_encoder_width(s->encoder), count = 0;
    for (uint32_t id = 0; id < width; id++)
        if (weights[id] > 0 && (double)weights[id] >= s->least)
            s->terms[count++] = (sparse_term){id, weights[id]};
    return give(g, text, count, status);
}

/* The different tokens of a text, with their fixed weights. */
static bool take_tokens(const giving *g, const gb_encode_rows *texts, uint32_t text,
                        gb_status *status)
{
    sparse_source *s = g->source;
    size_t length;
    const uint32_t *ids = gb_encode_text(texts, text, &length);
    uint32_t most = s->max_length > 2 ? s->max_length - 2 : 0, count = 0, kept = 0;
    if (length > most)
        length = most;
    if (!gb_grow(&s->terms, &s->capacity, length + 1, sizeof *s->terms, status))
        return false;
    for (size_t i = 0; i < length; i++)
        if (ids[i] != s->specials.cls && ids[i] != s->specials.sep && s->weights[ids[i]] > 0 &&
            (double)s->weights[ids[i]] >= s->least)
            s->terms[count++] = (sparse_term){ids[i], s->weights[ids[i]]};
    qsort(s->terms, count, sizeof *s->terms, by_id);
    for (uint32_t i = 0; i < count; i++)
        if (!i || s->terms[i].id != s->terms[i - 1].id)
            s->terms[kept++] = s->terms[i];
    return give(g, text, kept, status);
}

bool retrieve_sparse_each(sparse_source *source, const gb_encode_rows *texts, sparse_take_fn *take,
                          void *ctx, gb_status *status)
{
    giving g = {source, take, ctx};
    bool ok = true;
    if (source->encoder)
        return gb_grow(&source->terms, &source->capacity, gb_encoder_width(source->encoder),
                       sizeof *source->terms, status) &&
               gb_encoder_each(source->encoder, texts, take_weights, &g, status);
    for (uint32_t i = 0; ok && i < texts->count; i++)
        ok = take_tokens(&g, texts, i, status);
    return ok;
}

void retrieve_sparse_source_free(sparse_source *source)
{
    free(source->terms);
    *source = (sparse_source){0};
}
