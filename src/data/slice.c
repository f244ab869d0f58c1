/* A part of a collection as a BEIR folder: all that was judged, and some of the rest. */
#include "gabbro/data.h"

#include <stdlib.h>
#include <string.h>

#define MARK    "slice.json"
#define ANSWERS "answers.tsv"

typedef struct slice {
    const gb_collection *collection; /* whole */
    gb_qrels *qrels;                 /* [splits] of the splits, in their order */
    const char **splits;             /* [count] their names */
    size_t count;                    /* of splits */
    char *names;                     /* storage of splits */
    bool *passages;                  /* [passages] kept */
    bool *queries;                   /* [queries] kept: the judged ones */
} slice;

static bool read_splits(slice *s, gb_status *status)
{
    s->names = gb_strdup(s->collection->splits, status);
    if (!s->names)
        return false;
    size_t most = 1;
    for (const char *at = s->names; *at; at++)
        most += *at == ' ';
    s->splits = gb_alloc(most, sizeof *s->splits, status);
    s->qrels = gb_alloc(most, sizeof *s->qrels, status);
    if (!s->splits || !s->qrels)
        return false;
    char *rest = s->names;
    for (char *split; (split = gb_take_field(&rest, " "));) {
        if (!*split)
            continue;
        if (!gb_collection_qrels(s->collection, split, &s->qrels[s->count], status))
            return false;
        s->splits[s->count++] = split;
    }
    return true;
}

/* Judged passages and queries, and `others` more passages, drawn by the seed. */
static bool choose(slice *s, uint32_t others, uint64_t seed, gb_status *status)
{
    uint32_t passages = s->collection->passages, rest = 0;
    uint32_t *left = gb_alloc(passages, sizeof *left, status);
    s->passages = gb_alloc(passages, sizeof *s->passages, status);
    s->queries = gb_alloc(gb_row_file_count(s->collection->queries), sizeof *s->queries, status);
    if (!left || !s->passages || !s->queries) {
        free(left);
        return false;
    }
    for (size_t i = 0; i < s->count; i++)
        for (size_t j = 0; j < s->qrels[i].count; j++) {
            s->passages[s->qrels[i].rows[j].passage] = true;
            s->queries[s->qrels[i].rows[j].query] = true;
        }
    for (uint32_t p = 0; p < passages; p++)
        if (!s->passages[p])
            left[rest++] = p;
    gb_rng rng = gb_rng_make(seed, GB_RNG_SPLIT, 2, 0);
    gb_rng_shuffle(&rng, left, rest);
    for (uint32_t i = 0; i < rest && i < others; i++)
        s->passages[left[i]] = true;
    free(left);
    return true;
}

/* ---- files ---- */

static bool passage_lines(const slice *s, FILE *out, gb_status *status)
{
    const gb_collection *c = s->collection;
    for (uint32_t p = 0; p < c->passages; p++)
        if (s->passages[p] &&
            !gb_json_write_line(json_pack("{s:o, s:o, s:o}", "_id", gb_text_json(c->passage_ids, p),
                                          "title", gb_text_json(c->titles, p), "text",
                                          gb_text_json(c->texts, p)),
                                out, status))
            return false;
    return true;
}

static bool query_lines(const slice *s, FILE *out, gb_status *status)
{
    const gb_collection *c = s->collection;
    for (uint32_t q = 0; q < gb_row_file_count(c->queries); q++)
        if (s->queries[q] &&
            !gb_json_write_line(json_pack("{s:o, s:o}", "_id", gb_text_json(c->query_ids, q),
                                          "text", gb_text_json(c->queries, q)),
                                out, status))
            return false;
    return true;
}

/* Kept passages of each document; passages of a document lie together. */
static bool document_lines(const slice *s, FILE *out, gb_status *status)
{
    const gb_collection *c = s->collection;
    json_t *passages = NULL;
    bool ok = true;
    for (uint32_t p = 0; ok && p < c->passages; p++) {
        if (s->passages[p] && !passages)
            passages = json_array();
        if (s->passages[p])
            json_array_append_new(passages,
                                  json_pack("{s:o}", "id", gb_text_json(c->passage_ids, p)));
        if (!passages || (p + 1 < c->passages && c->document[p + 1] == c->document[p]))
            continue;
        char id[24];
        snprintf(id, sizeof id, "%u", c->document[p]);
        ok = gb_json_write_line(json_pack("{s:s, s:o}", "id", id, "passages", passages), out,
                                status);
        passages = NULL;
    }
    return ok;
}

static bool write_file(const slice *s, const char *folder, const char *name,
                       bool (*lines)(const slice *, FILE *, gb_status *), gb_status *status)
{
    char *path = gb_path_join(status, folder, name);
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    free(path);
    if (!out)
        return false;
    if (lines(s, gb_out_stream(out), status))
        return gb_out_commit(out, status);
    gb_out_abandon(out);
    return false;
}

