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

/* Arithmetic of one text of a table, in the mean. */
static double text_flops(const gb_bert_config *config, const gb_row_file *tokens,
                         uint32_t max_length)
{
    uint32_t count = (uint32_t)gb_row_file_count(tokens);
    return count ? gb_encode_flops(config, tokens, NULL, count, max_length) / count : 0;
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
    if (ok)
        fprintf(out, "passages=%u queries=%u passage_flops=%.6g query_flops=%.6g width=%u\n",
                (uint32_t)gb_row_file_count(tokens.passages), queries,
                text_flops(&model.config, tokens.passages, tokens.max_passage),
                text_flops(&model.config, tokens.queries, tokens.max_query),
                model.config.hidden_size);
    gb_tokens_close(&tokens);
    gb_model_input_close(&model);
    gb_collection_close(collection);
    return ok;
}
