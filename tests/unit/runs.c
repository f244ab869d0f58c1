/* Runs, judgements and queries as files: what is read, what is refused and where, round trips. */
#include "retrieve_help.h"

#include <gabbro/os.h>

#include <math.h>

TestSuite(runs, .init = help_setup, .fini = help_teardown);

/* Ids and a run that a test reads. */
typedef struct scene {
    gb_run_names names; /* ids, growing */
    gb_run run;         /* read */
    gb_qrels qrels;     /* read */
    gb_status status;   /* of the last reading */
} scene;

static scene open_scene(void)
{
    scene s = {0};
    cr_assert(gb_run_names_create(&s.names, NULL));
    return s;
}

static void close_scene(scene *s)
{
    gb_run_free(&s->run);
    free(s->qrels.rows);
    gb_run_names_free(&s->names);
}

static bool read_run(scene *s, gb_run_format format, const char *text)
{
    s->status = (gb_status){0};
    return gb_run_read(help_write("run", text), format, &s->names, &s->run, NULL, &s->status);
}

static bool read_qrels(scene *s, const char *text)
{
    s->status = (gb_status){0};
    return gb_qrels_read(help_write("qrels", text), &s->names, &s->qrels, &s->status);
}

static uint32_t row(gb_names *names, const char *id)
{
    uint32_t found;
    cr_assert(gb_names_row(names, id, strlen(id), &found, NULL));
    return found;
}

/* Lists as "query:passage=score passage=score; query:..." */
static const char *show(const scene *s)
{
    static char text[1000];
    size_t at = 0, length;
    text[0] = '\0';
    for (size_t i = 0; i < s->run.list_count; i++) {
        const gb_run_list *list = &s->run.lists[i];
        const char *id = gb_names_get(s->names.queries, list->query, &length);
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s:", i ? "; " : "", (int)length,
                               id);
        for (uint32_t j = 0; j < list->count; j++) {
            const gb_hit *hit = &s->run.hits[list->first + j];
            length = 1;
            id = hit->passage == GB_NO_PASSAGE
                     ? "-"
                     : gb_names_get(s->names.passages, hit->passage, &length);
            at += (size_t)snprintf(text + at, sizeof text - at, "%s%.*s=%g", j ? " " : "",
                                   (int)length, id, hit->score);
        }
    }
    return text;
}

/* ---- names ---- */

Test(runs, names)
{
    gb_names *names = gb_names_create(NULL);
    cr_expect_eq(row(names, "b"), 0);
    cr_expect_eq(row(names, "ab"), 1);
    cr_expect_eq(row(names, "b"), 0);
    cr_expect_eq(row(names, "\xc3\xa9"), 2);
    cr_expect_eq(gb_names_count(names), 3);
    cr_expect(gb_names_compare(names, 0, 1) > 0);
    cr_expect(gb_names_compare(names, 1, 1) == 0);
    cr_expect(gb_names_compare(names, 0, 2) < 0, "bytes compare unsigned");
    gb_names_destroy(names);
    gb_names_destroy(NULL);
}

Test(runs, names_of_a_table)
{
    gb_status status = {0};
    gb_row_writer *writer = gb_row_writer_open(help_path("ids"), 1, &status);
    cr_assert(writer, "%s", status.what);
    cr_assert(gb_row_writer_add(writer, "d1", 2, &status) &&
              gb_row_writer_add(writer, "d22", 3, &status));
    cr_assert(gb_row_writer_commit(writer, &status), "%s", status.what);
    gb_row_file *file = gb_row_file_open(help_path("ids"), 1, &status);
    cr_assert(file, "%s", status.what);
    scene s = {.names = {gb_names_create(NULL), gb_names_from_row_file(file, NULL)}};
    cr_assert(read_run(&s, GB_RUN_TREC, "q Q0 d22 1 3 t\n"));
    cr_expect_eq(s.run.hits[0].passage, 1);
    gb_run_free(&s.run);
    cr_expect_not(read_run(&s, GB_RUN_TREC, "q Q0 d1 1 3 t\nq Q0 d3 1 3 t\n"));
    cr_expect(strstr(s.status.where, "/run:2"), "%s", s.status.where);
    cr_expect(strstr(s.status.what, "unknown passage \"d3\""), "%s", s.status.what);
    close_scene(&s);
    gb_row_file_close(file);
}

/* ---- reading runs ---- */

