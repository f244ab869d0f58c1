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

static const char *const names[] = {"bytes", "merges", "plain", "unigram", "pieces",
                                    "split", "cased",  "words", "mpnet"};
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
