/* The tokenizers of language models' folders against Hugging Face transformers, whose ids and texts
 * for made-up models tests/peers/golden_pieces.py wrote down; and folders that are in disorder. */
#include "gabbro/folder.h"
#include "scratch.h"

#include <criterion/criterion.h>
#include <jansson.h>

static json_t *golden(void)
{
    json_t *json = json_load_file(GB_GOLDEN "/pieces/pieces.json", JSON_ALLOW_NUL, NULL);
    cr_assert(json, "tests/golden/pieces/pieces.json is no JSON");
    return json;
}

/* Write the files of a golden tokenizer into the current folder. */
static void write_folder(const json_t *tokenizer)
{
    const char *name;
    json_t *file;
    char from[600];
    size_t length = 0;
    snprintf(from, sizeof from, GB_GOLDEN "/%s",
             json_string_value(json_object_get(tokenizer, "model")));
    char *bytes = gb_read_file(from, &length, NULL);
    cr_assert(bytes, "%s", from);
    cr_assert(
        gb_write_file(json_string_value(json_object_get(tokenizer, "name")), bytes, length, NULL));
    free(bytes);
    cr_assert_eq(json_dump_file(json_object_get(tokenizer, "config"), "config.json", 0), 0);
    json_object_foreach(json_object_get(tokenizer, "files"), name, file)
        cr_assert_eq(json_dump_file(file, name, 0), 0);
}

static gb_coder *opened(const char *folder)
{
    gb_status status = {0};
    gb_coder *coder = gb_coder_open(folder, &status);
    if (!coder && status.code == GB_USAGE)
        cr_skip_test("built without sentencepiece");
    cr_assert(coder, "%s: %s", status.where, status.what);
    return coder;
}

/* ---- transformers' answers ---- */

static size_t unhex(const char *hex, char *bytes)
{
    size_t count = strlen(hex) / 2;
    for (size_t i = 0; i < count; i++) {
        unsigned value;
        cr_assert_eq(sscanf(hex + 2 * i, "%2x", &value), 1);
        bytes[i] = (char)value;
    }
    return count;
}

static void show(char out[400], const char *what, const gb_ids *ids)
{
    size_t at = (size_t)snprintf(out, 400, "%s", what);
    for (size_t i = 0; i < ids->count && at < 380; i++)
        at += (size_t)snprintf(out + at, 400 - at, " %u", ids->data[i]);
}

static gb_ids ids_of(const json_t *list)
{
    gb_ids ids = {0};
    cr_assert(gb_grow(&ids.data, &ids.capacity, json_array_size(list) + 1, sizeof *ids.data, NULL));
    for (; ids.count < json_array_size(list); ids.count++)
        ids.data[ids.count] = (uint32_t)json_integer_value(json_array_get(list, ids.count));
    return ids;
}

/* Of ids with what is around a text, those between are the text's. */
static void check_bare(const gb_coder *coder, const char *text, size_t length, const gb_ids *whole)
{
    gb_ids bare = {0};
    gb_coder_ids ids = gb_coder_special_ids(coder);
    size_t first = ids.before != GB_MAP_NONE, last = ids.behind != GB_MAP_NONE;
    cr_assert(gb_coder_encode_bare(coder, text, length, &bare, NULL));
    cr_expect_eq(gb_coder_around(coder), first + last);
    cr_expect(!bare.count ||
              !memcmp(whole->data + first, bare.data, bare.count * sizeof *bare.data));
    bool ended = bare.count && bare.data[bare.count - 1] == ids.end; /* T5: by its own text */
    cr_expect(whole->count == first + bare.count + last ||
              (ended && whole->count == first + bare.count));
    cr_expect(!first || whole->data[0] == ids.before);
    cr_expect(!last || whole->data[whole->count - 1] == ids.behind);
    free(bare.data);
}

static void check_encoded(const gb_coder *coder, const char *name, const json_t *pair)
{
    static char text[4096];
    const char *hex = json_string_value(json_array_get(pair, 0));
    size_t length = unhex(hex, text);
    gb_ids want = ids_of(json_array_get(pair, 1)), got = {0};
    cr_assert(gb_coder_encode(coder, text, length, &got, NULL));
    if (got.count != want.count || memcmp(got.data, want.data, got.count * sizeof *got.data)) {
        char a[400], b[400];
        show(a, "", &got);
        show(b, "", &want);
        cr_expect_fail("%s, '%.60s' (%.80s):%s instead of%s", name, text, hex, a, b);
    }
    check_bare(coder, text, length, &got);
    memset(text, 0, length);
    free(want.data);
    free(got.data);
}

