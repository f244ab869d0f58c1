/* Data module: the layouts of other kits, each by a sample of its own, and damage in them. */
#include "data/import.h"
#include "import_help.h"

#include <zlib.h>

/* ---- TREC ---- */

static void write_trec(const char *path)
{
    scratch_write(
        path, "<DOC>\n<DOCNO>D1</DOCNO>\n<TEXT>\nhttps://example.org/elbe\nThe Elbe\n"
              "The Elbe flows < 1 km\n  north.\n\n</TEXT>\n</DOC>\n"
              "<DOC>\n<DOCNO> LA01-1 </DOCNO>\n<DOCID> 1 </DOCID>\n<HEADLINE>\n<P>\nRocks "
              "cool\n</P>\n</HEADLINE>\n<TEXT>\n<P>\nBasalt <F P=1>cools</F> fast.</P>\n"
              "</TEXT><GRAPHIC>A map.</GRAPHIC>\n</DOC>\n"
              "<DOC><DOCNO>3</DOCNO><TEXT></TEXT></DOC>\n"
              "<DOC><DOCNO>FBIS3-1</DOCNO><HEADER><DATE1>21 Mar</DATE1> Europe <H3><TI>Ore "
              "&amp; ice</TI></H3>\n</HEADER><TEXT>AT&amp;amp;T &lt; <p>&#38; R&D</TEXT></DOC>\n"
              "<doc>\n<docno>5</docno><title>small</title>\n<text>letters <b>too</b></text>\n"
              "</doc>\n"
              "<DOC>\n<DOCNO>D6</DOCNO>\n<TEXT>\nhttps://example.org/6\n\nNo\ntitle.\n"
              "</TEXT>\n</DOC>\n");
}

Test(formats, trec_documents)
{
    scratch s = scratch_enter();
    write_trec("docs/msmarco-docs.trec");
    scratch_write("docs/queries.dev.tsv", "q1\twhere does it flow\n");
    scratch_write("docs/qrels.dev.tsv", "q1\t0\tD1\t1\n");
    gb_collection *c = import_plain("docs", "out");
    cr_assert_eq(c->passages, 6);
    expect_row(c->passage_ids, 1, "LA01-1");
    expect_row(c->titles, 0, "The Elbe");
    expect_row(c->texts, 0, "The Elbe flows < 1 km north.");
    expect_row(c->titles, 1, "Rocks cool");
    expect_row(c->texts, 1, "Basalt cools fast. A map.");
    expect_row(c->texts, 2, "");
    expect_row(c->titles, 3, "Ore & ice");
    expect_row(c->texts, 3, "Europe AT&amp;T < &#38; R&D");
    expect_row(c->passage_ids, 4, "5");
    expect_row(c->titles, 4, "small");
    expect_row(c->texts, 4, "letters too");
    expect_row(c->titles, 5, "");
    expect_row(c->texts, 5, "No title.");
    cr_expect_str_eq(c->splits, "dev");
    gb_collection_close(c);
    write_trec("alone.trec");
    c = import_plain("alone.trec", "alone");
    cr_expect_eq(c->passages, 6);
    gb_collection_close(c);
    static const struct {
        const char *text, *what;
    } bad[] = {{"<DOC>\n<DOCNO>1</DOCNO>\n<DOC>\n", "inside"},
               {"</DOC>\n", "without a <DOC>"},
               {"<DOC><TEXT>x</TEXT></DOC>\n", "without <DOCNO>"},
               {"<DOC><DOCNO>1</DOCNO>\n", "has no end"},
               {"no markup\n", "no passage"}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        gb_status status = {0};
        gb_import_params params = GB_IMPORT_DEFAULTS;
        params.path = "bad.trec";
        scratch_write("bad.trec", bad[i].text);
        cr_expect_not(gb_collection_import(&params, "refused", &status));
        cr_expect(strstr(status.what, bad[i].what), "%s: %s", bad[i].text, status.what);
        cr_expect_eq(status.code, GB_DATA);
    }
    scratch_leave(&s);
}

/* ---- DPR ---- */

