/* Training files for other kits: Tevatron's JSON lines, of a run and the judgements of a split. */
#include <gabbro/eval.h>

#include <stdlib.h>

/* A file being written. */
typedef struct writing {
    const gb_training_file *how; /* what it is made of */
    FILE *out;                   /* the file */
    gb_split split;              /* positives */
} writing;

static bool add_passage(const writing *w, json_t *list, uint32_t row)
{
    const gb_collection *c = w->how->collection;
    return json_array_append_new(list, json_pack("{s:o, s:o, s:o}", "docid",
                                                 gb_text_json(c->passage_ids, row), "title",
                                                 gb_text_json(c->titles, row), "text",
                                                 gb_text_json(c->texts, row))) == 0;
}

static bool judged_relevant(const gb_qrel *rows, size_t count, uint32_t passage)
{
    for (size_t i = 0; i < count; i++)
        if (rows[i].passage == passage)
            return rows[i].grade > 0;
    return false;
}

/* The line of a query with these judgements [count]; none without positives. */
static bool write_query(const writing *w, const gb_qrel *rows, size_t count,
                        const gb_run_list *list, const gb_run *run, gb_status *status)
{
    const gb_collection *c = w->how->collection;
    uint32_t depth = w->how->depth;
    json_t *positives = json_array(), *negatives = json_array();
    bool ok = positives && negatives;
    for (size_t i = 0; ok && i < count; i++)
        ok = rows[i].grade <= 0 || add_passage(w, positives, rows[i].passage);
    for (uint32_t h = w->how->skip; ok && list && h < list->count && (!depth || h < depth); h++) {
        uint32_t passage = run->hits[list->first + h].passage;
        ok = passage == GB_NO_PASSAGE || judged_relevant(rows, count, passage) ||
             add_passage(w, negatives, passage);
    }
    bool some = json_array_size(positives) > 0;
    json_t *line =
        json_pack("{s:o, s:o, s:o, s:o}", "query_id", gb_text_json(c->query_ids, rows->query),
                  "query", gb_text_json(c->queries, rows->query), "positive_passages", positives,
                  "negative_passages", negatives);
    if (ok && some)
        return gb_json_write_line(line, w->out, status);
    json_decref(line);
    return ok || gb_fail_memory(status, "writing a training file");
}

bool gb_run_write_training(const gb_run *run, const gb_training_file *how, const char *path,
                           gb_status *status)
{
    writing w = {.how = how};
    gb_out *out = NULL;
    bool ok = gb_split_open(how->collection, how->split, &w.split, status) &&
              (out = gb_out_open(path, status));
    const gb_qrels *qrels = &w.split.qrels;
    if (ok)
        w.out = gb_out_stream(out);
    for (size_t first = 0, end; ok && first < qrels->count; first = end) {
        for (end = first + 1;
             end < qrels->count && qrels->rows[end].query == qrels->rows[first].query;)
            end++;
        ok = write_query(&w, qrels->rows + first, end - first,
                         gb_run_find(run, qrels->rows[first].query), run, status);
    }
    gb_split_free(&w.split);
    if (ok)
        return gb_out_commit(out, status);
    gb_out_abandon(out);
    return false;
}
