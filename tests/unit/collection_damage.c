/* Data module: damaged sources and collections are refused with a message that names the place. */
#include "small_collection.h"

#include <glob.h>
#include <signal.h>

/* One file of a sound BEIR folder is replaced; where and what the message must hold. */
static const struct damage {
    const char *file, *text, *where, *what;
} damages[] = {
    {"corpus.jsonl", "", "x/corpus.jsonl", "no passages"},
    {"corpus.jsonl", "{\"_id\":\"a\",\"text\":\"t\"}\n{\"_id\":\"b\",\"te", "x/corpus.jsonl:2",
     "JSON"},
    {"corpus.jsonl", "{\"_id\":\"a\",\"text\":\"\xff\"}\n", "x/corpus.jsonl:1", "UTF-8"},
    {"corpus.jsonl", "{\"_id\":\"a\",\"text\":\"\\u0000\"}\n", "x/corpus.jsonl:1", "JSON"},
    {"corpus.jsonl", "{\"_id\":\"a\",\"title\":\"t\"}\n", "x/corpus.jsonl:1", "\"text\""},
    {"corpus.jsonl", "{\"text\":\"t\"}\n", "x/corpus.jsonl:1", "\"_id\""},
    {"corpus.jsonl", "{\"_id\":\"\",\"text\":\"t\"}\n", "x/corpus.jsonl:1", "empty"},
    {"corpus.jsonl", "{\"_id\":\"a\\tb\",\"text\":\"t\"}\n", "x/corpus.jsonl:1", "tab"},
    {"corpus.jsonl", "{\"_id\":\"a\",\"text\":[]}\n", "x/corpus.jsonl:1", "not a string"},
    {"corpus.jsonl", "[1]\n", "x/corpus.jsonl:1", "object"},
    {"corpus.jsonl", "{\"_id\":\"a\",\"text\":\"t\"}\n\n{\"_id\":\"a\",\"text\":\"t\"}\n",
     "x/corpus.jsonl:3", "twice"},
    {"queries.jsonl", "{\"_id\":\"q1\"}\n", "x/queries.jsonl:1", "\"text\""},
    {"queries.jsonl", "{\"_id\":\"q\",\"text\":\"t\"}\n{\"_id\":\"q\",\"text\":\"t\"}\n",
     "x/queries.jsonl:2", "twice"},
    {"qrels/train.tsv", "q1\ta\n", "x/qrels/train.tsv:1", "2 fields"},
    {"qrels/train.tsv", "q1\t0\ta\t1\tx\n", "x/qrels/train.tsv:1", "5 fields"},
    {"qrels/train.tsv", "q1\t0\ta\t1\nq1\t0\t1\n", "x/qrels/train.tsv:2", "3 fields"},
    {"qrels/train.tsv", "q1\ta\t1\nquery-id\tcorpus-id\tscore\n", "x/qrels/train.tsv:2", "grade"},
    {"qrels/train.tsv", "q1\ta\t1.5\n", "x/qrels/train.tsv:1", "grade"},
    {"qrels/train.tsv", "q1\ta\t1\nq1\ta\t2\n", "x/qrels/train.tsv:2", "different grade"},
    {"qrels/train.tsv", "q1\tz\t1\n", "x/qrels/train.tsv:1", "unknown passage"},
    {"qrels/train.tsv", "z\ta\t1\n", "x/qrels/train.tsv:1", "unknown query"},
    {"qrels/train.tsv", "query-id\tcorpus-id\tscore\n", "x/qrels/train.tsv", "no judgements"},
    {"qrels/train.tsv", "q1\t\xc3\x28\t1\n", "x/qrels/train.tsv:1", "UTF-8"},
    {"documents.jsonl", "{\"id\":\"d\",\"passages\":[{\"id\":\"z\"}]}\n", "x/documents.jsonl:1",
     "not in the corpus"},
    {"documents.jsonl", "{\"id\":\"d\",\"passages\":[{\"id\":\"a\"},{\"id\":\"a\"}]}\n",
     "x/documents.jsonl:1", "two places"},
    {"documents.jsonl", "{\"id\":\"d\"}\n", "x/documents.jsonl:1", "passages"},
    {"answers.tsv", "q1\tx\nq1\ty\n", "x/answers.tsv:2", "two lines of answers"},
    {"answers.tsv", "q1\n", "x/answers.tsv:1", "no answer"},
    {"answers.tsv", "q1\tcaf\xe9\n", "x/answers.tsv:1", "UTF-8"},
};

/* The import must fail with this message and leave nothing behind. */
static void expect_refused(const gb_import_params *params, const char *where, const char *what)
{
    gb_status status = {0};
    cr_expect_not(gb_collection_import(params, "out", &status), "%s: %s", where, what);
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.where, where, "\"%s\": \"%s\", not \"%s\"", what, status.where, where);
    cr_expect_not_null(strstr(status.what, what), "\"%s\" does not say \"%s\"", status.what, what);
    cr_expect_not(gb_dir_exists("out"));
}