Test(runs, trec_lines)
{
    scene s = open_scene();
    char *tag = NULL;
    const char *text = "q2 Q0 a 7 1.5 first\n"
                       "\n"
                       "# a comment\n"
                       "q1\tQ0\tb\t1\t-2e1\tlast more junk at the end\r\n"
                       "  q2  Q0 c 1 9   last\n";
    cr_assert(gb_run_read(help_write("run", text), GB_RUN_AUTO, &s.names, &s.run, &tag, &s.status),
              "%s", s.status.what);
    /* Queries by first mention, hits by line, ranks ignored. */
    cr_expect_str_eq(show(&s), "q2:a=1.5 c=9; q1:b=-20");
    cr_expect_str_eq(tag, "last");
    free(tag);
    close_scene(&s);
}

Test(runs, rank_column_decides)
{
    scene s = open_scene();
    cr_assert(read_run(&s, GB_RUN_RANKED, "q Q0 a 2 9 t\nq Q0 b 0 1 t\nq Q0 c 1 5 t\n"));
    cr_expect_str_eq(show(&s), "q:b=0 c=-1 a=-2");
    close_scene(&s);
}

Test(runs, lists_that_follow_each_other)
{
    scene s = open_scene();
    cr_assert(read_run(&s, GB_RUN_RANKED,
                       "q Q0 a 2 9 t\nq Q0 b 1 1 t\np Q0 c 3 5 t\np Q0 a 1 5 t\np Q0 b 2 5 t\n"));
    cr_expect_str_eq(show(&s), "q:b=-1 a=-2; p:a=-1 b=-2 c=-3");
    close_scene(&s);
}

/* Runs of training queries have hundreds of millions of lines. Under AddressSanitizer nothing that
 * was freed is free. */
#ifndef __SANITIZE_ADDRESS__
Test(runs, are_in_memory_once)
{
    enum { QUERIES = 1000, DEPTH = 1000 };
    scene s = open_scene();
    FILE *file = fopen(help_path("run"), "w");
    for (int q = 0; q < QUERIES; q++)
        for (int d = 0; d < DEPTH; d++)
            fprintf(file, "%d Q0 %d %d %d t\n", q, d, d + 1, -d);
    fclose(file);
    uint64_t before = gb_os_peak_bytes();
    cr_assert(gb_run_read(help_path("run"), GB_RUN_AUTO, &s.names, &s.run, NULL, &s.status));
    cr_expect_eq(s.run.hit_count, (size_t)QUERIES * DEPTH);
    cr_expect_leq(gb_os_peak_bytes() - before, 3 * sizeof(gb_hit) * QUERIES * DEPTH);
    close_scene(&s);
}
#endif

Test(runs, ms_marco_lines)
{
    scene s = open_scene();
    cr_assert(read_run(&s, GB_RUN_MSMARCO, "7\t30\t4\n7\t10\t1\n5\t10\t1\n"));
    cr_expect_str_eq(show(&s), "7:10=-1 -=-2 -=-3 30=-4; 5:10=-1");
    close_scene(&s);
}

Test(runs, score_lines)
{
    scene s = open_scene();
    cr_assert(read_run(&s, GB_RUN_AUTO, "7\t30\t0.25\n7\t10\t3\n"));
    cr_expect_str_eq(show(&s), "7:30=0.25 10=3");
    close_scene(&s);
}

