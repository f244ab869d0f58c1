/* Data module: SQuAD's JSON: which passage a question is judged by, how questions are divided, and
 * damage. */
#include "data/import.h"
#include "import_help.h"

#include <zlib.h>

/* Of one article with one paragraph. */
#define ARTICLE(title, context, qas)                                                               \
    "{\"title\": \"" title "\", \"paragraphs\": [{\"context\": \"" context "\", \"qas\": [" qas    \
    "]}]}"
#define FILE_OF(articles) "{\"data\": [" articles "], \"version\": \"1.1\"}"
#define ASKED(id, question, answers)                                                               \
    "{\"id\": \"" id "\", \"question\": \"" question "\", \"answers\": [" answers "]}"
#define ANSWER(text, start) "{\"text\": \"" text "\", \"answer_start\": " #start "}"

/* A paragraph of three sentences, the first with characters of two and three bytes. */
#define STONES "Gabbro \xc3\xa9\xe2\x80\x93 is dark. Basalt cools fast in air. Granite is pale."

/* All questions in one split, as the file has them. */
static gb_collection *import_cut(const char *path, uint32_t words, const char *target)
{
    gb_import_params params = GB_IMPORT_DEFAULTS;
    gb_log_set_level(GB_LOG_WARN);
    params.path = path;
    params.span_words = words;
    params.keep_splits = true;
    return import_as(&params, &(gb_import_variant){0}, target);
}

