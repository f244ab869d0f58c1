/* Judgements as collections have them: read, sorted, divided, and told of passages. */
#include "gabbro/json.h"
#include "small_collection.h"

Test(judgements, judgements_become_sorted_rows)
{
    scratch s = scratch_enter();
    write_beir("beir");
    gb_collection *c = import("beir", "out");
    gb_qrels qrels;
    cr_assert(gb_collection_qrels(c, "train", &qrels, NULL));
    cr_assert_eq(qrels.count, 2);
    cr_expect(qrels.rows[0].query == 0 && qrels.rows[0].passage == 0 && qrels.rows[0].grade == 1);
    cr_expect(qrels.rows[1].query == 1 && qrels.rows[1].passage == 1);
    free(qrels.rows);
    cr_assert(gb_collection_qrels(c, "test", &qrels, NULL));
    cr_assert_eq(qrels.count, 2);
    cr_expect(qrels.rows[0].passage == 1 && qrels.rows[0].grade == 0);
    cr_expect(qrels.rows[1].passage == 2 && qrels.rows[1].grade == 2);
    free(qrels.rows);
    /* in every form that gabbro eval takes */
    scratch_write("beir/qrels/dev.tsv", "# by hand\n\nq1 0\ta -2 \nq2 \tQ0 b 3\n");
    gb_collection *other = import("beir", "any");
    cr_assert(gb_collection_qrels(other, "dev", &qrels, NULL));
    cr_assert_eq(qrels.count, 2);
    cr_expect(qrels.rows[0].grade == -2 && qrels.rows[1].passage == 1 && qrels.rows[1].grade == 3);
    free(qrels.rows);
    gb_collection_close(other);
    gb_status status = {0};
    cr_expect_not(gb_collection_qrels(c, "dev", &qrels, &status));
    cr_expect_eq(status.code, GB_USAGE);
    cr_expect_not_null(strstr(status.what, "train test"), "%s", status.what);
    /* a judgement that slipped in later names its place */
    scratch_write("out/qrels/train.tsv", "query-id\tcorpus-id\tscore\nq1\ta\t1\nq9\ta\t1\n");
    cr_expect_not(gb_collection_qrels(c, "train", &qrels, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.where, "out/qrels/train.tsv:3");
    gb_collection_close(c);
    scratch_leave(&s);
}

/* What is not relevant goes, then queries: as many by the same seed are the same ones. */
Test(judgements, judgements_of_some_queries)
{
    enum { QUERIES = 40, MOST = 15 };
    gb_qrel rows[2][2 * QUERIES];
    gb_qrels drawn[2];
    for (uint32_t copy = 0; copy < 2; copy++) {
        for (uint32_t i = 0; i < 2 * QUERIES; i++) /* the first query has nothing relevant */
            rows[copy][i] = (gb_qrel){i / 2, i, i < 2 ? 0 : i % 2 + 1};
        drawn[copy] = (gb_qrels){rows[copy], 2 * QUERIES};
        cr_assert(gb_qrels_sample(&drawn[copy], MOST, 7, NULL));
        cr_assert_eq(drawn[copy].count, 2 * MOST);
    }
    cr_expect_arr_eq(rows[0], rows[1], 2 * MOST * sizeof rows[0][0]);
    for (uint32_t i = 0; i < 2 * MOST; i += 2) {
        const gb_qrel *first = &rows[0][i];
        cr_expect(first->query > 0 && (!i || first->query > first[-1].query));
        cr_expect(first->passage == 2 * first->query && first[1].passage == first->passage + 1,
                  "with all of its judgements");
    }
    cr_assert(gb_qrels_sample(&drawn[0], MOST - 1, 8, NULL));
    cr_assert_eq(drawn[0].count, 2 * (MOST - 1));
    cr_assert(gb_qrels_sample(&drawn[0], 0, 8, NULL));
    cr_expect_eq(drawn[0].count, 2 * (MOST - 1), "none are drawn of all");
}

/* TREC's judgements of a year as they are fetched: of passages and of documents, for one split. */
static void write_both_judgements(const char *folder)
{
    char name[80];
    for (int year = 2019; year <= 2020; year++) {
        snprintf(name, sizeof name, "%s/msmarco-test%d-queries.tsv", folder, year);
        scratch_write(name, year == 2019 ? "30\tboth\n" : "31\tmore\n");
        snprintf(name, sizeof name, "%s/%dqrels-pass.txt", folder, year);
        scratch_write(name, year == 2019 ? "30 Q0 0 3\n30 Q0 1 1\n" : "31 Q0 1 2\n");
        snprintf(name, sizeof name, "%s/%dqrels-docs.txt", folder, year);
        scratch_write(name, year == 2019 ? "30 Q0 D1 3\n" : "31 Q0 D1 2\n31 Q0 D2 0\n");
    }
}

static void expect_judged(const gb_collection *c, size_t dl19, size_t dl20, const char *left_out)
{
    gb_qrels qrels = {0};
    cr_assert(gb_collection_qrels(c, "dl19", &qrels, NULL));
    cr_expect_eq(qrels.count, dl19);
    free(qrels.rows);
    cr_assert(gb_collection_qrels(c, "dl20", &qrels, NULL));
    cr_expect_eq(qrels.count, dl20);
    free(qrels.rows);
    char *json = gb_read_file("out/collection.json", NULL, NULL);
    cr_expect_not_null(strstr(json, left_out), "%s", json);
    free(json);
}

Test(judgements, judgements_of_passages_beside_those_of_documents)
{
    scratch s = scratch_enter();
    scratch_write("m/collection.tsv", "0\tThe first passage.\n1\tThe second one.\n");
    write_both_judgements("m");
    gb_collection *c = import("m", "out");
    expect_judged(c, 2, 1,
                  "2019qrels-docs.txt is left out: the collection has the passages of 0 of its 1 "
                  "judgements, and of 2 of the 2 of 2019qrels-pass.txt, which is read");
    gb_collection_close(c);
    scratch_write("d/msmarco-docs.tsv", "D1\thttp://a\tOne\tThe first.\nD2\thttp://b\t\tNext.\n");
    write_both_judgements("d");
    c = import("d", "out");
    expect_judged(c, 1, 2, "2020qrels-pass.txt is left out: ");
    gb_collection_close(c);
    scratch_write("r/para.txt", "0\tThe Elbe.\n1\tDark.\n");
    scratch_write("r/para.title.txt", "1\tBasalt\n");
    write_both_judgements("r");
    c = import("r", "out");
    expect_judged(c, 2, 1, "2020qrels-docs.txt is left out: ");
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(judgements, unknown_judgements_can_be_skipped_and_are_counted)
{
    scratch s = scratch_enter();
    write_beir("x");
    scratch_write("x/qrels/train.tsv",
                  "query-id\tcorpus-id\tscore\nq1\ta\t1\nq1\tnone\t1\nnone\ta\t1\nq1\ta\t1\n");
    gb_import_params params = GB_IMPORT_DEFAULTS;
    gb_status status = {0};
    params.path = "x";
    cr_expect_not(gb_collection_import(&params, "out", &status));
    cr_expect_str_eq(status.where, "x/qrels/train.tsv:3");
    cr_expect_str_eq(status.what, "judgement of unknown passage \"none\"");
    params.skip_unknown_qrels = true;
    cr_assert(gb_collection_import(&params, "out", NULL));
    json_t *json = gb_json_load("out/collection.json", 0, NULL);
    json_t *train = json_object_get(json_object_get(json, "splits"), "train");
    cr_expect_eq(json_integer_value(json_object_get(train, "judgements")), 1);
    cr_expect_eq(json_integer_value(json_object_get(train, "skipped_unknown")), 2);
    cr_expect_eq(json_integer_value(json_object_get(train, "repeated")), 1);
    json_decref(json);
    scratch_leave(&s);
}

/* The text of a document is cut into passages, which are what is judged. */
Test(judgements, judgements_of_documents_are_told_of_their_passages)
{
    scratch s = scratch_enter();
    scratch_write("x/documents.jsonl", "{\"id\":\"d\",\"text\":\"Rock is hard.\"}\n");
    scratch_write("x/queries.jsonl", "{\"_id\":\"q\",\"text\":\"what is hard\"}\n");
    scratch_write("x/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\td\t1\n");
    gb_import_params params = GB_IMPORT_DEFAULTS;
    params.path = "x";
    for (int skip = 0; skip < 2; skip++) {
        gb_status status = {0};
        params.skip_unknown_qrels = skip;
        cr_expect_not(gb_collection_import(&params, "out", &status));
        cr_expect(strstr(status.what, "unknown passage \"d\""), "%s", status.what);
        cr_expect(strstr(status.hint, "DOCUMENT-0"), "%s", status.hint);
    }
    scratch_leave(&s);
}
