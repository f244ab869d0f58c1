/* Data module: importing and opening collections. */
#include "small_collection.h"

#include <zlib.h>

static const char header[] = "query-id\tcorpus-id\tscore\n";

static void write_gz(const char *name, const char *text)
{
    gzFile file = gzopen(name, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(gzwrite(file, text, (unsigned)strlen(text)), (int)strlen(text));
    cr_assert_eq(gzclose(file), Z_OK);
}

static void expect_same_tree(const char *a, const char *b)
{
    char first[GB_HASH_SIZE], second[GB_HASH_SIZE];
    cr_assert(gb_hash_tree(a, first, NULL) && gb_hash_tree(b, second, NULL));
    cr_expect_str_eq(first, second, "%s and %s differ", a, b);
}

/* ---- formats ---- */

Test(collection, beir_folder)
{
    scratch s = scratch_enter();
    write_beir("beir");
    gb_collection *c = import("beir", "out");
    cr_expect_str_eq(c->name, "beir");
    cr_expect_str_eq(c->splits, "train test");
    cr_expect_str_eq(c->generator, "extractive");
    cr_expect_eq(c->passages, 3);
    cr_expect_eq(c->documents, 3);
    cr_expect_eq(gb_row_file_count(c->queries), 4);
    expect_row(c->passage_ids, 2, "3");
    expect_row(c->titles, 0, "Rivers");
    expect_row(c->titles, 2, "");
    gb_text text = {0};
    gb_collection_passage(c, 0, &text);
    cr_expect_str_eq(text.data, "Rivers The Elbe flows north.");
    text.length = 0;
    gb_collection_passage(c, 1, &text);
    cr_expect_str_eq(text.data, "Basalt is a dark volcanic rock.");
    gb_text_free(&text);
    cr_expect(gb_collection_has_split(c, "test"));
    cr_expect_not(gb_collection_has_split(c, "tes"));
    gb_collection_close(c);
    gb_collection_close(NULL);
    scratch_leave(&s);
}

Test(collection, gzip_gives_the_same_collection)
{
    scratch s = scratch_enter();
    write_beir("a/x");
    write_gz("a/x/qrels/train.tsv.gz", "q1\tb\t1\n"); /* is not read: a plain one is there */
    gb_collection_close(import("a/x", "plain"));
    cr_assert(gb_make_dirs("b/x/qrels", NULL));
    write_gz("b/x/corpus.jsonl.gz", corpus);
    write_gz("b/x/queries.jsonl.gz", queries);
    write_gz("b/x/qrels/train.tsv.gz", "query-id\tcorpus-id\tscore\nq2\tb\t1\nq1\ta\t1\n");
    write_gz("b/x/qrels/test.tsv.gz", "q3\t3\t2\nq3\tb\t0\n"); /* the header may be missing */
    gb_collection_close(import("b/x", "packed"));
    remove("plain/collection.json"); /* names and hashes of the files differ */
    remove("packed/collection.json");
    expect_same_tree("plain", "packed");
    scratch_leave(&s);
}

Test(collection, documents_bring_their_passages_together)
{
    scratch s = scratch_enter();
    scratch_write("x/corpus.jsonl", "{\"_id\":\"p0\",\"text\":\"zero one\"}\n"
                                    "{\"_id\":\"p1\",\"text\":\"one two\"}\n"
                                    "{\"_id\":\"p2\",\"text\":\"two three\"}\n"
                                    "{\"_id\":\"p3\",\"text\":\"three four\"}\n"
                                    "{\"_id\":\"p4\",\"text\":\"four five\"}\n");
    scratch_write("x/documents.jsonl",
                  "{\"id\":\"d1\",\"passages\":[{\"id\":\"p4\",\"text\":\"\"},{\"id\":\"p1\"}]}\n"
                  "{\"id\":\"d2\",\"passages\":[{\"id\":\"p0\"},{\"id\":\"p2\"}]}\n");
    scratch_write("x/queries.jsonl", "{\"_id\":\"q\",\"text\":\"t\"}\n");
    scratch_write("x/qrels/train.tsv", "query-id\tcorpus-id\tscore\nq\tp2\t1\n");
    scratch_write("generated.jsonl", "{\"id\":\"p2\",\"query\":\"about two\"}\n");
    gb_import_params params = GB_IMPORT_DEFAULTS;
    gb_status status = {0};
    params.path = "x";
    params.queries = "generated.jsonl";
    cr_assert(gb_collection_import(&params, "out", &status), "%s", status.what);
    gb_collection *c = gb_collection_open("out", NULL);
    static const char *const order[] = {"p0", "p2", "p1", "p4", "p3"};
    static const uint32_t documents[] = {0, 0, 1, 1, 2};
    cr_assert_eq(c->passages, 5);
    cr_expect_eq(c->documents, 3);
    for (uint32_t i = 0; i < 5; i++) {
        expect_row(c->passage_ids, i, order[i]);
        cr_expect_eq(c->document[i], documents[i]);
    }
    expect_row(c->texts, 3, "four five");
    expect_row(c->generated, 1, "about two\n");
    gb_qrels qrels;
    cr_assert(gb_collection_qrels(c, "train", &qrels, NULL));
    cr_expect_eq(qrels.rows[0].passage, 1);
    free(qrels.rows);
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(collection, msmarco_tsv)
{
    scratch s = scratch_enter();
    scratch_write("m/collection.tsv", "0\tThe first passage.\n1\tThe second one.\n");
    scratch_write("m/queries.train.tsv", "10\tfirst\n11\tsecond\n");
    scratch_write("m/queries.dev.small.tsv", "20\tone\n");
    scratch_write("m/queries.dev.tsv", "20\tone\n21\ttwo\n");
    scratch_write("m/msmarco-test2019-queries.tsv", "30\tpassage\n");
    scratch_write("m/qrels.train.tsv", "10\t0\t0\t1\n11\t0\t1\t1\n");
    scratch_write("m/qrels.dev.small.tsv", "20\t0\t1\t1\n");
    scratch_write("m/qrels.dev.tsv", "20\t0\t1\t1\n21\t0\t0\t1\n");
    scratch_write("m/2019qrels-pass.txt", "30 Q0 0 3\n30 Q0 1 1\n");
    gb_collection *c = import("m", "out");
    cr_expect_eq(gb_row_file_count(c->queries), 5);
    expect_row(c->texts, 1, "The second one.");
    expect_row(c->titles, 1, "");
    static const struct {
        const char *split;
        size_t count;
    } splits[] = {{"train", 2}, {"dev", 1}, {"dev.full", 2}, {"dl19", 2}};
    for (size_t i = 0; i < 4; i++) {
        gb_qrels qrels;
        cr_assert(gb_collection_qrels(c, splits[i].split, &qrels, NULL), "%s", splits[i].split);
        cr_expect_eq(qrels.count, splits[i].count, "%s", splits[i].split);
        free(qrels.rows);
    }
    gb_collection_close(c);
    /* three columns carry titles */
    scratch_write("t.tsv", "0\tOne\tThe first passage.\n1\t\tThe second one.\n");
    c = import("t.tsv", "titled");
    expect_row(c->titles, 0, "One");
    expect_row(c->texts, 1, "The second one.");
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(collection, msmarco_documents)
{
    scratch s = scratch_enter();
    scratch_write("m/msmarco-docs.tsv", "D1\thttp://a\tOne\tThe first.\nD2\thttp://b\t\tNext.\n");
    scratch_write("m/msmarco-doctrain-queries.tsv", "10\tfirst\n");
    scratch_write("m/msmarco-doctrain-qrels.tsv", "10 0 D1 1\n");
    scratch_write("m/msmarco-docdev-queries.tsv", "20\tnext\n");
    scratch_write("m/msmarco-docdev-qrels.tsv", "20 0 D2 1\n");
    scratch_write("m/msmarco-test2019-queries.tsv", "30\tboth\n");
    scratch_write("m/2019qrels-docs.txt", "30 Q0 D1 3\n30 Q0 D2 0\n");
    gb_collection *c = import("m", "out");
    expect_row(c->titles, 0, "One");
    expect_row(c->texts, 0, "The first.");
    expect_row(c->titles, 1, "");
    cr_expect(gb_collection_has_split(c, "train") && gb_collection_has_split(c, "dev") &&
              gb_collection_has_split(c, "dl19"));
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(collection, jsonl_documents)
{
    scratch s = scratch_enter();
    scratch_write(
        "docs.jsonl",
        "{\"id\":\"d\",\"title\":\"T\",\"passages\":[{\"id\":\"d-x\",\"text\":\"one\"},"
        "{\"id\":\"d-y\",\"text\":\"two\"}]}\n"
        "{\"id\":\"e\",\"text\":\"One two three. Four five six. Seven eight nine. Ten.\"}\n"
        "{\"id\":7,\"text\":\"Alone.\"}\n");
    gb_import_params params = GB_IMPORT_DEFAULTS;
    gb_status status = {0};
    params.path = "docs.jsonl";
    params.span_words = 4;
    cr_assert(gb_collection_import(&params, "out", &status), "%s: %s", status.where, status.what);
    gb_collection *c = gb_collection_open("out", NULL);
    cr_assert_eq(c->passages, 5);
    cr_expect_eq(c->documents, 3);
    expect_row(c->titles, 1, "T");
    /* whole sentences until four words are there; the rest of four words is a span of its own */
    expect_row(c->texts, 2, "One two three. Four five six.");
    expect_row(c->texts, 3, "Seven eight nine. Ten.");
    expect_row(c->passage_ids, 3, "e-1");
    expect_row(c->passage_ids, 4, "7-0");
    gb_collection_close(c);
    params.span_words = 8; /* a rest of one word joins the span before it */
    cr_assert(gb_collection_import(&params, "out", NULL));
    c = gb_collection_open("out", NULL);
    expect_row(c->texts, 2, "One two three. Four five six. Seven eight nine. Ten.");
    gb_collection_close(c);
    scratch_leave(&s);
}

/* ---- splits ---- */

Test(collection, halves_a_test_split_where_there_is_no_training)
{
    scratch s = scratch_enter();
    gb_text list = {0}, judged = {0};
    gb_text_printf(&judged, "%s", header);
    for (int i = 0; i < 21; i++) {
        gb_text_printf(&list, "{\"_id\":\"q%d\",\"text\":\"query %d\"}\n", i, i);
        gb_text_printf(&judged, "q%d\ta\t1\nq%d\tb\t0\n", i, i);
    }
    scratch_write("x/corpus.jsonl", corpus);
    scratch_write("x/queries.jsonl", list.data);
    scratch_write("x/qrels/test.tsv", judged.data);
    gb_collection *c = import("x", "out");
    cr_expect_str_eq(c->splits, "test train dev");
    gb_qrels train, dev, test;
    cr_assert(gb_collection_qrels(c, "train", &train, NULL));
    cr_assert(gb_collection_qrels(c, "dev", &dev, NULL));
    cr_assert(gb_collection_qrels(c, "test", &test, NULL));
    cr_expect_eq(train.count, 20); /* ten queries of two judgements */
    cr_expect_eq(dev.count, 22);
    cr_expect_eq(test.count, 42);
    bool in_train[21] = {false};
    bool first_half = true;
    for (size_t i = 0; i < train.count; i++) {
        in_train[train.rows[i].query] = true;
        first_half = first_half && train.rows[i].query < 10;
    }
    cr_expect_not(first_half, "the halves are not drawn at random");
    for (size_t i = 0; i < dev.count; i++)
        cr_expect_not(in_train[dev.rows[i].query]);
    free(train.rows);
    free(dev.rows);
    free(test.rows);
    gb_collection_close(c);
    gb_import_params params = GB_IMPORT_DEFAULTS;
    params.path = "x";
    cr_assert(gb_collection_import(&params, "again", NULL));
    expect_same_tree("out", "again");
    params.seed = 43;
    cr_assert(gb_collection_import(&params, "other", NULL));
    char *a = gb_read_file("out/qrels/dev.tsv", NULL, NULL);
    char *b = gb_read_file("other/qrels/dev.tsv", NULL, NULL);
    cr_expect_str_neq(a, b);
    free(a);
    free(b);
    params.keep_splits = true;
    cr_assert(gb_collection_import(&params, "kept", NULL));
    c = gb_collection_open("kept", NULL);
    cr_expect_str_eq(c->splits, "test");
    gb_collection_close(c);
    gb_text_free(&list);
    gb_text_free(&judged);
    scratch_leave(&s);
}

/* ---- generated queries ---- */

Test(collection, generated_queries_in_any_order)
{
    scratch s = scratch_enter();
    write_beir("x");
    scratch_write("g.jsonl", "{\"id\":\"3\",\"query\":\"slow rock\"}\n"
                             "{\"id\":\"a\",\"queries\":[\" elbe \",\"\",\"river\\nnorth\"]}\n"
                             "{\"id\":3,\"query\":\"deep rock\"}\n");
    gb_import_params params = GB_IMPORT_DEFAULTS;
    params.path = "x";
    params.queries = "g.jsonl";
    gb_status status = {0};
    cr_assert(gb_collection_import(&params, "out", &status), "%s: %s", status.where, status.what);
    gb_collection *c = gb_collection_open("out", NULL);
    cr_expect_str_eq(c->generator, "file g.jsonl");
    expect_row(c->generated, 0, "elbe\nriver north\n");
    expect_row(c->generated, 1, "");
    expect_row(c->generated, 2, "slow rock\ndeep rock\n");
    gb_collection_close(c);
    cr_expect_not(gb_file_exists("out/generated.spool"));
    scratch_leave(&s);
}

/* `count` documents of two passages about words of their own. */
static void write_lone_documents(const char *name, int count)
{
    gb_text text = {0};
    for (int i = 0; i < count; i++)
        gb_text_printf(
            &text,
            "{\"id\":\"%d\",\"title\":\"\",\"passages\":[{\"id\":\"%d-0\",\"text\":\"The "
            "stone%d and Elbe%d is round.\"},{\"id\":\"%d-1\",\"text\":\"Ice%d moved "
            "the grain%d south.\"}]}\n",
            i, i, i, i, i, i, i);
    scratch_write(name, text.data);
    gb_text_free(&text);
}

Test(collection, documents_alone_hold_a_generated_query_out_of_each_passage)
{
    scratch s = scratch_enter();
    write_lone_documents("alone.jsonl", 20);
    gb_collection *c = import("alone.jsonl", "out");
    cr_expect_str_eq(c->splits, "train dev");
    gb_qrels splits[2];
    cr_assert(gb_collection_qrels(c, "train", &splits[0], NULL));
    cr_assert(gb_collection_qrels(c, "dev", &splits[1], NULL));
    cr_expect_eq(splits[1].count, 8, "two passages of each of four documents");
    cr_expect_eq(splits[0].count + splits[1].count, 40);
    unsigned sides[20] = {0};
    for (int i = 0; i < 2; i++) {
        for (size_t row = 0; row < splits[i].count; row++) {
            uint32_t passage = splits[i].rows[row].passage;
            sides[c->document[passage]] |= 1u << i;
            size_t length, stay_length;
            const char *held = gb_row_file_row(c->queries, splits[i].rows[row].query, &length);
            const char *stay = gb_row_file_row(c->generated, passage, &stay_length);
            char own[24], lines = 0;
            snprintf(own, sizeof own, passage % 2 ? "ice%u" : "stone%u", passage / 2);
            char other[24];
            snprintf(other, sizeof other, passage % 2 ? "grain%u" : "elbe%u", passage / 2);
            char *query = strndup(held, length);
            cr_expect(strstr(query, own) || strstr(query, other), "\"%s\" is not about it", query);
            free(query);
            for (size_t b = 0; b < stay_length; b++)
                lines += stay[b] == '\n';
            cr_expect_eq(lines, 5, "as many contexts as asked for");
        }
        free(splits[i].rows);
    }
    for (int d = 0; d < 20; d++)
        cr_expect(sides[d] == 1 || sides[d] == 2, "document %d is on both sides", d);
    gb_collection_close(c);
    gb_collection_close(import("alone.jsonl", "again"));
    expect_same_tree("out", "again");
    scratch_leave(&s);
}

Test(collection, a_lone_generated_query_stays_a_context)
{
    scratch s = scratch_enter();
    write_lone_documents("alone.jsonl", 2);
    scratch_write("g.jsonl", "{\"id\":\"0-0\",\"queries\":[\"one\",\"two\"]}\n"
                             "{\"id\":\"0-1\",\"queries\":[\"three\"]}\n"
                             "{\"id\":\"1-0\",\"queries\":[\"four\",\"five\",\"six\"]}\n");
    gb_import_params params = GB_IMPORT_DEFAULTS;
    gb_status status = {0};
    params.path = "alone.jsonl";
    params.queries = "g.jsonl";
    cr_assert(gb_collection_import(&params, "out", &status), "%s: %s", status.where, status.what);
    gb_collection *c = gb_collection_open("out", NULL);
    cr_expect_eq(gb_row_file_count(c->queries), 2);
    expect_row(c->generated, 1, "three\n");
    expect_row(c->generated, 3, "");
    gb_collection_close(c);
    scratch_write("g.jsonl", "{\"id\":\"0-0\",\"query\":\"one\"}\n");
    cr_assert(gb_collection_import(&params, "poor", NULL));
    c = gb_collection_open("poor", NULL);
    cr_expect_str_eq(c->splits, "", "one query makes no two splits");
    cr_expect_eq(gb_row_file_count(c->queries), 0);
    expect_row(c->generated, 0, "one\n");
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(collection, extractive_queries_take_telling_words)
{
    scratch s = scratch_enter();
    gb_text text = {0};
    for (int i = 0; i < 40; i++)
        gb_text_printf(&text,
                       "{\"_id\":\"%d\",\"text\":\"The common stone is here and the grey%c%c "
                       "flint%c%c is there.\"}\n",
                       i, 'a' + i % 26, 'a' + i / 26, 'a' + i % 26, 'a' + i / 26);
    scratch_write("x/corpus.jsonl", text.data);
    gb_text_free(&text);
    gb_collection *c = import("x", "out");
    unsigned telling = 0, words = 0, all = 0;
    for (uint32_t p = 0; p < 40; p++) {
        char mark[4] = {(char)('a' + p % 26), (char)('a' + p / 26), '\0'};
        size_t length;
        const char *row = gb_row_file_row(c->generated, p, &length);
        unsigned count = 0;
        for (const char *at = row; at < row + length; count++) {
            const char *end = memchr(at, '\n', (size_t)(row + length - at));
            char query[200];
            snprintf(query, sizeof query, "%.*s", (int)(end - at), at);
            cr_expect_null(strstr(query, "the "), "stop word in \"%s\"", query);
            char grey[16], flint[16];
            snprintf(grey, sizeof grey, "grey%s", mark);
            snprintf(flint, sizeof flint, "flint%s", mark);
            telling += strstr(query, grey) || strstr(query, flint);
            all++;
            for (const char *w = query; *w; w += strcspn(w, " "), w += strspn(w, " "))
                words++;
            at = end + 1;
        }
        cr_expect_eq(count, 5);
    }
    cr_expect_gt(telling, all * 8 / 10, "%u of %u queries hold a rare word", telling, all);
    cr_expect_lt(words, all * 6);
    gb_collection_close(c);
    gb_collection_close(import("x", "again"));
    expect_same_tree("out", "again");
    scratch_leave(&s);
}

/* ---- real collections ---- */

static const char *real_data(const char *name)
{
    const char *root = getenv("GABBRO_TEST_DATA");
    if (!root)
        cr_skip_test("skipped: GABBRO_TEST_DATA is not set");
    static char path[500];
    snprintf(path, sizeof path, "%s/%s", root, name);
    return path;
}

Test(collection, real_scifact)
{
    const char *path = real_data("scifact");
    scratch s = scratch_enter();
    gb_collection *c = import(path, "out");
    cr_expect_eq(c->passages, 5183);
    cr_expect_eq(c->documents, 5183);
    cr_expect_eq(gb_row_file_count(c->queries), 1109);
    cr_expect_str_eq(c->splits, "train test");
    gb_qrels qrels;
    cr_assert(gb_collection_qrels(c, "test", &qrels, NULL));
    cr_expect_eq(qrels.count, 339);
    free(qrels.rows);
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(collection, real_xquad)
{
    const char *path = real_data("xquad-en");
    scratch s = scratch_enter();
    gb_collection *c = import(path, "out");
    cr_expect_eq(c->passages, 240);
    cr_expect_eq(c->documents, 48);
    cr_expect_str_eq(c->splits, "test train dev");
    gb_qrels qrels;
    cr_assert(gb_collection_qrels(c, "train", &qrels, NULL));
    cr_expect_eq(qrels.count, 595);
    free(qrels.rows);
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(collection, real_msmarco_sample)
{
    const char *path = real_data("msmarco-sample");
    scratch s = scratch_enter();
    gb_collection *c = import(path, "out");
    cr_expect_eq(c->passages, 3286);
    cr_expect_eq(gb_row_file_count(c->queries), 2287);
    cr_expect_str_eq(c->splits, "dev train");
    gb_collection_close(c);
    scratch_leave(&s);
}
