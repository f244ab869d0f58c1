/* Labels of unlabelled queries, as an artifact. */
#include "private.h"

#include <gabbro/artifact.h>

#include <stdlib.h>

static void write_id(FILE *out, const gb_names *names, uint32_t row)
{
    size_t length;
    const char *id = gb_names_get(names, row, &length);
    fwrite(id, 1, length, out);
}

static bool write_qrels(const char *path, const gb_qrels *qrels, const gb_run_names *names,
                        gb_status *status)
{
    gb_out *out = gb_out_open(path, status);
    if (!out)
        return false;
    FILE *to = gb_out_stream(out);
    fprintf(to, "query-id\tcorpus-id\tscore\n");
    for (size_t i = 0; i < qrels->count; i++) {
        write_id(to, names->queries, qrels->rows[i].query);
        fputc('\t', to);
        write_id(to, names->passages, qrels->rows[i].passage);
        fprintf(to, "\t%d\n", (int)qrels->rows[i].grade);
    }
    return gb_out_commit(out, status);
}

static void note(gb_maker *maker, const gb_pseudo_counts *n)
{
    gb_log(GB_LOG_INFO,
           "%llu queries labelled, with %llu positives and %llu negatives; %llu left "
           "out, without a positive",
           (unsigned long long)n->queries, (unsigned long long)n->positives,
           (unsigned long long)n->negatives, (unsigned long long)n->without);
    json_object_set_new(maker->facts, "labels",
                        json_pack("{s:I, s:I, s:I, s:I, s:I}", "queries", (json_int_t)n->queries,
                                  "without_positive", (json_int_t)n->without, "positives",
                                  (json_int_t)n->positives, "negatives", (json_int_t)n->negatives,
                                  "between", (json_int_t)n->between));
}

bool gb_pseudo_label(gb_maker *maker, const gb_pseudo_settings *settings, gb_status *status)
{
    gb_collection *collection = gb_open_collection(settings->collection, status);
    gb_run_names names = {0};
    gb_split unlabelled = {0};
    gb_run scored = {0}, negatives = {0};
    gb_qrels qrels = {0};
    gb_pseudo_counts counts;
    char *judgements = collection ? gb_maker_file(maker, "qrels.tsv", status) : NULL;
    char *run = judgements ? gb_maker_file(maker, "run.trec", status) : NULL;
    bool ok = run && gb_run_names_of(collection, &names, status) &&
              gb_split_open(collection, GB_UNLABELLED, &unlabelled, status) &&
              gb_run_read_artifact(settings->run, &names, &scored, status) &&
              gb_pseudo_labels(&scored, unlabelled.queries, unlabelled.count, &settings->bounds,
                               &qrels, &negatives, &counts, status) &&
              write_qrels(judgements, &qrels, &names, status) &&
              gb_run_write(&negatives, &names, &(gb_run_style){0}, run, status);
    if (ok)
        note(maker, &counts);
    free(qrels.rows);
    gb_run_free(&negatives);
    gb_run_free(&scored);
    gb_split_free(&unlabelled);
    gb_run_names_free(&names);
    gb_collection_close(collection);
    free(judgements);
    free(run);
    return ok;
}
