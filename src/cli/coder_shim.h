/* WordPiece alone, until model folders have a tokenizer of their own. */
#ifndef CLI_CODER_SHIM_H
#define CLI_CODER_SHIM_H
#include <gabbro/folder.h>
#include <stdlib.h>
#include <string.h>
typedef struct gb_coder {
    gb_vocab *vocab;           /* vocab.txt */
    gb_tokenizer *tokenizer;   /* over it */
    gb_language_config config; /* config.json */
} gb_coder;
typedef struct gb_coder_specials {
    uint32_t start, end, pad, unk; /* ids */
} gb_coder_specials;
static inline void gb_coder_close(gb_coder *c)
{
    if (!c)
        return;
    gb_tokenizer_destroy(c->tokenizer);
    gb_vocab_destroy(c->vocab);
    free(c);
}
static inline gb_coder *gb_coder_open(const char *folder, gb_status *status)
{
    gb_coder *c = gb_alloc(1, sizeof *c, status);
    char *vocab = gb_path_join(status, folder, "vocab.txt");
    char *config = gb_path_join(status, folder, "config.json");
    bool ok = c && vocab && config && gb_language_config_read(config, &c->config, status) &&
              (c->vocab = gb_vocab_load(vocab, status)) &&
              (c->tokenizer = gb_tokenizer_create(c->vocab, GB_TOKENIZER_DEFAULTS, status));
    free(vocab);
    free(config);
    if (ok)
        return c;
    gb_coder_close(c);
    return NULL;
}
static inline gb_coder_specials gb_coder_special_ids(const gb_coder *c)
{
    return (gb_coder_specials){c->config.start_id, c->config.end_id, GB_MAP_NONE, GB_MAP_NONE};
}
static inline bool gb_coder_encode(const gb_coder *c, const char *text, size_t length, gb_ids *ids,
                                   gb_status *status)
{
    bool t5 = c->config.kind == GB_LANGUAGE_T5;
    if (!gb_grow(&ids->data, &ids->capacity, ids->count + 1, sizeof *ids->data, status))
        return false;
    if (!t5)
        ids->data[ids->count++] = c->config.start_id;
    if (!gb_tokenize(c->tokenizer, text, length, ids, status) ||
        !gb_grow(&ids->data, &ids->capacity, ids->count + 1, sizeof *ids->data, status))
        return false;
    if (t5)
        ids->data[ids->count++] = c->config.end_id;
    return true;
}
static inline bool gb_coder_decode(const gb_coder *c, const uint32_t *ids, size_t count,
                                   gb_text *text, gb_status *status)
{
    for (size_t i = 0; i < count; i++) {
        const char *token = gb_vocab_token(c->vocab, ids[i]);
        if (!token)
            return gb_fail(status, GB_DATA, "vocab.txt", NULL, "token %u is not in it", ids[i]);
        if (gb_vocab_is_special(c->vocab, ids[i]) || ids[i] == c->config.end_id)
            continue;
        bool inside = gb_vocab_is_continuation(c->vocab, ids[i]);
        gb_text_printf(text, "%s%s", text->length && !inside ? " " : "", token + (inside ? 2 : 0));
    }
    return true;
}
#endif
