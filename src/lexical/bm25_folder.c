/* BM25 over a folder: a stored collection, or a BEIR data set as it was fetched. */
#include "bm25.h"

#include <gabbro/folder.h>

#include <stdlib.h>
#include <string.h>

/* A BEIR folder that is being indexed. */
typedef struct indexing {
    gb_bm25_folder *out;  /* filled */
    gb_text joined;       /* title and text of a passage */
    gb_progress progress; /* in passages */
} indexing;

static bool create_index(gb_bm25_folder *f, const gb_bm25_folder_params *params, gb_status *status)
{
    gb_bm25_params how = gb_bm25_settings_params(&params->bm25);
    if (params->vocabulary && how.rm3.passages)
        return gb_fail(status, GB_USAGE, NULL, "leave one of them out",
                       "--rm3 chooses words, and --vocabulary makes tokens of them");
    if (params->vocabulary) {
        if (!(f->vocab = gb_vocabulary_read(params->vocabulary, status)) ||
            !(f->tokenizer =
                  gb_tokenizer_create(f->vocab, gb_vocab_get_rules(f->vocab)->words, status)))
            return false;
        how.source = gb_terms_tokens(f->tokenizer);
    }
    f->index = gb_bm25_create(how, status);
    return f->index;
}

static bool index_line(void *ctx, const char *id, const char *title, const char *text,
                       gb_status *status)
{
    indexing *x = ctx;
    uint32_t row;
    if (!gb_names_row(x->out->names.passages, id, strlen(id), &row, status))
        return false;
    if (row != gb_bm25_count(x->out->index))
        return gb_fail(status, GB_DATA, NULL, "ids must be unique", "passage \"%.80s\" comes twice",
                       id);
    x->joined.length = 0;
    if (*title)
        gb_text_printf(&x->joined, "%s ", title);
    gb_text_append(&x->joined, text, strlen(text));
    if (x->joined.failed)
        return gb_fail_memory(status, "reading passages");
    gb_progress_update(&x->progress, row, NULL);
    return gb_not_interrupted(NULL, status) &&
           gb_bm25_add(x->out->index, x->joined.length ? x->joined.data : "", x->joined.length,
                       status);
}

/* Path of a file of a folder, plain or packed; NULL when there is none (or no memory). */
static char *find_file(const char *dir, const char *name, gb_status *status)
{
    char *path;
    if (gb_unpack_find(dir, name, &path, status) && !path)
        gb_fail(status, GB_DATA, dir,
                "name the folder of a stored collection or of a BEIR data set",
                "no %s in the folder", name);
    return path;
}

static bool index_lines(gb_bm25_folder *f, const char *dir, gb_status *status)
{
    indexing x = {.out = f};
    char *corpus = find_file(dir, "corpus.jsonl", status);
    gb_names *passages = corpus ? gb_names_create(status) : NULL;
    f->names.passages = passages;
    gb_progress_begin(&x.progress, "bm25 index", "passages", 0, 0);
    bool ok = passages && gb_read_jsonl(corpus, index_line, &x, status);
    if (ok)
        gb_progress_end_long(&x.progress, gb_bm25_count(f->index));
    gb_text_free(&x.joined);
    free(corpus);
    return ok;
}

static bool index_collection(gb_bm25_folder *f, const gb_bm25_settings *bm25, const char *dir,
                             gb_status *status)
{
    f->collection = gb_collection_open(dir, status);
    return f->collection && gb_bm25_settings_use(bm25, f->collection, status) &&
           (f->names.passages = gb_names_from_row_file(f->collection->passage_ids, status)) &&
           lexical_add_collection(f->index, f->collection, bm25, status);
}

static bool index_passages(gb_bm25_folder *f, const gb_bm25_settings *bm25, const char *dir,
                           bool stored, gb_status *status)
{
    double start_s = gb_now_s();
    if (!stored && (bm25->per_passage || bm25->weights))
        return gb_fail(status, GB_USAGE, dir, "gabbro collection --from makes one of the folder",
                       "only a stored collection has generated queries to append, or weights of "
                       "words");
    if (!gb_bm25_settings_check(bm25, status))
        return false;
    bool ok = (stored ? index_collection(f, bm25, dir, status) : index_lines(f, dir, status)) &&
              gb_bm25_finish(f->index, status);
    if (ok && !gb_bm25_count(f->index))
        ok = gb_fail(status, GB_DATA, dir, "check that it was fetched whole",
                     "the collection has no passages");
    f->index_s = gb_now_s() - start_s;
    return ok;
}

/* ---- queries and judgements ---- */

static bool load_queries(gb_bm25_folder *f, const char *dir, const char *file, gb_status *status)
{
    if (!file && f->collection) {
        f->stored_queries = gb_names_from_row_file(f->collection->query_ids, status);
        f->names.queries = f->stored_queries;
        f->text = gb_collection_query;
        f->text_ctx = f->collection;
    } else {
        char *found = file ? NULL : find_file(dir, "queries.jsonl", status);
        if (file || found)
            f->names.queries =
                gb_topics_read(file ? file : found, &f->topics, status) ? f->topics.names : NULL;
        free(found);
        f->text = gb_topics_text;
        f->text_ctx = &f->topics;
    }
    f->texts = f->names.queries ? gb_names_count(f->names.queries) : 0;
    return f->names.queries;
}

static bool expand_queries(gb_bm25_folder *f, const char *path, gb_status *status)
{
    f->expansions =
        gb_expansions_read(path, f->names.queries, f->texts, f->text, f->text_ctx, status);
    f->text = gb_expansions_text;
    f->text_ctx = f->expansions;
    return f->expansions;
}

