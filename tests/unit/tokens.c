/* Data module: tokenised collections. */
#include "data/tokens.h"
#include "gabbro/json.h"
#include "gabbro/data.h"
#include "scratch.h"

static const char vocab_text[] = "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nred\n##der\nblue\ngreen\n.\n";
enum { UNK = 1, SEP = 3, RED = 5, DER = 6, BLUE = 7, GREEN = 8, DOT = 9 };

typedef struct tools {
    gb_vocab *vocab;
    gb_tokenizer *tokenizer;
    gb_collection *collection;
} tools;

static tools open_tools(const char *collection)
{
    tools t = {0};
    gb_status status = {0};
    scratch_write("vocab.txt", vocab_text);
    t.vocab = gb_vocab_load("vocab.txt", &status);
    cr_assert_not_null(t.vocab, "%s", status.what);
    t.tokenizer = gb_tokenizer_create(t.vocab, GB_TOKENIZER_DEFAULTS, &status);
    cr_assert_not_null(t.tokenizer, "%s", status.what);
    t.collection = gb_collection_open(collection, &status);
    cr_assert_not_null(t.collection, "%s: %s", status.where, status.what);
    return t;
}

static void close_tools(tools *t)
{
    gb_collection_close(t->collection);
    gb_tokenizer_destroy(t->tokenizer);
    gb_vocab_destroy(t->vocab);
}

static void make_collection(const char *corpus, const char *generated)
{
    scratch_write("x/corpus.jsonl", corpus);
    scratch_write("x/queries.jsonl", "{\"_id\":\"q\",\"text\":\"green strange blue red\"}\n");
    scratch_write("x/qrels/train.tsv", "query-id\tcorpus-id\tscore\nq\ta\t1\n");
    scratch_write("g.jsonl", generated);
    gb_import_params params = GB_IMPORT_DEFAULTS;
    gb_status status = {0};
    params.path = "x";
    params.queries = "g.jsonl";
    cr_assert(gb_collection_import(&params, "out", &status), "%s: %s", status.where, status.what);
}

static void expect_ids(const uint32_t *ids, size_t length, const uint32_t *wanted, size_t count)
{
    cr_assert_eq(length, count);
    for (size_t i = 0; i < count; i++)
        cr_expect_eq(ids[i], wanted[i], "id %zu is %u", i, ids[i]);
}

Test(tokens, passages_queries_and_generated)
{
    scratch s = scratch_enter();
    make_collection(
        "{\"_id\":\"a\",\"title\":\"Redder\",\"text\":\"Blue green.\"}\n"
        "{\"_id\":\"b\",\"text\":\"\"}\n{\"_id\":\"c\",\"text\":\"red\"}\n",
        "{\"id\":\"a\",\"queries\":[\"red\",\"\xc2\xad\",\"blue [SEP] green red red\"]}\n"
        "{\"id\":\"c\",\"query\":\"green\"}\n");
    tools t = open_tools("out");
    gb_status status = {0};
    const gb_tokenize_params lengths = {.max_passage = 6, .max_query = 5};
    cr_assert(gb_collection_tokenize(t.collection, t.tokenizer, t.vocab, &lengths, "tok", &status),
              "%s", status.what);
    gb_tokens tokens;
    cr_assert(gb_tokens_open("tok", &tokens, &status), "%s", status.what);
    size_t length;
    const uint32_t *ids = gb_row_file_row(tokens.passages, 0, &length);
    expect_ids(ids, length, (uint32_t[]){RED, DER, BLUE, GREEN}, 4); /* the dot is cut */
    gb_row_file_row(tokens.passages, 1, &length);
    cr_expect_eq(length, 0);
    ids = gb_row_file_row(tokens.queries, 0, &length);
    expect_ids(ids, length, (uint32_t[]){GREEN, UNK, BLUE}, 3);
    cr_expect_eq(gb_tokens_generated_count(&tokens, SEP, 0), 3);
    cr_expect_eq(gb_tokens_generated_count(&tokens, SEP, 1), 0);
    cr_expect_eq(gb_tokens_generated_count(&tokens, SEP, 2), 1);
    cr_assert(gb_tokens_generated(&tokens, SEP, 0, 0, &ids, &length));
    expect_ids(ids, length, (uint32_t[]){RED}, 1);
    cr_assert(gb_tokens_generated(&tokens, SEP, 0, 1, &ids, &length));
    expect_ids(ids, length, (uint32_t[]){UNK}, 1); /* nothing but a soft hyphen */
    cr_assert(gb_tokens_generated(&tokens, SEP, 0, 2, &ids, &length));
    expect_ids(ids, length, (uint32_t[]){BLUE, GREEN, RED}, 3); /* a literal [SEP] ends nothing */
    cr_expect_not(gb_tokens_generated(&tokens, SEP, 0, 3, &ids, &length));
    cr_expect_not(gb_tokens_generated(&tokens, SEP, 1, 0, &ids, &length));
    gb_tokens_close(&tokens);
    /* prompts are text before the text, and count as it does */
    const gb_tokenize_params prompted = {
        .max_passage = 6, .max_query = 5, .query_prompt = "green ", .passage_prompt = "blue: "};
    cr_assert(
        gb_collection_tokenize(t.collection, t.tokenizer, t.vocab, &prompted, "prompted", &status),
        "%s", status.what);
    cr_assert(gb_tokens_open("prompted", &tokens, &status), "%s", status.what);
    ids = gb_row_file_row(tokens.passages, 0, &length);
    expect_ids(ids, length, (uint32_t[]){BLUE, UNK, RED, DER}, 4);
    ids = gb_row_file_row(tokens.queries, 0, &length);
    expect_ids(ids, length, (uint32_t[]){GREEN, GREEN, UNK}, 3);
    cr_assert(gb_tokens_generated(&tokens, SEP, 2, 0, &ids, &length));
    expect_ids(ids, length, (uint32_t[]){GREEN, GREEN}, 2);
    gb_tokens_close(&tokens);
    json_t *json = gb_json_load("tok/tokens.json", 0, NULL), *passages;
    passages = json_object_get(json, "passages");
    cr_expect_eq(json_integer_value(json_object_get(passages, "truncated")), 1);
    cr_expect_eq(json_integer_value(json_object_get(passages, "longest")), 5);
    json_decref(json);
    const gb_tokenize_params no_room = {.max_passage = 2, .max_query = 5};
    cr_expect_not(
        gb_collection_tokenize(t.collection, t.tokenizer, t.vocab, &no_room, "no", &status));
    cr_expect_eq(status.code, GB_USAGE);
    cr_expect_not(gb_dir_exists("no"));
    close_tools(&t);
    scratch_leave(&s);
}

