/* The tokenizer of a language model's folder. What a sentencepiece model does with text is in the
 * text room; here are the files beside it, read as Hugging Face transformers does. */
#include "folder/internal.h"

#include <stdlib.h>
#include <string.h>

#define EXTRA_IDS 100 /* sentinels of T5 where its files do not say how many */
#define EXTRA_MAX 10000

struct gb_coder {
    gb_lm_config config;     /* kind and tokens of the model */
    gb_coder_ids ids;        /* special tokens */
    uint32_t size;           /* one more than the largest id */
    gb_pieces *pieces;       /* sentencepiece; or NULL: */
    gb_vocab *vocab;         /* WordPiece's tokens */
    gb_tokenizer *tokenizer; /* WordPiece */
    bool add_start, add_end; /* what a prompt gets */
    char hash[GB_HASH_SIZE]; /* of its files */
    bool clean_up;           /* decoding takes spaces away before punctuation */
};

/* The JSON files beside a tokenizer; NULL where there is none. */
typedef struct settings {
    const char *folder; /* in which they are */
    char *path;         /* of tokenizer_config.json, for messages */
    json_t *config;     /* tokenizer_config.json, or an empty object */
    json_t *special;    /* special_tokens_map.json */
    json_t *added;      /* added_tokens.json */
} settings;

/* ---- files ---- */

static void settings_free(settings *s)
{
    json_decref(s->config);
    json_decref(s->special);
    json_decref(s->added);
    free(s->path);
}

static bool settings_read(const char *folder, settings *s, gb_status *status)
{
    s->path = gb_path_join(status, folder, "tokenizer_config.json");
    if (!s->path ||
        !folder_load_if_there(folder, "tokenizer_config.json", GB_JSON_REALS, &s->config, status))
        return false;
    if (!s->config && !(s->config = json_object()))
        return gb_fail_memory(status, "reading a tokenizer");
    /* With a list of its own, the other two files are not asked. */
    if (json_is_object(json_object_get(s->config, "added_tokens_decoder")))
        return true;
    return folder_load_if_there(folder, "special_tokens_map.json", GB_JSON_REALS, &s->special,
                                status) &&
           folder_load_if_there(folder, "added_tokens.json", GB_JSON_REALS, &s->added, status);
}

/* Text of the token `key`, e.g. "eos_token"; `otherwise` where the files are silent. */
static const char *named_token(const settings *s, const char *key, const char *otherwise)
{
    const char *text = folder_token_text(json_object_get(s->special, key));
    text = text ? text : folder_token_text(json_object_get(s->config, key));
    return text ? text : otherwise;
}

static const json_t *additional_tokens(const settings *s)
{
    const json_t *list = json_object_get(s->special, "additional_special_tokens");
    return list ? list : json_object_get(s->config, "additional_special_tokens");
}

/* ---- sentencepiece ---- */

/* Names of the tokens a tokenizer always has; NULL: it has none. */
static const char *const keys[] = {"bos_token", "eos_token", "unk_token", "pad_token"};
enum { BOS, EOS, UNK, PAD, KEYS };
static const char *const names_of[2][KEYS] = {
    [GB_LM_T5] = {NULL, "</s>", "<unk>", "<pad>"}, [GB_LM_LLAMA] = {"<s>", "</s>", "<unk>", NULL}};

static bool is_special(const settings *s, gb_lm_kind kind, const char *text)
{
    for (int k = 0; k < KEYS; k++) {
        const char *name = named_token(s, keys[k], names_of[kind][k]);
        if (name && !strcmp(name, text))
            return true;
    }
    const json_t *list = additional_tokens(s);
    for (size_t i = 0; i < json_array_size(list); i++) {
        const char *name = folder_token_text(json_array_get(list, i));
        if (name && !strcmp(name, text))
            return true;
    }
    return false;
}

static bool add_token(gb_coder *c, gb_added_token token, gb_status *status)
{
    if (token.id >= c->size)
        c->size = token.id + 1;
    return gb_pieces_add(c->pieces, &token, status);
}

