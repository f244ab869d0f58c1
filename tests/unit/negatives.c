/* Data module: hard negatives and a teacher's scores in the layouts of other kits, and damage in
 * them. */
#include "import_help.h"

/* ---- negatives ---- */

static void expect_negatives(const gb_collection *c, const char *path, uint32_t query,
                             uint32_t count, uint32_t first)
{
    gb_status status = {0};
    gb_negatives_params params = {.path = path, .seed = 1};
    gb_negatives *n = gb_negatives_read(c, &params, &status);
    cr_assert_not_null(n, "%s: %s", status.where, status.what);
    uint32_t got;
    const uint32_t *rows = gb_negatives_of(n, query, &got);
    cr_expect_eq(got, count, "%s: %u", path, got);
    cr_expect_eq(rows[0], first, "%s", path);
    gb_negatives_destroy(n);
}

Test(negatives, of_every_layout)
{
    scratch s = scratch_enter();
    write_beir("x");
    gb_collection *c = import("x", "out");
    scratch_write("triples.tsv", "q1\ta\tb\nq1\ta\t3\nq1\ta\tb\nq2\tb\ta\n");
    expect_negatives(c, "triples.tsv", 0, 2, 1);
    scratch_write("lists.tsv", "q1\t3,b\nq2\ta\n");
    expect_negatives(c, "lists.tsv", 0, 2, 2);
    scratch_write("hard.jsonl",
                  "{\"qid\":\"q1\",\"pos\":[\"a\"],\"neg\":{\"bm25\":[3],\"other\":[\"b\",3]}}\n");
    expect_negatives(c, "hard.jsonl", 0, 2, 2);
    scratch_write("texts.jsonl", "{\"query\":\"dark rock\",\"pos\":[],\"neg\":[\"Gabbro cools "
                                 "slowly under ground.\"]}\n");
    expect_negatives(c, "texts.jsonl", 1, 1, 2);
    gb_negatives_params params = {.path = "triples.tsv", .per_query = 1, .seed = 1};
    gb_negatives *n = gb_negatives_read(c, &params, NULL);
    uint32_t count;
    gb_negatives_of(n, 0, &count);
    cr_expect_eq(count, 1);
    gb_negatives_destroy(n);
    /* However often the file names a passage, it has the chance of every other to be drawn. */
    uint32_t drawn = 0;
    scratch_write("triples.tsv", "q1\ta\tb\nq1\ta\t3\nq1\ta\tb\nq1\ta\t3\nq1\ta\tb\nq1\ta\tb\n");
    for (params.seed = 0; params.seed < 1000; params.seed++) {
        n = gb_negatives_read(c, &params, NULL);
        drawn += *gb_negatives_of(n, 0, &count) == 1;
        cr_expect_eq(count, 1);
        gb_negatives_destroy(n);
    }
    cr_expect(drawn > 450 && drawn < 550, "%u", drawn);
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(negatives, damaged_ones_name_the_line)
{
    static const char *const damages[][3] = {
        {"q1\ta\tb\nq1\ta\tz\n", "n.tsv:2", "unknown passage"},
        {"q9\ta\tb\n", "n.tsv:1", "unknown query"},
        {"q1\ta\tb\tc\n", "n.tsv:1", "neither"},
        {"q1\ta\tb\tc\t1.5\n", "n.tsv:1", "five fields"},
        {"{\"qid\":\"q1\",\"pos\":[\"a\"],\"pos_scores\":[1,2]}\n", "n.tsv:1", "1 numbers"},
        {"{\"qid\":\"q1\",\"neg\":3.5}\n", "n.tsv:1", "neither objects"},
        {"{\"query\":[1,2],\"positives\":[[1]],\"neg\":[]}\n", "n.tsv:1", "token ids"},
        {"q1\ta\t\xff\n", "n.tsv:1", "UTF-8"},
        {"q2\ta,\nq1\t,\n", "n.tsv:2", "without negatives"}};
    scratch s = scratch_enter();
    write_beir("x");
    gb_collection *c = import("x", "out");
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        gb_status status = {0};
        scratch_write("n.tsv", damages[i][0]);
        gb_negatives_params params = {.path = "n.tsv"};
        cr_expect_null(gb_negatives_read(c, &params, &status), "%s", damages[i][2]);
        cr_expect_str_eq(status.where, damages[i][1], "%s: %s", status.where, status.what);
        cr_expect_not_null(strstr(status.what, damages[i][2]), "%s", status.what);
    }
    gb_collection_close(c);
    scratch_leave(&s);
}