Test(collection_damage, damage_is_named_by_file_and_line)
{
    gb_log_set_level(GB_LOG_WARN);
    for (size_t i = 0; i < sizeof damages / sizeof *damages; i++) {
        scratch s = scratch_enter();
        write_beir("x");
        char path[100];
        snprintf(path, sizeof path, "x/%s", damages[i].file);
        scratch_write(path, damages[i].text);
        gb_import_params params = GB_IMPORT_DEFAULTS;
        params.path = "x";
        expect_refused(&params, damages[i].where, damages[i].what);
        glob_t found;
        cr_expect_eq(glob(".out.*.draft", 0, NULL, &found), GLOB_NOMATCH, "the draft stayed");
        scratch_leave(&s);
    }
}

Test(collection_damage, damaged_tsv_documents_and_queries)
{
    scratch s = scratch_enter();
    gb_import_params params = GB_IMPORT_DEFAULTS;
    params.path = "c.tsv";
    scratch_write("c.tsv", "0\tone\n1\n");
    expect_refused(&params, "c.tsv:2", "1 column");
    scratch_write("c.tsv", "0\tone\n1\ta\tb\n");
    expect_refused(&params, "c.tsv:2", "3 columns");
    scratch_write("c.tsv", "0\tone\n0\ttwo\n");
    expect_refused(&params, "c.tsv:2", "twice");
    scratch_write("c.tsv", "0\t\xf0\x9f\n");
    expect_refused(&params, "c.tsv:1", "UTF-8");
    params.path = "d.jsonl";
    scratch_write("d.jsonl", "{\"id\":\"d\",\"passages\":[]}\n");
    expect_refused(&params, "d.jsonl:1", "passages");
    scratch_write("d.jsonl", "{\"id\":\"d\",\"passages\":[{\"id\":\"x\",\"text\":\"t\"},3]}\n");
    expect_refused(&params, "d.jsonl:1", "\"id\"");
    scratch_write("d.jsonl", "{\"id\":\"d\",\"text\":\" \"}\n");
    expect_refused(&params, "d.jsonl:1", "no text");
    params.path = "nowhere";
    expect_refused(&params, "nowhere", "cannot open");
    cr_assert(gb_make_dirs("void", NULL));
    params.path = "void";
    expect_refused(&params, "void", "no collection");
    write_beir("x");
    params.path = "x";
    params.queries = "g.jsonl";
    scratch_write("g.jsonl", "{\"id\":\"a\",\"query\":\"q\"}\n{\"id\":\"z\",\"query\":\"q\"}\n");
    expect_refused(&params, "g.jsonl:2", "unknown passage");
    scratch_write("g.jsonl", "{\"id\":\"a\",\"queries\":[1]}\n");
    expect_refused(&params, "g.jsonl:1", "list of strings");
    scratch_write("g.jsonl", "{\"id\":\"a\"}\n");
    expect_refused(&params, "g.jsonl:1", "\"query\"");
    scratch_write("g.jsonl", "");
    expect_refused(&params, "g.jsonl", "no generated queries");
    scratch_leave(&s);
}

/* MS MARCO's files overlap; those of somebody who numbers each file from 1 do not. */
Test(collection_damage, one_id_with_two_texts)
{
    scratch s = scratch_enter();
    gb_import_params params = GB_IMPORT_DEFAULTS;
    params.path = "m";
    scratch_write("m/collection.tsv", "0\tone\n1\ttwo\n");
    scratch_write("m/queries.dev.tsv", "2\tboth\n1\tdev\n");
    scratch_write("m/queries.train.tsv", "2\tboth\n1\ttrain\n");
    expect_refused(&params, "m/queries.train.tsv:2", "query \"1\" was there before");
    scratch_leave(&s);
}

/* Splits stand in lists with blanks between, and before a colon in the names of measures. */
Test(collection_damage, names_of_splits)
{
    static const char *const names[] = {"my dev", "a:b", "caf\xc3\xa9",
                                        "a23456789012345678901234567890123456789012345678901"};
    scratch s = scratch_enter();
    gb_import_params params = GB_IMPORT_DEFAULTS;
    params.path = "x";
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        char path[100], what[100];
        snprintf(path, sizeof path, "x/qrels/%s.tsv", names[i]);
        snprintf(what, sizeof what, "\"%s\"", names[i]);
        write_beir("x");
        scratch_write(path, "q3\tb\t1\n");
        expect_refused(&params, "x", what);
        remove(path);
    }
    gb_collection *c;
    scratch_write("x/qrels/Test-2_b.v1.0.tsv", "q3\tb\t1\n");
    c = import("x", "out");
    cr_expect(gb_collection_has_split(c, "Test-2_b.v1.0"));
    gb_collection_close(c);
    scratch_leave(&s);
}

