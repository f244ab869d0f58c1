/* The tokens that a model's folder adds to those of its WordPiece. Four files may name them, as
 * transformers wrote them over the years. */
#include "folder/internal.h"

#include <stdlib.h>
#include <string.h>

const char *folder_token_text(const json_t *token)
{
    return json_string_value(json_is_object(token) ? json_object_get(token, "content") : token);
}

/* A list being gathered. */
typedef struct gathering {
    const char *dir;       /* the folder */
    json_t *list;          /* as tokenizer.json has it, by id */
    const gb_vocab *vocab; /* tokens so far */
    gb_status *status;     /* of a failure */
} gathering;

static double id_of(const json_t *token)
{
    const json_t *id = json_object_get(token, "id");
    return json_is_number(id) ? json_number_value(id) : -1;
}

/* Puts a token, whose reference is taken, into its place by id; the first one of a text counts. */
static bool gather(const gathering *g, const char *file, json_t *token)
{
    if (!token)
        return gb_fail_memory(g->status, "reading a tokenizer");
    const char *text = gb_json_text(token, "content");
    double id = id_of(token);
    size_t at = 0, count = json_array_size(g->list);
    bool known = false, other = !*text || !(id >= 0 && id < FOLDER_MANY_IDS);
    for (size_t i = 0; !other && i < count; i++) {
        const json_t *there = json_array_get(g->list, i);
        bool same = strcmp(gb_json_text(there, "content"), text) == 0;
        known |= same;
        other = same != (id_of(there) == id);
        at += id_of(there) < id;
    }
    if (other)
        gb_fail(g->status, GB_DATA, g->dir, "take the tokenizer from the model's own folder again",
                "the added token \"%.60s\" of %s has no id of its own", text, file);
    bool ok = !other && (known || json_array_insert(g->list, at, token) == 0 ||
                         gb_fail_memory(g->status, "reading a tokenizer"));
    json_decref(token);
    return ok;
}

/* "added_tokens_decoder" of tokenizer_config.json: an object by id. */
static bool gather_decoder(const gathering *g, const json_t *decoder)
{
    const char *key;
    json_t *token;
    json_object_foreach((json_t *)decoder, key, token)
    {
        char *end;
        double id = strtod(key, &end);
        json_t *copy = json_is_object(token) && !*end ? json_copy(token) : json_object();
        json_object_set_new(copy, "id", json_real(*end ? -1 : id));
        if (!gather(g, "tokenizer_config.json", copy))
            return false;
    }
    return true;
}

static bool gather_fast(const gathering *g, const json_t *fast)
{
    const json_t *token;
    size_t i;
    json_array_foreach(
        json_object_get(fast, "added_tokens"), i,
        token) if (!gather(g, "tokenizer.json", json_incref((json_t *)token))) return false;
    return true;
}

/* A list of special tokens by their texts, whose ids stand elsewhere. */
static bool gather_names(const gathering *g, const json_t *names, const json_t *ids)
{
    for (size_t i = 0; i < json_array_size(names); i++) {
        const char *text = folder_token_text(json_array_get(names, i));
        uint32_t id = text ? gb_vocab_id(g->vocab, text, strlen(text)) : GB_MAP_NONE;
        double number = json_number_value(text ? json_object_get(ids, text) : NULL);
        bool there = false;
        for (size_t j = 0; text && j < json_array_size(g->list); j++)
            there |= !strcmp(gb_json_text(json_array_get(g->list, j), "content"), text);
        if (!there && !gather(g, "additional_special_tokens",
                              folder_added_token(text ? text : "",
                                                 id != GB_MAP_NONE ? id
                                                 : number >= 1     ? (uint32_t)number
                                                                   : GB_MAP_NONE,
                                                 true, false, false)))
            return false;
    }
    return true;
}

/* added_tokens.json: {"[ENT]": 30522}, of no special ones. */
static bool gather_mapped(const gathering *g, const json_t *ids)
{
    const char *text;
    json_t *id;
    json_object_foreach((json_t *)ids, text, id)
    {
        double number = json_is_number(id) ? json_number_value(id) : -1;
        bool special = gb_vocab_is_special(g->vocab, gb_vocab_id(g->vocab, text, strlen(text)));
        json_t *token = folder_added_token(text, 0, special, false, !special);
        json_object_set_new(token, "id", json_real(number));
        if (!gather(g, "added_tokens.json", token))
            return false;
    }
    return true;
}

