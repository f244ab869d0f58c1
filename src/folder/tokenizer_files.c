/* The tokenizer of a model folder: vocab.txt, Hugging Face's three JSON files, and reading back. */
#include "folder/internal.h"

#include <stdlib.h>
#include <string.h>

/* ---- writing ---- */

bool folder_load_if_there(const char *dir, const char *name, uint32_t flags, json_t **json,
                          gb_status *status)
{
    char *path = gb_path_join(status, dir, name);
    bool ok =
        path && (!gb_file_exists(path) || (*json = gb_json_load(path, flags, status)) != NULL);
    free(path);
    return ok;
}

json_t *folder_added_token(const char *content, uint32_t id, bool special, bool lstrip,
                           bool normalized)
{
    return json_pack("{s:I, s:s, s:b, s:b, s:b, s:b, s:b}", "id", (json_int_t)id, "content",
                     content, "single_word", 0, "lstrip", lstrip, "rstrip", 0, "normalized",
                     normalized, "special", special);
}

json_t *folder_template_piece(const char *kind, const char *id, int type)
{
    return json_pack("{s:{s:s, s:i}}", kind, "id", id, "type_id", type);
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

/* [CLS] A [SEP] and [CLS] A [SEP] B [SEP]; of a language model A [SEP] and A [SEP] B [SEP] */
static json_t *post_processor(const gb_vocab *vocab, const gb_special_ids *ids, bool language)
{
    const char *cls = gb_vocab_token(vocab, ids->cls), *sep = gb_vocab_token(vocab, ids->sep);
    json_t *single = json_pack("[o, o]", folder_template_piece("Sequence", "A", 0),
                               folder_template_piece("SpecialToken", sep, 0));
    json_t *pair = json_pack("[o, o, o, o]", folder_template_piece("Sequence", "A", 0),
                             folder_template_piece("SpecialToken", sep, 0),
                             folder_template_piece("Sequence", "B", 1),
                             folder_template_piece("SpecialToken", sep, 1));
    if (!language) {
        json_array_insert_new(single, 0, folder_template_piece("SpecialToken", cls, 0));
        json_array_insert_new(pair, 0, folder_template_piece("SpecialToken", cls, 0));
    }
    json_t *specials = json_pack("{s:{s:s, s:[i], s:[s]}, s:{s:s, s:[i], s:[s]}}", cls, "id", cls,
                                 "ids", (int)ids->cls, "tokens", cls, sep, "id", sep, "ids",
                                 (int)ids->sep, "tokens", sep);
    return json_pack("{s:s, s:o, s:o, s:o}", "type", "TemplateProcessing", "single", single, "pair",
                     pair, "special_tokens", specials);
}

static json_t *word_piece(const gb_vocab *vocab, uint32_t max_word_chars)
{
    json_t *words = json_object();
    for (uint32_t id = 0; id < gb_vocab_pieces(vocab); id++)
        if (json_object_set_new(words, gb_vocab_token(vocab, id), json_integer(id)) != 0) {
            json_decref(words);
            return NULL;
        }
    return json_pack("{s:s, s:s, s:s, s:I, s:o}", "type", "WordPiece", "unk_token",
                     gb_vocab_token(vocab, gb_vocab_specials(vocab).unk),
                     "continuing_subword_prefix", "##", "max_input_chars_per_word",
                     (json_int_t)max_word_chars, "vocab", words);
}

/* Puts an added token into a list by id. */
static int list_added(json_t *list, const gb_added_token *token)
{
    json_t *entry =
        folder_added_token(token->text, token->id, token->special, false, token->normalized);
    json_object_set_new(entry, "single_word", json_boolean(token->whole_word));
    size_t at = json_array_size(list);
    while (at > 0 && json_integer_value(json_object_get(json_array_get(list, at - 1), "id")) >
                         (json_int_t)token->id)
        at--;
    return json_array_insert_new(list, at, entry);
}

/* The special tokens and those added, as tokenizer.json lists them: by id. */
static json_t *added_tokens(const gb_vocab *vocab, const gb_late_settings *late)
{
    const gb_late_marker *markers[2];
    const gb_added_token *token;
    uint32_t count = added_markers(vocab, late, markers);
    json_t *list = json_array();
    int failed = list == NULL;
    for (size_t i = 0; (token = gb_vocab_added(vocab, i)) != NULL; i++)
        failed |= list_added(list, token);
    for (uint32_t i = 0; i < count; i++)
        failed |= json_array_append_new(
            list, folder_added_token(markers[i]->text, markers[i]->id, false, false, true));
    if (!failed)
        return list;
    json_decref(list);
    return NULL;
}

/* The same as tokenizer_config.json has them: an object by id. */
static json_t *added_tokens_decoder(const gb_vocab *vocab, const gb_late_settings *late)
{
    json_t *list = added_tokens(vocab, late), *map = json_object();
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
                     "truncation", "padding", "added_tokens", added_tokens(vocab, late),
                     "normalizer", normalizer, "pre_tokenizer", "type", "BertPreTokenizer",
                     "post_processor", post_processor(vocab, &ids, language), "decoder", decoder,
                     "model", word_piece(vocab, params->max_word_chars));
}