/* Three columns of whole numbers are ranks only where each query's count from 1, or rise. */
Test(runs, ranks_are_told_from_scores)
{
    static const char *const cases[][2] = {
        {"7\t30\t2\n5\t10\t1\n7\t10\t1\n", "7:10=-1 30=-2; 5:10=-1"},
        {"q1\td1\t187\nq1\td2\t90\n", "q1:d1=187 d2=90"},
        {"7\t30\t1\n7\t10\t3\n5\t9\t2\n5\t8\t4\n", "7:30=-1 -=-2 10=-3; 5:-=-1 9=-2 -=-3 8=-4"},
        {"7\t30\t3\n7\t10\t1\n", "7:30=3 10=1"}, /* falls, with a gap */
        {"7\t30\t1\n7\t10\t1\n", "7:30=1 10=1"}, /* a repetition */
        {"7\t30\t1\n7\t10\t2\n5\t9\t3\n5\t8\t1\n", "7:30=1 10=2; 5:9=3 8=1"}, /* in one alone */
        {"7\t30\t1\n7\t10\t10001\n", "7:30=1 10=10001"},
        {"7\t30\t0\n7\t10\t1\n", "7:30=0 10=1"},
        {"7\t30\t1\n7\t10\t2.0\n", "7:30=1 10=2"},
        {"7\t30\t99999\n", "7:30=99999"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        scene s = open_scene();
        cr_assert(read_run(&s, GB_RUN_AUTO, cases[i][0]), "case %zu", i);
        cr_expect_str_eq(show(&s), cases[i][1], "case %zu", i);
        close_scene(&s);
    }
}

Test(runs, find_a_list)
{
    scene s = open_scene();
    cr_assert(read_run(&s, GB_RUN_TREC, "a Q0 x 1 1 t\nb Q0 x 1 1 t\nc Q0 x 1 1 t\n"));
    gb_run reversed = {0};
    for (uint32_t i = 3; i-- > 0;)
        cr_assert(gb_run_add(&reversed, i, s.run.hits, 1, NULL));
    for (uint32_t i = 0; i < 3; i++) {
        cr_expect_eq(gb_run_find(&s.run, i), &s.run.lists[i]);
        cr_expect_eq(gb_run_find(&reversed, i), &reversed.lists[2 - i]);
    }
    cr_expect_null(gb_run_find(&s.run, 3));
    gb_run_free(&reversed);
    close_scene(&s);
}

/* Training queries in any order, half of them without a list: looking at all lists for each would
 * take minutes. */
Test(runs, find_lists_among_many)
{
    enum { MANY = 500000, STEP = 7919 };
    gb_run run = {0};
    gb_hit hit = {.passage = 1};
    for (uint32_t i = 0; i < MANY; i++)
        cr_assert(gb_run_add(&run, (uint32_t)((uint64_t)i * STEP % MANY) * 2, &hit, 1, NULL));
    for (uint32_t q = 0; q < MANY; q++) {
        const gb_run_list *list = gb_run_find(&run, 2 * q);
        cr_assert(list && list->query == 2 * q && !gb_run_find(&run, 2 * q + 1), "query %u", q);
    }
    gb_run_free(&run);
}

static const struct {
    gb_run_format format; /* asked for */
    const char *text;     /* damaged file */
    const char *place;    /* end of the place in the message */
    const char *what;     /* part of the message */
} damaged_runs[] = {
    {GB_RUN_AUTO, "", "/run", "no ranked passages"},
    {GB_RUN_AUTO, "# only a comment\n\n", "/run", "no ranked passages"},
    {GB_RUN_AUTO, "q Q0 a 1 2.5\n", "/run:1", "5 fields instead of 6"},
    {GB_RUN_TREC, "q Q0 a 1 2.5 t\nq Q0 b\n", "/run:2", "3 fields instead of 6"},
    {GB_RUN_TREC, "q Q0 a 1 high t\n", "/run:1", "score \"high\" is not a number"},
    {GB_RUN_TREC, "q Q0 a 1 nan t\n", "/run:1", "score \"nan\" is not a number"},
    {GB_RUN_TREC, "q Q0 a 1 1.5x t\n", "/run:1", "not a number"},
    {GB_RUN_TREC, "q Q0 a 1 2 t\nr Q0 a 1 2 t\nq Q0 a 2 1 t\n", "/run:3", "listed twice"},
    {GB_RUN_RANKED, "q Q0 a first 2 t\n", "/run:1", "rank \"first\""},
    {GB_RUN_RANKED, "q Q0 a -1 2 t\n", "/run:1", "not an integer from 0 to"},
    {GB_RUN_MSMARCO, "7\t30\t0\n", "/run:1", "rank \"0\""},
    {GB_RUN_MSMARCO, "7\t30\t99999999\n", "/run:1", "not an integer from 1 to 10000"},
    {GB_RUN_MSMARCO, "7\t30\t1\n7\t31\t1\n", "/run:2", "rank given twice"},
    {GB_RUN_MSMARCO, "7\t30\t1\n7\t30\t2\n", "/run:2", "listed twice"},
    {GB_RUN_AUTO, "7\t30\t1\n7\t30\n", "/run:2", "2 fields instead of 3"},
};

Test(runs, damaged_runs)
{
    for (size_t i = 0; i < sizeof damaged_runs / sizeof damaged_runs[0]; i++) {
        scene s = open_scene();
        cr_expect_not(read_run(&s, damaged_runs[i].format, damaged_runs[i].text), "case %zu", i);
        const char *where = s.status.where, *end = damaged_runs[i].place;
        cr_expect_eq(s.status.code, GB_DATA);
        cr_expect(strlen(where) > strlen(end) && !strcmp(where + strlen(where) - strlen(end), end),
                  "case %zu: %s", i, where);
        cr_expect(strstr(s.status.what, damaged_runs[i].what), "case %zu: %s", i, s.status.what);
        cr_expect_null(s.run.hits);
        close_scene(&s);
    }
}

/* ---- writing runs ---- */

Test(runs, round_trip)
{
    static const double scores[] = {1e300, 15.780599594116211, 1.0 / 3, 0.1f, 7, 0, -1e-300};
    static const gb_run_format formats[] = {GB_RUN_TREC, GB_RUN_SCORES};
    gb_names *names = gb_names_create(NULL);
    gb_hit hits[7];
    gb_run run = {0};
    for (int i = 0; i < 7; i++) {
        char id[16];
        snprintf(id, sizeof id, "d%d", i);
        hits[i] = (gb_hit){row(names, id), scores[i]};
    }
    cr_assert(gb_run_add(&run, 3, hits, 7, NULL) && gb_run_add(&run, 1, hits, 2, NULL));
    for (int f = 0; f < 2; f++) {
        scene s = open_scene();
        gb_status status = {0};
        const gb_run_names both = {names, names};
        cr_assert(gb_run_write(&run, &both, &(gb_run_style){.format = formats[f], .tag = "tag"},
                               help_path("out"), &status),
                  "%s", status.what);
        cr_assert(gb_run_read(help_path("out"), formats[f], &s.names, &s.run, NULL, &status), "%s",
                  status.what);
        cr_assert_eq(s.run.hit_count, 9);
        for (int i = 0; i < 9; i++)
            cr_expect_eq(s.run.hits[i].score, scores[i % 7], "%a", s.run.hits[i].score);
        close_scene(&s);
    }
    gb_run_free(&run);
    gb_names_destroy(names);
}

Test(runs, written_lines)
{
    scene s = open_scene();
    cr_assert(read_run(&s, GB_RUN_MSMARCO, "7\t30\t2\n7\t10\t1\n5\t10\t2\n"));
    gb_status status = {0};
    cr_assert(gb_run_write(&s.run, &s.names, &(gb_run_style){.format = GB_RUN_MSMARCO},
                           help_path("a"), &status));
    cr_assert(gb_run_write(&s.run, &s.names, &(gb_run_style){.tag = "x"}, help_path("b"), &status));
    char *msmarco = gb_read_file(help_path("a"), NULL, NULL);
    char *trec = gb_read_file(help_path("b"), NULL, NULL);
    cr_expect_str_eq(msmarco, "7\t10\t1\n7\t30\t2\n5\t10\t2\n"); /* the empty rank stays empty */
    cr_expect_str_eq(trec, "7 Q0 10 1 -1 x\n7 Q0 30 2 -2 x\n5 Q0 10 2 -2 x\n");
    free(msmarco), free(trec);
    cr_expect_not(gb_run_write(&s.run, &s.names, &(gb_run_style){.tag = "x"},
                               help_path("no/folder"), &status));
    cr_expect_eq(status.code, GB_DATA);
    close_scene(&s);
}

/* ---- judgements ---- */

Test(runs, three_layouts_of_judgements)
{
    static const char *const texts[] = {
        "# comment\n2 Q0 b 3\n\n1 0 a 1\n2 0 a 0\n",               /* TREC */
        "2\t0\tb\t3\n1\t0\ta\t1\n2\t0\ta\t0\n",                    /* MS MARCO */
        "query-id\tcorpus-id\tscore\n2\tb\t3\n1\ta\t1\n2\ta\t0\n", /* BEIR */
        " 2 \t0  b\t3 \n1\v0 a 1\n2 0 a 0",                        /* of any blanks */
    };
    for (int i = 0; i < 4; i++) {
        scene s = open_scene();
        uint32_t q1 = row(s.names.queries, "1"), q2 = row(s.names.queries, "2"),
                 a = row(s.names.passages, "a"), b = row(s.names.passages, "b");
        cr_assert(read_qrels(&s, texts[i]), "%s", s.status.what);
        const gb_qrel wanted[] = {{q1, a, 1}, {q2, a, 0}, {q2, b, 3}};
        cr_assert_eq(s.qrels.count, 3);
        cr_expect_arr_eq(s.qrels.rows, wanted, sizeof wanted, "layout %d", i);
        close_scene(&s);
    }
}

static const struct {
    const char *text;  /* damaged file */
    const char *place; /* end of the place in the message */
    const char *what;  /* part of the message */
} damaged_qrels[] = {
    {"", "/qrels", "no judgements"},
    {"query-id\tcorpus-id\tscore\n", "/qrels", "no judgements"},
    {"1 a 1\n2 0 b 1\n", "/qrels:2", "4 fields instead of 3"},
    {"1 0 a 1\n2 0 b\n", "/qrels:2", "3 fields instead of 4"},
    {"1 0\n", "/qrels:1", "2 fields instead of 3 or 4"},
    {"1 0 a 1 x\n", "/qrels:1", "5 fields"},
    {"1 0 a high\n", "/qrels:1", "grade \"high\""},
    {"1 0 a 1.0\n", "/qrels:1", "grade \"1.0\""},
    {"1 a 1x\n1 b 1\n", "/qrels:1", "grade \"1x\""},
    {"1 a 1\nquery-id corpus-id score\n", "/qrels:2", "grade \"score\""},
    {"1 0 a 99999999999999999999\n", "/qrels:1", "grade"},
    {"1 0 a 1\n2 0 a 1\n1 0 a 0\n", "/qrels:3", "different grades (first on line 1)"},
};

Test(runs, damaged_qrels)
{
    for (size_t i = 0; i < sizeof damaged_qrels / sizeof damaged_qrels[0]; i++) {
        scene s = open_scene();
        cr_expect_not(read_qrels(&s, damaged_qrels[i].text), "case %zu", i);
        const char *where = s.status.where, *end = damaged_qrels[i].place;
        cr_expect_eq(s.status.code, GB_DATA);
        cr_expect(strlen(where) > strlen(end) && !strcmp(where + strlen(where) - strlen(end), end),
                  "case %zu: %s", i, where);
        cr_expect(strstr(s.status.what, damaged_qrels[i].what), "case %zu: %s", i, s.status.what);
        close_scene(&s);
    }
}

Test(runs, repeated_judgements_count_once)
{
    scene s = open_scene();
    cr_assert(read_qrels(&s, "1 0 a 2\n1 0 b 1\n1 0 a 2\n"));
    cr_expect_eq(s.qrels.count, 2);
    close_scene(&s);
}

/* ---- queries ---- */

static void expect_topic(const gb_topics *topics, uint32_t at, const char *id, const char *text)
{
    size_t length;
    const char *got = gb_names_get(topics->names, at, &length);
    cr_expect(length == strlen(id) && memcmp(got, id, length) == 0, "%.*s", (int)length, got);
    got = gb_topics_text(topics, at, &length);
    cr_expect(length == strlen(text) && memcmp(got, text, length) == 0, "%.*s", (int)length, got);
}

Test(runs, queries_in_their_layouts)
{
    static const char *const texts[] = {
        "q1\tone word\nq2\ttwo \xc3\xa9 words\n",
        "{\"_id\": \"q1\", \"text\": \"one word\", \"metadata\": {}}\n"
        "{\"id\": \"q2\", \"title\": \"\", \"contents\": \"two \\u00e9 words\"}\n",
        "<DOC>\n<DOCNO> q1 </DOCNO>\none word\n</DOC>\n\n<DOC>\n<DOCNO>q2</DOCNO>\n"
        "two \xc3\xa9 words\n</DOC>\n",
        "<DOC> <DOCNO> q1 </DOCNO> one word </DOC>\n<DOC>\n<DOCNO> q2 </DOCNO> two \xc3\xa9 words\n"
        "</DOC>\n",
        "<top>\n\n<num> Number: q1\n<title> one word\n\n<desc> Description:\nnot this\n</top>\n"
        "<top>\n<num> q2 </num>\n<title>\ntwo \xc3\xa9\nwords\n<narr>\nno\n</top>\n",
        "<top><num>q1</num><title>Topic: one word</title><desc>not</top>\n"
        "<top>\n<num> q2\n<dom> not\n<title> two \xc3\xa9 words\n</top>\n",
    };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        gb_topics topics = {0};
        gb_status status = {0};
        cr_assert(gb_topics_read(help_write("queries", texts[i]), &topics, &status), "%s",
                  status.what);
        cr_assert_eq(gb_names_count(topics.names), 2);
        expect_topic(&topics, 0, "q1", "one word");
        expect_topic(&topics, 1, "q2", "two \xc3\xa9 words");
        gb_topics_free(&topics);
    }
}

