/* The vocabulary, and the file of WordPiece's: one token a line, the id is the line's number from
 * 0. */
#include "text/tokenizer.h"

#include <stdlib.h>
#include <string.h>

typedef struct vocab_token {
    const char *bytes; /* in the arena, NUL-terminated */
    size_t length;     /* bytes without the NUL */
} vocab_token;

struct gb_vocab {
    gb_arena *arena;               /* the tokens' bytes */
    vocab_token *tokens;           /* by id */
    size_t count;                  /* tokens */
    size_t capacity;               /* tokens allocated */
    size_t pieces;                 /* tokens that words are made of, the first; 0: all */
    gb_map *ids;                   /* token -> id */
    size_t max_length;             /* bytes of the longest token */
    uint32_t special[GB_SPECIALS]; /* ids in the order of special_names, or GB_MAP_NONE */
    gb_vocab_rules rules;          /* how tokens are made of text */
    vocab_added *added;            /* looked for in texts, the longest first */
    size_t added_count;            /* of them */
    size_t added_capacity;         /* allocated */
    vocab_merge *merges;           /* of byte pairs, in their order */
    size_t merge_count;            /* of them */
    size_t merge_capacity;         /* allocated */
    double *scores;                /* [count] of unigrams, else NULL */
    size_t score_capacity;         /* allocated */
    unsigned char *charsmap;       /* sentencepiece's table, or NULL */
    size_t charsmap_length;        /* bytes of it */
    char *source;                  /* tokenizer.json, or NULL */
};

const char *const special_names[GB_SPECIALS] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

gb_vocab *gb_vocab_create(gb_status *status)
{
    gb_vocab *vocab = gb_alloc(1, sizeof *vocab, status);
    if (!vocab)
        return NULL;
    vocab->rules.words = GB_TOKENIZER_DEFAULTS;
    for (int i = 0; i < GB_SPECIALS; i++)
        vocab->special[i] = GB_MAP_NONE;
    vocab->arena = gb_arena_create(1 << 16, status);
    vocab->ids = vocab->arena ? gb_map_create(status) : NULL;
    if (!vocab->ids) {
        gb_vocab_destroy(vocab);
        return NULL;
    }
    return vocab;
}

void gb_vocab_destroy(gb_vocab *vocab)
{
    if (!vocab)
        return;
    gb_map_destroy(vocab->ids);
    free(vocab->tokens);
    free(vocab->added);
    free(vocab->merges);
    free(vocab->scores);
    free(vocab->charsmap);
    free(vocab->source);
    gb_arena_destroy(vocab->arena);
    free(vocab);
}

bool text_vocab_append(gb_vocab *vocab, const char *bytes, size_t length, gb_status *status)
{
    if (!gb_grow(&vocab->tokens, &vocab->capacity, vocab->count + 1, sizeof *vocab->tokens, status))
        return false;
    const char *copy = gb_arena_strdup(vocab->arena, bytes, length, status);
    if (!copy || !gb_map_set(vocab->ids, bytes, length, (uint32_t)vocab->count, status))
        return false;
    vocab->tokens[vocab->count++] = (vocab_token){copy, length};
    if (length > vocab->max_length)
        vocab->max_length = length;
    return true;
}

bool text_vocab_find_specials(gb_vocab *vocab, const char *const names[GB_SPECIALS],
                              const char **missing, gb_status *status)
{
    gb_vocab_set_specials(vocab, names);
    *missing = NULL;
    for (int i = 0; i < GB_SPECIALS && !*missing; i++) {
        const gb_added_token token = {.text = names[i], .id = vocab->special[i], .special = true};
        if (token.id == GB_MAP_NONE)
            *missing = names[i];
        else if (!gb_vocab_add_special(vocab, &token, status))
            return false;
    }
    return true;
}

/* Take one line of the file as the next token. */
static bool take_line(gb_vocab *vocab, const gb_lines *lines, const char *line, size_t length,
                      gb_status *status)
{
    const char *hint = "take vocab.txt from the model's own folder again";
    if (length == 0)
        return gb_lines_fail(lines, status, hint, "a vocabulary has no empty tokens");
    if (!gb_utf8_valid(line, length))
        return gb_lines_fail(lines, status, hint, "the token is not valid UTF-8");
    uint32_t known = gb_vocab_id(vocab, line, length);
    if (known != GB_MAP_NONE)
        return gb_lines_fail(lines, status, hint, "the token \"%.*s\" stands on line %u already",
                             length < 60 ? (int)length : 60, line, known + 1);
    if (vocab->count >= INT32_MAX)
        return gb_lines_fail(lines, status, hint, "a vocabulary has at most 2^31 - 1 tokens");
    return text_vocab_append(vocab, line, length, status);
}