/* Keys of the special tokens in Hugging Face's files, in the order of gb_special_ids. */
static const char *const special_keys[GB_SPECIALS] = {"pad_token", "unk_token", "cls_token",
                                                      "sep_token", "mask_token"};

static json_t *special_tokens(const gb_vocab *vocab)
{
    gb_special_ids ids = gb_vocab_specials(vocab);
    const uint32_t id[GB_SPECIALS] = {ids.pad, ids.unk, ids.cls, ids.sep, ids.mask};
    json_t *json = json_object();
    for (int i = 0; i < GB_SPECIALS; i++)
        if (id[i] != GB_MAP_NONE)
            json_object_set_new(json, special_keys[i], json_string(gb_vocab_token(vocab, id[i])));
    return json;
}

static json_t *tokenizer_config(const gb_vocab *vocab, const gb_tokenizer_params *tokenizer,
                                uint32_t max_length, bool language, const gb_late_settings *late)
{
    json_t *json = special_tokens(vocab);
    json_t *rest = json_pack(
        "{s:o, s:b, s:b, s:b, s:I, s:I, s:n, s:n, s:b, s:s}", "added_tokens_decoder",
        added_tokens_decoder(vocab, late), "clean_up_tokenization_spaces", 1, "do_basic_tokenize",
        1, "do_lower_case", tokenizer->lower_case, "max_input_chars_per_word",
        (json_int_t)tokenizer->max_word_chars, "model_max_length", (json_int_t)max_length,
        "never_split", "strip_accents", "tokenize_chinese_chars", tokenizer->split_cjk,
        "tokenizer_class",
        language || !gb_vocab_is_bert(vocab) ? "PreTrainedTokenizerFast" : "BertTokenizer");
    if (!rest || json_object_update(json, rest) != 0) {
        json_decref(json);
        json = NULL;
    }
    json_decref(rest);
    return json;
}

/* The same of a tokenizer that is not WordPiece; what makes tokens is in its tokenizer.json. */
static json_t *plain_config(const gb_vocab *vocab, uint32_t max_length)
{
    json_t *json = special_tokens(vocab);
    json_object_set_new(json, "clean_up_tokenization_spaces", json_false());
    json_object_set_new(json, "model_max_length", json_integer(max_length));
    json_object_set_new(json, "tokenizer_class", json_string("PreTrainedTokenizerFast"));
    return json;
}

bool folder_write_tokenizer(const char *dir, const gb_vocab *vocab,
                            const gb_tokenizer_params *tokenizer, uint32_t max_length,
                            folder_reader reader, const gb_late_settings *late, gb_status *status)
{
    bool language = reader == FOLDER_OF_LANGUAGE;
    const char *source = gb_vocab_source(vocab);
    char *words = source ? NULL : gb_path_join(status, dir, "vocab.txt");
    json_t *fast = source ? gb_json_parse(source, strlen(source), 0, dir, status)
                          : fast_tokenizer(vocab, tokenizer, language, late);
    json_t *config = source ? plain_config(vocab, max_length)
                            : tokenizer_config(vocab, tokenizer, max_length, language, late);
    json_t *special = special_tokens(vocab);
    if (reader == FOLDER_WITHOUT_TYPES)
        json_object_set_new(config, "model_input_names",
                            json_pack("[s, s]", "input_ids", "attention_mask"));
    bool ok = (source || (words && gb_vocab_save(vocab, words, status))) &&
              gb_json_save_in(fast, FOLDER_JSON | (source ? JSON_REAL_PRECISION(17) : 0), dir,
                              "tokenizer.json", status) &&
              gb_json_save_in(config, FOLDER_JSON, dir, "tokenizer_config.json", status) &&
              gb_json_save_in(special, FOLDER_JSON, dir, "special_tokens_map.json", status);
    json_decref(fast);
    json_decref(config);
    json_decref(special);
    free(words);
    return ok;
}