static const char psgs[] = "id\ttext\ttitle\n"
                           "1\t\"Gabbro is \"\"coarse\"\" rock.\"\tGabbro\n"
                           "2\tThe Elbe flows north.\t\"River \"\"Elbe\"\"\"\n"
                           "3\tBasalt cools fast.\tBasalt\n";
static const char biencoder[] =
    "[\n  {\n    \"dataset\": \"x\",\n    \"question\": \"where does the elbe flow\",\n"
    "    \"answers\": [\"north\", \"to\\tthe sea\"],\n"
    "    \"positive_ctxs\": [{\"title\": \"River\", \"text\": \"The {Elbe} flows \\\"north\\\".\", "
    "\"passage_id\": \"2\"}],\n"
    "    \"negative_ctxs\": [],\n"
    "    \"hard_negative_ctxs\": [{\"title\": \"Basalt\", \"text\": \"Basalt cools fast.\", "
    "\"psg_id\": 3}]\n  },\n"
    "  {\"question\": \"coarse rock\", \"answers\": [\"gabbro\"], \"positive_ctxs\": "
    "[{\"title\": \"Gabbro\", \"text\": \"Gabbro is coarse.\", \"passage_id\": \"1\"}], "
    "\"negative_ctxs\": [{\"title\": \"\", \"text\": \"Nothing.\", \"passage_id\": \"3\"}], "
    "\"hard_negative_ctxs\": []}\n]\n";

static void write_dpr(const char *folder)
{
    char path[100];
    snprintf(path, sizeof path, "%s/psgs_w100.tsv", folder);
    scratch_write(path, psgs);
    snprintf(path, sizeof path, "%s/biencoder-nq-train.json", folder);
    scratch_write(path, biencoder);
    snprintf(path, sizeof path, "%s/nq-train.qa.csv", folder);
    scratch_write(path, "coarse rock\t['gabbro']\n"); /* known */
    snprintf(path, sizeof path, "%s/nq-test.qa.csv", folder);
    scratch_write(
        path, "which rock cools fast\t['Basalt', \"the 'black' rock\", 'caf\\xe9', '\\U000e0021', "
              "'a\\\\s\\d\\.']\n"
              "\"who said \"\"rock\"\"\"\t\"[\"\"me\"\"]\"\n");
}

