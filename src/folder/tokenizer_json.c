/* tokenizer.json, the file of Hugging Face's tokenizers: a list of parts, of which those are read
 * that encoders have. What is not known here is refused by its name. */
#include "folder/internal.h"

#include <stdlib.h>
#include <string.h>

#define LEAST_ROOM 16

/* A file being read. */
typedef struct reading {
    const char *path;        /* for messages */
    const json_t *json;      /* all of it */
    gb_vocab *vocab;         /* being built */
    gb_vocab_rules rules;    /* of it */
    int steps;               /* of normalisation so far */
    bool normalizer;         /* BERT's is there */
    bool bert, bytes, marks; /* pre-tokenizers that are there: BERT's, ByteLevel, Metaspace */
    const char *names[GB_SPECIALS]; /* of special tokens */
    gb_status *status;              /* of a failure */
} reading;

static const char *type_of(const json_t *part)
{
    return gb_json_text(part, "type");
}

static bool refuse(const reading *r, const char *what, const char *name)
{
    return gb_fail(r->status, GB_DATA, r->path,
                   "WordPiece, byte-level BPE and Unigram are read, as BERT, RoBERTa, ModernBERT "
                   "and XLM-RoBERTa have them",
                   "%s \"%.60s\" is not known here", what, name);
}

static bool flag(const json_t *part, const char *key, bool otherwise)
{
    const json_t *value = json_object_get(part, key);
    return json_is_boolean(value) ? json_is_true(value) : otherwise;
}

/* Calls a function for a part, or for each of the parts of a "Sequence"; null: for none. */
static bool each_part(reading *r, const json_t *part, const char *list,
                      bool (*take)(reading *r, const json_t *part))
{
    if (!part || json_is_null(part))
        return true;
    if (strcmp(type_of(part), "Sequence") != 0)
        return take(r, part);
    const json_t *parts = json_object_get(part, list);
    for (size_t i = 0; i < json_array_size(parts); i++)
        if (!take(r, json_array_get(parts, i)))
            return false;
    return true;
}

/* ---- normalisation ---- */

static bool add_step(reading *r, gb_normal_step step)
{
    if (r->steps == GB_NORMAL_STEPS)
        return refuse(r, "a normalizer of many parts, such as", "Sequence");
    r->rules.steps[r->steps++] = step;
    return true;
}

/* BERT's, whose accents go when letters are lowered. */
static bool take_bert(reading *r, const json_t *part)
{
    bool lower = flag(part, "lowercase", true);
    if (flag(part, "strip_accents", lower) != lower)
        return refuse(r, "BertNormalizer with other \"strip_accents\" than", "lowercase");
    if (!flag(part, "clean_text", true))
        return refuse(r, "BertNormalizer without", "clean_text");
    r->normalizer = true;
    r->rules.words.lower_case = lower;
    r->rules.words.split_cjk = flag(part, "handle_chinese_chars", true);
    return true;
}

static bool take_charsmap(reading *r, const json_t *part)
{
    const json_t *text = json_object_get(part, "precompiled_charsmap");
    if (!json_string_length(text))
        return true;
    size_t length;
    unsigned char *bytes =
        gb_base64_read(json_string_value(text), json_string_length(text), &length, r->status);
    bool ok = bytes && gb_vocab_set_charsmap(r->vocab, bytes, length, r->status);
    free(bytes);
    return ok && add_step(r, GB_NORMAL_CHARSMAP);
}

/* Several spaces become one, or a mark: the only replacements that are known. */
static bool take_replace(reading *r, const json_t *part)
{
    const char *regex = gb_json_text(json_object_get(part, "pattern"), "Regex");
    const char *by = gb_json_text(part, "content");
    bool mark = strcmp(by, "\xE2\x96\x81") == 0;
    if (strcmp(regex, " {2,}") != 0 || (strcmp(by, " ") != 0 && !mark))
        return refuse(r, "the normalizer Replace by", by);
    return add_step(r, mark ? GB_NORMAL_MARK : GB_NORMAL_COLLAPSE);
}