/* ---- reading ---- */

/* Names of special tokens where no file gives them: BERT's, or those of models after RoBERTa. */
static const char *const bert_names[GB_SPECIALS] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};
static const char *const roberta_names[GB_SPECIALS] = {"<pad>", "<unk>", "<s>", "</s>", "<mask>"};

static void find_names(const folder_tokens *files, const char *const otherwise[GB_SPECIALS],
                       const char *names[GB_SPECIALS])
{
    for (int i = 0; i < GB_SPECIALS; i++) {
        const char *found = folder_token_text(json_object_get(files->config, special_keys[i]));
        if (!found)
            found = folder_token_text(json_object_get(files->special, special_keys[i]));
        names[i] = found ? found : otherwise[i];
    }
}

/* A vocabulary of WordPiece with the casing that tokenizer_config.json says, and the tokens that
 * the files beside it add. */
static gb_vocab *read_words(const char *dir, const char *path, const folder_tokens *files,
                            const char *const otherwise[GB_SPECIALS], gb_status *status)
{
    const char *names[GB_SPECIALS];
    gb_vocab_rules rules = {.words = GB_TOKENIZER_DEFAULTS};
    find_names(files, otherwise ? otherwise : bert_names, names);
    folder_json_longest(files->fast, &rules.words.max_word_chars);
    bool usual = true;
    for (int i = 0; i < GB_SPECIALS; i++)
        usual = usual && strcmp(names[i], bert_names[i]) == 0;
    gb_vocab *vocab = gb_vocab_load_named(path, usual ? NULL : names, status);
    if (vocab &&
        (!files->config || folder_tokenizer_params(files->config, dir, &rules.words, status))) {
        gb_vocab_set_rules(vocab, &rules);
        if (folder_json_agrees(dir, files->fast, vocab, status) &&
            folder_add_tokens(dir, files, vocab, status))
            return vocab;
    }
    gb_vocab_destroy(vocab);
    return NULL;
}

/* The first of the files that a folder has, as the tokenizer.json that it is or would be; NULL with
 * GB_OK in status: it has none. */
static json_t *load_fast(const char *dir, const folder_tokens *files,
                         const char *const names[GB_SPECIALS], char **path, gb_status *status)
{
    static const char *const kinds[] = {"tokenizer.json", "merges.txt", "sentencepiece.bpe.model"};
    for (int k = 0; k < 3; k++) {
        *path = gb_path_join(status, dir, kinds[k]);
        if (!*path)
            return NULL;
        bool prefix = json_is_true(json_object_get(files->config, "add_prefix_space"));
        if (gb_file_exists(*path))
            return k == 0   ? gb_json_load(*path, 0, status)
                   : k == 1 ? folder_json_of_merges(dir, names, prefix, status)
                            : folder_json_of_sentencepiece(*path, status);
        free(*path);
        *path = NULL;
    }
    bool llama = gb_folder_is_llama(dir);
    gb_fail(status, GB_DATA, dir,
            llama ? "gabbro tokenize takes it, for encode, evaluate and mine"
                  : "give a folder with vocab.txt, tokenizer.json, merges.txt or "
                    "sentencepiece.bpe.model",
            llama ? "the tokenizer of a LLaMA is not one of encoders"
                  : "there is no tokenizer that can be read");
    return NULL;
}

