/* Tokenizers of model folders against Hugging Face transformers: WordPiece with any casing and
 * special tokens, byte-level BPE and Unigram, from every file that they come in.
 * tests/peers/golden_tokenizers.py made tests/golden/tokenizers. */
#include "scratch.h"

#include <gabbro/folder.h>
#include <gabbro/json.h>

#define TOKENIZERS GB_GOLDEN "/tokenizers"

/* Where the cases are read from: GABBRO_TOKENIZERS, the suite of peers makes many more, or ours. */
static const char *tokenizers_folder(void)
{
    const char *other = getenv("GABBRO_TOKENIZERS");
    return other && *other ? other : TOKENIZERS;
}

static gb_vocab *open_vocab(const char *folder, const char *name)
{
    gb_status status = {0};
    char *path = gb_path_join(NULL, folder, name);
    gb_vocab *vocab = gb_vocabulary_read(path, &status);
    cr_assert(vocab, "%s: %s", status.where, status.what);
    free(path);
    return vocab;
}

/* Ids of a case are those of a tokenizer. */
static bool is_same(const gb_tokenizer *tokenizer, const json_t *entry)
{
    const json_t *text = json_object_get(entry, "text"), *ids = json_object_get(entry, "ids");
    gb_ids got = {0};
    gb_status status = {0};
    cr_assert(
        gb_tokenize(tokenizer, json_string_value(text), json_string_length(text), &got, &status),
        "%s", status.what);
    bool same = got.count == json_array_size(ids);
    for (size_t i = 0; same && i < got.count; i++)
        same = got.data[i] == (uint32_t)json_integer_value(json_array_get(ids, i));
    if (!same) {
        char *wanted = json_dumps(entry, JSON_COMPACT);
        fprintf(stderr, "%s\n  got:", wanted);
        for (size_t i = 0; i < got.count; i++)
            fprintf(stderr, " %u", got.data[i]);
        fprintf(stderr, "\n");
        free(wanted);
    }
    free(got.data);
    return same;
}

/* All cases of one tokenizer; returns how many there are. */
static int check_cases(const char *folder, const char *name, const gb_tokenizer *tokenizer,
                       int *wrong)
{
    char *path = gb_path_join(NULL, folder, "cases.jsonl");
    gb_lines *lines = gb_lines_open(path, NULL);
    cr_assert(lines, "%s", path);
    int count = 0;
    json_t *entry;
    char *line;
    size_t length;
    while (gb_lines_next(lines, &line, &length, NULL) == 1) {
        cr_assert(entry = json_loadb(line, length, JSON_ALLOW_NUL, NULL));
        if (strcmp(gb_json_text(entry, "tokenizer"), name) == 0) {
            *wrong += !is_same(tokenizer, entry);
            count++;
        }
        json_decref(entry);
    }
    gb_lines_close(lines);
    free(path);
    return count;
}

static void check_tokenizer(const char *folder, const char *cases, const char *name)
{
    int wrong = 0;
    gb_vocab *vocab = open_vocab(folder, name);
    gb_tokenizer *tokenizer = gb_tokenizer_create(vocab, gb_vocab_get_rules(vocab)->words, NULL);
    cr_assert(tokenizer);
    int count = check_cases(cases, name, tokenizer, &wrong);
    cr_expect(count >= 50 && wrong == 0, "%s: %d of %d texts have other ids", name, wrong, count);
    gb_tokenizer_destroy(tokenizer);
    gb_vocab_destroy(vocab);
}

static const char *const names[] = {"bytes", "merges", "plain", "unigram", "pieces", "split",
                                    "cased", "words",  "mpnet", "lowered", "joined"};
#define COUNT (sizeof names / sizeof *names)

Test(tokenizers, ids_are_those_of_hugging_face)
{
    for (size_t i = 0; i < COUNT; i++)
        check_tokenizer(tokenizers_folder(), tokenizers_folder(), names[i]);
}

