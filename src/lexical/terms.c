/* Where BM25's terms come from: Lucene's English analysis, or the ids of a tokenizer. */
#include <gabbro/lexical.h>

#include <stdlib.h>

static void *english_open(const void *config, gb_status *status)
{
    (void)config;
    return gb_analyzer_create(status);
}

static void english_close(void *state)
{
    gb_analyzer_destroy(state);
}

static bool english_terms(void *state, const char *text, size_t length, gb_term_fn *term, void *ctx,
                          gb_status *status)
{
    return gb_analyze(state, text, length, term, ctx, status);
}

gb_term_source gb_terms_english(void)
{
    return (gb_term_source){"english", NULL, english_open, english_close, english_terms};
}

/* A tokenizer (shared, thread-safe) and the ids of the last text. */
typedef struct token_state {
    const gb_tokenizer *tokenizer; /* of the source */
    gb_ids ids;                    /* reused */
} token_state;

static void *tokens_open(const void *config, gb_status *status)
{
    token_state *state = gb_alloc(1, sizeof *state, status);
    if (state)
        state->tokenizer = config;
    return state;
}

static void tokens_close(void *state)
{
    if (state)
        free(((token_state *)state)->ids.data);
    free(state);
}

static bool tokens_terms(void *state, const char *text, size_t length, gb_term_fn *term, void *ctx,
                         gb_status *status)
{
    token_state *own = state;
    own->ids.count = 0;
    if (!gb_tokenize(own->tokenizer, text, length, &own->ids, status))
        return false;
    for (size_t i = 0; i < own->ids.count; i++)
        if (!term(ctx, (const char *)&own->ids.data[i], sizeof own->ids.data[i]))
            return false;
    return true;
}

gb_term_source gb_terms_tokens(const gb_tokenizer *tokenizer)
{
    return (gb_term_source){"tokens", tokenizer, tokens_open, tokens_close, tokens_terms};
}
