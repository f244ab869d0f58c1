#include "ranking.h"
#include "vector_file.h"

#include <gabbro/retrieve.h>

#include <stdlib.h>
#include <string.h>

gb_bm25 *ranking_index(const gb_collection *collection, gb_status *status)
{
    gb_bm25 *index = gb_bm25_create(gb_bm25_defaults(), status);
    gb_text text = {0};
    bool ok = index != NULL;
    for (uint32_t p = 0; ok && p < collection->passages; p++) {
        text.length = 0;
        gb_collection_passage(collection, p, &text);
        ok = text.failed ? gb_fail_memory(status, "indexing")
                         : gb_bm25_add(index, text.data ? text.data : "", text.length, status);
    }
    gb_text_free(&text);
    if (ok && gb_bm25_finish(index, status))
        return index;
    gb_bm25_destroy(index);
    return NULL;
}

void ranking_index_facts(const gb_bm25 *index, json_t *facts)
{
    json_object_set_new(facts, "index_bytes", json_integer((json_int_t)gb_bm25_text_bytes(index)));
}

bool ranking_queries(const gb_collection *collection, const char *split, gb_qrels *qrels,
                     uint32_t **queries, uint32_t *count, gb_status *status)
{
    gb_qrels own = {0};
    bool ok = gb_collection_qrels(collection, split, &own, status) &&
              gb_collection_split_queries(collection, split, &own, queries, count, status);
    if (ok && qrels)
        *qrels = own;
    else
        free(own.rows);
    return ok;
}

/* Queries of a split, ascending; none when there is no such split. free(*queries). */
static bool split_queries(const gb_collection *collection, const char *split, uint32_t **queries,
                          uint32_t *count, gb_status *status)
{
    *queries = NULL;
    *count = 0;
    return !gb_collection_has_split(collection, split) ||
           ranking_queries(collection, split, NULL, queries, count, status);
}

/* Does the split hold all training queries? So it does where the training split was cut out of it;
 * measured on, it would show what was learnt by heart. */
static bool holds_training(const gb_collection *collection, const char *split, bool *holds,
                           gb_status *status)
{
    uint32_t *trained = NULL, *asked = NULL, trained_count, asked_count, found = 0;
    bool ok = split_queries(collection, "train", &trained, &trained_count, status) &&
              split_queries(collection, split, &asked, &asked_count, status);
    for (uint32_t i = 0; ok && i < asked_count && found < trained_count; i++)
        found += asked[i] == trained[found];
    *holds = ok && trained_count && found == trained_count;
    free(trained);
    free(asked);
    return ok;
}

bool ranking_judges(const gb_collection *collection, const char *split, bool *fair,
                    gb_status *status)
{
    bool held = false;
    *fair = strcmp(split, "train") != 0;
    if (*fair && !holds_training(collection, split, &held, status))
        return false;
    if (held)
        gb_log(GB_LOG_INFO, "split %s is left out: it holds the training queries", split);
    *fair = *fair && !held;
    return true;
}

bool ranking_model_open(ranking_dense *dense, step_run *step, const char *model_path,
                        const char *tokens_step, gb_status *status)
{
    gb_text_prompts before = {0};
    *dense = (ranking_dense){.device = step->device, .step = step};
    dense->longest_passage = gb_step_setting_u32(tokens_step, "passage-tokens");
    dense->longest_query = gb_step_setting_u32(tokens_step, "query-tokens");
    bool ok = gb_model_input_open(&dense->model, model_path, tokens_step, status) &&
              gb_model_sentence(dense->model.folder, tokens_step, step->pooling, &dense->how,
                                &before, status) &&
              gb_open_tokens(tokens_step, &dense->tokens, status) &&
              (dense->params = gb_params_create(status)) &&
              gb_bert_declare(dense->params, &dense->model.config, false, &dense->bert, status) &&
              gb_bert_add_projector(dense->params, &dense->bert,
                                    gb_folder_projector(dense->model.folder), status) &&
              (dense->values = gb_model_input_values(dense->model.folder, dense->params, status));
    gb_text_prompts_free(&before); /* in the tokens */
    if (ok) {
        dense->specials = gb_vocab_specials(dense->model.vocab);
        dense->passage_count = (uint32_t)gb_table_count(dense->tokens.passages);
    } else {
        ranking_dense_close(dense);
    }
    return ok;
}

gb_encoder *ranking_encoder(const ranking_dense *dense, uint32_t longest, gb_status *status)
{
    return gb_encoder_create(dense->device, &dense->bert, dense->params, dense->values, &dense->how,
                             &dense->specials, longest, status);
}

bool ranking_encode_queries(const ranking_dense *dense, const uint32_t *queries, uint32_t count,
                            float *vectors, gb_status *status)
{
    gb_encoder *encoder = ranking_encoder(dense, dense->longest_query, status);
    bool ok = encoder && gb_encoder_run(encoder, dense->tokens.queries, queries, 0, count,
                                        "encode queries", vectors, status);
    gb_encoder_destroy(encoder);
    return ok;
}

static bool encode_passages(ranking_dense *dense, const char *path, const char *name,
                            gb_status *status)
{
    const vector_texts texts = {.tokens = dense->tokens.passages,
                                .count = dense->passage_count,
                                .label = "encode passages"};
    gb_encoder *encoder = ranking_encoder(dense, dense->longest_passage, status);
    bool ok = encoder && vector_file_write(dense->step, path, name, &texts, encoder,
                                           dense->model.config.hidden_size, status);
    gb_encoder_destroy(encoder);
    return ok && (dense->passages = gb_npy_open(&path, 1, status));
}