Test(runs, titles_with_brackets)
{
    gb_topics topics = {0};
    gb_status status = {0};
    const char *text = "<top>\n<num> 1\n<title> (a < b) c\n</top>\n";
    cr_assert(gb_topics_read(help_write("queries", text), &topics, &status), "%s", status.what);
    expect_topic(&topics, 0, "1", "(a < b) c");
    gb_topics_free(&topics);
}

Test(runs, turns_of_conversations)
{
    gb_topics topics = {0};
    gb_status status = {0};
    const char *text =
        "[{\"number\": 31, \"turn\": [\n{\"number\": 1, \"raw_utterance\": \"what is "
        "rock?\"},\n{\"number\": 2, \"raw_utterance\": \"is it old?\", "
        "\"manual_rewritten_utterance\": \"is rock old?\"}]}]\n";
    cr_assert(gb_topics_read(help_write("queries", text), &topics, &status), "%s", status.what);
    expect_topic(&topics, 0, "31_1", "what is rock?");
    expect_topic(&topics, 1, "31_2", "is rock old?");
    gb_topics_free(&topics);
}

static const struct {
    const char *text;  /* damaged file */
    const char *place; /* end of the place in the message */
    const char *what;  /* part of the message */
} damaged_queries[] = {
    {"", "/queries", "no queries"},
    {"q1 no tab\n", "/queries:1", "no tab"},
    {"q1\ta\nq1\tb\n", "/queries:2", "\"q1\" comes twice"},
    {"q1\tcaf\xe9\n", "/queries:1", "invalid UTF-8"},
    {"q1\ta\nq 2\tb\n", "/queries:2", "the query id \"q 2\" has a blank"},
    {"q1\ta\n#2\tb\n", "/queries:2", "the query id \"#2\" begins with #"},
    {"{\"_id\": \"\", \"text\": \"a\"}\n", "/queries:1", "the query id \"\" is empty"},
    {"{\"_id\": \"q1\", \"text\": \"a\"}\n{\"_id\": \"q2\"\n", "/queries:2", "not valid JSON"},
    {"{\"_id\": \"q1\"}\n", "/queries:1", "no \"text\""},
    {"{\"text\": \"x\"}\n", "/queries:1", "no \"_id\""},
    {"[1]\n", "/queries:1", "without \"turn\""},
    {"[{\"turn\": [{\"number\": 1}]}]\n", "/queries:1", "without number"},
    {"[{\"turn\":\n", "/queries:1", "not valid JSON"},
    {"{\"_id\": [1], \"text\": \"x\"}\n", "/queries:1", "no \"_id\""},
    {"{\"_id\": \"q\", \"text\": \"x\\u0000y\"}\n", "/queries:1", "not valid JSON"},
    {"<DOC> <DOCNO> 1 </DOCNO> a </DOC> b\n", "/queries:1", "outside"},
    {"<DOC>\n<DOCNO> 1 </DOCNO>\ntext\n", "/queries:3", "ends inside"},
    {"<DOC>\n<DOCNO> 1\ntext\n</DOC>\n", "/queries:2", "<DOCNO>"},
    {"<DOC>\ntext\n</DOC>\n", "/queries:3", "without"},
    {"<DOC>\n<DOC>\n", "/queries:2", "inside"},
    {"<top>\n<num> 1\n", "/queries:2", "ends inside"},
    {"<top>\n<num> 1\n</top>\n", "/queries:3", "without <num> or <title>"},
    {"<top>\n</top>\nx\n", "/queries:2", "without <num> or <title>"},
};

Test(runs, damaged_queries)
{
    for (size_t i = 0; i < sizeof damaged_queries / sizeof damaged_queries[0]; i++) {
        gb_topics topics = {0};
        gb_status status = {0};
        const char *end = damaged_queries[i].place;
        cr_expect_not(
            gb_topics_read(help_write("queries", damaged_queries[i].text), &topics, &status),
            "case %zu", i);
        size_t length = strlen(status.where);
        cr_expect_eq(status.code, GB_DATA);
        cr_expect(length > strlen(end) && strcmp(status.where + length - strlen(end), end) == 0,
                  "case %zu: %s", i, status.where);
        cr_expect(strstr(status.what, damaged_queries[i].what), "case %zu: %s", i, status.what);
        cr_expect_null(topics.names);
    }
}