static bool take_normalizer(reading *r, const json_t *part)
{
    static const struct {
        const char *type;
        gb_normal_step step;
    } plain[] = {{"NFC", GB_NORMAL_NFC},         {"NFD", GB_NORMAL_NFD},
                 {"NFKC", GB_NORMAL_NFKC},       {"NFKD", GB_NORMAL_NFKD},
                 {"Lowercase", GB_NORMAL_LOWER}, {"StripAccents", GB_NORMAL_ACCENTS}};
    const char *type = type_of(part);
    for (size_t i = 0; i < sizeof plain / sizeof *plain; i++)
        if (strcmp(type, plain[i].type) == 0)
            return add_step(r, plain[i].step);
    if (strcmp(type, "BertNormalizer") == 0)
        return take_bert(r, part);
    if (strcmp(type, "Precompiled") == 0)
        return take_charsmap(r, part);
    if (strcmp(type, "Replace") == 0)
        return take_replace(r, part);
    if (strcmp(type, "Strip") == 0)
        return (!flag(part, "strip_left", true) || add_step(r, GB_NORMAL_LEFT)) &&
               (!flag(part, "strip_right", true) || add_step(r, GB_NORMAL_RIGHT));
    return refuse(r, "the normalizer", type);
}

/* ---- words ---- */

static bool take_pre_tokenizer(reading *r, const json_t *part)
{
    const char *type = type_of(part);
    if (strcmp(type, "BertPreTokenizer") == 0) {
        r->bert = true;
    } else if (strcmp(type, "ByteLevel") == 0) {
        r->bytes = true;
        r->rules.prefix_space = flag(part, "add_prefix_space", true);
        r->rules.cut = flag(part, "use_regex", true);
    } else if (strcmp(type, "WhitespaceSplit") == 0) {
        r->rules.split_spaces = true;
    } else if (strcmp(type, "Metaspace") == 0) {
        const char *scheme = gb_json_text(part, "prepend_scheme");
        bool space = *scheme ? strcmp(scheme, "never") != 0 : flag(part, "add_prefix_space", true);
        r->marks = true;
        r->rules.prefix_space = space;
        r->rules.prefix_first = strcmp(scheme, "first") == 0;
        r->rules.cut = flag(part, "split", true);
        if (strcmp(gb_json_text(part, "replacement"), "\xE2\x96\x81") != 0)
            return refuse(r, "Metaspace with the replacement", gb_json_text(part, "replacement"));
    } else {
        return refuse(r, "the pre-tokenizer", type);
    }
    return true;
}

/* ---- tokens ---- */

/* A token by its id. */
typedef struct numbered {
    const char *text; /* NULL: there is none of this id */
    bool added;       /* stands in the list of added tokens alone */
} numbered;
typedef struct number_list {
    numbered *tokens; /* by id */
    size_t count;     /* one more than the largest id */
    size_t capacity;  /* allocated */
} number_list;

static bool set_number(const reading *r, number_list *list, const json_t *id, const char *text,
                       bool added)
{
    double number = json_number_value(id);
    if (!json_is_number(id) || !(number >= 0 && number < FOLDER_MANY_IDS))
        return gb_fail(r->status, GB_DATA, r->path, NULL, "the token \"%.60s\" has no id", text);
    size_t at = (size_t)number, had = list->count;
    if (at >= had) {
        size_t room = at + 1 > list->capacity ? 2 * at + LEAST_ROOM : at + 1;
        if (!gb_grow(&list->tokens, &list->capacity, room, sizeof *list->tokens, r->status))
            return false;
        memset(list->tokens + had, 0, sizeof *list->tokens * (at + 1 - had));
        list->count = at + 1;
    }
    numbered *token = &list->tokens[at];
    if (token->text && strcmp(token->text, text))
        return gb_fail(r->status, GB_DATA, r->path, NULL,
                       "the id %zu is of two tokens, \"%.60s\" and \"%.60s\"", at, token->text,
                       text);
    if (!token->text)
        *token = (numbered){text, added};
    return true;
}

/* The vocabulary of the model: {"token": id}, or of unigrams [["token", score]]. */
static bool number_tokens(const reading *r, number_list *list)
{
    const json_t *model = json_object_get(r->json, "model"), *token;
    json_t *words = json_object_get(model, "vocab"), *id;
    const char *text;
    size_t i;
    json_object_foreach(words, text, id) if (!set_number(r, list, id, text, false)) return false;
    if (json_is_array(words))
        list->tokens = gb_alloc(json_array_size(words), sizeof *list->tokens, r->status);
    if (json_is_array(words) && !list->tokens)
        return false;
    list->capacity = json_is_array(words) ? json_array_size(words) : list->capacity;
    json_array_foreach(words, i, token)
    {
        text = json_string_value(json_array_get(token, 0));
        if (!text || !json_is_number(json_array_get(token, 1)))
            return gb_fail(r->status, GB_DATA, r->path, NULL, "token %zu has no text or score", i);
        list->tokens[list->count++] = (numbered){.text = text};
    }
    if (!list->count)
        return gb_fail(r->status, GB_DATA, r->path, NULL, "the vocabulary is empty");
    json_array_foreach(json_object_get(r->json, "added_tokens"), i,
                       token) if (!set_number(r, list, json_object_get(token, "id"),
                                              gb_json_text(token, "content"), true)) return false;
    return true;
}

