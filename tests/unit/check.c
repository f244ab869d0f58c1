/* Data module: what may be wrong with a collection that could be read. */
#include "small_collection.h"

/* A collection of these texts. */
static gb_collection *of_texts(const char *const *texts, size_t count)
{
    gb_text lines = {0};
    for (size_t i = 0; i < count; i++)
        gb_text_printf(&lines, "{\"_id\": \"p%zu\", \"title\": \"%s\", \"text\": \"%s\"}\n", i,
                       i ? "" : "t", texts[i]);
    scratch_write("x/corpus.jsonl", lines.data);
    gb_text_free(&lines);
    return import("x", "out");
}

static void expect_finding(const char *what, gb_finding finding, uint64_t count, uint32_t first)
{
    cr_expect_eq(finding.count, count, "%s: %llu", what, (unsigned long long)finding.count);
    cr_expect(!count || finding.first == first, "%s: first is %u", what, finding.first);
}

Test(check, passages_that_are_queries_are_found)
{
    scratch s = scratch_enter();
    scratch_write("x/corpus.jsonl", "{\"_id\": \"1\", \"text\": \"Is moss green?\"}\n"
                                    "{\"_id\": \"2\", \"text\": \"Ice is cold.\"}\n"
                                    "{\"_id\": \"3\", \"text\": \"What is sand?\"}\n"
                                    "{\"_id\": \"4\", \"text\": \"\"}\n");
    scratch_write("x/queries.jsonl", "{\"_id\": \"3\", \"text\": \"What is sand? Say it.\"}\n"
                                     "{\"_id\": \"2\", \"text\": \"another text of the id\"}\n"
                                     "{\"_id\": \"4\", \"text\": \"no text there\"}\n"
                                     "{\"_id\": \"q\", \"text\": \"Is moss green?\"}\n");
    scratch_write("x/qrels/test.tsv", "query-id\tcorpus-id\tscore\n3\t1\t1\n");
    gb_collection *collection = import("x", "out");
    gb_status status = {0};
    gb_check check;
    cr_assert(gb_collection_check(collection, &check, &status), "%s", status.what);
    expect_finding("queries", check.identical, 1, 2);
    gb_collection_close(collection);
    scratch_leave(&s);
}

Test(check, odd_passages_are_counted)
{
    gb_log_set_level(GB_LOG_WARN);
    scratch s = scratch_enter();
    static const char *const texts[] = {"caf\u00e9 \u00a9 100 \u20ac",
                                        "caf\u00c3\u00a9",
                                        "",
                                        "lost \ufffd bytes",
                                        "bell \\u0007",
                                        "twice",
                                        "a tab\\t and a line\\n",
                                        "\u00c2 alone, \u00c3 x",
                                        "twice",
                                        "said twice",
                                        "d\u00c2\u00b0 x",
                                        "twice"};
    gb_collection *collection = of_texts(texts, sizeof texts / sizeof *texts);
    gb_status status = {0};
    gb_check check;
    cr_assert(gb_collection_check(collection, &check, &status), "%s", status.what);
    cr_expect_eq(check.titles, 1);
    expect_finding("empty", check.empty, 1, 2);
    expect_finding("equal", check.equal, 2, 8);
    expect_finding("encoded twice", check.encoded_twice, 2, 1);
    expect_finding("lost bytes", check.replaced, 1, 3);
    expect_finding("control characters", check.control, 1, 4);
    gb_collection_close(collection);
    scratch_leave(&s);
}