static bool read_tokens(gb_vocab *vocab, gb_lines *lines, const char *const names[GB_SPECIALS],
                        gb_status *status)
{
    char *line;
    size_t length;
    int got;
    while ((got = gb_lines_next(lines, &line, &length, status)) == 1)
        if (!take_line(vocab, lines, line, length, status))
            return false;
    if (got < 0)
        return false;
    const char *hint = "give a WordPiece vocabulary (vocab.txt) with [PAD], [UNK], [CLS], [SEP] "
                       "and [MASK]";
    if (vocab->count == 0)
        return gb_lines_fail(lines, status, hint, "the vocabulary is empty");
    const char *missing;
    return text_vocab_find_specials(vocab, names, &missing, status) &&
           (!missing || gb_lines_fail(lines, status, names == special_names ? hint : NULL,
                                      "the vocabulary ends without the token %s", missing));
}

gb_vocab *gb_vocab_load_named(const char *path, const char *const names[GB_SPECIALS],
                              gb_status *status)
{
    gb_lines *lines = gb_lines_open(path, status);
    if (!lines)
        return NULL;
    gb_vocab *vocab = gb_vocab_create(status);
    if (vocab && !read_tokens(vocab, lines, names ? names : special_names, status)) {
        gb_vocab_destroy(vocab);
        vocab = NULL;
    }
    gb_lines_close(lines);
    return vocab;
}

gb_vocab *gb_vocab_load(const char *path, gb_status *status)
{
    return gb_vocab_load_named(path, NULL, status);
}

bool gb_vocab_save(const gb_vocab *vocab, const char *path, gb_status *status)
{
    gb_out *out = gb_out_open(path, status);
    if (!out)
        return false;
    FILE *stream = gb_out_stream(out);
    for (size_t i = 0; i < gb_vocab_pieces(vocab); i++) {
        fwrite(vocab->tokens[i].bytes, 1, vocab->tokens[i].length, stream);
        fputc('\n', stream);
    }
    return gb_out_commit(out, status);
}

uint32_t gb_vocab_size(const gb_vocab *vocab)
{
    return (uint32_t)vocab->count;
}

const char *gb_vocab_token(const gb_vocab *vocab, uint32_t id)
{
    return id < vocab->count ? vocab->tokens[id].bytes : NULL;
}

size_t text_vocab_token_length(const gb_vocab *vocab, uint32_t id)
{
    return vocab->tokens[id].length;
}

size_t text_vocab_longest(const gb_vocab *vocab)
{
    return vocab->max_length;
}

uint32_t gb_vocab_id(const gb_vocab *vocab, const char *token, size_t length)
{
    return gb_map_get(vocab->ids, token, length);
}

gb_special_ids gb_vocab_specials(const gb_vocab *vocab)
{
    const uint32_t *id = vocab->special;
    return (gb_special_ids){.pad = id[0], .unk = id[1], .cls = id[2], .sep = id[3], .mask = id[4]};
}

bool gb_vocab_is_bert(const gb_vocab *vocab)
{
    bool named = vocab->rules.kind == GB_VOCAB_WORDS;
    for (int i = 0; i < GB_SPECIALS; i++)
        named = named && vocab->special[i] != GB_MAP_NONE &&
                strcmp(vocab->tokens[vocab->special[i]].bytes, special_names[i]) == 0;
    return named;
}

bool gb_vocab_is_special(const gb_vocab *vocab, uint32_t id)
{
    for (int i = 0; i < GB_SPECIALS; i++)
        if (vocab->special[i] == id && id != GB_MAP_NONE)
            return true;
    return false;
}

void gb_vocab_set_specials(gb_vocab *vocab, const char *const names[GB_SPECIALS])
{
    for (int i = 0; i < GB_SPECIALS; i++)
        vocab->special[i] = names[i] ? gb_vocab_id(vocab, names[i], strlen(names[i])) : GB_MAP_NONE;
}

bool gb_vocab_is_continuation(const gb_vocab *vocab, uint32_t id)
{
    return id < vocab->count && strncmp(vocab->tokens[id].bytes, "##", 2) == 0;
}

/* ---- what other vocabularies than WordPiece's have ---- */

