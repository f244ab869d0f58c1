/* BM25: lengths, scores by hand, order, threads, and Lucene's published figures on real data. */
#include "../parity/trust.h"
#include "retrieve_help.h"

#include <gabbro/lexical.h>

#include <math.h>
#include <signal.h>

TestSuite(bm25, .init = help_setup, .fini = help_teardown);

/* ---- terms split at blanks, to test without an analyzer ---- */

static void *blank_open(const void *config, gb_status *status)
{
    (void)config;
    return gb_alloc(1, 1, status);
}

static bool blank_terms(void *state, const char *text, size_t length, gb_term_fn *term, void *ctx,
                        gb_status *status)
{
    (void)state, (void)status;
    for (size_t i = 0, start; i < length; i++) {
        for (start = i; i < length && text[i] != ' ';)
            i++;
        if (i > start && !term(ctx, text + start, i - start))
            return false;
    }
    return true;
}

static const gb_term_source blanks = {"blanks", NULL, blank_open, free, blank_terms};

static gb_bm25 *build_of(gb_bm25_params params, const char *const *texts, size_t count)
{
    gb_status status = {0};
    gb_bm25 *index = gb_bm25_create(params, &status);
    cr_assert(index, "%s", status.what);
    for (size_t i = 0; i < count; i++)
        cr_assert(gb_bm25_add(index, texts[i], strlen(texts[i]), &status), "%s", status.what);
    cr_assert(gb_bm25_finish(index, &status), "%s", status.what);
    return index;
}

static gb_bm25 *build(double k1, double b, const char *const *texts, size_t count)
{
    return build_of((gb_bm25_params){.k1 = k1, .b = b, .source = blanks}, texts, count);
}

/* Hits of one search; hits has room for k. */
static uint32_t search(const gb_bm25 *index, const char *query, uint32_t k, gb_hit *hits)
{
    gb_status status = {0};
    uint32_t count = k;
    gb_bm25_searcher *searcher = gb_bm25_searcher_create(index, &status);
    cr_assert(searcher, "%s", status.what);
    cr_assert(gb_bm25_search(searcher, query, strlen(query), hits, &count, &status), "%s",
              status.what);
    gb_bm25_searcher_destroy(searcher);
    return count;
}

/* Words with frequencies are the text that repeats them. */
Test(bm25, words_with_frequencies)
{
    static const char *const texts[] = {"ice ice ice stone rain rain", "stone stone", "",
                                        "rain ice stone ice"};
    static const struct {
        const char *word;
        uint32_t count;
    } words[][4] = {{{"rain", 2}, {"ice", 3}, {"stone", 1}},
                    {{"ice", 0}, {"stone", 1}, {"stone", 1}},
                    {{NULL, 0}},
                    {{"ice stone", 1}, {"ice", 1}, {"rain", 1}}};
    gb_status status = {0};
    gb_bm25 *plain = build(10, .9, texts, 4);
    gb_bm25 *weighted =
        gb_bm25_create((gb_bm25_params){.k1 = 10, .b = .9, .source = blanks}, &status);
    cr_assert(weighted, "%s", status.what);
    for (int t = 0; t < 4; t++) {
        for (int w = 0; w < 4 && words[t][w].word; w++)
            cr_assert(gb_bm25_add_words(weighted, words[t][w].word, strlen(words[t][w].word),
                                        words[t][w].count, &status));
        cr_assert(gb_bm25_end_words(weighted, &status));
    }
    cr_assert(gb_bm25_finish(weighted, &status), "%s", status.what);
    for (int q = 0; q < 4; q++) {
        gb_hit a[4], b[4];
        uint32_t count = search(plain, texts[q], 4, a);
        cr_assert_eq(search(weighted, texts[q], 4, b), count);
        for (uint32_t i = 0; i < count; i++) {
            cr_expect_eq(a[i].passage, b[i].passage);
            cr_expect_eq(a[i].score, b[i].score);
        }
    }
    gb_bm25_destroy(plain);
    gb_bm25_destroy(weighted);
}

/* ---- lengths ---- */

