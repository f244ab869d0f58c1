/* Rankings of a development split by the model that is being trained. */
#include "development.h"

#include <gabbro/artifact.h>

#include <math.h>
#include <stdlib.h>

/* ---- retrievers ---- */

bool train_dev_write_texts(const train_dev *d, gb_status *status)
{
    char *to = gb_path_join(status, d->folder, "tokens");
    char *from = to ? gb_format(status, "%s/tokens/tokens.json", d->how.tokens_artifact) : NULL;
    char *json = from ? gb_path_join(status, to, "tokens.json") : NULL;
    const gb_row_file *all[] = {d->how.tokens->passages, d->how.tokens->queries};
    static const char *const names[] = {"passages.ids.gbt", "queries.ids.gbt"};
    bool ok = json && gb_make_dirs(to, status);
    for (int i = 0; ok && i < 2; i++) {
        gb_row_writer *writer = gb_row_writer_open_in(to, names[i], 4, status);
        uint32_t count = i ? (uint32_t)gb_row_file_count(all[i]) : d->passage_count;
        ok = writer != NULL;
        for (uint32_t r = 0; ok && r < count; r++) {
            size_t length;
            const void *row = gb_row_file_row(all[i], i ? r : d->passages[r], &length);
            ok = gb_row_writer_add(writer, row, length, status);
        }
        ok = writer && gb_row_writer_end(writer, ok, status);
    }
    ok = ok && gb_copy_file(from, json, status);
    free(to);
    free(from);
    free(json);
    return ok;
}

/* Rows of the subset become rows of the collection. */
static void name_rows(const train_dev *d, gb_run *run)
{
    for (size_t h = 0; d->passage_count && h < run->hit_count; h++)
        if (run->hits[h].passage != GB_NO_PASSAGE)
            run->hits[h].passage = d->passages[run->hits[h].passage];
}

bool train_dev_rank_retriever(void *self, const train_dev *d, const char *folder, gb_run *run,
                              gb_status *status)
{
    gb_maker *maker = d->how.maker;
    (void)self;
    char *vectors = gb_path_join(status, d->folder, "passages");
    char *path = vectors ? gb_path_join(status, vectors, "passages.npy") : NULL;
    char *journal = path ? gb_path_join(status, vectors, "passages.journal") : NULL;
    const gb_retriever_params params = {.model = folder,
                                        .tokens =
                                            d->passage_count ? d->folder : d->how.tokens_artifact,
                                        .device = gb_maker_device(maker, status)};
    /* What an earlier look left is of another model. */
    bool ok = journal && params.device && gb_remove_tree(vectors, status) &&
              gb_make_dirs(vectors, status);
    gb_retriever *retriever = ok ? gb_retriever_open(&params, status) : NULL;
    ok = retriever &&
         gb_retriever_index(retriever, &(gb_vector_file){.path = path, .journal = journal}, status);
    if (ok) {
        const gb_encode_rows queries = {.tokens = gb_retriever_tokens(retriever)->queries,
                                        .rows = d->split.queries,
                                        .count = d->split.count,
                                        .label = "encode queries"};
        ok = gb_retriever_rank(retriever, &queries, TRAIN_DEV_DEPTH, run, status);
    }
    gb_retriever_close(retriever);
    if (ok)
        name_rows(d, run);
    ok = ok && gb_remove_tree(vectors, status);
    free(vectors);
    free(path);
    free(journal);
    return ok;
}

/* ---- cross-encoders ---- */

bool train_dev_read_run(train_dev *d, gb_status *status)
{
    gb_run_names names = {0};
    gb_run run = {0};
    uint32_t most = d->how.depth, found = 0;
    bool ok = gb_run_names_of(d->how.collection, &names, status) &&
              gb_run_read_artifact(d->how.settings->run, &names, &run, status);
    for (uint32_t q = 0; ok && q < d->split.count; q++) {
        const gb_run_list *list = gb_run_find(&run, d->split.queries[q]);
        uint32_t count = list ? list->count < most ? list->count : most : 0;
        found += count > 0;
        ok = !count ||
             gb_run_add(&d->candidates, list->query, run.hits + list->first, count, status);
    }
    gb_run_free(&run);
    gb_run_names_free(&names);
    return ok &&
           (found || gb_fail(status, GB_DATA, d->how.settings->run,
                             "make one: gabbro bm25-run --split SPLIT",
                             "the run has none of the queries of the split \"%.60s\"", d->name));
}

static bool add_ranked(const train_dev *d, const float *scores, gb_run *run, gb_status *status)
{
    const gb_run *from = &d->candidates;
    bool ok = true;
    for (size_t l = 0; ok && l < from->list_count; l++) {
        const gb_run_list *list = &from->lists[l];
        gb_hit *hits = gb_alloc(list->count, sizeof *hits, status);
        ok = hits != NULL;
        for (uint32_t h = 0; ok && h < list->count; h++) {
            double score = scores[list->first + h];
            hits[h] = (gb_hit){from->hits[list->first + h].passage, score};
            ok = isfinite(score) || gb_fail(status, GB_MISMATCH, "development",
                                            "lower the learning rate", "a score is no number");
        }
        if (ok)
            gb_hits_sort(hits, list->count);
        ok = ok && gb_run_add(run, list->query, hits, list->count, status);
        free(hits);
    }
    return ok;
}

bool train_dev_rank_pairs(const train_dev *d, const gb_pair_scorer_params *scorer, gb_run *run,
                          gb_status *status)
{
    gb_pair_scorer_params params = *scorer;
    const gb_run *from = &d->candidates;
    uint32_t count = (uint32_t)from->hit_count, pair = 0;
    gb_text_pair *pairs = gb_alloc(count, sizeof *pairs, status);
    float *scores = gb_alloc(count, sizeof *scores, status);
    params.device = pairs && scores ? gb_maker_device(d->how.maker, status) : NULL;
    gb_pair_scorer *with = params.device ? gb_pair_scorer_create(&params, status) : NULL;
    for (size_t l = 0; with && l < from->list_count; l++)
        for (uint32_t h = 0; h < from->lists[l].count; h++)
            pairs[pair++] =
                (gb_text_pair){from->lists[l].query, from->hits[from->lists[l].first + h].passage};
    bool ok = with && gb_pair_scorer_run(with, pairs, count, scores, status) &&
              add_ranked(d, scores, run, status);
    gb_pair_scorer_destroy(with);
    free(pairs);
    free(scores);
    return ok;
}