Test(collection_damage, refuses_to_replace_what_is_not_a_collection)
{
    scratch s = scratch_enter();
    write_beir("x");
    scratch_write("mine/thesis.txt", "years of work");
    gb_import_params params = GB_IMPORT_DEFAULTS;
    gb_status status = {0};
    params.path = "x";
    cr_expect_not(gb_collection_import(&params, "mine", &status));
    cr_expect_eq(status.code, GB_USAGE);
    cr_expect(gb_file_exists("mine/thesis.txt"));
    cr_expect(gb_collection_import(&params, "out", NULL));
    cr_expect(gb_collection_import(&params, "out/", NULL), "a collection may be replaced");
    cr_expect(gb_file_exists("out/collection.json"));
    scratch_leave(&s);
}

Test(collection_damage, damaged_collections_are_refused)
{
    static const char *const files[] = {"passages.id.gbt",  "passages.text.gbt",
                                        "queries.text.gbt", "generated.gbt",
                                        "collection.json",  "passages.document.gbt"};
    scratch s = scratch_enter();
    write_beir("x");
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        gb_collection_close(import("x", "out"));
        char path[100];
        snprintf(path, sizeof path, "out/%s", files[i]);
        size_t length;
        char *bytes = gb_read_file(path, &length, NULL);
        cr_assert(gb_write_file(path, bytes, length - 3, NULL));
        free(bytes);
        gb_status status = {0};
        cr_expect_null(gb_collection_open("out", &status), "%s", files[i]);
        cr_expect_eq(status.code, GB_DATA);
    }
    gb_status status = {0};
    cr_expect_null(gb_collection_open("x", &status));
    cr_expect_not_null(strstr(status.what, "collection.json"));
    /* tables of different collections */
    gb_collection_close(import("x", "out"));
    scratch_write("y/corpus.jsonl", "{\"_id\":\"a\",\"text\":\"t\"}\n");
    gb_collection_close(import("y", "small"));
    cr_assert_eq(rename("small/passages.text.gbt", "out/passages.text.gbt"), 0);
    cr_expect_null(gb_collection_open("out", &status));
    cr_expect_not_null(strstr(status.what, "do not agree"), "%s", status.what);
    scratch_leave(&s);
}

Test(collection_damage, a_folder_that_cannot_be_read_is_not_an_empty_one)
{
    scratch s = scratch_enter();
    write_beir("x");
    cr_assert(gb_remove_tree("x/qrels", NULL));
    cr_assert_eq(symlink("qrels", "x/qrels"), 0); /* to itself */
    gb_import_params params = GB_IMPORT_DEFAULTS;
    params.path = "x";
    expect_refused(&params, "x/qrels", "cannot read the folder");
    scratch_leave(&s);
}

Test(collection_damage, finished_work_is_kept_where_it_cannot_replace)
{
    scratch s = scratch_enter();
    gb_import_params params = GB_IMPORT_DEFAULTS;
    gb_status status = {0};
    write_beir("x");
    params.path = "x";
    cr_assert(gb_collection_import(&params, "out", &status));
    /* no folder can be renamed by this name; a mount point is another one of the kind */
    cr_expect_not(gb_collection_import(&params, "out/.", &status));
    cr_expect_eq(status.code, GB_DATA);
    char draft[100] = "";
    cr_expect_eq(sscanf(status.hint, "the new one is whole: move %99s there", draft), 1,
                 "\"%s\" does not name it", status.hint);
    gb_collection_close(open_imported("out"));
    gb_collection_close(open_imported(draft));
    scratch_leave(&s);
}

/* Another process may have our number: in another container, or on another machine. */
Test(collection_damage, a_draft_of_somebody_else_stays)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    char *theirs = gb_draft_create("new/out/", "collection.json", &status);
    cr_assert_not_null(theirs, "%s", status.what);
    char *text = gb_path_join(NULL, theirs, "text");
    cr_assert(gb_write_file(text, "theirs", 6, NULL));
    char *ours = gb_draft_create("new/out", "collection.json", &status);
    cr_assert_not_null(ours, "%s", status.what);
    cr_expect_str_neq(ours, theirs);
    cr_expect(gb_file_exists(text));
    free(text), free(theirs), free(ours);
    scratch_leave(&s);
}

Test(collection_damage, a_signal_stops_an_import)
{
    scratch s = scratch_enter();
    gb_import_params params = GB_IMPORT_DEFAULTS;
    gb_status status = {0};
    write_beir("x");
    params.path = "x";
    gb_install_signals();
    cr_assert_eq(raise(SIGINT), 0);
    cr_expect_not(gb_collection_import(&params, "out", &status));
    cr_expect_eq(status.code, GB_INTERRUPTED);
    cr_assert(gb_remove_tree("x", NULL));
    cr_expect_eq(rmdir(s.path), 0, "something is left");
    cr_assert_eq(chdir("/"), 0);
}