static double score_of(const reading *r, size_t id)
{
    const json_t *words = json_object_get(json_object_get(r->json, "model"), "vocab");
    return json_number_value(json_array_get(json_array_get(words, id), 1));
}

static bool add_tokens(reading *r)
{
    number_list list = {0};
    bool ok = number_tokens(r, &list);
    size_t pieces = list.count;
    while (pieces && (!list.tokens[pieces - 1].text || list.tokens[pieces - 1].added))
        pieces--;
    for (size_t i = 0; ok && i < list.count; i++) {
        if (i == pieces)
            gb_vocab_end_pieces(r->vocab);
        const char *text = list.tokens[i].text ? list.tokens[i].text : "";
        double score = list.tokens[i].added ? 0 : score_of(r, i);
        ok = gb_vocab_add(r->vocab, text, strlen(text), score, r->status);
    }
    free(list.tokens);
    return ok;
}

/* "left right", or ["left", "right"]. */
static bool add_merge(reading *r, const json_t *merge)
{
    const char *left = json_string_value(json_array_get(merge, 0));
    const char *right = json_string_value(json_array_get(merge, 1));
    const char *both = json_string_value(merge),
               *space = both ? strchr(both + (*both == ' '), ' ') : NULL;
    char *copy = NULL;
    if (space) {
        if (!(copy = gb_strdup(both, r->status)))
            return false;
        copy[space - both] = '\0';
        left = copy;
        right = copy + (space - both) + 1;
    }
    bool ok = left && right ? gb_vocab_add_merge(r->vocab, left, right, r->status)
                            : gb_fail(r->status, GB_DATA, r->path, NULL, "a merge is no pair");
    free(copy);
    return ok;
}

/* Tokens that are looked for in texts: of WordPiece its special ones, whatever the list says, as
 * transformers does. */
static bool add_added(reading *r)
{
    const json_t *token;
    size_t i;
    bool words = r->rules.kind == GB_VOCAB_WORDS;
    for (int name = 0; words && name < GB_SPECIALS; name++) {
        const char *text = r->names[name] ? r->names[name] : "";
        const gb_added_token added = {
            .text = text, .id = gb_vocab_id(r->vocab, text, strlen(text)), .special = true};
        if (added.id != GB_MAP_NONE && !gb_vocab_add_special(r->vocab, &added, r->status))
            return false;
    }
    json_array_foreach(json_object_get(r->json, "added_tokens"), i,
                       token) if (!folder_look_for(r->vocab, token, words, r->status)) return false;
    return true;
}

/* ---- models ---- */

void folder_json_longest(const json_t *json, uint32_t *most)
{
    const json_t *model = json_object_get(json, "model");
    double number = json_number_value(json_object_get(model, "max_input_chars_per_word"));
    if (number >= 1 && number < FOLDER_MANY_IDS)
        *most = (uint32_t)number;
}

size_t folder_json_words(const json_t *json)
{
    const json_t *model = json_object_get(json, "model");
    return json_object_get(model, "merges") ? 0 : json_object_size(json_object_get(model, "vocab"));
}

static bool read_words(reading *r, const json_t *model)
{
    const char *prefix = gb_json_text(model, "continuing_subword_prefix");
    r->rules.kind = GB_VOCAB_WORDS;
    folder_json_longest(r->json, &r->rules.words.max_word_chars);
    if (!r->bert || r->bytes || r->marks)
        return refuse(r, "WordPiece without", "BertPreTokenizer");
    if (!r->normalizer || r->steps)
        return refuse(r, "WordPiece without, or with more than, the normalizer", "BertNormalizer");
    return strcmp(prefix, "##") == 0 || refuse(r, "WordPiece with the prefix", prefix);
}

static bool read_bytes(reading *r, const json_t *model)
{
    const json_t *merge;
    size_t i;
    r->rules.kind = GB_VOCAB_BYTES;
    r->rules.whole_words = flag(model, "ignore_merges", false);
    if (!r->bytes || r->bert || r->marks || r->rules.split_spaces)
        return refuse(r, "BPE without", "ByteLevel");
    if (flag(model, "byte_fallback", false) || *gb_json_text(model, "end_of_word_suffix") ||
        *gb_json_text(model, "continuing_subword_prefix"))
        return refuse(r, "BPE with", "byte_fallback, or prefix or suffix");
    json_array_foreach(json_object_get(model, "merges"), i,
                       merge) if (!add_merge(r, merge)) return false;
    return true;
}