/* ---- scores of a teacher ---- */

static void expect_scores(const gb_collection *c, const char *path, const char *text)
{
    gb_status status = {0};
    gb_scored_pairs pairs = {0};
    scratch_write(path, text);
    cr_assert(gb_scored_pairs_read(c, path, false, &pairs, &status), "%s: %s", status.where,
              status.what);
    cr_assert_eq(pairs.count, 2, "%s: %zu", path, pairs.count);
    cr_expect_eq(pairs.pairs[0].query, 0);
    cr_expect_eq(pairs.pairs[0].passage, 0, "%s: the larger score is first", path);
    cr_expect_eq(pairs.pairs[1].passage, 1, "%s", path);
    cr_expect_float_eq(pairs.pairs[0].score, 8.5, 1e-12, "%s", path);
    cr_expect_float_eq(pairs.pairs[1].score, -2.25, 1e-12, "%s", path);
    free(pairs.pairs);
}

Test(negatives, scores_of_every_layout)
{
    scratch s = scratch_enter();
    write_beir("x");
    gb_collection *c = import("x", "out");
    expect_scores(c, "behind.tsv", "q1\ta\tb\t8.5\t-2.25\n");
    expect_scores(c, "before.tsv", "8.5\t-2.25\tq1\ta\tb\n");
    expect_scores(c, "again.tsv", "q1\ta\tb\t1\t3\nq1\ta\tb\t8.5\t-2.25\n");
    expect_scores(c, "lists.jsonl",
                  "{\"query_id\":\"q1\",\"pos\":[\"a\"],\"neg\":[\"b\"],"
                  "\"pos_scores\":[8.5],\"neg_scores\":[-2.25]}\n");
    expect_scores(c, "one.jsonl",
                  "{\"query_id\":\"q1\",\"pos\":[\"a\"],\"neg\":[\"b\"],"
                  "\"teacher_scores\":[8.5,-2.25]}\n");
    expect_scores(c, "mined.jsonl",
                  "{\"qid\":\"q1\",\"pos\":[{\"pid\":\"a\",\"ce-score\":8.5}],"
                  "\"neg\":{\"bm25\":[{\"pid\":\"b\",\"ce-score\":-2.25}]}}\n");
    expect_scores(c, "passages.jsonl",
                  "{\"query_id\":\"q1\",\"positive_passages\":[{\"docid\":\"a\",\"score\":8.5}],"
                  "\"negative_passages\":[{\"docid\":\"b\",\"score\":-2.25},{\"docid\":\"3\"}]}\n");
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(negatives, scores_are_missing_or_damaged)
{
    static const char *const damages[][3] = {
        {"q1\ta\tb\n", "s.tsv", "no score"},
        {"q1\ta\tb\t1.5\tgood\n", "s.tsv:1", "five fields"},
        {"q1\ta\tz\t1.5\t2.5\n", "s.tsv:1", "unknown passage"},
        {"{\"qid\":\"q1\",\"pos\":[\"a\"],\"teacher_scores\":[\"x\"]}\n", "s.tsv:1", "1 numbers"}};
    scratch s = scratch_enter();
    write_beir("x");
    gb_collection *c = import("x", "out");
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        gb_status status = {0};
        gb_scored_pairs pairs = {0};
        scratch_write("s.tsv", damages[i][0]);
        cr_expect_not(gb_scored_pairs_read(c, "s.tsv", false, &pairs, &status), "%s",
                      damages[i][2]);
        cr_expect_str_eq(status.where, damages[i][1], "%s: %s", status.where, status.what);
        cr_expect_not_null(strstr(status.what, damages[i][2]), "%s", status.what);
        free(pairs.pairs);
    }
    gb_collection_close(c);
    scratch_leave(&s);
}
