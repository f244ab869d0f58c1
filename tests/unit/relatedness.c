/* Pairs of passages and contexts: where they are drawn, and what the mini world knows of them. */
#include "gabbro/synth.h"
#include "scratch.h"

enum { MANY = 2000 };

static gb_collection *open_world(void)
{
    gb_status status = {0};
    cr_assert(gb_synth_generate(1, "main", "world", &status), "%s", status.what);
    gb_collection *c = gb_collection_open("world", &status);
    cr_assert_not_null(c, "%s", status.what);
    return c;
}

static double rate(const gb_collection *c, gb_pair_kind kind, uint64_t seed)
{
    static gb_pair pairs[MANY];
    gb_synth *world = NULL;
    cr_assert(gb_pairs_draw(c, kind, seed, MANY, pairs, NULL));
    cr_assert(gb_synth_of_collection(c, &world, NULL));
    cr_assert_not_null(world);
    double sum = 0;
    for (int i = 0; i < MANY; i++)
        sum += gb_synth_related(world, &pairs[i]);
    gb_synth_destroy(world);
    return sum / MANY;
}

/* The shares that the world is calibrated on: 35.5% and 56.5% (QAC, Table 5). */
Test(relatedness, the_world_knows_its_shares)
{
    scratch s = scratch_enter();
    gb_collection *c = open_world();
    double spans = rate(c, GB_PAIR_SPAN, 1), queries = rate(c, GB_PAIR_QUERY, 1);
    cr_expect_float_eq(spans, .355, .04, "%g of the passages", spans);
    cr_expect_float_eq(queries, .565, .04, "%g of the queries", queries);
    cr_expect_eq(rate(c, GB_PAIR_SPAN, 1), spans, "the same seed draws the same pairs");
    cr_expect_neq(rate(c, GB_PAIR_SPAN, 2), spans);
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(relatedness, contexts_belong_to_their_passages)
{
    scratch s = scratch_enter();
    gb_collection *c = open_world();
    gb_pair pairs[300];
    cr_assert(gb_pairs_draw(c, GB_PAIR_SPAN, 7, 300, pairs, NULL));
    for (int i = 0; i < 300; i++) {
        cr_expect_eq(c->document[pairs[i].passage], c->document[pairs[i].other]);
        cr_expect_neq(pairs[i].passage, pairs[i].other);
    }
    cr_assert(gb_pairs_draw(c, GB_PAIR_QUERY, 7, 300, pairs, NULL));
    for (int i = 0; i < 300; i++) {
        size_t length;
        const char *row = gb_row_file_row(c->generated, pairs[i].passage, &length);
        cr_expect(pairs[i].text >= row && pairs[i].text + pairs[i].length < row + length);
        cr_expect_eq(pairs[i].text[pairs[i].length], '\n', "a whole line");
        cr_expect(pairs[i].text == row || pairs[i].text[-1] == '\n');
    }
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(relatedness, nothing_is_known_of_other_collections)
{
    scratch s = scratch_enter();
    scratch_write("docs.jsonl", "{\"id\":\"d\",\"title\":\"\",\"passages\":[{\"id\":\"x\",\"text\":"
                                "\"one stone\"},{\"id\":\"y\",\"text\":\"two stones\"}]}\n");
    gb_import_params params = GB_IMPORT_DEFAULTS;
    params.path = "docs.jsonl";
    params.keep_splits = true;
    cr_assert(gb_collection_import(&params, "out", NULL));
    gb_collection *c = gb_collection_open("out", NULL);
    gb_synth *world = NULL;
    cr_assert(gb_synth_of_collection(c, &world, NULL));
    cr_expect_null(world);
    gb_collection_close(c);
    scratch_leave(&s);
}