/* A name of BERT's where the JSON has that token, else of RoBERTa's. */
static gb_vocab *read_fast(const char *dir, const folder_tokens *files,
                           const char *const otherwise[GB_SPECIALS], gb_status *status)
{
    const char *names[GB_SPECIALS];
    char *path = NULL;
    find_names(files, otherwise ? otherwise : roberta_names, names);
    json_t *json = load_fast(dir, files, names, &path, status);
    if (json && !otherwise && folder_json_has_token(json, bert_names[2]))
        find_names(files, bert_names, names);
    bool ok = json && (!folder_json_words(json) ||
                       folder_drop_markers(dir, json_object_get(json, "added_tokens"),
                                           folder_json_words(json), status));
    gb_vocab *vocab = ok ? folder_vocab_of_json(json, path, names, status) : NULL;
    json_decref(json);
    free(path);
    return vocab;
}

static bool lowers_texts(const gb_vocab *vocab)
{
    const gb_vocab_rules *rules = gb_vocab_get_rules(vocab);
    bool lower = rules->kind == GB_VOCAB_WORDS && rules->words.lower_case;
    for (int i = 0; i < GB_NORMAL_STEPS; i++)
        lower = lower || rules->steps[i] == GB_NORMAL_LOWER;
    return lower;
}

bool folder_check_lowering(const char *dir, bool lowers, gb_status *status)
{
    const char *name = folder_transformer_settings(dir);
    json_t *json = NULL;
    bool wanted = false;
    char *path = gb_path_join(status, dir, name);
    bool ok = path && folder_load_if_there(dir, name, GB_JSON_REALS, &json, status) &&
              gb_json_get_bool(json, "do_lower_case", path, &wanted, status);
    if (ok && wanted && !lowers)
        ok = gb_fail(status, GB_DATA, path, "lower the texts yourself, and make it false",
                     "\"do_lower_case\" is true, but the tokenizer keeps capitals, and only "
                     "tokenizers lower them here");
    json_decref(json);
    free(path);
    return ok;
}

gb_vocab *folder_read_vocab(const char *dir, const char *const otherwise[GB_SPECIALS],
                            gb_status *status)
{
    folder_tokens files = {0};
    char *words = gb_path_join(status, dir, "vocab.txt");
    bool plain = words && gb_file_exists(words);
    bool ok =
        words &&
        folder_load_if_there(dir, "tokenizer_config.json", GB_JSON_REALS, &files.config, status) &&
        folder_load_if_there(dir, "special_tokens_map.json", GB_JSON_REALS, &files.special,
                             status) &&
        (!plain || folder_load_if_there(dir, "tokenizer.json", 0, &files.fast, status));
    gb_vocab *vocab = !ok     ? NULL
                      : plain ? read_words(dir, words, &files, otherwise, status)
                              : read_fast(dir, &files, otherwise, status);
    if (vocab && !folder_check_lowering(dir, lowers_texts(vocab), status)) {
        gb_vocab_destroy(vocab);
        vocab = NULL;
    }
    json_decref(files.config);
    json_decref(files.special);
    json_decref(files.fast);
    free(words);
    return vocab;
}

gb_vocab *gb_vocabulary_read(const char *dir, gb_status *status)
{
    return folder_read_vocab(dir, NULL, status);
}

bool gb_vocabulary_write(const char *dir, const gb_vocab *vocab, gb_status *status)
{
    const gb_tokenizer_params *words = &gb_vocab_get_rules(vocab)->words;
    if (gb_vocab_source(vocab) || !gb_vocab_is_plain(vocab))
        return folder_write_tokenizer(dir, vocab, words, GB_BERT_BASE.max_positions,
                                      FOLDER_WITH_TYPES, NULL, status);
    char *path = gb_path_join(status, dir, "vocab.txt");
    bool ok = path && gb_vocab_save(vocab, path, status);
    free(path);
    return ok;
}

gb_vocab *gb_folder_vocab(const gb_folder *folder, gb_status *status)
{
    uint32_t limit = gb_folder_config(folder)->vocab_size;
    const char *dir = folder_body(folder);
    gb_vocab *vocab = folder_read_vocab(
        dir, folder_architecture_of(gb_folder_config(folder)->kind)->specials, status);
    if (vocab && gb_vocab_size(vocab) > limit) {
        gb_fail(status, GB_DATA, dir, "vocabulary and model are not of one kind",
                "%u tokens, but the model has %u word embeddings", gb_vocab_size(vocab), limit);
        gb_vocab_destroy(vocab);
        vocab = NULL;
    }
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