static bool read_unigrams(reading *r, const json_t *model)
{
    r->rules.kind = GB_VOCAB_UNIGRAM;
    if (!r->marks || r->bert || r->bytes)
        return refuse(r, "Unigram without", "Metaspace");
    if (flag(model, "byte_fallback", false))
        return refuse(r, "Unigram with", "byte_fallback");
    const json_t *id = json_object_get(model, "unk_id");
    if (json_is_number(id) && json_number_value(id) >= 0 && json_number_value(id) < FOLDER_MANY_IDS)
        r->names[1] = gb_vocab_token(r->vocab, (uint32_t)json_number_value(id));
    return true;
}

static bool read_model(reading *r)
{
    const json_t *model = json_object_get(r->json, "model");
    const char *type = type_of(model);
    if (!*type) /* older files do not say it */
        type = json_is_array(json_object_get(model, "merges"))  ? "BPE"
               : json_is_array(json_object_get(model, "vocab")) ? "Unigram"
                                                                : "WordPiece";
    const char *unknown = json_string_value(json_object_get(model, "unk_token"));
    if (unknown)
        r->names[1] = unknown;
    if (!add_tokens(r))
        return false;
    if (strcmp(type, "WordPiece") == 0)
        return read_words(r, model);
    if (strcmp(type, "BPE") == 0)
        return read_bytes(r, model);
    return strcmp(type, "Unigram") == 0 ? read_unigrams(r, model) : refuse(r, "the model", type);
}

/* ---- around texts ---- */

/* The special tokens of a template for one text, before it and behind it. */
static bool read_template(reading *r, const json_t *list)
{
    const char **name = &r->names[2];
    const json_t *item;
    size_t i;
    r->names[2] = r->names[3] = NULL;
    json_array_foreach(list, i, item)
    {
        const json_t *special = json_object_get(item, "SpecialToken");
        if (!special) {
            name = &r->names[3];
            continue;
        }
        if (*name)
            return refuse(r, "a post-processor with several tokens beside a text, such as",
                          gb_json_text(special, "id"));
        *name = gb_json_text(special, "id");
    }
    return true;
}

static bool take_post_processor(reading *r, const json_t *part)
{
    const char *type = type_of(part);
    if (strcmp(type, "TemplateProcessing") == 0)
        return read_template(r, json_object_get(part, "single"));
    if (strcmp(type, "BertProcessing") == 0 || strcmp(type, "RobertaProcessing") == 0) {
        const char *cls = json_string_value(json_array_get(json_object_get(part, "cls"), 0));
        const char *sep = json_string_value(json_array_get(json_object_get(part, "sep"), 0));
        r->names[2] = cls ? cls : r->names[2];
        r->names[3] = sep ? sep : r->names[3];
        return true;
    }
    return strcmp(type, "ByteLevel") == 0 || refuse(r, "the post-processor", type);
}

/* Every text has a token before it and one behind it, and what is no token becomes the unknown one,
 * but for bytes, which all are tokens. */
static bool check_specials(const reading *r)
{
    static const char *const missing[GB_SPECIALS] = {
        [1] = "for what it does not know", [2] = "before a text", [3] = "behind a text"};
    for (int i = r->rules.kind == GB_VOCAB_BYTES ? 2 : 1; i < 4; i++) {
        const char *name = r->names[i];
        if (name && gb_vocab_id(r->vocab, name, strlen(name)) != GB_MAP_NONE)
            continue;
        return gb_fail(
            r->status, GB_DATA, r->path, "take the tokenizer from the model's own folder again",
            name ? "its token %s, \"%.60s\", is not in the vocabulary" : "it has no token %s",
            missing[i], name);
    }
    return true;
}

/* ---- all of it ---- */

