/* The tokenizer of a model folder: vocab.txt, Hugging Face's three JSON files, and reading back. */
#include "folder/internal.h"

#include <stdlib.h>
#include <string.h>

#define SPECIALS 5

/* ---- writing ---- */

/* How a special token is found in text; or one that belongs to no text. */
static json_t *added_token(const char *content, uint32_t id, bool special)
{
    return json_pack("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id", (json_int_t)id, "content",
                     content, "single_word", 0, "lstrip", 0, "rstrip", 0, "normalized", !special,
                     "special", special);
}

/* The markers of late interaction that are behind the vocabulary, in the order of their ids. */
static uint32_t added_markers(const gb_vocab *vocab, const gb_late_settings *late,
                              const gb_late_marker *markers[2])
{
    uint32_t count = 0, size = gb_vocab_size(vocab);
    if (late && late->query.id != GB_MAP_NONE && late->query.id >= size)
        markers[count++] = &late->query;
    if (late && late->passage.id != GB_MAP_NONE && late->passage.id >= size)
        markers[count++] = &late->passage;
    return count;
}

static json_t *piece(const char *kind, const char *id, int type)
{
    return json_pack("{s:{s:s, s:i}}", kind, "id", id, "type_id", type);
}

/* [CLS] A [SEP] and [CLS] A [SEP] B [SEP]; of a language model A [SEP] and A [SEP] B [SEP] */
static json_t *post_processor(const gb_special_ids *ids, bool language)
{
    json_t *single =
        json_pack("[o, o]", piece("Sequence", "A", 0), piece("SpecialToken", "[SEP]", 0));
    json_t *pair =
        json_pack("[o, o, o, o]", piece("Sequence", "A", 0), piece("SpecialToken", "[SEP]", 0),
                  piece("Sequence", "B", 1), piece("SpecialToken", "[SEP]", 1));
    if (!language) {
        json_array_insert_new(single, 0, piece("SpecialToken", "[CLS]", 0));
        json_array_insert_new(pair, 0, piece("SpecialToken", "[CLS]", 0));
    }
    json_t *specials = json_pack("{s:{s:s, s:[i], s:[s]}, s:{s:s, s:[i], s:[s]}}", "[CLS]", "id",
                                 "[CLS]", "ids", (int)ids->cls, "tokens", "[CLS]", "[SEP]", "id",
                                 "[SEP]", "ids", (int)ids->sep, "tokens", "[SEP]");
    return json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing", "single", single, "pair",
                     pair, "special_tokens", specials);
}

static json_t *word_piece(const gb_vocab *vocab, uint32_t max_word_chars)
{
    json_t *words = json_object();
    for (uint32_t id = 0; id < gb_vocab_size(vocab); id++)
        if (json_object_set_new(words, gb_vocab_token(vocab, id), json_integer(id)) != 0) {
            json_decref(words);
            return NULL;
        }
    return json_pack("{s:s, s:s, s:s, s:I, s:o}", "type", "WordPiece", "unk_token", "[UNK]",
                     "continuing_subword_prefix", "##", "max_input_chars_per_word",
                     (json_int_t)max_word_chars, "vocab", words);
}

/* Special ids in ascending order, as Hugging Face lists them. */
static void sorted_specials(const gb_special_ids *ids, uint32_t sorted[SPECIALS])
{
    const uint32_t all[SPECIALS] = {ids->pad, ids->unk, ids->cls, ids->sep, ids->mask};
    for (int i = 0; i < SPECIALS; i++) {
        int at = i;
        for (; at > 0 && sorted[at - 1] > all[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = all[i];
    }
}

/* The special tokens as tokenizer.json lists them. */
static json_t *added_tokens(const gb_vocab *vocab, const gb_special_ids *ids,
                            const gb_late_settings *late)
{
    uint32_t sorted[SPECIALS];
    sorted_specials(ids, sorted);
    const gb_late_marker *markers[2];
    uint32_t count = added_markers(vocab, late, markers);
    json_t *list = json_array();
    int failed = list == NULL;
    for (int i = 0; i < SPECIALS; i++)
        failed |= json_array_append_new(
            list, added_token(gb_vocab_token(vocab, sorted[i]), sorted[i], true));
    for (uint32_t i = 0; i < count; i++)
        failed |= json_array_append_new(list, added_token(markers[i]->text, markers[i]->id, false));
    if (!failed)
        return list;
    json_decref(list);
    return NULL;
}

/* The same as tokenizer_config.json has them: an object by id. */
static json_t *added_tokens_decoder(const gb_vocab *vocab, const gb_special_ids *ids,
                                    const gb_late_settings *late)
{
    json_t *list = added_tokens(vocab, ids, late), *map = json_object();
    bool failed = !list || !map;
    for (size_t i = 0; i < json_array_size(list); i++) {
        json_t *token = json_array_get(list, i);
        char id[24];
        snprintf(id, sizeof id, "%lld",
                 (long long)json_integer_value(json_object_get(token, "id")));
        failed |= json_object_del(token, "id") != 0 || json_object_set(map, id, token) != 0;
    }
    json_decref(list);
    if (!failed)
        return map;
    json_decref(map);
    return NULL;
}

/* tokenizer.json, the file of the "fast" tokenizer. */
static json_t *fast_tokenizer(const gb_vocab *vocab, const gb_tokenizer_params *params,
                              bool language, const gb_late_settings *late)
{
    gb_special_ids ids = gb_vocab_specials(vocab);
    /* strip_accents null: accents go when letters are lowered, as in ours */
    json_t *normalizer = json_pack("{s:s, s:b, s:b, s:n, s:b}", "type", "BertNormalizer",
                                   "clean_text", 1, "handle_chinese_chars", params->split_cjk,
                                   "strip_accents", "lowercase", params->lower_case);
    json_t *decoder =
        json_pack("{s:s, s:s, s:b}", "type", "WordPiece", "prefix", "##", "cleanup", 1);
    return json_pack("{s:s, s:n, s:n, s:o, s:o, s:{s:s}, s:o, s:o, s:o}", "version", "1.0",
                     "truncation", "padding", "added_tokens", added_tokens(vocab, &ids, late),
                     "normalizer", normalizer, "pre_tokenizer", "type", "BertPreTokenizer",
                     "post_processor", post_processor(&ids, language), "decoder", decoder, "model",
                     word_piece(vocab, params->max_word_chars));
}

static json_t *special_tokens(void)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:s}", "pad_token", "[PAD]", "unk_token", "[UNK]",
                     "cls_token", "[CLS]", "sep_token", "[SEP]", "mask_token", "[MASK]");
}