/* transformers asks the older files only where the newer ones have no list. */
static bool gather_old(const gathering *g, const json_t *config, const json_t *special)
{
    static const char *const keys[] = {"additional_special_tokens", "extra_special_tokens"};
    json_t *ids = NULL;
    bool ok = folder_load_if_there(g->dir, "added_tokens.json", GB_JSON_REALS, &ids, g->status);
    for (int k = 0; ok && k < 2; k++)
        ok = gather_names(g, json_object_get(special, keys[k]), ids) &&
             gather_names(g, json_object_get(config, keys[k]), ids);
    ok = ok && gather_mapped(g, ids);
    json_decref(ids);
    return ok;
}

bool folder_drop_markers(const char *dir, json_t *list, size_t pieces, gb_status *status)
{
    json_t *markers = folder_late_markers(dir, status);
    for (size_t m = 0; m < json_array_size(markers); m++) {
        const char *marker = json_string_value(json_array_get(markers, m));
        for (size_t i = json_array_size(list); i-- > 0;)
            if (!strcmp(gb_json_text(json_array_get(list, i), "content"), marker) &&
                id_of(json_array_get(list, i)) >= (double)pieces)
                json_array_remove(list, i);
    }
    bool ok = markers != NULL;
    json_decref(markers);
    return ok;
}

bool folder_look_for(gb_vocab *vocab, const json_t *token, bool wordpiece, gb_status *status)
{
    const bool special = json_is_true(json_object_get(token, "special"));
    const json_t *normalized = json_object_get(token, "normalized");
    const gb_added_token added = {
        .text = gb_json_text(token, "content"),
        .id = (uint32_t)id_of(token),
        .special = special,
        /* white space makes no tokens of WordPiece */
        .strip_left = !wordpiece && json_is_true(json_object_get(token, "lstrip")),
        .strip_right = !wordpiece && json_is_true(json_object_get(token, "rstrip")),
        .whole_word = json_is_true(json_object_get(token, "single_word")),
        .normalized = json_is_boolean(normalized) ? json_is_true(normalized) : !special};
    return gb_vocab_add_special(vocab, &added, status);
}

/* Gives an added token its id in the vocabulary, behind the pieces or of one of them. */
static bool number_added(const gathering *g, gb_vocab *vocab, const json_t *token)
{
    const char *text = gb_json_text(token, "content");
    uint32_t id = (uint32_t)id_of(token), known = gb_vocab_id(vocab, text, strlen(text));
    if (known != GB_MAP_NONE ? known != id : id < gb_vocab_size(vocab))
        return gb_fail(g->status, GB_DATA, g->dir, "remove the file that is not the model's",
                       "the added token \"%.60s\" has the id %u, which vocab.txt gives to "
                       "\"%.60s\"",
                       text, id, id < gb_vocab_size(vocab) ? gb_vocab_token(vocab, id) : "none");
    while (known == GB_MAP_NONE && gb_vocab_size(vocab) < id)
        if (!gb_vocab_add(vocab, "", 0, 0, g->status))
            return false;
    return known != GB_MAP_NONE || gb_vocab_add(vocab, text, strlen(text), 0, g->status);
}

bool folder_add_tokens(const char *dir, const folder_tokens *files, gb_vocab *vocab,
                       gb_status *status)
{
    const gathering g = {dir, json_array(), vocab, status};
    if (!g.list)
        return gb_fail_memory(status, "reading a tokenizer");
    const json_t *decoder = json_object_get(files->config, "added_tokens_decoder");
    bool ok = gather_decoder(&g, decoder) && gather_fast(&g, files->fast) &&
              (json_is_object(decoder) || gather_old(&g, files->config, files->special)) &&
              folder_drop_markers(dir, g.list, gb_vocab_size(vocab), status);
    gb_vocab_end_pieces(vocab);
    for (size_t i = 0; ok && i < json_array_size(g.list); i++) {
        const json_t *token = json_array_get(g.list, i);
        ok = number_added(&g, vocab, token) && folder_look_for(vocab, token, true, status);
    }
    json_decref(g.list);
    return ok;
}