gb_vocab *folder_vocab_of_json(const json_t *json, const char *path,
                               const char *const names[GB_SPECIALS], gb_status *status)
{
    reading r = {.path = path, .json = json, .status = status};
    r.rules.words = GB_TOKENIZER_DEFAULTS;
    memcpy(r.names, names, sizeof r.names);
    r.vocab = gb_vocab_create(status);
    bool ok =
        r.vocab &&
        each_part(&r, json_object_get(json, "normalizer"), "normalizers", take_normalizer) &&
        each_part(&r, json_object_get(json, "pre_tokenizer"), "pretokenizers",
                  take_pre_tokenizer) &&
        read_model(&r) &&
        each_part(&r, json_object_get(json, "post_processor"), "processors", take_post_processor) &&
        add_added(&r) && check_specials(&r);
    char *text = ok && r.rules.kind != GB_VOCAB_WORDS
                     ? json_dumps(json, JSON_COMPACT | JSON_REAL_PRECISION(17))
                     : NULL;
    if (ok && r.rules.kind != GB_VOCAB_WORDS)
        ok = text ? gb_vocab_set_source(r.vocab, text, status)
                  : gb_fail_memory(status, "reading a tokenizer");
    free(text);
    if (ok) {
        gb_vocab_set_rules(r.vocab, &r.rules);
        gb_vocab_set_specials(r.vocab, r.names);
        return r.vocab;
    }
    if (status && !status->where[0])
        snprintf(status->where, sizeof status->where, "%s", path);
    gb_vocab_destroy(r.vocab);
    return NULL;
}

bool folder_json_has_token(const json_t *json, const char *token)
{
    const json_t *added;
    size_t i;
    json_array_foreach(json_object_get(json, "added_tokens"), i,
                       added) if (strcmp(gb_json_text(added, "content"), token) == 0) return true;
    return json_object_get(json_object_get(json_object_get(json, "model"), "vocab"), token) != NULL;
}

/* Do both lists have the same tokens at the same places? */
static bool same_tokens(const json_t *tokens, const gb_vocab *vocab, const char *path,
                        gb_status *status)
{
    const char *token;
    json_t *id;
    json_object_foreach((json_t *)tokens, token, id)
    {
        json_int_t number = json_integer_value(id);
        const char *other = number >= 0 && number < gb_vocab_size(vocab)
                                ? gb_vocab_token(vocab, (uint32_t)number)
                                : "";
        if (strcmp(other, token) != 0)
            return gb_fail(status, GB_DATA, path, "remove the file that is not the model's",
                           "vocab.txt and tokenizer.json disagree: token %lld is \"%.60s\" there "
                           "and \"%.60s\" here",
                           (long long)number, other, token);
    }
    return true;
}

/* A yes or no of tokenizer.json, and what the vocabulary's rules say of the same. */
typedef struct said_twice {
    const char *key, *in_config; /* its names in tokenizer.json, and tokenizer_config.json */
    bool there, here;            /* what they say */
} said_twice;

static bool same_rules(const json_t *normalizer, const gb_tokenizer_params *words, const char *path,
                       gb_status *status)
{
    bool lower = flag(normalizer, "lowercase", true);
    const said_twice rules[] = {
        {"lowercase", "do_lower_case", lower, words->lower_case},
        {"strip_accents", "strip_accents", flag(normalizer, "strip_accents", lower),
         words->lower_case},
        {"handle_chinese_chars", "tokenize_chinese_chars",
         flag(normalizer, "handle_chinese_chars", true), words->split_cjk},
        {"clean_text", "clean_text", flag(normalizer, "clean_text", true), true}};
    for (int i = 0; i < 4; i++)
        if (rules[i].there != rules[i].here)
            return gb_fail(status, GB_DATA, path, "make both what the model was trained with",
                           "\"%s\" is %s, but \"%s\" of tokenizer_config.json, or its default, is "
                           "%s",
                           rules[i].key, rules[i].there ? "true" : "false", rules[i].in_config,
                           rules[i].here ? "true" : "false");
    return true;
}

bool folder_json_agrees(const char *dir, const json_t *json, const gb_vocab *vocab,
                        gb_status *status)
{
    if (!json)
        return true;
    char *path = gb_path_join(status, dir, "tokenizer.json");
    const json_t *words = json_object_get(json_object_get(json, "model"), "vocab");
    const json_t *normalizer = json_object_get(json, "normalizer");
    const gb_tokenizer_params *rules = &gb_vocab_get_rules(vocab)->words;
    uint32_t longest = rules->max_word_chars;
    folder_json_longest(json, &longest);
    bool ok = path && (!json_is_object(words) || same_tokens(words, vocab, path, status)) &&
              (strcmp(type_of(normalizer), "BertNormalizer") != 0 ||
               same_rules(normalizer, rules, path, status));
    if (ok && longest != rules->max_word_chars)
        ok = gb_fail(status, GB_DATA, path, "make both what the model was trained with",
                     "\"max_input_chars_per_word\" is %u, and %u in tokenizer_config.json", longest,
                     rules->max_word_chars);
    free(path);
    return ok;
}