static json_t *tokenizer_config(const gb_vocab *vocab, const gb_tokenizer_params *tokenizer,
                                uint32_t max_length, bool language, const gb_late_settings *late)
{
    gb_special_ids ids = gb_vocab_specials(vocab);
    json_t *json = special_tokens();
    json_t *rest = json_pack(
        "{s:o, s:b, s:b, s:b, s:I, s:I, s:n, s:n, s:b, s:s}", "added_tokens_decoder",
        added_tokens_decoder(vocab, &ids, late), "clean_up_tokenization_spaces", 1,
        "do_basic_tokenize", 1, "do_lower_case", tokenizer->lower_case, "max_input_chars_per_word",
        (json_int_t)tokenizer->max_word_chars, "model_max_length", (json_int_t)max_length,
        "never_split", "strip_accents", "tokenize_chinese_chars", tokenizer->split_cjk,
        "tokenizer_class", language ? "PreTrainedTokenizerFast" : "BertTokenizer");
    if (!rest || json_object_update(json, rest) != 0) {
        json_decref(json);
        json = NULL;
    }
    json_decref(rest);
    return json;
}

bool folder_write_tokenizer(const char *dir, const gb_vocab *vocab,
                            const gb_tokenizer_params *tokenizer, uint32_t max_length,
                            bool language, const gb_late_settings *late, gb_status *status)
{
    static const char *const names[] = {"vocab.txt", "tokenizer.json", "tokenizer_config.json",
                                        "special_tokens_map.json"};
    bool ok = true;
    for (int i = 0; ok && i < 4; i++) {
        char *path = gb_path_join(status, dir, names[i]);
        if (!path)
            return false;
        json_t *json = i == 1   ? fast_tokenizer(vocab, tokenizer, language, late)
                       : i == 2 ? tokenizer_config(vocab, tokenizer, max_length, language, late)
                       : i == 3 ? special_tokens()
                                : NULL;
        ok = i == 0 ? gb_vocab_save(vocab, path, status)
                    : gb_json_save(json, FOLDER_JSON, path, status);
        json_decref(json);
        free(path);
    }
    return ok;
}

/* ---- reading ---- */

gb_vocab *gb_folder_vocab(const gb_folder *folder, gb_status *status)
{
    uint32_t limit = gb_folder_config(folder)->vocab_size;
    char *path = gb_path_join(status, folder_body(folder), "vocab.txt");
    gb_vocab *vocab = path ? gb_vocab_load(path, status) : NULL;
    if (vocab && gb_vocab_size(vocab) > limit) {
        gb_fail(status, GB_DATA, path, "vocabulary and model are not of one kind",
                "%u tokens, but the model has %u word embeddings", gb_vocab_size(vocab), limit);
        gb_vocab_destroy(vocab);
        vocab = NULL;
    }
    free(path);
    return vocab;
}

bool folder_tokenizer_params(const json_t *json, const char *path, gb_tokenizer_params *params,
                             gb_status *status)
{
    bool strip;
    if (!gb_json_get_bool(json, "do_lower_case", path, &params->lower_case, status))
        return false;
    strip = params->lower_case;
    if (!gb_json_get_bool(json, "strip_accents", path, &strip, status) ||
        !gb_json_get_bool(json, "tokenize_chinese_chars", path, &params->split_cjk, status) ||
        !gb_json_get_u32(json, "max_input_chars_per_word", path, &params->max_word_chars, status))
        return false;
    return strip == params->lower_case ||
           gb_fail(status, GB_DATA, path, "accents are stripped when letters are lowered only",
                   "\"strip_accents\" differs from \"do_lower_case\"");
}

bool gb_folder_tokenizer(const gb_folder *folder, gb_tokenizer_params *params, gb_status *status)
{
    gb_tokenizer_params read = GB_TOKENIZER_DEFAULTS;
    char *path = gb_path_join(status, folder_body(folder), "tokenizer_config.json");
    bool ok = path != NULL;
    if (ok && gb_file_exists(path)) {
        json_t *json = gb_json_load(path, GB_JSON_REALS, status);
        ok = json && folder_tokenizer_params(json, path, &read, status);
        json_decref(json);
    }
    free(path);
    if (ok)
        *params = read;
    return ok;
}
