/* Search of token vectors against a plain loop: ties, empty texts, tags, whole vectors, more than
 * one block of either side, inverted lists, and the scores of chosen passages. */
#include "retrieve/search.h"

#include <gabbro/ops.h>

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MUST(x) cr_assert((x), "%s: %s", status.where, status.what)

static gb_device *open_device(void)
{
    gb_status status = {0};
    static gb_config config;
    config = gb_config_read();
    gb_device_params params = gb_ops_device(&config, NULL);
    params.validation = params.quiet = true;
    gb_device *device = gb_device_open(&params, &status);
    MUST(device);
    return device;
}

static void close_device(gb_device *device)
{
    cr_expect_eq(gb_device_validation_count(device), 0, "the validation layer spoke");
    gb_device_close(device);
}

/* Texts of 0 to `most` tokens of small whole numbers, whose products are exact. */
static gb_token_vectors texts_make(uint32_t texts, uint32_t most, uint32_t width, uint32_t stream,
                                   bool coil)
{
    gb_rng rng = gb_rng_make(31, GB_RNG_TEST, stream, 0);
    uint32_t *starts = calloc(texts + 1, sizeof *starts);
    for (uint32_t t = 0; t < texts; t++)
        starts[t + 1] = starts[t] + gb_rng_below(&rng, most + 1);
    uint32_t rows = starts[texts], *tags = calloc(rows + 1, sizeof *tags);
    float *tokens = calloc((size_t)rows * width + 1, sizeof *tokens);
    float *whole = calloc((size_t)texts * 5, sizeof *whole);
    for (size_t i = 0; i < (size_t)rows * width; i++)
        tokens[i] = (float)gb_rng_below(&rng, 5) - 2;
    for (size_t i = 0; i < (size_t)texts * 5; i++)
        whole[i] = (float)gb_rng_below(&rng, 5) - 2;
    for (uint32_t r = 0; r < rows; r++)
        tags[r] = gb_rng_below(&rng, 9) ? gb_rng_below(&rng, 7) : GB_NO_ROW;
    gb_token_vectors v = {.tokens = {.rows = rows, .width = width, .values = tokens},
                          .starts = starts,
                          .tags = coil ? tags : NULL,
                          .texts = texts};
    v.whole = (gb_vectors){.rows = texts, .width = coil ? 5 : 0, .values = whole};
    if (!coil)
        free(tags);
    return v;
}

static void texts_free(gb_token_vectors *v)
{
    free((void *)v->tokens.values), free((void *)v->whole.values);
    free((void *)v->starts), free((void *)v->tags);
}

static double product(const gb_vectors *a, uint32_t i, const gb_vectors *b, uint32_t j)
{
    double sum = 0;
    for (uint32_t c = 0; c < a->width; c++)
        sum += (double)a->values[(size_t)i * a->width + c] * b->values[(size_t)j * b->width + c];
    return sum;
}

static double plain_score(const gb_token_vectors *q, uint32_t query, const gb_token_vectors *p,
                          uint32_t passage)
{
    double sum = q->whole.width ? product(&q->whole, query, &p->whole, passage) : 0;
    for (uint32_t i = q->starts[query]; i < q->starts[query + 1]; i++) {
        double best = q->tags ? 0 : -INFINITY;
        for (uint32_t j = p->starts[passage]; j < p->starts[passage + 1]; j++)
            if (!q->tags || (q->tags[i] != GB_NO_ROW && q->tags[i] == p->tags[j]))
                best = fmax(best, product(&q->tokens, i, &p->tokens, j));
        sum += isinf(best) ? 0 : best;
    }
    return sum;
}

static void check_search(uint32_t queries, uint32_t query_tokens, uint32_t passages,
                         uint32_t passage_tokens, uint32_t width, uint32_t k, bool coil)
{
    gb_status status = {0};
    gb_token_vectors q = texts_make(queries, query_tokens, width, 1, coil);
    gb_token_vectors p = texts_make(passages, passage_tokens, width, 2, coil);
    gb_device *device = open_device();
    const gb_found found = {calloc((size_t)queries * k, 4), calloc((size_t)queries * k, 4)};
    MUST(gb_token_search(device, &q, &p, k, &found, &status));
    double *plain = calloc(passages, sizeof *plain);
    for (uint32_t i = 0; i < queries; i++) {
        for (uint32_t j = 0; j < passages; j++)
            plain[j] = plain_score(&q, i, &p, j);
        for (uint32_t n = 0; n < k; n++) {
            uint32_t best = GB_NO_ROW;
            for (uint32_t j = 0; j < passages; j++)
                if (!isnan(plain[j]) && (best == GB_NO_ROW || plain[j] > plain[best]))
                    best = j;
            size_t at = (size_t)i * k + n;
            cr_assert_eq(found.rows[at], best, "query %u, place %u: %u, not %u", i, n,
                         found.rows[at], best);
            if (best == GB_NO_ROW)
                continue;
            cr_assert_eq(found.scores[at], (float)plain[best]);
            plain[best] = NAN;
        }
    }
    free(plain), free(found.rows), free(found.scores);
    texts_free(&q), texts_free(&p);
    close_device(device);
}

