/* What encoding a collection takes, for a plan of the cost. */
#include <gabbro/artifact.h>
#include <gabbro/retrieve.h>

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

/* Tokens of one text of a table, [CLS] and [SEP] among them, in the mean. */
static double text_tokens(const gb_row_file *tokens, uint32_t max_length)
{
    uint32_t count = (uint32_t)gb_row_file_count(tokens);
    double rows = 0;
    for (uint32_t i = 0; i < count; i++) {
        size_t length;
        gb_row_file_row(tokens, i, &length);
        rows += length + 2 > max_length ? max_length : (double)length + 2;
    }
    return count ? rows / count : 0;
}

/* Arithmetic of the masked-LM head at all of them. */
static double head_flops(const gb_bert_config *config, double tokens)
{
    double h = config->hidden_size;
    return 2 * tokens * h * (h + config->vocab_size);
}

/* Arithmetic of one text of a table, in the mean. */
static double text_flops(const gb_bert_config *config, const gb_row_file *tokens,
                         uint32_t max_length, bool sparse)
{
    uint32_t count = (uint32_t)gb_row_file_count(tokens);
    double head = sparse ? head_flops(config, text_tokens(tokens, max_length)) : 0;
    return count ? gb_encode_flops(config, tokens, NULL, count, max_length) / count + head : 0;
}

bool gb_print_encoding_cost(const gb_retriever_params *params, const char *collection_step,
                            const char *split, FILE *out, gb_status *status)
{
    gb_model_input model = {0};
    gb_tokens tokens = {0};
    uint32_t queries;
    gb_collection *collection = gb_open_collection(collection_step, status);
    bool ok = collection && count_queries(collection, split, &queries, status) &&
              gb_open_tokens(params->tokens, &tokens, status) &&
              gb_model_input_open(&model, params->model, &tokens, status);
    bool sparse = false;
    ok = ok && gb_folder_is_sparse(gb_folder_path(model.folder), &sparse, status);
    if (ok)
        fprintf(out,
                "passages=%u queries=%u passage_flops=%.6g query_flops=%.6g passage_tokens=%.6g "
                "query_tokens=%.6g width=%u\n",
                (uint32_t)gb_row_file_count(tokens.passages), queries,
                text_flops(&model.config, tokens.passages, tokens.max_passage, sparse),
                text_flops(&model.config, tokens.queries, tokens.max_query, sparse),
                text_tokens(tokens.passages, tokens.max_passage),
                text_tokens(tokens.queries, tokens.max_query),
                sparse ? model.config.vocab_size : model.config.hidden_size);
    gb_tokens_close(&tokens);
    gb_model_input_close(&model);
    gb_collection_close(collection);
    return ok;
}