/* What is written has the same ids and the same hash, and no other tokenizer has them. */
Test(tokenizers, are_written_and_read_again)
{
    char hashes[COUNT][GB_HASH_SIZE];
    scratch s = scratch_enter();
    for (size_t i = 0; i < COUNT; i++) {
        gb_status status = {0};
        gb_vocab *vocab = open_vocab(TOKENIZERS, names[i]);
        cr_assert(gb_make_dirs(names[i], &status) && gb_vocabulary_write(names[i], vocab, &status),
                  "%s", status.what);
        gb_vocab *again = open_vocab(".", names[i]);
        char hash[GB_HASH_SIZE];
        cr_assert(gb_vocab_hash(vocab, hashes[i], NULL) && gb_vocab_hash(again, hash, NULL));
        cr_expect_str_eq(hash, hashes[i], "%s", names[i]);
        gb_special_ids a = gb_vocab_specials(vocab), b = gb_vocab_specials(again);
        cr_expect_eq(memcmp(&a, &b, sizeof a), 0, "%s", names[i]);
        cr_expect(a.pad != GB_MAP_NONE && a.cls != GB_MAP_NONE && a.sep != GB_MAP_NONE);
        gb_vocab_destroy(vocab);
        gb_vocab_destroy(again);
        check_tokenizer(".", TOKENIZERS, names[i]);
        for (size_t j = 0; j < i; j++) {
            bool twin = (i == 1 && j == 0) || (i == 4 && j == 3); /* another form of the same */
            cr_expect(twin || strcmp(hashes[i], hashes[j]) != 0, "%s, %s", names[i], names[j]);
        }
    }
    scratch_leave(&s);
}

/* A tokenizer.json with something else in the place of what is there: refused by its name. */
static void refused(const char *from, const char *by, const char *what)
{
    gb_status status = {0};
    size_t length;
    char *text = gb_read_file(TOKENIZERS "/bytes/tokenizer.json", &length, NULL);
    cr_assert(text);
    char *at = strstr(text, from);
    cr_assert(at, "%s", from);
    char *changed = gb_format(NULL, "%.*s%s%s", (int)(at - text), text, by, at + strlen(from));
    scratch_write("bad/tokenizer.json", changed);
    gb_vocab *vocab = gb_vocabulary_read("bad", &status);
    cr_expect(!vocab && status.code == GB_DATA && strstr(status.what, what), "%s: %s", by,
              status.what);
    gb_vocab_destroy(vocab);
    free(changed);
    free(text);
}

Test(tokenizers, what_is_not_known_is_refused_by_its_name)
{
    scratch s = scratch_enter();
    cr_assert(gb_make_dirs("bad", NULL));
    refused("\"type\": \"ByteLevel\"", "\"type\": \"Digits\"", "the pre-tokenizer \"Digits\"");
    refused("\"normalizer\": null", "\"normalizer\": {\"type\": \"Prepend\"}",
            "the normalizer \"Prepend\"");
    refused("\"type\": \"BPE\"", "\"type\": \"WordLevel\"", "the model \"WordLevel\"");
    refused("\"byte_fallback\": false", "\"byte_fallback\": true", "byte_fallback");
    refused("\"type\": \"RobertaProcessing\"", "\"type\": \"Other\"", "post-processor \"Other\"");
    refused("\"merges\": [", "\"merges\": [[\"zz\", \"q\"],", "is not of its tokens");
    refused("\"id\": 0", "\"id\": -1", "has no id");
    refused("\"id\": 0", "\"id\": 5", "the id 5 is of two tokens");
    refused("\"</s>\",\n      2", "\"<end>\",\n      2", "its token behind a text, \"<end>\"");
    refused("\"RobertaProcessing\"", "\"TemplateProcessing\"", "no token before a text");
    scratch_leave(&s);
}

/* ---- tokens added to WordPiece ---- */

#define PIECES "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nhello\nworld\ne\n##nt\n##ry\nent\n"
#define PIECES_JSON                                                                                \
    "\"[PAD]\":0,\"[UNK]\":1,\"[CLS]\":2,\"[SEP]\":3,\"[MASK]\":4,\"hello\":5,\"world\":6,"        \
    "\"e\":7,\"##nt\":8,\"##ry\":9,\"ent\":10"