/* added_tokens_decoder: {"32000": {"content": ..., "lstrip": ...}}. */
static bool add_listed(gb_coder *c, const settings *s, gb_status *status)
{
    const char *key;
    json_t *value, *list = json_object_get(s->config, "added_tokens_decoder");
    json_object_foreach(list, key, value)
    {
        char *end;
        unsigned long id = strtoul(key, &end, 10);
        gb_added_token token = {.text = folder_token_text(value), .id = (uint32_t)id};
        if (*end || !*key || id >= c->config.vocab_size || !token.text)
            return gb_fail(status, GB_DATA, s->path, "are tokenizer and model of one kind?",
                           "added token \"%.40s\" is none of the model's %u", key,
                           c->config.vocab_size);
        if (!gb_json_get_bool(value, "special", s->path, &token.special, status) ||
            !gb_json_get_bool(value, "lstrip", s->path, &token.strip_left, status) ||
            !gb_json_get_bool(value, "rstrip", s->path, &token.strip_right, status) ||
            !add_token(c, token, status))
            return false;
    }
    return true;
}

/* added_tokens.json: {"[PAD]": 32000}. */
static bool add_mapped(gb_coder *c, const settings *s, gb_status *status)
{
    const char *text;
    json_t *value;
    json_object_foreach(s->added, text, value)
    {
        double id = json_is_number(value) ? json_number_value(value) : -1;
        if (!(id >= 0 && id < c->config.vocab_size))
            return gb_fail(
                status, GB_DATA, "added_tokens.json", "are tokenizer and model of one kind?",
                "added token \"%.40s\" is none of the model's %u", text, c->config.vocab_size);
        gb_added_token token = {text, (uint32_t)id, is_special(s, c->config.kind, text), false,
                                false};
        if (gb_pieces_id(c->pieces, text) == GB_MAP_NONE && !add_token(c, token, status))
            return false;
    }
    return true;
}

/* T5: the last id is <extra_id_0>, and so on downwards. */
static bool add_sentinels(gb_coder *c, const settings *s, gb_status *status)
{
    uint32_t count = EXTRA_IDS, pieces = gb_pieces_count(c->pieces);
    if (!gb_json_get_u32(s->config, "extra_ids", s->path, &count, status))
        return false;
    if (count > EXTRA_MAX)
        return gb_fail(status, GB_DATA, s->path, "correct the file", "\"extra_ids\" is %u", count);
    for (uint32_t i = 0; i < count; i++) {
        char text[32];
        snprintf(text, sizeof text, "<extra_id_%u>", i);
        gb_added_token token = {text, pieces - 1 + count - i, true, true, true};
        if (gb_pieces_id(c->pieces, text) == GB_MAP_NONE && !add_token(c, token, status))
            return false;
    }
    return true;
}

/* Tokens that go by a name; those that are pieces keep their id. */
static bool add_named(gb_coder *c, const settings *s, uint32_t found[KEYS], gb_status *status)
{
    for (int k = 0; k < KEYS; k++) {
        const char *text = named_token(s, keys[k], names_of[c->config.kind][k]);
        found[k] = text ? gb_pieces_id(c->pieces, text) : GB_MAP_NONE;
        if (!text || found[k] == GB_MAP_NONE)
            continue;
        gb_added_token token = {text, found[k], true, false, false};
        if (!add_token(c, token, status))
            return false;
    }
    return true;
}

/* The model's configuration and its tokenizer speak of the same tokens. */
static bool check_ids(const gb_coder *c, const char *path, const uint32_t found[KEYS],
                      gb_status *status)
{
    bool llama = c->config.kind == GB_LM_LLAMA;
    static const char hint[] = "correct bos_token_id and eos_token_id in config.json";
    if (c->size > c->config.vocab_size)
        return gb_fail(status, GB_DATA, path, "tokenizer and model are not of one kind",
                       "%u tokens, but the model has %u word embeddings", c->size,
                       c->config.vocab_size);
    if (found[EOS] != c->config.end_id)
        return gb_fail(status, GB_DATA, path, hint,
                       "texts end with token %d, and with %u in config.json", (int)found[EOS],
                       c->config.end_id);
    if (llama && found[BOS] != c->config.start_id)
        return gb_fail(status, GB_DATA, path, hint,
                       "texts begin with token %d, and with %u in config.json", (int)found[BOS],
                       c->config.start_id);
    return true;
}