/* *path: the judgements of a split of a folder, NULL when they are absent. */
static bool split_path(const char *dir, const char *split, char **path, gb_status *status)
{
    char *name = gb_format(status, "qrels/%s.tsv", split);
    bool ok = name && gb_unpack_find(dir, name, path, status);
    free(name);
    return ok;
}

/* Path of the judgements, NULL where there are none; false where there should be. */
static bool find_qrels(gb_bm25_folder *f, const char *dir, const gb_bm25_folder_params *params,
                       char **path, gb_status *status)
{
    static const char *const defaults[] = {"test", "dev"};
    *path = NULL;
    if (params->qrels && params->split)
        return gb_fail(status, GB_USAGE, NULL, "leave one of them out",
                       "--split names judgements of the collection, and --qrels others");
    if (params->qrels)
        return (*path = gb_strdup(params->qrels, status)) != NULL;
    if (params->queries && !params->split)
        return true; /* own queries: search only */
    for (int i = 0; i < (params->split ? 1 : 2) && !*path; i++) {
        const char *split = params->split ? params->split : defaults[i];
        if (!split_path(dir, split, path, status) ||
            (*path && !(f->split = gb_strdup(split, status))))
            return false;
    }
    return *path || gb_fail(status, GB_DATA, dir, "name one with --split or --qrels",
                            "no judgements qrels/%s.tsv", params->split ? params->split : "test");
}

static bool load_qrels(gb_bm25_folder *f, const char *dir, const gb_bm25_folder_params *params,
                       gb_status *status)
{
    char *path;
    uint32_t passages = gb_names_count(f->names.passages);
    bool ok = find_qrels(f, dir, params, &path, status) &&
              (!path || gb_qrels_read(path, &f->names, &f->qrels, status));
    uint32_t more_queries = gb_names_count(f->names.queries) - f->texts;
    uint32_t more_passages = gb_names_count(f->names.passages) - passages;
    if (ok && more_queries)
        gb_log(GB_LOG_WARN, "%s: %u judged queries have no text; they count as not answered", path,
               more_queries);
    if (ok && more_passages)
        gb_log(GB_LOG_WARN,
               "%s: %u judged passages are not in the collection; they count as not found", path,
               more_passages);
    free(path);
    return ok;
}

/* ---- the whole ---- */

/* Where the collection is: an artifact holds it in a folder of its own. *stored: it is one of
 * gb_collection_open. */
static char *find_collection(const char *path, bool *stored, gb_status *status)
{
    char *inside = gb_path_join(status, path, "collection");
    char *description = inside ? gb_path_join(status, inside, "collection.json") : NULL;
    *stored = description && gb_file_exists(description);
    free(description);
    if (!inside || *stored)
        return inside;
    free(inside);
    description = gb_path_join(status, path, "collection.json");
    *stored = description && gb_file_exists(description);
    free(description);
    return description ? gb_strdup(path, status) : NULL;
}

bool gb_bm25_folder_open(const gb_bm25_folder_params *params, gb_bm25_folder *folder,
                         gb_status *status)
{
    bool stored;
    *folder = (gb_bm25_folder){.all = params->queries};
    char *dir = find_collection(params->folder, &stored, status);
    bool ok =
        dir && create_index(folder, params, status) &&
        index_passages(folder, &params->bm25, dir, stored, status) &&
        load_queries(folder, dir, params->queries, status) &&
        (!params->bm25.expansions || expand_queries(folder, params->bm25.expansions, status)) &&
        load_qrels(folder, dir, params, status);
    free(dir);
    if (!ok)
        gb_bm25_folder_close(folder);
    return ok;
}

void gb_bm25_folder_close(gb_bm25_folder *folder)
{
    gb_bm25_destroy(folder->index);
    gb_expansions_destroy(folder->expansions);
    gb_tokenizer_destroy(folder->tokenizer);
    gb_vocab_destroy(folder->vocab);
    gb_names_destroy(folder->names.passages);
    gb_names_destroy(folder->stored_queries);
    gb_topics_free(&folder->topics);
    gb_collection_close(folder->collection);
    free(folder->split);
    free(folder->qrels.rows);
    *folder = (gb_bm25_folder){0};
}

/* Rows to search for. */
static uint32_t *choose_queries(const gb_bm25_folder *f, size_t *count, gb_status *status)
{
    uint32_t *rows = gb_alloc(f->texts, sizeof *rows, status);
    *count = 0;
    for (uint32_t row = 0; rows && f->all && row < f->texts; row++)
        rows[(*count)++] = row;
    for (size_t i = 0; rows && !f->all && i < f->qrels.count; i++) {
        uint32_t query = f->qrels.rows[i].query;
        if (query < f->texts && (*count == 0 || rows[*count - 1] != query))
            rows[(*count)++] = query;
    }
    return rows;
}

bool gb_bm25_folder_search(const gb_bm25_folder *folder, uint32_t depth, uint32_t threads,
                           gb_run *run, gb_status *status)
{
    size_t count;
    uint32_t *rows = choose_queries(folder, &count, status);
    const gb_bm25_queries queries = {.rows = rows,
                                     .count = count,
                                     .text = folder->text,
                                     .ctx = folder->text_ctx,
                                     .depth = depth,
                                     .threads = threads};
    bool ok = rows && gb_bm25_run(folder->index, &queries, run, status);
    free(rows);
    return ok;
}