static void check_decoded(const gb_coder *coder, const char *name, const json_t *pair)
{
    gb_ids ids = ids_of(json_array_get(pair, 0));
    const json_t *want = json_array_get(pair, 1);
    gb_text got = {0};
    gb_text_append(&got, "before .", 8); /* what is there already stays */
    cr_assert(gb_coder_decode(coder, ids.data, ids.count, &got, NULL));
    if (got.length - 8 != json_string_length(want) ||
        memcmp(got.data + 8, json_string_value(want), json_string_length(want))) {
        char list[400];
        show(list, "", &ids);
        cr_expect_fail("%s, ids%s: '%s' instead of '%s'", name, list, got.data + 8,
                       json_string_value(want));
    }
    free(ids.data);
    gb_text_free(&got);
}

Test(coder, gives_the_ids_and_texts_of_transformers)
{
    json_t *all = golden(), *tokenizer, *pair;
    size_t i, k;
    scratch s = scratch_enter();
    json_array_foreach(json_object_get(all, "tokenizers"), i, tokenizer)
    {
        const char *name = json_string_value(json_object_get(tokenizer, "tokenizer"));
        cr_assert(gb_make_dirs(name, NULL));
        cr_assert_eq(chdir(name), 0);
        write_folder(tokenizer);
        gb_coder *coder = opened(".");
        json_array_foreach(json_object_get(tokenizer, "encoded"), k, pair)
            check_encoded(coder, name, pair);
        cr_assert_gt(k, 50);
        json_array_foreach(json_object_get(tokenizer, "decoded"), k, pair)
            check_decoded(coder, name, pair);
        cr_assert_gt(k, 50);
        gb_coder_close(coder);
        cr_assert_eq(chdir(s.path), 0);
    }
    cr_assert_gt(i, 5);
    json_decref(all);
    scratch_leave(&s);
}

/* ---- disorder ---- */

static const char t5_config[] =
    "{\"model_type\": \"t5\", \"vocab_size\": 512, \"d_model\": 16, \"d_kv\": 4, \"d_ff\": 16, "
    "\"num_heads\": 4, \"num_layers\": 1, \"eos_token_id\": %d}";

static void write_t5(int end)
{
    char config[400];
    size_t length = 0;
    snprintf(config, sizeof config, t5_config, end);
    scratch_write("config.json", config);
    char *bytes = gb_read_file(GB_GOLDEN "/pieces/t5.model", &length, NULL);
    cr_assert(bytes && gb_write_file("spiece.model", bytes, length, NULL));
    free(bytes);
}

/* The folder is refused with a message that holds `what`. */
static void refused(const char *what)
{
    gb_status status = {0};
    gb_coder *coder = gb_coder_open(".", &status);
    if (!coder && status.code == GB_USAGE)
        return; /* built without sentencepiece */
    cr_expect_null(coder, "'%s' was not noticed", what);
    cr_expect_eq(status.code, GB_DATA);
    cr_expect(strstr(status.what, what) && status.hint[0], "%s (%s)", status.what, status.hint);
    gb_coder_close(coder);
}

Test(coder, refuses_folders_in_disorder)
{
    scratch s = scratch_enter();
    refused("cannot open");
    write_t5(1);
    gb_coder_close(opened("."));
    scratch_write("tokenizer_config.json", "{\"extra_ids\": 400}");
    refused("760 tokens, but the model has 512");
    scratch_write("tokenizer_config.json",
                  "{\"added_tokens_decoder\": {\"9000\": {\"content\": \"a\"}}}");
    refused("added token \"9000\"");
    scratch_write("tokenizer_config.json", "{\"legacy\": 3}");
    refused("legacy");
    scratch_write("tokenizer_config.json", "{}");
    scratch_write("added_tokens.json", "{\"[PAD]\": \"x\"}");
    refused("added token \"[PAD]\"");
    cr_assert_eq(unlink("added_tokens.json"), 0);
    write_t5(2);
    refused("end with token 1, and with 2");
    write_t5(1);
    cr_assert_eq(truncate("spiece.model", 3000), 0);
    refused("cannot be read");
    cr_assert_eq(truncate("spiece.model", 0), 0);
    refused("cannot be read");
    cr_assert_eq(unlink("spiece.model"), 0);
    refused("no tokenizer");
    scratch_leave(&s);
}

Test(coder, names_its_special_tokens)
{
    scratch s = scratch_enter();
    write_t5(1);
    gb_coder *coder = opened(".");
    gb_coder_ids ids = gb_coder_special_ids(coder);
    cr_expect(ids.start == 0 && ids.end == 1 && ids.pad == 0 && ids.unk == 2);
    cr_expect_eq(gb_coder_size(coder), 460); /* 360 pieces and 100 sentinels */
    gb_coder_close(coder);
    scratch_leave(&s);
}