bool gb_vocab_add(gb_vocab *vocab, const char *bytes, size_t length, double score,
                  gb_status *status)
{
    size_t room = vocab->count + 1;
    bool scored = vocab->scores != NULL;
    if ((score != 0 || scored) &&
        !gb_grow(&vocab->scores, &vocab->score_capacity, room, sizeof *vocab->scores, status))
        return false;
    for (size_t i = scored ? vocab->count : 0; vocab->scores && i <= vocab->count; i++)
        vocab->scores[i] = i == vocab->count ? score : 0;
    if (vocab->count < INT32_MAX && gb_vocab_id(vocab, bytes, length) == GB_MAP_NONE)
        return text_vocab_append(vocab, bytes, length, status);
    if (!gb_grow(&vocab->tokens, &vocab->capacity, room, sizeof *vocab->tokens, status))
        return false;
    vocab->tokens[vocab->count++] = (vocab_token){"", 0};
    return true;
}

double text_vocab_score(const gb_vocab *vocab, uint32_t id)
{
    return vocab->scores ? vocab->scores[id] : 0;
}

bool gb_vocab_add_merge(gb_vocab *vocab, const char *left, const char *right, gb_status *status)
{
    if (!gb_grow(&vocab->merges, &vocab->merge_capacity, vocab->merge_count + 1,
                 sizeof *vocab->merges, status))
        return false;
    char *both = gb_format(status, "%s%s", left, right);
    if (!both)
        return false;
    const vocab_merge merge = {gb_vocab_id(vocab, left, strlen(left)),
                               gb_vocab_id(vocab, right, strlen(right)),
                               gb_vocab_id(vocab, both, strlen(both))};
    free(both);
    vocab->merges[vocab->merge_count++] = merge;
    return (merge.left != GB_MAP_NONE && merge.right != GB_MAP_NONE &&
            merge.joined != GB_MAP_NONE) ||
           gb_fail(status, GB_DATA, NULL, NULL, "the merge \"%.60s %.60s\" is not of its tokens",
                   left, right);
}

const vocab_merge *text_vocab_merges(const gb_vocab *vocab, size_t *count)
{
    *count = vocab->merge_count;
    return vocab->merges;
}

void gb_vocab_end_pieces(gb_vocab *vocab)
{
    vocab->pieces = vocab->count;
}

uint32_t gb_vocab_pieces(const gb_vocab *vocab)
{
    return (uint32_t)(vocab->pieces ? vocab->pieces : vocab->count);
}

/* Whether an added token goes before another one: the longest first, then by id, so that the order
 * does not hang on the file that they are read from. */
static bool goes_before(const gb_added_token *a, size_t length, const vocab_added *b)
{
    return length > b->length || (length == b->length && a->id < b->says.id);
}

static void remove_added(gb_vocab *vocab, const char *text)
{
    size_t kept = 0;
    for (size_t i = 0; i < vocab->added_count; i++)
        if (strcmp(vocab->added[i].says.text, text) != 0)
            vocab->added[kept++] = vocab->added[i];
    vocab->added_count = kept;
}

bool gb_vocab_add_special(gb_vocab *vocab, const gb_added_token *token, gb_status *status)
{
    size_t length = strlen(token->text);
    if (!length)
        return true;
    remove_added(vocab, token->text);
    size_t at = vocab->added_count;
    if (!gb_grow(&vocab->added, &vocab->added_capacity, at + 1, sizeof *vocab->added, status))
        return false;
    vocab_added added = {length, *token};
    if (!(added.says.text = gb_arena_strdup(vocab->arena, token->text, length, status)))
        return false;
    for (; at > 0 && goes_before(token, length, &vocab->added[at - 1]); at--)
        vocab->added[at] = vocab->added[at - 1];
    vocab->added[at] = added;
    vocab->added_count++;
    return true;
}

const gb_added_token *gb_vocab_added(const gb_vocab *vocab, size_t index)
{
    return index < vocab->added_count ? &vocab->added[index].says : NULL;
}

bool gb_vocab_set_charsmap(gb_vocab *vocab, const void *bytes, size_t length, gb_status *status)
{
    if (!text_charsmap_check(bytes, length))
        return gb_fail(status, GB_DATA, NULL,
                       "take the tokenizer from the model's own folder again",
                       "the table of replacements (\"precompiled_charsmap\") is damaged");
    unsigned char *copy = gb_alloc(length, 1, status);
    if (!copy)
        return false;
    memcpy(copy, bytes, length);
    free(vocab->charsmap);
    vocab->charsmap = copy;
    vocab->charsmap_length = length;
    return true;
}

