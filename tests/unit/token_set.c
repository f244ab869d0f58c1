/* Folders of token vectors: what is read, how damage is named, and a search by the program. */
#include <gabbro/retrieve.h>

#include "scratch.h"

#include <sys/wait.h>

/* An array of so many numbers as numpy.save writes it. */
static void write_npy(const char *name, const char *dictionary, const void *body, size_t size)
{
    char header[GB_NPY_HEADER];
    memset(header, ' ', sizeof header);
    memcpy(header, "\x93NUMPY\x01\x00\x76\x00", 10);
    memcpy(header + 10, dictionary, strlen(dictionary));
    header[GB_NPY_HEADER - 1] = '\n';
    FILE *file = fopen(name, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(header, 1, sizeof header, file), sizeof header);
    cr_assert_eq(fwrite(body, 1, size, file), size);
    cr_assert_eq(fclose(file), 0);
}

#define LIST(type, count) "{'descr': '" type "', 'fortran_order': False, 'shape': (" count ",), }"

/* Three texts of 2, 0 and 1 tokens; and a query of one. */
static void write_sets(void)
{
    const float passages[] = {1, 0, 0, 1, -1, 2}, query[] = {1, 3};
    const int64_t starts[] = {0, 2, 2, 3};
    const uint32_t one[] = {0, 1};
    scratch_write("p/ids.txt", "\xef\xbb\xbf"
                               "a\r\nb\r\nc\r\n"); /* as some editors save it */
    write_npy("p/vectors.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }",
              passages, sizeof passages);
    write_npy("p/starts.npy", LIST("<i8", "4"), starts, sizeof starts);
    scratch_write("q/ids.txt", "q1\n");
    write_npy("q/vectors.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", query,
              sizeof query);
    write_npy("q/starts.npy", LIST("<u4", "2"), one, sizeof one);
}

Test(token_set, folders_are_read)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    gb_token_set set;
    write_sets();
    cr_expect(gb_is_token_set("p"));
    cr_expect_not(gb_is_token_set("."));
    cr_assert(gb_token_set_open(&set, &(const char *){"p"}, 1, &status), "%s: %s", status.where,
              status.what);
    cr_expect_eq(set.vectors.texts, 3);
    cr_expect_eq(set.vectors.tokens.rows, 3);
    cr_expect_eq(set.vectors.starts[1], 2);
    cr_expect_eq(set.vectors.starts[3], 3);
    cr_expect_null(set.vectors.tags);
    cr_expect_eq(set.vectors.whole.width, 0);
    cr_expect_eq(set.names[0][0], 'a');
    cr_expect_eq(set.names[2][0], 'c');
    gb_token_set_close(&set);
    scratch_leave(&s);
}

static void expect_refused(const char *what)
{
    gb_status status = {0};
    gb_token_set set;
    cr_expect_not(gb_token_set_open(&set, &(const char *){"p"}, 1, &status), "%s", what);
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_not_null(strstr(status.what, what), "\"%s\" does not say \"%s\"", status.what, what);
    write_sets();
}

Test(token_set, damage_is_named)
{
    scratch s = scratch_enter();
    const uint32_t falling[] = {0, 2, 1, 3}, short_of[] = {0, 1, 1, 2}, tags[] = {1, 2};
    const int32_t below[] = {1, -1, 2};
    const int64_t far[] = {0, 1, INT64_C(1) << 32, 3};
    const float whole[] = {1, 2};
    write_sets();
    write_npy("p/starts.npy", LIST("<u4", "4"), falling, sizeof falling);
    expect_refused("does not divide the 3 vectors");
    write_npy("p/starts.npy", LIST("<u4", "4"), short_of, sizeof short_of);
    expect_refused("does not divide the 3 vectors");
    write_npy("p/starts.npy", LIST("<f4", "4"), short_of, sizeof short_of);
    expect_refused("not a whole file");
    write_npy("p/starts.npy", LIST("<i8", "4"), short_of, sizeof short_of);
    expect_refused("not a whole file");
    scratch_write("p/ids.txt", "a\nb\n");
    expect_refused("2 ids of 3 texts");
    scratch_write("p/ids.txt", "a\n\nc\n");
    expect_refused("line 2 has no id");
    scratch_write("p/ids.txt", "a\nb\n\xe9\n");
    expect_refused("line 3 is not UTF-8");
    write_npy("p/whole.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", whole,
              sizeof whole);
    expect_refused("1 whole vectors of 3 texts");
    cr_assert_eq(remove("p/whole.npy"), 0);
    write_npy("p/tags.npy", LIST("<u4", "2"), tags, sizeof tags);
    expect_refused("2 tags of 3 tokens");
    write_npy("p/tags.npy", LIST("<i4", "3"), below, sizeof below);
    expect_refused("number 1 is negative");
    write_npy("p/starts.npy", LIST("<i8", "4"), far, sizeof far);
    expect_refused("number 2 is beyond 32 bits");
    scratch_leave(&s);
}