Test(bm25, one_byte_lengths)
{
    /* Every integer goes to the largest representable value not above it; 0..39 are exact, then
     * steps double every eight values: 40, 42, ..., 54, 56, 60, ... */
    static const uint32_t lengths[][2] = {
        {0, 0},       {1, 1},          {23, 23},
        {24, 24},     {31, 31},        {39, 39},
        {40, 40},     {41, 40},        {42, 42},
        {55, 54},     {56, 56},        {59, 56},
        {87, 84},     {88, 88},        {95, 88},
        {96, 96},     {1000, 984},     {1047, 984},
        {1048, 1048}, {100000, 98328}, {INT32_MAX, 2013265944u},
    };
    for (size_t i = 0; i < sizeof lengths / sizeof lengths[0]; i++)
        cr_expect_eq(gb_byte_to_length(gb_length_to_byte(lengths[i][0])), lengths[i][1], "%u: %u",
                     lengths[i][0], gb_byte_to_length(gb_length_to_byte(lengths[i][0])));
    for (int byte = 0; byte < 256; byte++) {
        cr_expect_eq(gb_length_to_byte(gb_byte_to_length((uint8_t)byte)), byte);
        if (byte)
            cr_expect(gb_byte_to_length((uint8_t)byte) > gb_byte_to_length((uint8_t)(byte - 1)));
    }
}

/* ---- scores ---- */

/* The formula in doubles. */
static double score(double n, double df, double tf, double length, double mean, double k1, double b)
{
    return log(1 + (n - df + 0.5) / (df + 0.5)) * tf / (tf + k1 * (1 - b + b * length / mean));
}

Test(bm25, scores_by_hand)
{
    static const char *const texts[] = {"a b b c", "a d", "", "b c c e e e"};
    gb_bm25 *index = build(1.2, 0.75, texts, 4);
    gb_hit hits[4];
    /* N = 3 texts with terms, mean length 12 / 3. */
    cr_assert_eq(search(index, "b x", 4, hits), 2);
    cr_expect(hits[0].passage == 0 && hits[1].passage == 3);
    cr_expect_float_eq(hits[0].score, score(3, 2, 2, 4, 4, 1.2, 0.75), 1e-6);
    cr_expect_float_eq(hits[1].score, score(3, 2, 1, 6, 4, 1.2, 0.75), 1e-6);
    /* A repeated query term counts twice. */
    cr_assert_eq(search(index, "a b a", 4, hits), 3);
    cr_expect_eq(hits[0].passage, 0);
    cr_expect_float_eq(hits[0].score,
                       2 * score(3, 2, 1, 4, 4, 1.2, 0.75) + score(3, 2, 2, 4, 4, 1.2, 0.75), 1e-6);
    cr_expect_eq(gb_bm25_count(index), 4);
    cr_expect_eq(gb_bm25_terms(index), 5);
    gb_bm25_destroy(index);
}

Test(bm25, long_texts_have_coarse_lengths)
{
    gb_text text = {0};
    for (int i = 0; i < 59; i++)
        gb_text_append(&text, "w ", 2); /* 59 counts as 56 */
    const char *const texts[] = {text.data, "v"};
    gb_bm25 *index = build(0.9, 0.4, texts, 2);
    gb_hit hit;
    cr_assert_eq(search(index, "w", 1, &hit), 1);
    cr_expect_float_eq(hit.score, score(2, 1, 59, 56, 30, 0.9, 0.4), 1e-6); /* the mean is exact */
    gb_bm25_destroy(index);
    gb_text_free(&text);
}

Test(bm25, equal_scores_by_row)
{
    static const char *const texts[] = {"y", "x", "x", "x x", "x", "x"};
    gb_bm25 *index = build(0.9, 0, texts, 6); /* b = 0: no lengths */
    for (uint32_t k = 0; k <= 6; k++) {
        static const uint32_t order[] = {3, 1, 2, 4, 5};
        gb_hit hits[6];
        uint32_t count = search(index, "x", k, hits);
        cr_expect_eq(count, k < 5 ? k : 5);
        for (uint32_t i = 0; i < count; i++)
            cr_expect_eq(hits[i].passage, order[i], "k %u place %u: %u", k, i, hits[i].passage);
    }
    gb_bm25_destroy(index);
}

Test(bm25, nothing_to_find)
{
    static const char *const texts[] = {"", "  "};
    gb_bm25 *index = build(0.9, 0.4, texts, 2), *empty = build(0.9, 0.4, NULL, 0);
    gb_hit hits[2];
    cr_expect_eq(search(index, "x", 2, hits), 0);
    cr_expect_eq(search(empty, "x", 2, hits), 0);
    cr_expect_eq(search(empty, "", 2, hits), 0);
    gb_bm25_destroy(index);
    gb_bm25_destroy(empty);
    gb_bm25_destroy(NULL);
}