#define FAST                                                                                       \
    "{\"normalizer\":{\"type\":\"BertNormalizer\"},"                                               \
    "\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},\"model\":{\"type\":\"WordPiece\","         \
    "\"unk_token\":\"[UNK]\",\"continuing_subword_prefix\":\"##\","                                \
    "\"max_input_chars_per_word\":100,\"vocab\":{" PIECES_JSON "}},\"added_tokens\":["             \
    "{\"id\":11,\"content\":\"[ENT]\",\"special\":true,\"normalized\":false},"                     \
    "{\"id\":12,\"content\":\"Big One\",\"special\":false,\"normalized\":true},"                   \
    "{\"id\":13,\"content\":\"wor\",\"single_word\":true,\"normalized\":false}]}"
#define DECODER                                                                                    \
    "{\"added_tokens_decoder\":{"                                                                  \
    "\"13\":{\"content\":\"wor\",\"single_word\":true,\"normalized\":false},"                      \
    "\"11\":{\"content\":\"[ENT]\",\"special\":true,\"normalized\":false},"                        \
    "\"12\":{\"content\":\"Big One\",\"special\":false,\"normalized\":true}}}"

static void expect_ids(const char *folder, const char *text, const char *wanted)
{
    gb_vocab *vocab = open_vocab(".", folder);
    gb_tokenizer *tokenizer = gb_tokenizer_create(vocab, gb_vocab_get_rules(vocab)->words, NULL);
    gb_ids ids = {0};
    gb_text got = {0};
    cr_assert(tokenizer && gb_tokenize(tokenizer, text, strlen(text), &ids, NULL));
    for (size_t i = 0; i < ids.count; i++)
        gb_text_printf(&got, "%s%u", i ? " " : "", ids.data[i]);
    cr_expect_str_eq(got.data ? got.data : "", wanted, "%s: %s", folder, text);
    gb_text_free(&got);
    free(ids.data);
    gb_tokenizer_destroy(tokenizer);
    gb_vocab_destroy(vocab);
}

/* Ids by Hugging Face's tokenizers, of what was read and of what is written of it. */
static void expect_added(const char *folder)
{
    static const char *const cases[][2] = {{"hello [ENT] world", "5 11 6"},
                                           {"hello[ENT]world", "5 11 6"},
                                           {"big one hello BIG \xC3\x93NE entry", "12 5 12 10 9"},
                                           {"[ent] wor world wor", "1 10 1 13 6 13"},
                                           {"hello big  one", "5 1 1"}};
    char hashes[2][GB_HASH_SIZE];
    const char *const folders[] = {folder, "again"};
    for (int i = 0; i < 2; i++) {
        gb_vocab *vocab = open_vocab(".", folders[i]);
        cr_assert(gb_vocab_hash(vocab, hashes[i], NULL));
        cr_expect_not(gb_vocab_is_plain(vocab));
        cr_expect_eq(gb_vocab_size(vocab), 14);
        cr_assert(i || (gb_make_dirs("again", NULL) && gb_vocabulary_write("again", vocab, NULL)));
        gb_vocab_destroy(vocab);
        for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
            expect_ids(folders[i], cases[c][0], cases[c][1]);
    }
    cr_expect_str_eq(hashes[0], hashes[1], "%s", folder);
    cr_assert(gb_remove_tree("again", NULL));
}

Test(tokenizers, tokens_added_to_words_are_kept)
{
    scratch s = scratch_enter();
    scratch_write("fast/tokenizer.json", FAST);
    expect_added("fast");
    scratch_write("both/tokenizer.json", FAST);
    scratch_write("both/vocab.txt", PIECES);
    expect_added("both");
    scratch_write("config/tokenizer_config.json", DECODER);
    scratch_write("config/vocab.txt", PIECES);
    expect_added("config");
    scratch_write("old/vocab.txt", PIECES);
    scratch_write("old/added_tokens.json", "{\"[ENT]\":11,\"Big One\":12}");
    scratch_write("old/special_tokens_map.json", "{\"additional_special_tokens\":[\"[ENT]\"]}");
    expect_ids("old", "hello [ENT] [ent] big one", "5 11 1 10 1 12");
    scratch_leave(&s);
}