Test(squad, paragraphs_are_cut_at_sentences)
{
    scratch s = scratch_enter();
    scratch_write("dev.json", FILE_OF(ARTICLE("Dark_stones", STONES, "")));
    gb_collection *c = import_cut("dev.json", 6, "six");
    cr_assert_eq(c->passages, 3, "%u", c->passages);
    expect_row(c->passage_ids, 2, "Dark_stones-0-2");
    expect_row(c->titles, 2, "Dark stones");
    expect_row(c->texts, 1, "Basalt cools fast in air.");
    gb_collection_close(c);
    c = import_cut("dev.json", 9, "nine"); /* 4 and 5 words, then 3 */
    cr_assert_eq(c->passages, 2, "%u", c->passages);
    expect_row(c->texts, 1, "Granite is pale.");
    gb_collection_close(c);
    c = import_cut("dev.json", 8, "eight"); /* 4, then 5 and 3 */
    cr_assert_eq(c->passages, 2, "%u", c->passages);
    expect_row(c->texts, 1, "Basalt cools fast in air. Granite is pale.");
    gb_collection_close(c);
    c = import_cut("dev.json", 1, "one"); /* sentences stay whole */
    cr_assert_eq(c->passages, 3, "%u", c->passages);
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(squad, a_question_is_judged_by_the_passage_of_its_answer)
{
    scratch s = scratch_enter();
    scratch_write(
        "dev.json",
        FILE_OF(ARTICLE(
            "Stones", STONES,
            ASKED("characters", "  what is\\n dark? ", ANSWER("\xc3\xa9", 7)) "," ASKED(
                "begins", "what cools",
                ANSWER("Basalt",
                       19)) "," ASKED("crosses", "what ends",
                                      ANSWER(
                                          "air. Granite",
                                          40)) "," ASKED("most", "which one",
                                                         ANSWER("Gabbro", 0) "," ANSWER("Granite", 45) "," ANSWER(
                                                             "Granite is",
                                                             45) "," ANSWER("Granite",
                                                                            45)) "," ASKED("first",
                                                                                           "which",
                                                                                           ANSWER("Granite", 45) "," ANSWER(
                                                                                               "Gab"
                                                                                               "br"
                                                                                               "o",
                                                                                               0)))));
    gb_collection *c = import_cut("dev.json", 6, "out");
    cr_expect_str_eq(c->splits, "dev");
    expect_row(c->queries, 0, "what is  dark?");
    expect_file("out/qrels/dev.tsv", "query-id\tcorpus-id\tscore\n"
                                     "characters\tStones-0-0\t1\n"
                                     "begins\tStones-0-1\t1\n"
                                     "crosses\tStones-0-1\t1\n"
                                     "most\tStones-0-2\t1\n"
                                     "first\tStones-0-2\t1\n");
    expect_file("out/answers.tsv", "characters\t\xc3\xa9\nbegins\tBasalt\ncrosses\tair. Granite\n"
                                   "most\tGabbro\tGranite\tGranite is\nfirst\tGranite\tGabbro\n");
    gb_collection_close(c);
    scratch_leave(&s);
}

static void write_packed(const char *name, const char *text)
{
    gzFile out = gzopen(name, "wb");
    cr_assert(out && gzputs(out, text) == (int)strlen(text));
    cr_assert_eq(gzclose(out), Z_OK);
}

Test(squad, parts_are_one_collection_and_names_say_the_split)
{
    scratch s = scratch_enter();
    cr_assert(gb_make_dirs("parts", NULL));
    write_packed("parts/dev-part1.json.gz",
                 FILE_OF(ARTICLE("Stones", "Gabbro is dark.",
                                 ASKED("q1", "what is dark", ANSWER("Gabbro", 0)))));
    scratch_write(
        "parts/dev-part2.json",
        "{\n \"version\": \"1.1\",\n \"data\":\n [\n" ARTICLE(
            "Rivers", "The Elbe flows.",
            ASKED("q2", "what flows",
                  ANSWER("Elbe", 4))) ",\n" ARTICLE("Stones", "Basalt cools.",
                                                    ASKED("q3", "what cools",
                                                          ANSWER("Basalt",
                                                                 0))) ",\n{\"paragraphs\": "
                                                                      "[]}, " ARTICLE("",
                                                                                      "Who knows.",
                                                                                      "") "\n]}\n");
    scratch_write("parts/train-v1.1.json",
                  FILE_OF(ARTICLE("Birds", "A swift is fast.",
                                  ASKED("q4", "what is fast", ANSWER("swift", 2)))));
    scratch_write("parts/notes.json", "{\"of\": \"something else\"}\n");
    gb_collection *c = import("parts", "out"); /* there is a training file: nothing is divided */
    cr_expect_str_eq(c->splits, "train dev");
    cr_expect_eq(c->documents, 4);
    cr_assert_eq(c->passages, 5);
    expect_row(c->passage_ids, 1, "Stones-1-0"); /* beside its document's first */
    expect_row(c->passage_ids, 3, "article-3-0-0");
    expect_row(c->titles, 3, "");
    expect_file("out/qrels/train.tsv", "query-id\tcorpus-id\tscore\nq4\tBirds-0-0\t1\n");
    cr_expect_str_eq(c->generator, "extractive");
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(squad, questions_without_an_answer_are_left_out)
{
    scratch s = scratch_enter();
    scratch_write("dev-v2.0.json",
                  "{\"version\": \"v2.0\", \"data\": [" ARTICLE(
                      "Stones", "Gabbro is dark.",
                      "{\"id\": \"no\", \"question\": \"what is red\", \"is_impossible\": true, "
                      "\"answers\": [], \"plausible_answers\": []}, "
                      "{\"id\": \"yes\", \"question\": \"what is dark\", \"is_impossible\": false, "
                      "\"answers\": [" ANSWER("Gabbro", 0) "]}") "]}");
    gb_collection *c = import_cut("dev-v2.0.json", 45, "out");
    cr_assert_eq(gb_row_file_count(c->queries), 1);
    expect_row(c->query_ids, 0, "yes");
    char *about = gb_read_file("out/collection.json", NULL, NULL);
    cr_expect_not_null(strstr(about, "1 of them have no answer in their paragraph"));
    free(about);
    gb_collection_close(c);
    scratch_leave(&s);
}

/* ---- divided questions ---- */

enum { QUESTIONS = 40 };
/* By the first digit of `printf '42 q0' | sha256sum` and so on: train, generated, dev. */
static const char shares[] = "gtttdgtttggttddgdttgtdgtdtggtgdgttdttttt";

/* Question i is answered by paragraph i; two articles. */
static void write_many(const char *path)
{
    gb_text text = {0};
    gb_text_printf(&text, "{\"data\": [");
    for (int i = 0; i < QUESTIONS; i++) {
        if (i % (QUESTIONS / 2) == 0)
            gb_text_printf(&text, "%s{\"title\": \"Article_%d\", \"paragraphs\": [",
                           i ? "]}, " : "", i);
        else
            gb_text_printf(&text, ", ");
        gb_text_printf(
            &text,
            "{\"context\": \"Stone %d is dark.\", \"qas\": [" ASKED(
                "q%d", "which is number %d", "{\"text\": \"Stone\", \"answer_start\": 0}") "]}",
            i, i, i);
    }
    gb_text_printf(&text, "]}]}");
    scratch_write(path, text.data);
    gb_text_free(&text);
}

/* Of the questions that generated.gbt has for a passage: its own, and those of its article that no
 * split has. */
static void count_generated(const gb_collection *c, uint32_t passage, uint32_t *about,
                            uint32_t *others)
{
    size_t length;
    const char *row = gb_row_file_row(c->generated, passage, &length);
    for (const char *at = row, *end; at < row + length; at = end + 1) {
        int number = -1;
        end = memchr(at, '\n', (size_t)(row + length - at));
        cr_assert_not_null(end);
        cr_assert_eq(sscanf(at, "which is number %d\n", &number), 1);
        cr_expect_eq(shares[number], 'g');
        cr_expect_eq(number / (QUESTIONS / 2), (int)passage / (QUESTIONS / 2));
        *about += number == (int)passage;
        *others += number != (int)passage;
    }
}

Test(squad, half_trains_a_quarter_is_generated_a_quarter_judges)
{
    scratch s = scratch_enter();
    gb_log_set_level(GB_LOG_WARN);
    write_many("dev.json");
    gb_collection *c = import("dev.json", "out");
    cr_expect_str_eq(c->splits, "train dev");
    cr_expect_str_eq(c->generator, "questions of people");
    cr_expect_not(gb_file_exists("out/generated.jsonl"));
    for (int split = 0; split < 2; split++) {
        gb_qrels qrels;
        cr_assert(gb_collection_qrels(c, split ? "dev" : "train", &qrels, NULL));
        cr_expect_eq(qrels.count, split ? 8 : 21, "%zu", qrels.count);
        for (size_t i = 0; i < qrels.count; i++)
            cr_expect_eq(shares[qrels.rows[i].passage], split ? 'd' : 't');
        free(qrels.rows);
    }
    uint32_t about = 0, others = 0;
    for (uint32_t p = 0; p < c->passages; p++)
        count_generated(c, p, &about, &others);
    cr_expect_eq(about, 11, "%u", about);
    cr_expect_eq(others, 8, "%u", others); /* 8.47 would be 43.5% */
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(squad, given_queries_take_the_place_of_that_quarter)
{
    scratch s = scratch_enter();
    gb_log_set_level(GB_LOG_WARN);
    write_many("dev.json");
    scratch_write("queries.jsonl", "{\"id\": \"Article_0-3-0\", \"query\": \"given\"}\n");
    gb_import_params params = GB_IMPORT_DEFAULTS;
    params.path = "dev.json";
    params.queries = "queries.jsonl";
    gb_collection *c = import_as(&params, &(gb_import_variant){0}, "out");
    cr_expect_eq(gb_row_file_count(c->queries), 29);
    expect_row(c->generated, 3, "given\n");
    expect_row(c->generated, 0, "");
    gb_collection_close(c);
    params.seed = 43; /* divides them otherwise */
    c = import_as(&params, &(gb_import_variant){0}, "other");
    char *one = gb_read_file("out/qrels/dev.tsv", NULL, NULL);
    char *two = gb_read_file("other/qrels/dev.tsv", NULL, NULL);
    cr_expect_str_neq(one, two);
    free(one);
    free(two);
    gb_collection_close(c);
    scratch_leave(&s);
}

/* ---- damage ---- */

Test(squad, damage_is_named_by_file_and_place)
{
    scratch s = scratch_enter();
    static const struct {
        const char *text, *where, *what; /* of the file; said about it */
    } cases[] = {
        {"{\"data\": [{\"title\": \"x\",\n \"paragraphs\": [", "dev.json:3", "not valid JSON"},
        {FILE_OF("{\"title\": \"x\"}"), "dev.json, article 1", "no list \"paragraphs\""},
        {FILE_OF("{\"title\": 1, \"paragraphs\": []}"), "dev.json, article 1",
         "no string \"title\""},
        {FILE_OF("{\"paragraphs\": [{\"qas\": []}]}"), "dev.json, article 1, paragraph 1",
         "no string \"context\""},
        {FILE_OF("{\"paragraphs\": [{\"context\": \"A b.\"}]}"), "dev.json, article 1, paragraph 1",
         "no list \"qas\""},
        {FILE_OF(ARTICLE("x", "A b.", "{\"question\": \"why\"}")),
         "dev.json, article 1, paragraph 1", "no string \"id\""},
        {FILE_OF(ARTICLE("x", "A b.", "{\"id\": \"q\", \"question\": \"why\"}")),
         "dev.json, article 1, paragraph 1, question q", "no list \"answers\""},
        {FILE_OF(ARTICLE("x", "A b.", ASKED("q", "why", ""))),
         "dev.json, article 1, paragraph 1, question q", "without answers"},
        {FILE_OF(ARTICLE("x", "A b.", ASKED("q", " ", ANSWER("A", 0)))),
         "dev.json, article 1, paragraph 1, question q", "without text"},
        {FILE_OF(ARTICLE("x", " ", ASKED("q", "why", ANSWER("A", 0)))),
         "dev.json, article 1, paragraph 1, question q", "a paragraph without text"},
        {FILE_OF(ARTICLE("x", "A b.", ASKED("q", "why", ANSWER("A", 1)))),
         "dev.json, article 1, paragraph 1, question q", "\"A\" is not in the paragraph"},
        {FILE_OF(ARTICLE("x", "A b.", ASKED("q", "why", ANSWER("b.", 4)))),
         "dev.json, article 1, paragraph 1, question q", "at character 4"},
        {FILE_OF(ARTICLE("x", "A b.", ASKED("q", "why", ANSWER("A", -1)))),
         "dev.json, article 1, paragraph 1, question q", "not a number of characters"},
        {FILE_OF(ARTICLE("x", "A b.",
                         ASKED("q", "why", ANSWER("A", 0)) "," ASKED("q", "why", ANSWER("A", 0)))),
         "dev.json, article 1, paragraph 1, question q", "appears twice"},
        {"{\"data\": []}", "dev.json", "no passages"},
        {"{\"data\": [],\n\"data\": []}", "dev.json:2", "duplicate object key"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scratch_write("dev.json", cases[i].text);
        expect_refused("dev.json", cases[i].where, cases[i].what);
    }
    scratch_leave(&s);
}

/* ---- the real one ---- */

/* Questions of a split whose passage has one of their answers, as a share. */
static double answered(const gb_collection *c, const char *split)
{
    gb_qrels qrels;
    gb_map *answers = gb_map_create(NULL);
    char *text = gb_read_file("out/answers.tsv", NULL, NULL);
    double found = 0;
    cr_assert(answers && text && gb_collection_qrels(c, split, &qrels, NULL));
    for (char *line = text, *end; (end = strchr(line, '\n')); line = end + 1) {
        size_t id = strcspn(line, "\t");
        *end = '\0';
        cr_assert(gb_map_set(answers, line, id, (uint32_t)(line + id + 1 - text), NULL));
    }
    for (size_t i = 0; i < qrels.count; i++) {
        size_t length, id_length;
        const char *passage = gb_row_file_row(c->texts, qrels.rows[i].passage, &length);
        const char *id = gb_row_file_row(c->query_ids, qrels.rows[i].query, &id_length);
        const char *answer = text + gb_map_get(answers, id, id_length);
        bool has = false;
        for (size_t size; !has && *answer; answer += size + (answer[size] != '\0')) {
            size = strcspn(answer, "\t");
            has = memmem(passage, length, answer, size) != NULL;
        }
        found += has;
    }
    found /= (double)qrels.count;
    free(qrels.rows);
    free(text);
    gb_map_destroy(answers);
    return found;
}

Test(squad, real_development_set)
{
    const char *root = getenv("GABBRO_TEST_DATA");
    char path[500];
    snprintf(path, sizeof path, "%s/squad", root ? root : "");
    if (!root || !gb_dir_exists(path))
        cr_skip_test("skipped: GABBRO_TEST_DATA has no folder squad");
    scratch s = scratch_enter();
    gb_collection *c = import_cut(path, 45, "out");
    cr_expect_eq(c->documents, 48);
    cr_expect_eq(gb_row_file_count(c->queries), 10570);
    char *about = gb_read_file("out/collection.json", NULL, NULL);
    cr_expect_not_null(strstr(about, "\"paragraphs\": 2067,"));
    free(about);
    double share = answered(c, "dev"); /* the others' answers cross a cut */
    cr_expect_gt(share, .99, "%g", share);
    gb_collection_close(c);
    scratch_leave(&s);
}