Test(bm25, impossible_parameters)
{
    static const double bad[][2] = {
        {-1, 0.4}, {0.9, -0.1}, {0.9, 1.1}, {NAN, 0.4}, {INFINITY, 0.4}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        gb_bm25_params params = {.k1 = bad[i][0], .b = bad[i][1], .source = blanks};
        gb_status status = {0};
        cr_expect_null(gb_bm25_create(params, &status));
        cr_expect_eq(status.code, GB_USAGE);
    }
}

/* ---- feedback ---- */

/* Thirty texts; two are found, "stone" is in too many to be chosen, "i" is too short, "o-k" no
 * word. */
Test(bm25, feedback_by_hand)
{
    enum { TEXTS = 30 };
    const char *texts[TEXTS] = {"river river river bank bank stone i i i i",
                                "river delta o-k o-k o-k", "bank money money", "delta mud"};
    for (int i = 4; i < TEXTS; i++)
        texts[i] = i < 10 ? "stone" : "other";
    const gb_bm25_params params = {.k1 = .9, .b = .4, .source = blanks, .rm3 = {10, 2, .6}};
    gb_bm25 *plain = build(.9, .4, texts, TEXTS), *index = build_of(params, texts, TEXTS);
    gb_hit first[4], hits[4];
    cr_assert_eq(search(plain, "river sea", 4, first), 2);
    cr_expect(first[0].passage == 0 && first[1].passage == 1);
    /* Of passage 0 count river 3 and bank 2, of passage 1 river and delta once each. */
    double s0 = first[0].score, s1 = first[1].score;
    double river = s0 * 3 / 5 + s1 / 2, bank = s0 * 2 / 5, delta = s1 / 2;
    cr_assert(bank > delta); /* two terms stay: river and bank */
    double sum = river + bank, mean = 0;
    static const double lengths[] = {10, 5, 3, 2};
    for (int i = 0; i < TEXTS; i++)
        mean += (i < 4 ? lengths[i] : 1) / TEXTS;
    double of_river = .6 / 2 + .4 * river / sum, of_bank = .4 * bank / sum; /* |q| is 2 */
    cr_assert_eq(search(index, "river sea", 4, hits), 3);
    cr_expect_eq(hits[0].passage, 0);
    cr_expect_float_eq(hits[0].score,
                       of_river * score(TEXTS, 2, 3, 10, mean, .9, .4) +
                           of_bank * score(TEXTS, 2, 2, 10, mean, .9, .4),
                       1e-6);
    cr_expect_eq(hits[1].passage, 1);
    cr_expect_float_eq(hits[1].score, of_river * score(TEXTS, 2, 1, 5, mean, .9, .4), 1e-6);
    cr_expect_eq(hits[2].passage, 2);
    cr_expect_float_eq(hits[2].score, of_bank * score(TEXTS, 2, 1, 3, mean, .9, .4), 1e-6);
    cr_expect_eq(search(index, "sea", 4, hits), 0);
    gb_bm25_destroy(plain);
    gb_bm25_destroy(index);
}

Test(bm25, impossible_feedback)
{
    static const gb_rm3 bad[] = {{10, 0, .5}, {10, 10, -1}, {10, 10, 1.1}, {10, 10, NAN}};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        gb_status status = {0};
        cr_expect_null(
            gb_bm25_create((gb_bm25_params){.k1 = 1, .source = blanks, .rm3 = bad[i]}, &status));
        cr_expect_eq(status.code, GB_USAGE);
    }
}

static const char *numbered_query(const void *ctx, uint32_t query, size_t *length)
{
    const char *text = ((const char *const *)ctx)[query];
    *length = strlen(text);
    return text;
}