Test(formats, dpr_folder)
{
    scratch s = scratch_enter();
    write_dpr("nq");
    gb_collection *c = import_plain("nq", "out");
    cr_assert_eq(c->passages, 3);
    expect_row(c->texts, 0, "Gabbro is \"coarse\" rock.");
    expect_row(c->titles, 1, "River \"Elbe\"");
    cr_assert_eq(gb_row_file_count(c->queries), 4);
    expect_row(c->query_ids, 1, "train-1");
    expect_row(c->queries, 3, "who said \"rock\"");
    cr_expect_str_eq(c->splits, "train test");
    expect_file("out/answers.tsv",
                "train-0\tnorth\tto the sea\ntrain-1\tgabbro\n"
                "test-0\tBasalt\tthe 'black' rock\tcaf\xc3\xa9\t\xf3\xa0\x80\xa1\ta\\s\\d\\.\n"
                "test-1\tme\n");
    expect_file("out/qrels/train.tsv",
                "query-id\tcorpus-id\tscore\ntrain-0\t2\t1\ntrain-1\t1\t1\n");
    gb_qrels qrels;
    uint32_t *asked, count;
    cr_assert(gb_collection_qrels(c, "test", &qrels, NULL));
    cr_expect_eq(qrels.count, 0);
    cr_assert(gb_collection_split_queries(c, "test", &qrels, &asked, &count, NULL));
    cr_expect(count == 2 && asked[0] == 2 && asked[1] == 3);
    free(asked);
    free(qrels.rows);
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(formats, dpr_training_file_alone_brings_its_passages)
{
    scratch s = scratch_enter();
    scratch_write("nq/biencoder-nq-train.json", biencoder);
    gb_collection *c = import_plain("nq", "out");
    cr_assert_eq(c->passages, 3);
    expect_row(c->passage_ids, 0, "2");
    expect_row(c->texts, 0, "The {Elbe} flows \"north\".");
    expect_row(c->passage_ids, 1, "3");
    gb_collection_close(c);
    scratch_leave(&s);
}

/* ---- the kits' training files and corpora ---- */

static const char tevatron[] =
    "{\"query_id\": \"q1\", \"query\": \"dark rock\", \"positive_passages\": [{\"docid\": \"b\", "
    "\"title\": \"\", \"text\": \"Basalt is dark.\"}], \"negative_passages\": [{\"docid\": \"a\", "
    "\"title\": \"Rivers\", \"text\": \"The Elbe.\"}, {\"docid\": \"c\", \"title\": \"\", "
    "\"text\": \"Chalk is white.\"}]}\n";

Test(formats, tevatron_training_file_and_corpus)
{
    scratch s = scratch_enter();
    scratch_write("t/train.jsonl", tevatron);
    gb_collection *c = import_plain("t", "alone");
    cr_expect_eq(c->passages, 3);
    expect_row(c->query_ids, 0, "q1");
    expect_file("alone/qrels/train.tsv", "query-id\tcorpus-id\tscore\nq1\tb\t1\n");
    gb_collection_close(c);
    scratch_write("t/corpus.jsonl",
                  "{\"docid\":\"a\",\"title\":\"Rivers\",\"text\":\"The Elbe.\"}\n"
                  "{\"docid\":\"b\",\"document_text\":\"Basalt is dark.\"}\n"
                  "{\"docid\":\"c\",\"title\":null,\"text\":\"Chalk.\"}\n"
                  "{\"docid\":\"d\",\"text\":\"More.\"}\n");
    c = import_plain("t", "with");
    cr_expect_eq(c->passages, 4);
    cr_expect_str_eq(c->splits, "train");
    gb_collection_close(c);
    /* version 2 has ids alone */
    scratch_write("t/train.jsonl",
                  "{\"query_id\": 7, \"query_text\": \"dark\", \"positive_document_ids\": [\"b\"], "
                  "\"negative_document_ids\": [\"d\"]}\n");
    c = import_plain("t", "two");
    expect_file("two/qrels/train.tsv", "query-id\tcorpus-id\tscore\n7\tb\t1\n");
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(formats, an_id_of_training_files_has_one_text)
{
    static const char dev[] =
        "{\"query_id\": \"%s\", \"query\": \"%s\", \"positive_passages\": [{\"docid\": \"a\", "
        "\"title\": \"\", \"text\": \"%s\"}], \"negative_passages\": []}\n";
    char text[300];
    scratch s = scratch_enter();
    scratch_write("t/train.jsonl", tevatron);
    snprintf(text, sizeof text, dev, "q1", "dark rock", "The Elbe.");
    scratch_write("t/dev.jsonl", text);
    gb_collection *c = import_plain("t", "same");
    cr_expect_eq(gb_row_file_count(c->queries), 1);
    gb_collection_close(c);
    snprintf(text, sizeof text, dev, "q1", "white rock", "The Elbe.");
    scratch_write("t/dev.jsonl", text);
    expect_refused("t", "t/dev.jsonl:1", "query \"q1\" was there before, with another text");
    snprintf(text, sizeof text, dev, "q2", "which river", "The Oder.");
    scratch_write("t/dev.jsonl", text);
    c = import_plain("t", "other");
    expect_row(c->texts, 1, "The Elbe.");
    char *record = gb_read_file("other/collection.json", NULL, NULL);
    cr_expect(strstr(record, "another text than the first time, which stays: 1"), "%s", record);
    free(record);
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(formats, a_split_is_a_word_of_the_name)
{
    static const struct {
        const char *name, *splits;
    } files[] = {{"latest.jsonl", "train"},     {"developers.jsonl", "train"},
                 {"my-train2.jsonl", "train"},  {"nq_dev.jsonl", "dev"},
                 {"validation.0.jsonl", "dev"}, {"test.jsonl", "test"}};
    scratch s = scratch_enter();
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        scratch_write(files[i].name, tevatron);
        gb_collection *c = import(files[i].name, files[i].splits);
        cr_expect_str_eq(c->splits, files[i].splits, "%s: %s", files[i].name, c->splits);
        gb_collection_close(c);
        gb_remove_tree(files[i].splits, NULL);
    }
    scratch_leave(&s);
}

Test(formats, texts_without_ids_are_numbered_once)
{
    scratch s = scratch_enter();
    scratch_write("train.jsonl",
                  "{\"query\":\"dark\",\"pos\":[\"Basalt.\"],\"neg\":[\"Chalk.\"]}\n"
                  "{\"query\":\"white\",\"pos\":[\"Chalk.\"],\"neg\":[\"Basalt.\"]}\n");
    gb_collection *c = import_plain("train.jsonl", "flag");
    cr_expect_eq(c->passages, 2);
    expect_row(c->passage_ids, 1, "p1");
    expect_file("flag/qrels/train.tsv",
                "query-id\tcorpus-id\tscore\ntrain-0\tp0\t1\ntrain-1\tp1\t1\n");
    gb_collection_close(c);
    scratch_write("triples.train.tsv", "what is dark\tBasalt is.\tChalk is not.\n"
                                       "what is dark\tA cave is.\tChalk is not.\n");
    c = import_plain("triples.train.tsv", "triples");
    cr_expect_eq(c->passages, 3);
    cr_expect_eq(gb_row_file_count(c->queries), 1);
    gb_collection_close(c);
    scratch_write("st.jsonl", "{\"anchor\":\"dark\",\"positive\":\"Basalt.\",\"negative_1\":"
                              "\"Chalk.\",\"negative_2\":\"Salt.\"}\n");
    c = import_plain("st.jsonl", "st");
    cr_expect_eq(c->passages, 3);
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(formats, pyserini_folder)
{
    scratch s = scratch_enter();
    scratch_write("p/docs00.json", "{\"id\": \"a\", \"contents\": \"Rivers\\nThe Elbe.\"}\n"
                                   "{\"id\": \"b\", \"contents\": \"Basalt.\"}\n");
    scratch_write("p/docs01.json", "[{\"id\": 3, \"contents\": \"Chalk.\"}]");
    scratch_write("p/topics.dev.tsv", "7\twhich river\n");
    scratch_write("p/qrels.dev.txt", "7 0 a 1\n");
    gb_collection *c = import_plain("p", "out");
    cr_assert_eq(c->passages, 3);
    expect_row(c->titles, 0, "Rivers");
    expect_row(c->texts, 0, "The Elbe.");
    expect_row(c->titles, 1, "");
    expect_row(c->passage_ids, 2, "3");
    cr_expect_str_eq(c->splits, "dev");
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(formats, flagembedding_folder)
{
    scratch s = scratch_enter();
    scratch_write("f/corpus.jsonl", "{\"id\": \"a\", \"title\": \"\", \"text\": \"The Elbe.\"}\n");
    scratch_write("f/dev_queries.jsonl", "{\"id\": \"q\", \"text\": \"river\"}\n");
    scratch_write("f/dev_qrels.jsonl", "{\"qid\": \"q\", \"docid\": \"a\", \"relevance\": 1}\n");
    scratch_write("f/dev_qrels.jsonl.gz", "not read where the plain file is there");
    scratch_write("f/dev_queries.jsonl.zst", "nor this");
    gb_collection *c = import_plain("f", "out");
    cr_expect_str_eq(c->splits, "dev");
    expect_file("out/qrels/dev.tsv", "query-id\tcorpus-id\tscore\nq\ta\t1\n");
    gb_collection_close(c);
    scratch_leave(&s);
}

/* Not cut as documents are. */
Test(formats, a_corpus_of_beir_alone)
{
    scratch s = scratch_enter();
    scratch_write("corpus.jsonl", "{\"_id\": \"a\", \"text\": \"The Elbe. It flows north.\"}\n"
                                  "{\"_id\": \"b\", \"title\": \"Rocks\", \"text\": \"\"}\n");
    gb_collection *c = import_plain("corpus.jsonl", "out");
    cr_assert_eq(c->passages, 2);
    expect_row(c->passage_ids, 0, "a");
    expect_row(c->texts, 0, "The Elbe. It flows north.");
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(formats, rocketqa_folder_and_the_two_variants)
{
    scratch s = scratch_enter();
    scratch_write("m/para.txt", "0\tThe Elbe.\n1\tIt\xc3\x83\xc2\xa9s \xc3\xa9t\xc3\xa9.\n");
    scratch_write("m/para.title.txt", "1\tBasalt\n");
    scratch_write("m/train.query.txt", "9\tdark\n");
    scratch_write("m/qrels.train.tsv", "9\t0\t1\t1\n");
    gb_collection *c = import_plain("m", "out");
    expect_row(c->titles, 0, "");
    expect_row(c->titles, 1, "Basalt");
    expect_row(c->texts, 1, "It\xc3\x83\xc2\xa9s \xc3\xa9t\xc3\xa9.");
    gb_collection_close(c);
    gb_import_params params = GB_IMPORT_DEFAULTS;
    params.path = "m";
    params.keep_splits = true;
    gb_import_variant variant = {.drop_titles = true, .repair_encoding = true};
    c = import_as(&params, &variant, "variant");
    expect_row(c->titles, 1, "");
    expect_row(c->texts, 1, "It\xc3\xa9s \xc3\xa9t\xc3\xa9.");
    gb_collection_close(c);
    scratch_write("m/para.title.txt", "5\tBasalt\n");
    expect_refused("m", "m/para.title.txt:1", "does not have");
    scratch_leave(&s);
}

/* ---- packed ---- */

/* An archive of one folder, as tar writes it; gzipped. */
static void write_tar(const char *name, const char *const files[][2])
{
    gzFile out = gzopen(name, "wb");
    cr_assert_not_null(out);
    for (size_t i = 0; files[i][0]; i++) {
        char block[512] = "", body[2048] = "";
        size_t length = strlen(files[i][1]);
        unsigned sum = 0;
        snprintf(block, 100, "%s", files[i][0]);
        snprintf(block + 124, 12, "%07o", (unsigned)length & 0xffff);
        memcpy(block + 257, "ustar", 6);
        block[156] = '0';
        memset(block + 148, ' ', 8);
        for (size_t k = 0; k < sizeof block; k++)
            sum += (unsigned char)block[k];
        snprintf(block + 148, 8, "%06o", sum);
        memcpy(body, files[i][1], length);
        gzwrite(out, block, sizeof block);
        gzwrite(out, body, (unsigned)((length + 511) / 512 * 512));
    }
    char zeros[1024] = "";
    gzwrite(out, zeros, sizeof zeros);
    cr_assert_eq(gzclose(out), Z_OK);
}

Test(formats, archives_are_read_as_they_are)
{
    scratch s = scratch_enter();
    cr_assert(gb_make_dirs("d", NULL) && gb_make_dirs("e", NULL) && gb_make_dirs("u", NULL));
    write_tar("marco.tar.gz", (const char *const[][2]){{"./collection.tsv", "0\tThe Elbe.\n"},
                                                       {"./queries.dev.tsv", "1\triver\n"},
                                                       {"./qrels.dev.tsv", "1\t0\t0\t1\n"},
                                                       {NULL, NULL}});
    gb_collection *c = import_plain("marco.tar.gz", "out");
    cr_expect_str_eq(c->splits, "dev");
    expect_row(c->texts, 0, "The Elbe.");
    cr_expect_not(gb_dir_exists("out/unpacked"));
    gb_collection_close(c);
    /* as it is fetched: the archive of a folder, and judgements beside it */
    write_tar("d/all.tar.gz", (const char *const[][2]){{"m/collection.tsv", "0\tThe Elbe.\n"},
                                                       {"m/queries.dev.tsv", "1\triver\n"},
                                                       {NULL, NULL}});
    scratch_write("d/qrels.dev.tsv", "1\t0\t0\t1\n");
    c = import_plain("d", "beside");
    cr_expect_str_eq(c->name, "d");
    cr_expect_str_eq(c->splits, "dev");
    gb_collection_close(c);
    /* the same of one file alone, and of one whose name says nothing */
    write_tar("e/corpus.tar.gz",
              (const char *const[][2]){
                  {"corpus.jsonl", "{\"_id\": \"a\", \"text\": \"The Elbe.\"}\n"}, {NULL, NULL}});
    scratch_write("e/queries.jsonl", "{\"_id\": \"q\", \"text\": \"river\"}\n");
    scratch_write("e/qrels/dev.tsv", "q\ta\t1\n");
    c = import_plain("e", "lone");
    cr_expect_str_eq(c->splits, "dev");
    gb_collection_close(c);
    write_tar("u/all.tar.gz",
              (const char *const[][2]){{"some.tsv", "0\tThe Elbe.\n"}, {NULL, NULL}});
    scratch_write("u/README", "what it is\n");
    c = import_plain("u", "unnamed");
    expect_row(c->texts, 0, "The Elbe.");
    gb_collection_close(c);
    write_tar("up.tar.gz", (const char *const[][2]){{"../collection.tsv", "0\tx\n"}, {NULL, NULL}});
    expect_refused("up.tar.gz", "up.tar.gz", "outside");
    scratch_write("cut.tar", "too short");
    expect_refused("cut.tar", "cut.tar", "cut off");
    scratch_leave(&s);
}

Test(formats, zstd_is_read_and_damage_in_it_named)
{
    /* three times "0\tThe Elbe.\n1\tBasalt.\n" */
    static const unsigned char packed[] = {
        0x28, 0xb5, 0x2f, 0xfd, 0x20, 0x42, 0xed, 0x00, 0x00, 0xb0, 0x30, 0x09, 0x54,
        0x68, 0x65, 0x20, 0x45, 0x6c, 0x62, 0x65, 0x2e, 0x0a, 0x31, 0x09, 0x42, 0x61,
        0x73, 0x61, 0x6c, 0x74, 0x2e, 0x0a, 0x01, 0x00, 0x4a, 0x73, 0x36, 0x01};
    scratch s = scratch_enter();
    cr_assert(gb_write_file("whole.zst", packed, sizeof packed, NULL));
    cr_assert(gb_write_file("cut.zst", packed, sizeof packed - 10, NULL));
    gb_status status = {0};
    char *line;
    size_t length;
    gb_lines *lines = gb_lines_open("whole.zst", &status);
    if (!lines && strstr(status.what, "built without")) {
        scratch_leave(&s);
        cr_skip_test("built without libzstd");
    }
    cr_assert_not_null(lines);
    for (int i = 0; i < 6; i++)
        cr_assert_eq(gb_lines_next(lines, &line, &length, &status), 1);
    cr_expect_str_eq(line, "1\tBasalt.");
    cr_expect_eq(gb_lines_next(lines, &line, &length, &status), 0);
    gb_lines_close(lines);
    cr_assert_not_null(lines = gb_lines_open("cut.zst", &status));
    while (gb_lines_next(lines, &line, &length, &status) == 1)
        ;
    cr_expect_not_null(strstr(status.what, "cut off"), "%s", status.what);
    gb_lines_close(lines);
    scratch_leave(&s);
}

/* ---- generated queries ---- */

Test(formats, predictions_of_several_samples_are_merged)
{
    scratch s = scratch_enter();
    write_beir("x");
    scratch_write("q/predicted_queries_topk_sample000.txt000-1", "first a\nfirst b\n");
    scratch_write("q/predicted_queries_topk_sample000.txt001-1", "first c\n");
    scratch_write("q/predicted_queries_topk_sample001.txt000-1", "second a\n\nsecond c\tthird c\n");
    gb_collection *c = import("x", "out");
    cr_assert(gb_make_dirs("queries", NULL));
    gb_queries_params params = GB_QUERIES_DEFAULTS;
    gb_status status = {0};
    params.from = "q";
    cr_assert(gb_queries_make(c, &params, "queries", &status), "%s", status.what);
    cr_assert(gb_collection_use_queries(c, "queries", &status));
    expect_row(c->generated, 0, "first a\nsecond a\n");
    expect_row(c->generated, 1, "first b\n");
    expect_row(c->generated, 2, "first c\nsecond c\nthird c\n");
    scratch_write("q/predicted_queries_topk_sample001.txt000-1", "second a\n");
    cr_expect_not(gb_queries_make(c, &params, "queries", &status));
    cr_expect_not_null(strstr(status.what, "1 passages, the collection has 3"), "%s", status.what);
    gb_collection_close(c);
    scratch_leave(&s);
}

/* ---- damage ---- */

Test(formats, damage_is_named_by_file_and_line)
{
    scratch s = scratch_enter();
    write_dpr("nq");
    scratch_write("nq/psgs_w100.tsv", "id\ttext\ttitle\n1\tonly a text\n");
    expect_refused("nq", "nq/psgs_w100.tsv:2", "2 columns");
    scratch_write("nq/psgs_w100.tsv", "id\ttext\ttitle\n1\t\"not closed\tx\n");
    expect_refused("nq", "nq/psgs_w100.tsv:2", "not closed");
    write_dpr("nq");
    scratch_write("nq/nq-test.qa.csv", "a question\tno list\n");
    expect_refused("nq", "nq/nq-test.qa.csv:1", "no list of strings");
    scratch_write("nq/nq-test.qa.csv", "a question\t['x'\n");
    expect_refused("nq", "nq/nq-test.qa.csv:1", "no list of strings");
    scratch_write("nq/nq-test.qa.csv", "a question\t['\\x1']\n");
    expect_refused("nq", "nq/nq-test.qa.csv:1", "no list of strings");
    scratch_write("nq/nq-test.qa.csv", "a question\n");
    expect_refused("nq", "nq/nq-test.qa.csv:1", "1 column");
    write_dpr("nq");
    scratch_write("nq/biencoder-nq-train.json",
                  "[\n{\"question\": \"x\", \"positive_ctxs\": []}\n");
    expect_refused("nq", "nq/biencoder-nq-train.json:2", "not closed");
    scratch_write("nq/biencoder-nq-train.json",
                  "[{\"question\": \"x\", \"positive_ctxs\": [{\"passage_id\": \"9\"}]}]\n");
    expect_refused("nq", "nq/biencoder-nq-train.json:1", "unknown passage");
    scratch_write("nq/biencoder-nq-train.json",
                  "[{\"question\": \"x\",\n \"positive_ctxs\": 5}]\n");
    expect_refused("nq", "nq/biencoder-nq-train.json:2", "neither objects");
    scratch_write("nq/biencoder-nq-train.json", "[{\"question\": \"x\", \"positive_ctxs\": []}]\n");
    expect_refused("nq", "nq", "no query of split train");
    scratch_write("p/a.json", "{\"id\": \"a\", \"contents\": \"x\"}\n{\"id\": \"b\"}\n");
    expect_refused("p", "p/a.json:2", "\"contents\"");
    scratch_write(
        "p/a.json",
        "[{\"id\": \"a\", \"contents\": \"x\"}]\n[{\"id\": \"b\", \"contents\": \"y\"}]\n");
    expect_refused("p", "p/a.json:2", "behind the end");
    scratch_write("p/a.json", "{\"id\": \"a b\", \"contents\": \"x\"}\n");
    expect_refused("p", "p/a.json:1", "has a blank");
    scratch_write("f/corpus.jsonl", "{\"id\": \"a\", \"text\": \"x\"}\n");
    scratch_write("f/dev_queries.jsonl", "{\"id\": \"#q\", \"text\": \"river\"}\n");
    scratch_write("f/dev_qrels.jsonl", "");
    expect_refused("f", "f/dev_queries.jsonl:1", "begins with #");
    scratch_write("f/dev_queries.jsonl", "{\"id\": \"q\", \"text\": \"river\"}\n");
    scratch_write("f/dev_qrels.jsonl", "{\"qid\": \"q\", \"docid\": \"a\", \"relevance\": .5}\n");
    expect_refused("f", "f/dev_qrels.jsonl:1", "JSON");
    scratch_write("f/dev_qrels.jsonl",
                  "{\"qid\": \"q\", \"docid\": \"a\", \"relevance\": -32768}\n");
    expect_refused("f", "f/dev_qrels.jsonl:1", "from -32767 to 32767");
    scratch_write("f/dev_qrels.jsonl",
                  "{\"qid\": \"q\", \"docid\": \"a\", \"relevance\": 1e300}\n");
    expect_refused("f", "f/dev_qrels.jsonl:1", "from -32767 to 32767");
    scratch_leave(&s);
}