/* Tags, or whole vectors, of one folder alone, be it the first or not. */
Test(token_set, folders_have_the_same_files)
{
    scratch s = scratch_enter();
    const uint32_t tag = 1;
    const float whole[] = {1, 2};
    const char *const both[] = {"p", "q"};
    gb_status status = {0};
    gb_token_set set;
    write_sets();
    cr_assert(gb_token_set_open(&set, both, 2, &status), "%s: %s", status.where, status.what);
    cr_expect_eq(set.vectors.texts, 4);
    gb_token_set_close(&set);
    write_npy("q/tags.npy", LIST("<u4", "1"), &tag, sizeof tag);
    cr_expect_not(gb_token_set_open(&set, both, 2, &status));
    cr_expect_not_null(strstr(status.where, "p/tags.npy"), "%s: %s", status.where, status.what);
    cr_assert_eq(remove("q/tags.npy"), 0);
    write_npy("q/whole.npy", "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2), }", whole,
              sizeof whole);
    cr_expect_not(gb_token_set_open(&set, both, 2, &status));
    cr_expect_not_null(strstr(status.where, "p/whole.npy"), "%s: %s", status.where, status.what);
    scratch_leave(&s);
}

static int run_program(const char *arguments)
{
    char command[2000];
    snprintf(command, sizeof command, GABBRO_PROGRAM " search --store store %s >out 2>err",
             arguments);
    int code = system(command);
    return WIFEXITED(code) ? WEXITSTATUS(code) : -1;
}

static void expect_run(const char *wanted)
{
    char folder[1000] = "", path[1100];
    FILE *out = fopen("out", "r");
    cr_assert(out && fgets(folder, sizeof folder, out));
    fclose(out);
    folder[strcspn(folder, "\n")] = '\0';
    snprintf(path, sizeof path, "%s/run.trec", folder);
    char *run = gb_read_file(path, NULL, NULL);
    cr_assert_not_null(run, "%s", path);
    cr_expect_str_eq(run, wanted);
    free(run);
}

Test(token_set, searched_and_reranked)
{
    scratch s = scratch_enter();
    write_sets();
    cr_assert_eq(run_program("--queries q --passages p --depth 2"), 0);
    expect_run("q1 Q0 c 1 5 gabbro\nq1 Q0 a 2 3 gabbro\n");
    scratch_write("found.trec", "q1 Q0 b 1 9 x\nq1 Q0 a 2 8 x\n");
    cr_assert_eq(run_program("--queries q --passages p --candidates found.trec"), 0);
    expect_run("q1 Q0 a 1 3 gabbro\nq1 Q0 b 2 0 gabbro\n");
    scratch_write("found.trec", "q1 Q0 nobody 1 9 x\n");
    cr_expect_eq(run_program("--queries q --passages p --candidates found.trec"), 3);
    char *err = gb_read_file("err", NULL, NULL);
    cr_expect(err && strstr(err, "1 passages have no vectors in p, the first nobody"), "%s", err);
    free(err);
    scratch_write("p/ids.txt", "a\nb c\nd\n");
    cr_expect_eq(run_program("--queries q --passages p"), 3);
    err = gb_read_file("err", NULL, NULL);
    cr_expect(err && strstr(err, "the id \"b c\" has a blank"), "%s", err);
    free(err);
    scratch_leave(&s);
}