Test(bm25, any_number_of_threads)
{
    enum { TEXTS = 300, QUERIES = 40 };
    char texts[TEXTS][60], queries[QUERIES][20];
    const char *text_list[TEXTS], *query_list[QUERIES];
    uint32_t rows[QUERIES];
    gb_rng rng = gb_rng_make(5, GB_RNG_TEST, 0, 0);
    for (int i = 0; i < TEXTS; i++) {
        texts[i][0] = '\0';
        for (uint32_t j = gb_rng_below(&rng, 12) + 1; j-- > 0;)
            snprintf(texts[i] + strlen(texts[i]), 5, "%u ", gb_rng_below(&rng, 50));
        text_list[i] = texts[i];
    }
    for (uint32_t i = 0; i < QUERIES; i++) {
        snprintf(queries[i], sizeof queries[i], "%u %u %u", i, gb_rng_below(&rng, 50), i + 20);
        query_list[i] = queries[i];
        rows[i] = QUERIES - 1 - i; /* the order given is the order of the lists */
    }
    gb_bm25 *index = build(0.9, 0.4, text_list, TEXTS);
    gb_run one = {0}, many = {0};
    gb_bm25_queries asked = {.rows = rows,
                             .count = QUERIES,
                             .text = numbered_query,
                             .ctx = query_list,
                             .depth = 50,
                             .threads = 1};
    cr_assert(gb_bm25_run(index, &asked, &one, NULL));
    asked.threads = 7;
    cr_assert(gb_bm25_run(index, &asked, &many, NULL));
    cr_assert_eq(one.list_count, QUERIES);
    cr_assert_eq(one.hit_count, many.hit_count);
    cr_assert(one.hit_count > QUERIES);
    for (size_t i = 0; i < QUERIES; i++)
        cr_expect(one.lists[i].query == rows[i] && many.lists[i].query == rows[i] &&
                  one.lists[i].count == many.lists[i].count);
    for (size_t i = 0; i < one.hit_count; i++)
        cr_expect(one.hits[i].passage == many.hits[i].passage &&
                  one.hits[i].score == many.hits[i].score);
    gb_run_free(&one);
    gb_run_free(&many);
    gb_bm25_destroy(index);
}

/* ---- long work ---- */

/* The training queries of a large collection take hours. */
Test(bm25, many_queries_show_progress)
{
    enum { QUERIES = 5000 };
    static const char *query_list[QUERIES], *const texts[] = {"one", "two"};
    static uint32_t rows[QUERIES];
    for (uint32_t i = 0; i < QUERIES; i++) {
        query_list[i] = "two";
        rows[i] = i;
    }
    gb_bm25 *index = build(0.9, 0.4, texts, 2);
    const gb_bm25_queries asked = {
        .rows = rows, .count = QUERIES, .text = numbered_query, .ctx = query_list, .depth = 1};
    gb_run run = {0};
    gb_log_set_level(GB_LOG_INFO);
    gb_say_set_form(GB_SAY_JSON);
    const char *path = help_path("stderr");
    cr_assert(freopen(path, "w", stderr));
    cr_assert(gb_bm25_run(index, &asked, &run, NULL));
    fflush(stderr);
    char *said = gb_read_file(path, NULL, NULL);
    cr_expect(strstr(said, "\"bm25 search\"") && strstr(said, "\"done\": 5000"), "%s", said);
    free(said);
    gb_run_free(&run);
    gb_bm25_destroy(index);
}

static gb_row_file *one_row(const char *name, const char *text)
{
    gb_status status = {0};
    gb_row_writer *writer = gb_row_writer_open(help_path(name), 1, &status);
    cr_assert(gb_row_writer_add(writer, text, strlen(text), &status) &&
              gb_row_writer_commit(writer, &status));
    gb_row_file *file = gb_row_file_open(help_path(name), 1, &status);
    cr_assert(file, "%s", status.what);
    return file;
}

Test(bm25, indexing_can_be_stopped)
{
    gb_status status = {0};
    const gb_collection collection = {
        .passages = 1, .titles = one_row("title", ""), .texts = one_row("text", "a")};
    gb_install_signals();
    raise(SIGINT);
    cr_expect_null(gb_bm25_of(&collection, &status));
    cr_expect_eq(status.code, GB_INTERRUPTED, "%s", status.what);
    gb_row_file_close(collection.titles);
    gb_row_file_close(collection.texts);
}

/* ---- the command on a folder made here ---- */