static bool write_judgements(const slice *s, const char *folder, size_t split, gb_status *status)
{
    const gb_collection *c = s->collection;
    char *path = gb_format(status, "%s/qrels/%s.tsv", folder, s->splits[split]);
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    free(path);
    if (!out)
        return false;
    fprintf(gb_out_stream(out), "query-id\tcorpus-id\tscore\n");
    for (size_t j = 0; j < s->qrels[split].count; j++) {
        const gb_qrel *judged = &s->qrels[split].rows[j];
        size_t query, passage;
        const char *q = gb_row_file_row(c->query_ids, judged->query, &query);
        const char *p = gb_row_file_row(c->passage_ids, judged->passage, &passage);
        fprintf(gb_out_stream(out), "%.*s\t%.*s\t%d\n", (int)query, q, (int)passage, p,
                (int)judged->grade);
    }
    return gb_out_commit(out, status);
}

/* Ids of the kept queries; NULL and status on failure. */
static gb_map *kept_ids(const slice *s, gb_status *status)
{
    const gb_row_file *ids = s->collection->query_ids;
    gb_map *kept = gb_map_create(status);
    bool ok = kept != NULL;
    for (uint32_t q = 0; ok && q < gb_row_file_count(ids); q++) {
        size_t length;
        const char *id = gb_row_file_row(ids, q, &length);
        ok = !s->queries[q] || gb_map_set(kept, id, length, q, status);
    }
    if (ok)
        return kept;
    gb_map_destroy(kept);
    return NULL;
}

/* The answers of kept queries. A query that has answers alone is judged by no passage, and left
 * out. */
static bool answer_lines(const slice *s, FILE *out, gb_status *status)
{
    char *path = gb_path_join(status, s->collection->path, ANSWERS), *line;
    gb_lines *lines = path ? gb_lines_open(path, status) : NULL;
    gb_map *kept = lines ? kept_ids(s, status) : NULL;
    unsigned long long left_out = 0;
    size_t length;
    int got = kept ? 1 : -1;
    while (got == 1 && (got = gb_lines_next(lines, &line, &length, status)) == 1) {
        if (gb_map_get(kept, line, strcspn(line, "\t")) == GB_MAP_NONE)
            left_out++;
        else
            fprintf(out, "%s\n", line); /* the commit tells of a full disk */
    }
    if (got == 0 && left_out)
        gb_log(GB_LOG_WARN, "%llu queries that have answers but no judged passage are left out",
               left_out);
    gb_map_destroy(kept);
    gb_lines_close(lines);
    free(path);
    return got == 0;
}

/* By this file a slice is told from a collection that somebody brought, which is never replaced. */
static bool mark_lines(const slice *s, FILE *out, gb_status *status)
{
    json_int_t kept = 0;
    for (uint32_t p = 0; p < s->collection->passages; p++)
        kept += s->passages[p];
    return gb_json_write_line(
        json_pack("{s:I, s:I}", "passages", kept, "of", (json_int_t)s->collection->passages), out,
        status);
}

static bool write_all(const slice *s, const char *folder, gb_status *status)
{
    char *qrels = gb_path_join(status, folder, "qrels");
    char *answers = gb_path_join(status, s->collection->path, ANSWERS);
    bool ok = qrels && answers && gb_make_dirs(qrels, status) &&
              write_file(s, folder, MARK, mark_lines, status) &&
              write_file(s, folder, "corpus.jsonl", passage_lines, status) &&
              (s->collection->documents == s->collection->passages ||
               write_file(s, folder, "documents.jsonl", document_lines, status)) &&
              write_file(s, folder, "queries.jsonl", query_lines, status);
    for (size_t i = 0; ok && i < s->count; i++)
        ok = write_judgements(s, folder, i, status);
    if (ok && gb_file_exists(answers))
        ok = write_file(s, folder, ANSWERS, answer_lines, status);
    free(answers);
    free(qrels);
    return ok;
}

static void slice_free(slice *s)
{
    for (size_t i = 0; i < s->count; i++)
        free(s->qrels[i].rows);
    free(s->qrels);
    free(s->splits);
    free(s->names);
    free(s->passages);
    free(s->queries);
}

bool gb_collection_slice(const gb_collection *collection, uint32_t others, uint64_t seed,
                         const char *out_dir, gb_status *status)
{
    slice s = {.collection = collection};
    char *draft = NULL;
    bool ok = read_splits(&s, status) && choose(&s, others, seed, status) &&
              (draft = gb_draft_create(out_dir, MARK, status)) && write_all(&s, draft, status);
    ok = gb_draft_end(draft, ok, out_dir, status);
    slice_free(&s);
    return ok;
}
