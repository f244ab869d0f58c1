/* Exact search of sparse vectors: scores and order by hand, parts that change nothing, bad lines.
 */
#include "scratch.h"

#include <gabbro/lexical.h>

#include <criterion/criterion.h>

static scratch folder;

static void setup(void)
{
    folder = scratch_enter();
    scratch_write("queries.jsonl", "{\"id\": \"q1\", \"vector\": {\"cat\": 2, \"dog\": 0.5}}\n"
                                   "{\"id\": \"q2\", \"vector\": {\"emu\": 1, \"none\": 3}}\n"
                                   "{\"id\": 3, \"vector\": {}}\n");
    scratch_write("passages.jsonl",
                  "{\"id\": \"p1\", \"contents\": \"x\", \"vector\": {\"cat\": 1, \"fox\": 9}}\n"
                  "{\"id\": \"p2\", \"vector\": {\"dog\": 4, \"cat\": 0}}\n"
                  "{\"id\": \"p3\", \"vector\": {\"cat\": 1.5, \"dog\": 1, \"emu\": 0.25}}\n"
                  "{\"id\": 4, \"vector\": {\"fox\": 1}}\n"
                  "{\"id\": \"p5\", \"vector\": {\"dog\": 4}}\n");
}

static void teardown(void)
{
    scratch_leave(&folder);
}

TestSuite(impacts, .init = setup, .fini = teardown);

/* Search; false with the status where it fails. */
static bool rank(uint64_t memory_bytes, uint32_t depth, gb_run *run, uint32_t *parts,
                 gb_status *status)
{
    gb_run_names names;
    const gb_impacts_params params = {.passages = "passages.jsonl",
                                      .queries = "queries.jsonl",
                                      .depth = depth,
                                      .memory_bytes = memory_bytes};
    cr_assert(gb_run_names_create(&names, status));
    bool ok = gb_impacts_search(&params, &names, run, parts, status);
    gb_run_names_free(&names);
    return ok;
}

static void expect_list(const gb_run *run, uint32_t query, const gb_hit *wanted, uint32_t count)
{
    const gb_run_list *list = gb_run_find(run, query);
    cr_assert(list);
    cr_assert_eq(list->count, count, "query %u: %u hits", query, list->count);
    for (uint32_t i = 0; i < count; i++) {
        cr_expect_eq(run->hits[list->first + i].passage, wanted[i].passage, "place %u", i);
        cr_expect_eq(run->hits[list->first + i].score, wanted[i].score, "place %u", i);
    }
}

/* Memory for all postings, for two and for one: three numbers of parts and one result. */
Test(impacts, parts_change_nothing)
{
    const gb_hit q1[] = {{2, 3.5}, {0, 2}, {1, 2}, {4, 2}}, q2[] = {{2, 0.25}};
    const uint64_t memory[] = {1 << 20, 32, 16};
    const uint32_t wanted_parts[] = {1, 3, 4};
    for (int i = 0; i < 3; i++) {
        gb_run run = {0};
        gb_status status = {0};
        uint32_t parts;
        cr_assert(rank(memory[i], 4, &run, &parts, &status), "%s", status.what);
        cr_expect_eq(parts, wanted_parts[i], "%u parts of %d", parts, (int)memory[i]);
        expect_list(&run, 0, q1, 4);
        expect_list(&run, 1, q2, 1);
        expect_list(&run, 2, NULL, 0);
        gb_run_free(&run);
        run = (gb_run){0};
        cr_assert(rank(memory[i], 2, &run, &parts, &status), "%s", status.what);
        expect_list(&run, 0, q1, 2); /* of equal scores the earlier passage */
        gb_run_free(&run);
    }
}

static void expect_failure(const char *line, const char *what)
{
    gb_run run = {0};
    gb_status status = {0};
    uint32_t parts;
    scratch_write("passages.jsonl", line);
    cr_expect_not(rank(1 << 20, 4, &run, &parts, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect(strstr(status.what, what), "%s", status.what);
    gb_run_free(&run);
}

Test(impacts, bad_lines)
{
    expect_failure("{\"id\": \"p1\"}\n", "no \"vector\"");
    expect_failure("{\"id\": 1.5, \"vector\": {}}\n", "no \"id\"");
    expect_failure("{\"id\": \"p1\", \"vector\": {\"cat\": -1}}\n", "weight of \"cat\" is -1");
    expect_failure("{\"id\": \"p1\", \"vector\": {\"cat\": \"much\"}}\n", "cat");
    expect_failure("{\"id\": \"p1\", \"vector\": {\"cat\": 1e39}}\n", "weight of \"cat\"");
    expect_failure("{\"id\": \"p1\", \"vector\": {}}\n{\"id\": \"p1\", \"vector\": {}}\n", "twice");
    expect_failure("\n", "no passages");
}