bool ranking_dense_open(ranking_dense *dense, step_run *step, const char *name,
                        const char *model_path, const char *tokens_step, gb_status *status)
{
    if (!ranking_model_open(dense, step, model_path, tokens_step, status))
        return false;
    char *file = gb_format(status, "%s.npy", name);
    char *path = file ? step_resume_file(step, file, status) : NULL;
    bool ok = path && encode_passages(dense, path, name, status);
    free(file);
    free(path);
    if (!ok)
        ranking_dense_close(dense);
    return ok;
}

void ranking_dense_close(ranking_dense *dense)
{
    if (dense->tokens.passages)
        gb_tokens_close(&dense->tokens);
    if (dense->params)
        gb_bert_free(&dense->bert);
    gb_params_destroy(dense->params);
    if (dense->model.folder)
        gb_model_input_close(&dense->model);
    free(dense->values);
    gb_npy_close(dense->passages);
    *dense = (ranking_dense){0};
}

bool ranking_dense_run(ranking_dense *dense, const uint32_t *queries, uint32_t count,
                       uint32_t depth, gb_run *run, gb_status *status)
{
    uint32_t k = depth < dense->passage_count ? depth : dense->passage_count;
    size_t cells = (size_t)count * k;
    uint32_t width = dense->model.config.hidden_size;
    float *vectors = gb_alloc((size_t)count * width, sizeof *vectors, status);
    float *scores = gb_alloc(cells, sizeof *scores, status);
    uint32_t *rows = gb_alloc(cells, sizeof *rows, status);
    gb_hit *hits = gb_alloc(k, sizeof *hits, status);
    bool ok = vectors && scores && rows && hits &&
              ranking_encode_queries(dense, queries, count, vectors, status);
    gb_vectors query_vectors = {.rows = count, .width = width, .values = vectors};
    gb_vectors passage_vectors = gb_npy_vectors(dense->passages);
    gb_search_params params = {.k = k};
    ok = ok && gb_search_ranks(dense->step->ranks, dense->device, &query_vectors, &passage_vectors,
                               &params, 0, NULL, rows, scores, status);
    for (uint32_t q = 0; ok && q < count; q++) {
        for (uint32_t i = 0; i < k; i++)
            hits[i] = (gb_hit){rows[(size_t)q * k + i], scores[(size_t)q * k + i]};
        ok = gb_run_add(run, queries[q], hits, k, status);
    }
    free(vectors);
    free(scores);
    free(rows);
    free(hits);
    return ok;
}

/* Queries of a split, or of all that judge a model. */
static bool count_queries(const gb_collection *collection, const char *wanted, uint32_t *count,
                          gb_status *status)
{
    char *splits = gb_strdup(collection->splits, status), *rest = splits;
    bool ok = splits != NULL;
    for (char *split; ok && (split = strsep(&rest, " "));) {
        uint32_t *queries = NULL, found = 0;
        bool counts = *split && wanted && !strcmp(split, wanted);
        if (*split && !wanted)
            ok = ranking_judges(collection, split, &counts, status);
        if (!ok || !counts)
            continue;
        ok = ranking_queries(collection, split, NULL, &queries, &found, status);
        *count += found;
        free(queries);
    }
    free(splits);
    return ok;
}

bool ranking_cost(const char *collection_step, const char *model_path, const char *tokens_step,
                  const char *split, gb_status *status)
{
    gb_model_input model = {0};
    gb_tokens tokens = {0};
    uint32_t asked = 0;
    gb_collection *collection = gb_open_collection(collection_step, status);
    bool ok = collection && count_queries(collection, split, &asked, status) &&
              gb_model_input_open(&model, model_path, tokens_step, status) &&
              gb_open_tokens(tokens_step, &tokens, status);
    if (ok) {
        uint32_t passages = (uint32_t)gb_table_count(tokens.passages);
        uint32_t queries = (uint32_t)gb_table_count(tokens.queries);
        double passage_flops = gb_encode_flops(&model.config, tokens.passages, NULL, passages,
                                               gb_step_setting_u32(tokens_step, "passage-tokens"));
        double query_flops = gb_encode_flops(&model.config, tokens.queries, NULL, queries,
                                             gb_step_setting_u32(tokens_step, "query-tokens"));
        printf("passages=%u queries=%u passage_flops=%.6g query_flops=%.6g width=%u\n", passages,
               asked, passages ? passage_flops / passages : 0, queries ? query_flops / queries : 0,
               model.config.hidden_size);
    }
    if (tokens.passages)
        gb_tokens_close(&tokens);
    if (model.folder)
        gb_model_input_close(&model);
    gb_collection_close(collection);
    return ok;
}

bool ranking_write(const step_run *step, const gb_collection *collection, const gb_run *run,
                   uint32_t depth, const char *name, gb_status *status)
{
    gb_run cut = *run; /* the same hits in shorter lists */
    if (!(cut.lists = gb_alloc(run->list_count, sizeof *cut.lists, status)))
        return false;
    for (size_t i = 0; i < run->list_count; i++) {
        cut.lists[i] = run->lists[i];
        if (cut.lists[i].count > depth)
            cut.lists[i].count = depth;
    }
    char *path = step_file(step, name, status);
    gb_names *queries = path ? gb_names_from_table(collection->query_ids, status) : NULL;
    gb_names *passages = queries ? gb_names_from_table(collection->passage_ids, status) : NULL;
    bool ok =
        passages && gb_run_write(&cut, GB_RUN_TREC, queries, passages, "gabbro", path, status);
    gb_names_destroy(passages);
    gb_names_destroy(queries);
    free(path);
    free(cut.lists);
    return ok;
}