const unsigned char *text_vocab_charsmap(const gb_vocab *vocab, size_t *length)
{
    *length = vocab->charsmap_length;
    return vocab->charsmap;
}

void gb_vocab_set_rules(gb_vocab *vocab, const gb_vocab_rules *rules)
{
    vocab->rules = *rules;
}

const gb_vocab_rules *gb_vocab_get_rules(const gb_vocab *vocab)
{
    return &vocab->rules;
}

bool gb_vocab_set_source(gb_vocab *vocab, const char *text, gb_status *status)
{
    char *copy = gb_strdup(text, status);
    if (!copy)
        return false;
    free(vocab->source);
    vocab->source = copy;
    return true;
}

const char *gb_vocab_source(const gb_vocab *vocab)
{
    return vocab->source;
}

/* ---- hash ---- */

bool gb_vocab_is_plain(const gb_vocab *vocab)
{
    const gb_tokenizer_params *words = &vocab->rules.words;
    bool plain = gb_vocab_is_bert(vocab) && words->lower_case && words->split_cjk &&
                 words->max_word_chars == GB_TOKENIZER_DEFAULTS.max_word_chars;
    for (size_t i = 0; plain && i < vocab->added_count; i++) {
        const gb_added_token *a = &vocab->added[i].says;
        plain = gb_vocab_is_special(vocab, a->id) && !a->whole_word && !a->normalized;
    }
    return plain;
}

/* Whether texts could have other ids if the tokens behind the pieces were pieces. Of WordPiece that
 * is said wherever there are some; of other kinds they are found in texts before words are cut, but
 * for those that must stand alone. */
static bool pieces_count(const gb_vocab *vocab)
{
    bool count = vocab->rules.kind == GB_VOCAB_WORDS;
    for (size_t i = 0; i < vocab->added_count; i++)
        count |= vocab->added[i].says.whole_word && vocab->added[i].says.id >= vocab->pieces;
    return count && vocab->pieces && vocab->pieces < vocab->count;
}

/* What is not BERT's uncased WordPiece. What came later than the first line is said only where it
 * is not as usual: names of artifacts hang on the hash. */
static void describe(const gb_vocab *vocab, gb_text *list)
{
    const gb_vocab_rules *r = &vocab->rules;
    if (gb_vocab_is_plain(vocab))
        return;
    gb_text_printf(list, "rules %d %d %d %d %d %d %d %d\n", r->kind, r->words.lower_case,
                   r->words.split_cjk, r->split_spaces, r->prefix_space, r->prefix_first, r->cut,
                   r->whole_words);
    if (r->words.max_word_chars != GB_TOKENIZER_DEFAULTS.max_word_chars)
        gb_text_printf(list, "longest %u\n", r->words.max_word_chars);
    if (pieces_count(vocab))
        gb_text_printf(list, "pieces %zu\n", vocab->pieces);
    for (int i = 0; i < GB_NORMAL_STEPS; i++)
        gb_text_printf(list, "step %d\n", r->steps[i]);
    for (int i = 0; i < GB_SPECIALS; i++)
        gb_text_printf(list, "special %u\n", vocab->special[i]);
    for (size_t i = 0; i < vocab->added_count; i++) {
        const gb_added_token *a = &vocab->added[i].says;
        gb_text_printf(list, "added %s %u %d %d %d %d\n", a->text, a->id, a->strip_left,
                       a->strip_right, a->whole_word, a->normalized);
    }
    for (size_t i = 0; i < vocab->merge_count; i++)
        gb_text_printf(list, "merge %u %u\n", vocab->merges[i].left, vocab->merges[i].right);
    for (size_t i = 0; vocab->scores && i < vocab->count; i++)
        gb_text_printf(list, "%.17g\n", vocab->scores[i]);
    if (vocab->charsmap)
        gb_text_append(list, (const char *)vocab->charsmap, vocab->charsmap_length);
}

bool gb_vocab_hash(const gb_vocab *vocab, char hash[GB_HASH_SIZE], gb_status *status)
{
    gb_text list = {0};
    for (uint32_t id = 0; id < gb_vocab_size(vocab); id++)
        gb_text_printf(&list, "%s\n", gb_vocab_token(vocab, id));
    describe(vocab, &list);
    bool ok = !list.failed || gb_fail_memory(status, "comparing vocabularies");
    if (ok)
        gb_hash_bytes(list.data ? list.data : "", list.length, hash);
    gb_text_free(&list);
    return ok;
}
