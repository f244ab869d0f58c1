/* Rankings in commands that make artifacts: by BM25, or by a dense retriever. */
#include <gabbro/artifact.h>
#include <gabbro/retrieve.h>

#include <stdlib.h>

bool gb_retriever_users(const char *model, uint32_t *users, gb_status *status)
{
    bool sparse = false;
    char *folder = gb_find_model_folder(model, status);
    bool ok = folder && gb_folder_is_sparse(folder, &sparse, status);
    bool late = ok && gb_folder_late_kind(folder) != GB_LATE_NONE;
    free(folder);
    ok = ok && gb_model_users(model, false, users, status);
    *users |= GB_USER_ENCODE | (sparse ? GB_USER_SPARSE : 0) | (late ? GB_USER_LATE : 0);
    return ok;
}

gb_retriever *gb_retriever_of(gb_maker *maker, const char *model, const char *tokens,
                              const gb_collection *collection, const gb_sparse_settings *sparse,
                              const char *name, gb_status *status)
{
    if (gb_model_late_kind(model) != GB_LATE_NONE && !(maker->kernels & GB_USER_LATE)) {
        gb_fail(status, GB_USAGE, model, "take a dense retriever",
                "a %s model, whose vectors are of tokens, which this command does not use",
                gb_late_kind_name(gb_model_late_kind(model)));
        return NULL;
    }
    char *file = gb_format(status, "%s.npy", name);
    char *path = file ? gb_maker_resume_file(maker, file, status) : NULL;
    char *journal =
        path ? gb_maker_rank_file(maker, name, gb_ranks_rank(maker->ranks), status) : NULL;
    const gb_retriever_params params = {.model = model,
                                        .tokens = tokens,
                                        .collection = collection,
                                        .pooling = maker->pooling,
                                        .sparse = sparse ? *sparse : (gb_sparse_settings){0},
                                        .device = journal ? gb_maker_device(maker, status) : NULL,
                                        .ranks = maker->ranks};
    gb_retriever *retriever = params.device ? gb_retriever_open(&params, status) : NULL;
    if (retriever && !gb_retriever_index(
                         retriever, &(gb_vector_file){.path = path, .journal = journal}, status)) {
        gb_retriever_close(retriever);
        retriever = NULL;
    }
    free(file);
    free(path);
    free(journal);
    return retriever;
}

bool gb_ranker_open(gb_ranker *ranker, gb_maker *maker, const char *model, const char *tokens,
                    const gb_sparse_settings *sparse, const gb_bm25_settings *bm25,
                    gb_status *status)
{
    if (model) {
        ranker->retriever =
            gb_retriever_of(maker, model, tokens, ranker->collection, sparse, "passages", status);
        return ranker->retriever;
    }
    gb_collection *c = ranker->collection;
    if (bm25->expansions &&
        (!(ranker->queries = gb_names_from_row_file(c->query_ids, status)) ||
         !(ranker->expansions = gb_expansions_read(bm25->expansions, ranker->queries,
                                                   (uint32_t)gb_row_file_count(c->query_ids),
                                                   gb_collection_query, c, status))))
        return false;
    if (gb_bm25_settings_use(bm25, ranker->collection, status))
        ranker->bm25 = gb_bm25_of_settings(ranker->collection, bm25, status);
    if (ranker->bm25)
        json_object_set_new(maker->facts, "index_bytes",
                            json_integer((json_int_t)gb_bm25_text_bytes(ranker->bm25)));
    return ranker->bm25;
}

void gb_ranker_close(gb_ranker *ranker)
{
    gb_retriever_close(ranker->retriever);
    gb_bm25_destroy(ranker->bm25);
    gb_expansions_destroy(ranker->expansions);
    gb_names_destroy(ranker->queries);
    *ranker = (gb_ranker){0};
}

bool gb_rank(const gb_ranker *ranker, const uint32_t *queries, uint32_t count, uint32_t depth,
             gb_run *run, gb_status *status)
{
    const gb_bm25_queries texts = {
        .rows = queries,
        .count = count,
        .text = ranker->expansions ? gb_expansions_text : gb_collection_query,
        .ctx = ranker->expansions ? (const void *)ranker->expansions : ranker->collection,
        .depth = depth};
    if (ranker->bm25)
        return gb_bm25_run(ranker->bm25, &texts, run, status);
    const gb_encode_rows rows = {.tokens = gb_retriever_tokens(ranker->retriever)->queries,
                                 .rows = queries,
                                 .count = count,
                                 .label = "encode queries"};
    return gb_retriever_rank(ranker->retriever, &rows, depth, run, status);
}

bool gb_ranker_write(const gb_ranker *ranker, gb_maker *maker, const gb_ranking *ranking,
                     gb_status *status)
{
    gb_run run = {0};
    gb_run_names names = {0};
    uint32_t depth = ranking->depth + ranking->drop_identical;
    char *path = gb_maker_file(maker, "run.trec", status);
    bool ok = path &&
              gb_rank(ranker, ranking->split->queries, ranking->split->count, depth, &run, status);
    if (ok && gb_maker_leads(maker)) {
        ok = gb_run_names_of(ranker->collection, &names, status);
        if (ok && ranking->drop_identical)
            gb_run_drop_identical(&run, &names, ranking->depth);
        ok = ok && gb_run_write(&run, &names, &(gb_run_style){0}, path, status);
    }
    free(path);
    gb_run_names_free(&names);
    gb_run_free(&run);
    return ok;
}