Test(bm25, command)
{
    char folder[300], qrels[310], run[310];
    snprintf(folder, sizeof folder, "%s/data", help_dir);
    snprintf(qrels, sizeof qrels, "%s/qrels", folder);
    snprintf(run, sizeof run, "%s/run", help_dir);
    cr_assert(gb_make_dirs(qrels, NULL));
    help_write("data/corpus.jsonl",
               "{\"_id\": \"d1\", \"title\": \"Cats\", \"text\": \"sleeping all day\"}\n"
               "{\"_id\": \"d2\", \"title\": \"\", \"text\": \"Dogs sleep.\"}\n");
    help_write("data/queries.jsonl", "{\"_id\": \"q1\", \"text\": \"does the cat sleep?\"}\n"
                                     "{\"_id\": \"q2\", \"text\": \"not judged\"}\n");
    help_write("data/qrels/test.tsv", "query-id\tcorpus-id\tscore\nq1\td1\t1\n");
    int code;
    char *output = help_capture(
        (const char *const[]){"bm25", "--collection", folder, "--run", run, NULL}, &code);
    cr_expect_eq(code, 0);
    cr_expect(strstr(output, "2 passages"), "%s", output);
    cr_expect(strstr(output, "queries      1 of split test, 1 judgements"), "%s", output);
    cr_expect(strstr(output, "msmarco      MRR@10                 1.0000"), "%s", output);
    char *written = gb_read_file(run, NULL, NULL);
    cr_assert(written);
    cr_expect_eq(strncmp(written, "q1 Q0 d1 1 ", 11), 0, "%s", written);
    cr_expect(strstr(written, "\nq1 Q0 d2 2 ") && strstr(written, " gabbro-bm25\n"));
    free(output);
    /* The same from a stored collection, terms and figures alike. */
    char stored[300];
    snprintf(stored, sizeof stored, "%s/stored", help_dir);
    gb_import_params import = {.path = folder, .queries_per_passage = 1};
    gb_status status = {0};
    cr_assert(gb_collection_import(&import, stored, &status), "%s", status.what);
    output = help_capture((const char *const[]){"bm25", "--collection", stored, "--run", run, NULL},
                          &code);
    cr_expect_eq(code, 0);
    cr_expect(strstr(output, "queries      1 of split test, 1 judgements"), "%s", output);
    char *again = gb_read_file(run, NULL, NULL);
    cr_expect_str_eq(again, written);
    free(written), free(again), free(output);
    static const char *const wrong[][6] = {{"bm25", NULL},
                                           {"bm25", "--collection", "x", "--depth", "0", NULL},
                                           {"bm25", "--collection", "x", "--b", "2", NULL},
                                           {"bm25", "--collection", "x", "y", NULL}};
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        free(help_capture(wrong[i], &code));
        cr_expect_eq(code, GB_USAGE, "%zu gave %d", i, code);
    }
    free(help_capture((const char *const[]){"bm25", "--collection", "/nowhere", NULL}, &code));
    cr_expect_eq(code, GB_DATA);
}

/* ---- Lucene's published figures ---- */

/* Expect "measure value" lines in the command's table. */
static void expect_lines(const char *output, const char *const *lines)
{
    for (; *lines; lines++)
        cr_expect(strstr(output, *lines), "no \"%s\" in:\n%s", *lines, output);
}

/* The value behind a measure's name in the table, beside a published figure. */
static void trust_figure(const char *what, const char *output, const char *name, double published)
{
    const char *at = strstr(output, name);
    double value = at ? strtod(at + strlen(name), NULL) : -1;
    trust(what, "Anserini's published figure", fabs(value - published), .003);
}

/* Anserini's BEIR regressions on SciFact, flat: nDCG@10 .6789, R@100 .9253, R@1000 .9767. */
Test(bm25, scifact)
{
    char *folder = help_data("scifact");
    int code;
    char *output = help_capture((const char *const[]){"bm25", "--collection", folder, NULL}, &code);
    cr_expect_eq(code, 0);
    expect_lines(output, (const char *const[]){"5183 passages", "300 of split test, 339 judgements",
                                               " ndcg_cut_10            0.6789",
                                               " recall_100             0.9253",
                                               " recall_1000            0.9767", NULL});
    trust_figure("BM25, SciFact, nDCG@10", output, " ndcg_cut_10 ", .6789);
    free(output), free(folder);
}

/* The same over WordPieces: nDCG@10 .6718, R@100 .9213, R@1000 .9743. */
Test(bm25, scifact_wordpiece)
{
    char *folder = help_data("scifact"), *model = help_data("bert-base-uncased");
    int code;
    char *output = help_capture(
        (const char *const[]){"bm25", "--collection", folder, "--vocabulary", model, NULL}, &code);
    cr_expect_eq(code, 0);
    expect_lines(output, (const char *const[]){" ndcg_cut_10            0.6718",
                                               " recall_100             0.9213",
                                               " recall_1000            0.9743", NULL});
    trust_figure("BM25 over WordPieces, SciFact, nDCG@10", output, " ndcg_cut_10 ", .6718);
    free(output), free(model), free(folder);
}