Test(token_search, all_tokens)
{
    check_search(1, 1, 1, 1, 1, 3, false);
    check_search(7, 9, 60, 20, 16, 11, false);
    check_search(70, 60, 300, 30, 8, 5, false); /* two blocks of queries */
}

Test(token_search, blocks_of_passages)
{
    check_search(3, 5, 2500, 40, 4, 20, false); /* too many passages, and too many tokens */
}

Test(token_search, equal_tokens_and_whole_vectors)
{
    check_search(7, 9, 60, 20, 16, 11, true);
    check_search(3, 30, 200, 50, 32, 200, true);
}

/* ---- chosen passages ---- */

static void note_scores(void *context, uint32_t query, const uint32_t *rows, const float *scores,
                        uint32_t count)
{
    double *to = context; /* by row */
    (void)query;
    for (uint32_t i = 0; i < count; i++)
        to[rows[i]] = scores[i];
}

Test(token_search, chosen_passages)
{
    enum { PASSAGES = 40, QUERY = 2 };
    const uint32_t chosen[] = {7, 8, 9, 30, 3, 39, 0};
    gb_status status = {0};
    gb_token_vectors q = texts_make(4, 6, 12, 1, true), p = texts_make(PASSAGES, 9, 12, 2, true);
    gb_device *device = open_device();
    gb_token_scorer *scorer = gb_token_scorer_create(device, &q, &p, 1, &status);
    MUST(scorer);
    double scores[PASSAGES];
    for (uint32_t j = 0; j < PASSAGES; j++)
        scores[j] = NAN;
    MUST(gb_token_score(scorer, QUERY, 1, chosen, 7, note_scores, scores, &status));
    for (uint32_t i = 0; i < 7; i++)
        cr_expect_eq(scores[chosen[i]], plain_score(&q, QUERY, &p, chosen[i]));
    cr_expect(isnan(scores[1]));
    gb_token_scorer_destroy(scorer);
    texts_free(&q), texts_free(&p);
    close_device(device);
}

/* ---- inverted lists ---- */

enum { LISTED = 300, ASKING = 70 };

static void keep_scores(void *context, uint32_t query, const uint32_t *rows, const float *scores,
                        uint32_t count)
{
    float *to = context; /* [ASKING, LISTED] */
    for (uint32_t i = 0; i < count; i++)
        to[query * LISTED + rows[i]] = scores[i];
}

/* Numbers whose sums depend on their order. */
static void make_uneven(gb_token_vectors *v)
{
    float *tokens = (float *)v->tokens.values, *whole = (float *)v->whole.values;
    for (size_t i = 0; i < (size_t)v->tokens.rows * v->tokens.width; i++)
        tokens[i] = tokens[i] / 3 + (float)i / 7000;
    for (size_t i = 0; i < (size_t)v->whole.rows * v->whole.width; i++)
        whole[i] = whole[i] / 3;
}

Test(token_search, lists_have_the_bits_of_all_pairs)
{
    static float pairs[ASKING * LISTED], lists[ASKING * LISTED];
    gb_status status = {0};
    gb_token_vectors q = texts_make(ASKING, 9, 12, 1, true),
                     p = texts_make(LISTED, 20, 12, 2, true);
    make_uneven(&q), make_uneven(&p);
    gb_device *device = open_device();
    gb_token_scorer *scorer = gb_token_scorer_create(device, &q, &p, ASKING, &status);
    MUST(scorer);
    MUST(gb_token_score(scorer, 0, ASKING, NULL, LISTED, keep_scores, pairs, &status));
    const token_lists_limits whole = {0}, parts = {.part_bytes = 9000, .products = 500};
    MUST(retrieve_token_lists_search(device, &q, &p, whole, keep_scores, lists, &status));
    cr_expect_arr_eq(lists, pairs, sizeof pairs);
    memset(lists, 0, sizeof lists);
    MUST(retrieve_token_lists_search(device, &q, &p, parts, keep_scores, lists, &status));
    cr_expect_arr_eq(lists, pairs, sizeof pairs, "in parts and blocks");
    gb_token_scorer_destroy(scorer);
    texts_free(&q), texts_free(&p);
    close_device(device);
}

Test(token_search, sides_must_fit)
{
    gb_status status = {0};
    gb_token_vectors q = texts_make(2, 3, 8, 1, false), p = texts_make(2, 3, 9, 2, false),
                     coil = texts_make(2, 3, 8, 3, true);
    coil.whole.width = 0;
    gb_device *device = open_device();
    cr_expect_null(gb_token_scorer_create(device, &q, &p, 1, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_null(gb_token_scorer_create(device, &q, &coil, 1, &status));
    cr_expect_eq(status.code, GB_DATA);
    texts_free(&q), texts_free(&p), texts_free(&coil);
    close_device(device);
}
