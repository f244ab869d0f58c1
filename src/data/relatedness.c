/* How often a context is related to its passage: pairs drawn as contextual pre-training draws them.
 */
#include "data/import.h"

enum { TRIES = 1000 };

/* The passages around `passage` that are of its document: [*first, *end). */
static void document_around(const gb_collection *c, uint32_t passage, uint32_t *first,
                            uint32_t *end)
{
    uint32_t document = c->document[passage];
    *first = passage;
    *end = passage + 1;
    while (*first > 0 && c->document[*first - 1] == document)
        (*first)--;
    while (*end < c->passages && c->document[*end] == document)
        (*end)++;
}

static bool draw_span(const gb_collection *c, gb_rng *rng, gb_pair *pair)
{
    uint32_t first, end;
    pair->passage = gb_rng_below(rng, c->passages);
    document_around(c, pair->passage, &first, &end);
    if (end - first < 2)
        return false;
    pair->other = first + gb_rng_below(rng, end - first - 1);
    pair->other += pair->other >= pair->passage;
    pair->text = gb_row_file_row(c->texts, pair->other, &pair->length);
    return true;
}

static bool draw_query(const gb_collection *c, gb_rng *rng, gb_pair *pair)
{
    size_t length;
    pair->passage = gb_rng_below(rng, c->passages);
    pair->other = GB_MAP_NONE;
    const char *row = gb_row_file_row(c->generated, pair->passage, &length);
    uint32_t lines = gb_generated_row_count(row, length);
    if (lines == 0)
        return false;
    pair->text = gb_generated_row_query(row, length, gb_rng_below(rng, lines), &pair->length);
    return true;
}

bool gb_pairs_draw(const gb_collection *collection, gb_pair_kind kind, uint64_t seed,
                   uint32_t count, gb_pair *pairs, gb_status *status)
{
    if (kind == GB_PAIR_QUERY && !collection->generated)
        return gb_fail(status, GB_DATA, collection->path, NULL,
                       "the collection has no generated queries");
    for (uint32_t i = 0; i < count; i++) {
        gb_rng rng = gb_rng_make(seed, GB_RNG_CONTEXT, kind, i);
        int tries = 0;
        while (!(kind == GB_PAIR_SPAN ? draw_span(collection, &rng, &pairs[i])
                                      : draw_query(collection, &rng, &pairs[i])))
            if (++tries == TRIES)
                return gb_fail(status, GB_DATA, collection->path, NULL, "hardly any passage has %s",
                               kind == GB_PAIR_SPAN ? "another in its document"
                                                    : "a generated query");
    }
    return true;
}