Test(tokens, titles_are_joined_as_asked)
{
    static const uint32_t wanted[][5] = {
        {RED, DER, BLUE, GREEN, DOT}, {RED, DER, SEP, BLUE, GREEN}, {BLUE, GREEN, DOT}};
    scratch s = scratch_enter();
    make_collection("{\"_id\":\"a\",\"title\":\"Redder\",\"text\":\"Blue green.\"}\n"
                    "{\"_id\":\"b\",\"text\":\"red\"}\n",
                    "{\"id\":\"a\",\"queries\":[\"red\"]}\n");
    tools t = open_tools("out");
    gb_status status = {0};
    for (gb_title_join join = GB_TITLE_SPACE; join <= GB_TITLE_NONE; join++) {
        const gb_tokenize_params params = {.max_passage = 7, .max_query = 5, .title_join = join};
        gb_tokens tokens;
        size_t length;
        cr_assert(
            gb_collection_tokenize(t.collection, t.tokenizer, t.vocab, &params, "tok", &status) &&
                gb_tokens_open("tok", &tokens, &status),
            "%s", status.what);
        const uint32_t *ids = gb_row_file_row(tokens.passages, 0, &length);
        expect_ids(ids, length, wanted[join], join == GB_TITLE_NONE ? 3 : 5);
        ids = gb_row_file_row(tokens.passages, 1, &length); /* it has no title */
        expect_ids(ids, length, (uint32_t[]){RED}, 1);
        gb_tokens_close(&tokens);
        json_t *json = gb_json_load("tok/tokens.json", 0, NULL);
        const char *said = json_string_value(json_object_get(json, "title_join"));
        cr_expect_str_eq(said ? said : "space", gb_title_join_names[join]);
        json_decref(json);
    }
    close_tools(&t);
    scratch_leave(&s);
}

Test(tokens, number_of_threads_changes_nothing)
{
    scratch s = scratch_enter();
    gb_text corpus = {0}, generated = {0};
    static const char *const words[] = {"red", "redder", "Blue", "green.", "odd", ""};
    for (unsigned i = 0; i < 20000; i++) { /* more than one block */
        gb_text_printf(&corpus, "{\"_id\":\"%u\",\"text\":\"%s %s %s\"}\n", i, words[i % 6],
                       words[i / 6 % 6], words[i / 36 % 6]);
        if (i % 3)
            gb_text_printf(&generated, "{\"id\":\"%u\",\"queries\":[\"%s\",\"x%u\"]}\n", i,
                           words[i % 5], i);
    }
    cr_assert_not(corpus.failed || generated.failed);
    scratch_write("x/corpus.jsonl", corpus.data);
    scratch_write("g.jsonl", generated.data);
    gb_text_free(&corpus);
    gb_text_free(&generated);
    gb_import_params params = GB_IMPORT_DEFAULTS;
    params.path = "x";
    params.queries = "g.jsonl";
    cr_assert(gb_collection_import(&params, "out", NULL));
    tools t = open_tools("out");
    char first[GB_HASH_SIZE], hash[GB_HASH_SIZE];
    for (unsigned threads = 1; threads <= 3; threads++) {
        const gb_tokenize_params few = {.max_passage = 5, .max_query = 4};
        cr_assert(data_collection_tokenize_with(t.collection, t.tokenizer, t.vocab, &few, "tok",
                                                threads, NULL));
        cr_assert(gb_hash_tree("tok", threads == 1 ? first : hash, NULL));
        if (threads > 1)
            cr_expect_str_eq(first, hash, "%u threads", threads);
    }
    close_tools(&t);
    scratch_leave(&s);
}

Test(tokens, damaged_tables_are_refused)
{
    scratch s = scratch_enter();
    make_collection("{\"_id\":\"a\",\"text\":\"red\"}\n", "{\"id\":\"a\",\"query\":\"red\"}\n");
    tools t = open_tools("out");
    const gb_tokenize_params lengths = {.max_passage = 6, .max_query = 5};
    cr_assert(gb_collection_tokenize(t.collection, t.tokenizer, t.vocab, &lengths, "tok", NULL));
    gb_row_writer *writer = gb_row_writer_open("tok/generated.ids.gbt", 4, NULL);
    cr_assert(gb_row_writer_commit(writer, NULL)); /* no row for the passage */
    gb_tokens tokens;
    gb_status status = {0};
    cr_expect_not(gb_tokens_open("tok", &tokens, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_assert_eq(remove("tok/queries.ids.gbt"), 0);
    cr_expect_not(gb_tokens_open("tok", &tokens, &status));
    close_tools(&t);
    scratch_leave(&s);
}