/* Markers of late interaction are ids that queries and passages get, not words of texts. */
Test(tokenizers, markers_are_not_looked_for)
{
    scratch s = scratch_enter();
    scratch_write("late/vocab.txt", PIECES);
    scratch_write("late/added_tokens.json", "{\"[Q] \":11,\"[D] \":12}");
    scratch_write("late/modules.json", "[{\"type\":\"x.Transformer\",\"path\":\"\"},"
                                       "{\"type\":\"x.Dense\",\"path\":\"1_Dense\"}]");
    scratch_write("late/config_sentence_transformers.json", "{\"query_prefix\":\"[Q] \"}");
    gb_vocab *vocab = open_vocab(".", "late");
    cr_expect(gb_vocab_is_plain(vocab) && gb_vocab_size(vocab) == 11);
    gb_vocab_destroy(vocab);
    scratch_leave(&s);
}

Test(tokenizers, the_longest_word_is_kept)
{
    scratch s = scratch_enter();
    scratch_write("m/vocab.txt", PIECES);
    scratch_write("m/tokenizer_config.json", "{\"max_input_chars_per_word\":5}");
    gb_vocab *vocab = open_vocab(".", "m");
    cr_assert(gb_make_dirs("n", NULL) && gb_vocabulary_write("n", vocab, NULL));
    gb_vocab_destroy(vocab);
    expect_ids("n", "world worldd", "6 1");
    vocab = open_vocab(".", "n");
    cr_expect_eq(gb_vocab_get_rules(vocab)->words.max_word_chars, 5);
    gb_vocab_destroy(vocab);
    scratch_leave(&s);
}

/* Files beside a vocab.txt that say other things than it. */
static void disagrees(const char *file, const char *text, const char *what)
{
    gb_status status = {0};
    scratch_write("bad/vocab.txt", PIECES);
    scratch_write(file, text);
    gb_vocab *vocab = gb_vocabulary_read("bad", &status);
    cr_expect(!vocab && status.code == GB_DATA && strstr(status.what, what), "%s: %s", text,
              status.what);
    gb_vocab_destroy(vocab);
    cr_assert(gb_remove_tree("bad", NULL));
}

/* Which would keep capitals and accents, and cut Chinese otherwise. */
Test(tokenizers, words_without_their_normalizer_are_refused)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    scratch_write("m/tokenizer.json",
                  "{\"normalizer\":null,\"pre_tokenizer\":{\"type\":\"BertPreTokenizer\"},"
                  "\"model\":{\"type\":\"WordPiece\",\"unk_token\":\"[UNK]\","
                  "\"continuing_subword_prefix\":\"##\",\"vocab\":{" PIECES_JSON "}}}");
    cr_expect_null(gb_vocabulary_read("m", &status));
    cr_expect(strstr(status.what, "the normalizer \"BertNormalizer\""), "%s", status.what);
    scratch_leave(&s);
}

Test(tokenizers, files_that_disagree_are_refused)
{
    scratch s = scratch_enter();
    disagrees("bad/added_tokens.json", "{\"[ENT]\":3}", "which vocab.txt gives to \"[SEP]\"");
    disagrees("bad/added_tokens.json", "{\"[ENT]\":-3}", "has no id of its own");
    disagrees("bad/special_tokens_map.json", "{\"additional_special_tokens\":[\"[X]\"]}",
              "\"[X]\" of additional_special_tokens has no id");
    disagrees("bad/tokenizer.json",
              "{\"normalizer\":{\"type\":\"BertNormalizer\",\"strip_accents\":false}}",
              "\"strip_accents\" is false");
    disagrees("bad/tokenizer.json",
              "{\"normalizer\":{\"type\":\"BertNormalizer\",\"handle_chinese_chars\":false}}",
              "\"handle_chinese_chars\" is false");
    scratch_leave(&s);
}