/* Terms are what the vocabulary's folder makes of texts: here capitals count. */
Test(bm25, cased_vocabulary)
{
    help_write("corpus.jsonl", "{\"_id\": \"1\", \"text\": \"the apple\"}\n"
                               "{\"_id\": \"2\", \"text\": \"the Apple\"}\n");
    help_write("queries.jsonl", "{\"_id\": \"q\", \"text\": \"Apple\"}\n");
    help_write("qrels.tsv", "q\t0\t2\t1\n");
    help_write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\napple\nApple\n");
    help_write("tokenizer_config.json", "{\"do_lower_case\": false}");
    gb_status status = {0};
    const gb_bm25_folder_params params = {
        .folder = help_dir,
        .qrels = help_path("qrels.tsv"),
        .vocabulary = help_dir,
        .bm25 = GB_BM25_SETTINGS,
    };
    gb_bm25_folder folder;
    gb_run run = {0};
    cr_assert(gb_bm25_folder_open(&params, &folder, &status), "%s", status.what);
    cr_assert(gb_bm25_folder_search(&folder, 2, 1, &run, &status), "%s", status.what);
    cr_assert_eq(run.list_count, 1);
    cr_assert_eq(run.lists[0].count, 1, "capitals do not count");
    cr_expect_eq(run.hits[0].passage, 1);
    gb_run_free(&run);
    gb_bm25_folder_close(&folder);
}

/* Given queries are all searched for, whatever the folder judges. */
Test(bm25, own_queries)
{
    help_write("corpus.jsonl", "{\"_id\": \"1\", \"text\": \"an apple\"}\n"
                               "{\"_id\": \"2\", \"text\": \"a pear\"}\n");
    help_write("queries.jsonl", "{\"_id\": \"q\", \"text\": \"apple\"}\n");
    cr_assert(gb_make_dirs(help_path("qrels"), NULL));
    help_write("qrels/test.tsv", "query-id\tcorpus-id\tscore\nq\t1\t1\n");
    help_write("own.tsv", "q\tapple\nu\tpear\n");
    int code;
    free(help_capture((const char *const[]){"bm25", "--collection", help_dir, "--queries",
                                            help_path("own.tsv"), "--run", help_path("run"),
                                            "--format", "msmarco", NULL},
                      &code));
    cr_expect_eq(code, 0);
    char *run = gb_read_file(help_path("run"), NULL, NULL);
    cr_expect_str_eq(run, "q\t1\t1\nu\t2\t1\n");
    free(run);
}

/* Searches CACM with more options of gabbro bm25 and gives what gabbro eval prints of MAP and P@30;
 * the caller frees it. Anserini's runs order equal scores by ascending id and keep that order by
 * changing the scores a little, so we measure with ascending ids. */
static char *measure_cacm(const char *const *options)
{
    char *folder = help_data("cacm"), *topics = help_data("cacm/topics.trec.txt");
    char *qrels = help_data("cacm/qrels.trec.txt"), run[300];
    const char *words[20] = {"bm25",    "--collection", folder,  "--queries", topics,
                             "--qrels", qrels,          "--run", run};
    int code;
    snprintf(run, sizeof run, "%s/run", help_dir);
    for (size_t count = 9; *options;)
        words[count++] = *options++;
    free(help_capture(words, &code));
    cr_expect_eq(code, 0);
    char *output = help_capture(
        (const char *const[]){"eval", "-c", "-mmap", "-mP.30", "--ties", "asc", qrels, run, NULL},
        &code);
    cr_expect_eq(code, 0);
    free(qrels), free(topics), free(folder);
    return output;
}

static const char cacm_map[] = "map                   \tall\t";

/* Anserini's CACM regression: MAP .3123, P@30 .1942. */
Test(bm25, cacm)
{
    char *output = measure_cacm((const char *const[]){NULL});
    expect_lines(output, (const char *const[]){"\tall\t0.3123\n", "\tall\t0.1942\n", NULL});
    trust_figure("BM25, CACM, MAP", output, cacm_map, .3123);
    free(output);
}

/* With RM3: MAP .3643, P@30 .2237. Of terms that a passage has equally often Anserini chooses by
 * the order of a hash table, and many occur once. */
Test(bm25, cacm_feedback)
{
    char *output = measure_cacm((const char *const[]){"--rm3", NULL});
    trust_figure("BM25 with RM3, CACM, MAP", output, cacm_map, .3643);
    trust_figure("BM25 with RM3, CACM, P@30", output, "P_30                  \tall\t", .2237);
    free(output);
}