static bool open_pieces(gb_coder *c, const char *path, const settings *s, gb_status *status)
{
    bool t5 = c->config.kind == GB_LM_T5;
    gb_pieces_params params = {.legacy = true, .prefix_space = true, .trim = t5};
    uint32_t found[KEYS];
    c->add_start = !t5;
    c->add_end = t5;
    c->clean_up = t5;
    if (!gb_json_get_bool(s->config, "legacy", s->path, &params.legacy, status) ||
        !gb_json_get_bool(s->config, "add_prefix_space", s->path, &params.prefix_space, status) ||
        !gb_json_get_bool(s->config, "clean_up_tokenization_spaces", s->path, &c->clean_up, status))
        return false;
    if (!t5 && (!gb_json_get_bool(s->config, "add_bos_token", s->path, &c->add_start, status) ||
                !gb_json_get_bool(s->config, "add_eos_token", s->path, &c->add_end, status)))
        return false;
    c->pieces = gb_pieces_open(path, params, status);
    if (!c->pieces)
        return false;
    c->size = gb_pieces_count(c->pieces);
    if (!add_listed(c, s, status) || !add_mapped(c, s, status) ||
        (t5 && !add_sentinels(c, s, status)) || !add_named(c, s, found, status) ||
        !check_ids(c, path, found, status))
        return false;
    c->ids = (gb_coder_ids){
        .start = c->config.start_id, .end = c->config.end_id, .pad = found[PAD], .unk = found[UNK]};
    return true;
}

/* ---- WordPiece ---- */

static bool open_words(gb_coder *c, const char *path, const settings *s, gb_status *status)
{
    c->add_start = c->config.kind == GB_LM_LLAMA;
    c->add_end = !c->add_start;
    c->clean_up = true;
    if (!gb_json_get_bool(s->config, "clean_up_tokenization_spaces", s->path, &c->clean_up,
                          status) ||
        !(c->vocab = gb_vocabulary_read(s->folder, status)) ||
        !(c->tokenizer =
              gb_tokenizer_create(c->vocab, gb_vocab_get_rules(c->vocab)->words, status)))
        return false;
    gb_special_ids ids = gb_vocab_specials(c->vocab);
    c->size = gb_vocab_size(c->vocab);
    c->ids = (gb_coder_ids){
        .start = c->config.start_id, .end = c->config.end_id, .pad = ids.pad, .unk = ids.unk};
    return c->size <= c->config.vocab_size ||
           gb_fail(status, GB_DATA, path, "tokenizer and model are not of one kind",
                   "%u tokens, but the model has %u word embeddings", c->size,
                   c->config.vocab_size);
}

/* Tokens with a space between, but not before "##". */
static bool decode_words(const gb_coder *c, const uint32_t *ids, size_t count, gb_text *text,
                         gb_status *status)
{
    const size_t begin = text->length;
    for (size_t i = 0; i < count; i++) {
        const char *token = gb_vocab_token(c->vocab, ids[i]);
        if (!token || gb_vocab_is_special(c->vocab, ids[i]) || ids[i] == c->ids.end)
            continue;
        bool inside = text->length > begin && gb_vocab_is_continuation(c->vocab, ids[i]);
        if (text->length > begin && !inside)
            gb_text_append(text, " ", 1);
        gb_text_append(text, token + 2 * inside, strlen(token) - 2 * inside);
    }
    return !text->failed || gb_fail_memory(status, "putting words together");
}

/* ---- both ---- */

static bool open_tokenizer(gb_coder *c, const char *folder, const settings *s, gb_status *status)
{
    static const struct {
        const char *name; /* of the file */
        bool (*open)(gb_coder *c, const char *path, const settings *s, gb_status *status);
    } kinds[] = {
        {"spiece.model", open_pieces}, {"tokenizer.model", open_pieces}, {"vocab.txt", open_words}};
    for (int k = 0; k < 3; k++) {
        char *path = gb_path_join(status, folder, kinds[k].name);
        bool there = path && gb_file_exists(path);
        bool ok = there && kinds[k].open(c, path, s, status);
        bool stop = there || !path;
        free(path);
        if (stop)
            return ok;
    }
    return gb_fail(status, GB_DATA, folder,
                   "give a folder with spiece.model, tokenizer.model or vocab.txt",
                   "the model has no tokenizer that can be read");
}

/* What may be read beside config.json. */
static const char *const files[] = {
    "spiece.model",          "tokenizer.model",         "vocab.txt",
    "tokenizer_config.json", "special_tokens_map.json", "added_tokens.json"};
#define FILES (sizeof files / sizeof *files)

static bool hash_files(gb_coder *c, const char *folder, gb_status *status)
{
    gb_text list = {0};
    bool ok = true;
    gb_text_printf(&list, "%d %u %u\n", c->config.kind, c->config.start_id, c->config.end_id);
    for (size_t i = 0; ok && i < FILES; i++) {
        char *path = gb_path_join(status, folder, files[i]), hash[GB_HASH_SIZE] = "";
        ok = path && (!gb_file_exists(path) || gb_hash_file(path, hash, status));
        gb_text_printf(&list, "%s %s\n", files[i], hash);
        free(path);
    }
    ok = ok && (!list.failed || gb_fail_memory(status, "reading a tokenizer"));
    if (ok)
        gb_hash_bytes(list.data, list.length, c->hash);
    gb_text_free(&list);
    return ok;
}

