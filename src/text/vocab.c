/* The WordPiece vocabulary and its file: one token a line, the id is the line's number from 0. */
#include "text/vocab.h"

#include <stdlib.h>
#include <string.h>

typedef struct vocab_token {
    const char *bytes; /* in the arena, NUL-terminated */
    size_t length;     /* bytes without the NUL */
} vocab_token;

struct gb_vocab {
    gb_arena *arena;                 /* the tokens' bytes */
    vocab_token *tokens;             /* by id */
    size_t count;                    /* tokens */
    size_t capacity;                 /* tokens allocated */
    gb_map *ids;                     /* token -> id */
    size_t max_length;               /* bytes of the longest token */
    uint32_t special[SPECIAL_COUNT]; /* ids in the order of special_names */
};

const char *const special_names[SPECIAL_COUNT] = {"[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"};

gb_vocab *text_vocab_create(gb_status *status)
{
    gb_vocab *vocab = gb_alloc(1, sizeof *vocab, status);
    if (!vocab)
        return NULL;
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

const char *text_vocab_find_specials(gb_vocab *vocab)
{
    for (int i = 0; i < SPECIAL_COUNT; i++) {
        vocab->special[i] = gb_vocab_id(vocab, special_names[i], strlen(special_names[i]));
        if (vocab->special[i] == GB_MAP_NONE)
            return special_names[i];
    }
    return NULL;
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

static bool read_tokens(gb_vocab *vocab, gb_lines *lines, gb_status *status)
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
    const char *missing = text_vocab_find_specials(vocab);
    if (missing)
        return gb_lines_fail(lines, status, hint, "the vocabulary ends without the token %s",
                             missing);
    return true;
}

gb_vocab *gb_vocab_load(const char *path, gb_status *status)
{
    gb_lines *lines = gb_lines_open(path, status);
    if (!lines)
        return NULL;
    gb_vocab *vocab = text_vocab_create(status);
    if (vocab && !read_tokens(vocab, lines, status)) {
        gb_vocab_destroy(vocab);
        vocab = NULL;
    }
    gb_lines_close(lines);
    return vocab;
}

bool gb_vocab_save(const gb_vocab *vocab, const char *path, gb_status *status)
{
    gb_out *out = gb_out_open(path, status);
    if (!out)
        return false;
    FILE *stream = gb_out_stream(out);
    for (size_t i = 0; i < vocab->count; i++) {
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

uint32_t text_vocab_special(const gb_vocab *vocab, int which)
{
    return vocab->special[which];
}

gb_special_ids gb_vocab_specials(const gb_vocab *vocab)
{
    const uint32_t *id = vocab->special;
    return (gb_special_ids){.pad = id[0], .unk = id[1], .cls = id[2], .sep = id[3], .mask = id[4]};
}

bool gb_vocab_hash(const gb_vocab *vocab, char hash[GB_HASH_SIZE], gb_status *status)
{
    gb_text list = {0};
    for (uint32_t id = 0; id < gb_vocab_size(vocab); id++)
        gb_text_printf(&list, "%s\n", gb_vocab_token(vocab, id));
    bool ok = !list.failed || gb_fail_memory(status, "comparing vocabularies");
    if (ok)
        gb_hash_bytes(list.data ? list.data : "", list.length, hash);
    gb_text_free(&list);
    return ok;
}

bool gb_vocab_is_special(const gb_vocab *vocab, uint32_t id)
{
    for (int i = 0; i < SPECIAL_COUNT; i++)
        if (vocab->special[i] == id)
            return true;
    return false;
}

bool gb_vocab_is_continuation(const gb_vocab *vocab, uint32_t id)
{
    return id < vocab->count && strncmp(vocab->tokens[id].bytes, "##", 2) == 0;
}
