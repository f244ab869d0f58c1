/* Folders of vectors of a part of a collection. */
#include "late.h"
#include "sparse.h"

#include <gabbro/store.h>

#include <stdlib.h>
#include <string.h>

/* What is encoded. */
typedef struct job {
    gb_text_kind kind;        /* of the texts */
    const gb_row_file *names; /* their external ids */
    uint32_t *queries;        /* of the split, or NULL: all passages */
    uint32_t total;           /* texts of all shards */
    gb_encode_rows texts;     /* of this one */
} job;

static bool plan(job *j, const gb_retriever *retriever, const gb_shard *shard, gb_status *status)
{
    const gb_tokens *tokens = gb_retriever_tokens(retriever);
    const gb_collection *collection = retrieve_params(retriever)->collection;
    gb_split split = {0};
    *j = (job){.kind = GB_TEXT_PASSAGE,
               .names = collection->passage_ids,
               .total = collection->passages,
               .texts = {.tokens = tokens->passages, .label = "encode"}};
    if (shard->split) {
        if (!gb_split_open(collection, shard->split, &split, status))
            return false;
        j->kind = GB_TEXT_QUERY;
        j->names = collection->query_ids;
        j->total = split.count;
        j->texts.tokens = tokens->queries;
        j->texts.rows = j->queries = split.queries;
        split.queries = NULL;
        gb_split_free(&split);
    }
    uint64_t total = j->total;
    j->texts.first = (uint32_t)(total * shard->index / shard->count);
    j->texts.count = (uint32_t)(total * (shard->index + 1) / shard->count) - j->texts.first;
    return true;
}

bool retrieve_write_ids(const gb_row_file *names, const gb_encode_rows *texts, const char *folder,
                        gb_status *status)
{
    char *path = gb_path_join(status, folder, "ids.txt");
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    for (uint32_t i = 0; out && i < texts->count; i++) {
        size_t length;
        uint32_t row = texts->first + i;
        const char *id = gb_row_file_row(names, texts->rows ? texts->rows[row] : row, &length);
        fwrite(id, 1, length, gb_out_stream(out));
        fputc('\n', gb_out_stream(out));
    }
    free(path);
    return out && gb_out_commit(out, status);
}

bool retrieve_write_description(const retrieve_description *d, const char *folder,
                                gb_status *status)
{
    char model[GB_IDENTITY], source[GB_IDENTITY];
    if (!gb_identity(d->model, model, status) || !gb_identity(d->source, source, status))
        return false;
    char *texts = gb_format(status, "%s %s", d->split ? d->split : "passages", source);
    char *encoder = gb_format(status, "%s%s%s", model, d->pooling ? " pooling " : "",
                              d->pooling ? d->pooling : "");
    json_t *json = texts && encoder
                       ? json_pack("{s:s, s:s, s:i, s:i, s:i, s:i}", "model", encoder, "texts",
                                   texts, "first", (int)d->first, "rows", (int)d->rows, "total",
                                   (int)d->total, "width", (int)d->width)
                       : NULL;
    bool ok =
        texts && encoder && gb_json_save_in(json, JSON_INDENT(1), folder, "vectors.json", status);
    json_decref(json);
    free(texts);
    free(encoder);
    return ok;
}

/* vectors.jsonl, by way of files of the ranks. */
static bool write_sparse(const job *j, const gb_retriever *retriever, const char *folder,
                         const gb_vector_file *file, gb_shard_written *written, gb_status *status)
{
    return retrieve_sparse_write(retriever, j->kind, &j->texts, file, &written->padding, status) &&
           (gb_ranks_rank(retrieve_params(retriever)->ranks) ||
            retrieve_sparse_print(retriever, file->path, &j->texts, j->names, folder, status));
}

/* vectors.npy, and what goes with vectors of tokens. */
static bool write_vectors(const job *j, const gb_retriever *retriever, const gb_shard *shard,
                          const char *folder, const char *journal, gb_padding *padding,
                          gb_status *status)
{
    if (retrieve_is_late(retriever))
        return retrieve_late_write_shard(retriever, j->kind, &j->texts, shard->numbers, folder,
                                         journal, padding, status);
    char *path = gb_path_join(status, folder, "vectors.npy");
    bool ok = path &&
              gb_retriever_write(retriever, j->kind, &j->texts,
                                 &(gb_vector_file){path, journal, shard->numbers}, padding, status);
    free(path);
    return ok;
}

bool gb_retriever_write_shard(const gb_retriever *retriever, const gb_shard *shard,
                              const char *folder, const char *resume, const char *journal,
                              gb_shard_written *written, gb_status *status)
{
    job j = {0};
    if (gb_retriever_is_sparse(retriever)) {
        if (shard->numbers != GB_NUMBER_FLOAT32)
            return gb_fail(status, GB_USAGE, "--numbers", "leave it out; --quantize rounds weights",
                           "sparse vectors are written as text");
        const gb_vector_file file = {.path = resume, .journal = journal};
        bool ok = plan(&j, retriever, shard, status) &&
                  write_sparse(&j, retriever, folder, &file, written, status);
        written->texts = j.texts.count;
        free(j.queries);
        return ok;
    }
    bool ok = plan(&j, retriever, shard, status) &&
              write_vectors(&j, retriever, shard, folder, journal, &written->padding, status);
    const gb_retriever_params *how = retrieve_params(retriever);
    const retrieve_description description = {.model = how->model,
                                              .pooling = how->pooling,
                                              .source = how->tokens,
                                              .split = shard->split,
                                              .first = j.texts.first,
                                              .rows = j.texts.count,
                                              .total = j.total,
                                              .width = gb_retriever_width(retriever)};
    if (ok && !gb_ranks_rank(how->ranks))
        ok = retrieve_write_ids(j.names, &j.texts, folder, status) &&
             retrieve_write_description(&description, folder, status);
    written->texts = j.texts.count;
    free(j.queries);
    return ok;
}