static bool copy_file(const char *folder, const char *name, const char *to, gb_status *status)
{
    char *from = gb_path_join(status, folder, name), *path = gb_path_join(status, to, name);
    bool ok = from && path && (!gb_file_exists(from) || gb_copy_file(from, path, status));
    free(from);
    free(path);
    return ok;
}

bool gb_coder_copy(const char *folder, const char *to, gb_status *status)
{
    bool ok = copy_file(folder, "config.json", to, status);
    for (size_t i = 0; ok && i < FILES; i++)
        ok = copy_file(folder, files[i], to, status);
    return ok;
}

gb_coder *gb_coder_open(const char *folder, gb_status *status)
{
    gb_coder *c = gb_alloc(1, sizeof *c, status);
    char *path = gb_path_join(status, folder, "config.json");
    settings s = {.folder = folder};
    bool ok = c && path && gb_lm_config_read(path, &c->config, status) &&
              settings_read(folder, &s, status) && open_tokenizer(c, folder, &s, status) &&
              hash_files(c, folder, status);
    settings_free(&s);
    free(path);
    if (ok)
        return c;
    gb_coder_close(c);
    return NULL;
}

void gb_coder_close(gb_coder *coder)
{
    if (!coder)
        return;
    gb_pieces_close(coder->pieces);
    gb_tokenizer_destroy(coder->tokenizer);
    gb_vocab_destroy(coder->vocab);
    free(coder);
}

gb_coder_ids gb_coder_special_ids(const gb_coder *coder)
{
    gb_coder_ids ids = coder->ids;
    ids.before = coder->add_start ? ids.start : GB_MAP_NONE;
    ids.behind = coder->add_end ? ids.end : GB_MAP_NONE;
    return ids;
}

uint32_t gb_coder_around(const gb_coder *coder)
{
    return (uint32_t)coder->add_start + coder->add_end;
}

const char *gb_coder_hash(const gb_coder *coder)
{
    return coder->hash;
}

uint32_t gb_coder_size(const gb_coder *coder)
{
    return coder->size;
}

bool gb_coder_encode_bare(const gb_coder *coder, const char *text, size_t length, gb_ids *ids,
                          gb_status *status)
{
    return coder->pieces ? gb_pieces_encode(coder->pieces, text, length, ids, status)
                         : gb_tokenize(coder->tokenizer, text, length, ids, status);
}

bool gb_coder_encode(const gb_coder *coder, const char *text, size_t length, gb_ids *ids,
                     gb_status *status)
{
    const size_t begin = ids->count;
    if ((coder->add_start && !gb_ids_append(ids, coder->ids.start, status)) ||
        !gb_coder_encode_bare(coder, text, length, ids, status))
        return false;
    /* T5: an end token that the text ends with is not put there twice. */
    bool ended = coder->config.kind == GB_LM_T5 && ids->count > begin &&
                 ids->data[ids->count - 1] == coder->ids.end;
    return !coder->add_end || ended || gb_ids_append(ids, coder->ids.end, status);
}

/* Takes the place of every `from` in text[begin..] by `to`, which is shorter. */
static void shorten(gb_text *text, size_t begin, const char *from, const char *to)
{
    size_t out = begin, skip = strlen(from), put = strlen(to);
    for (size_t at = begin; at < text->length;) {
        if (text->length - at >= skip && !memcmp(text->data + at, from, skip)) {
            memcpy(text->data + out, to, put);
            out += put;
            at += skip;
        } else {
            text->data[out++] = text->data[at++];
        }
    }
    if (text->data) {
        text->length = out;
        text->data[out] = '\0';
    }
}

bool gb_coder_decode(const gb_coder *coder, const uint32_t *ids, size_t count, gb_text *text,
                     gb_status *status)
{
    static const char *const tidy[][2] = {
        {" .", "."},     {" ?", "?"},   {" !", "!"},   {" ,", ","},     {" ' ", "'"},
        {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
    const size_t begin = text->length;
    bool ok = coder->pieces ? gb_pieces_decode(coder->pieces, ids, count, text, status)
                            : decode_words(coder, ids, count, text, status);
    for (size_t i = 0; ok && coder->clean_up && i < sizeof tidy / sizeof *tidy; i++)
        shorten(text, begin, tidy[i][0], tidy[i][1]);
    return ok;
}
