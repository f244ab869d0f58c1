/* What encoding a collection takes, for a plan of the cost. */
#include "private.h"

/* Queries of a split, or of all that judge a model. */
static bool count_queries(const gb_collection *collection, const char *name, uint32_t *count,
                          gb_status *status)
{
    gb_split split = {0};
    gb_splits splits = {0};
    bool ok = name ? gb_split_open(collection, name, &split, status)
                   : gb_splits_open(collection, &splits, status);
    *count = split.count;
    for (size_t i = 0; i < splits.count; i++)
        *count += splits.items[i].count;
    gb_split_free(&split);
    gb_splits_free(&splits);
    return ok;
}

/* Tokens of one text of a table, those around it among them. */
static double tokens_at(const gb_row_file *tokens, uint32_t row, uint32_t around, uint32_t most)
{
    size_t length;
    gb_row_file_row(tokens, row, &length);
    return length + around > most ? most : (double)length + around;
}

/* The same in the mean. */
static double text_tokens(const gb_row_file *tokens, uint32_t around, uint32_t max_length)
{
    uint32_t count = (uint32_t)gb_row_file_count(tokens);
    double rows = 0;
    for (uint32_t i = 0; i < count; i++)
        rows += tokens_at(tokens, i, around, max_length);
    return count ? rows / count : 0;
}

/* Arithmetic of the masked-LM head at all of them. */
static double head_flops(const gb_bert_config *config, double tokens)
{
    double h = config->hidden_size;
    return 2 * tokens * h * (h + config->vocab_size);
}

/* What is counted: an encoder, or a LLaMA. */
typedef struct costed {
    gb_model_input model;       /* of an encoder */
    gb_language_input language; /* of a LLaMA */
    bool sparse;                /* vectors of terms */
    uint32_t around;            /* tokens around a text */
    uint32_t width;             /* of a vector */
} costed;

static bool open_model(costed *c, const char *path, const gb_tokens *tokens, gb_status *status)
{
    if (gb_model_is_language(path)) {
        if (!gb_language_input_open(&c->language, path, tokens, status))
            return false;
        c->around = gb_coder_around(c->language.coder);
        c->width = c->language.config.hidden_size;
        return true;
    }
    bool ok = gb_model_input_open(&c->model, path, tokens, status) &&
              gb_folder_is_sparse(gb_folder_path(c->model.folder), &c->sparse, status);
    c->around = 2;
    c->width = c->sparse ? c->model.config.vocab_size : c->model.config.hidden_size;
    return ok;
}

/* Arithmetic of one text of a table, in the mean. */
static double text_flops(const costed *c, const gb_row_file *tokens, uint32_t max_length)
{
    const gb_bert_config *config = &c->model.config;
    uint32_t count = (uint32_t)gb_row_file_count(tokens);
    double tokens_of_text = text_tokens(tokens, c->around, max_length), sum = 0;
    double head = c->sparse ? head_flops(config, tokens_of_text) : 0;
    if (!c->language.coder)
        return count ? gb_encode_flops(config, tokens, NULL, count, max_length) / count + head : 0;
    for (uint32_t i = 0; i < count; i++)
        sum +=
            gb_generate_flops(&c->language.config, tokens_at(tokens, i, c->around, max_length), 0);
    return count ? sum / count : 0;
}

bool gb_print_encoding_cost(const gb_retriever_params *params, const char *collection_step,
                            const char *split, FILE *out, gb_status *status)
{
    costed c = {0};
    gb_tokens tokens = {0};
    uint32_t queries;
    gb_collection *collection = gb_open_collection(collection_step, status);
    bool ok = collection && count_queries(collection, split, &queries, status) &&
              gb_open_tokens(params->tokens, NULL, &tokens, status) &&
              open_model(&c, params->model, &tokens, status);
    if (ok)
        fprintf(out,
                "passages=%u queries=%u passage_flops=%.6g query_flops=%.6g passage_tokens=%.6g "
                "query_tokens=%.6g width=%u\n",
                (uint32_t)gb_row_file_count(tokens.passages), queries,
                text_flops(&c, tokens.passages, tokens.max_passage),
                text_flops(&c, tokens.queries, tokens.max_query),
                text_tokens(tokens.passages, c.around, tokens.max_passage),
                text_tokens(tokens.queries, c.around, tokens.max_query), c.width);
    gb_tokens_close(&tokens);
    gb_model_input_close(&c.model);
    gb_language_input_close(&c.language);
    gb_collection_close(collection);
    return ok;
}
