/* The API of text-embeddings-inference: /embed, /rerank, /info. Statuses and words of errors are
 * those of its router. */
#include "http.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void write_vectors(serve_job *job, const serve_site *site)
{
    gb_text *out = &job->body;
    gb_text_append(out, "[", 1);
    for (uint32_t i = 0; i < job->count; i++) {
        if (i)
            gb_text_append(out, ",", 1);
        serve_print_vector(job, site, i, out);
    }
    gb_text_append(out, "]", 1);
    job->status = 200;
    if (out->failed)
        serve_fail(job, SERVE_FAILED, "out of memory");
}

static bool get_truncation(serve_job *job)
{
    const char *direction = NULL;
    return serve_get_flag(job, "truncate", &job->cut) &&
           serve_get_word(job, "truncation_direction", &direction) &&
           (!direction || !strcasecmp(direction, "right") ||
            serve_fail(job, SERVE_BAD_VALUE, "`truncation_direction` can only be \"Right\""));
}

bool serve_tei_embed_read(serve_job *job, const serve_site *site)
{
    job->write = write_vectors;
    job->scale = true;
    if (!site->width)
        return serve_fail(job, SERVE_WRONG_MODEL, "Backend error: model is not an embedding model");
    return serve_get_flag(job, "normalize", &job->scale) && get_truncation(job) &&
           serve_get_number(job, "dimensions", 1, site->width, &job->dims) &&
           serve_get_kind(job, "prompt_name", &job->kind) &&
           serve_get_texts(job, "inputs", site->how->max_texts);
}

/* A text with its score. */
typedef struct ranked {
    uint32_t index; /* among the texts */
    float score;
} ranked;

static int by_score(const void *a_, const void *b_)
{
    const ranked *a = a_, *b = b_;
    if (a->score != b->score)
        return a->score > b->score ? -1 : 1;
    return (a->index > b->index) - (a->index < b->index);
}

static void write_ranks(serve_job *job, const serve_site *site)
{
    (void)site;
    ranked *ranks = gb_alloc(job->count, sizeof *ranks, NULL);
    json_t *list = json_array();
    for (uint32_t i = 0; ranks && i < job->count; i++) {
        double logit = (double)job->vectors[i];
        ranks[i] = (ranked){i, job->raw ? job->vectors[i] : (float)(1 / (1 + exp(-logit)))};
    }
    if (ranks)
        qsort(ranks, job->count, sizeof *ranks, by_score);
    for (uint32_t i = 0; ranks && i < job->count; i++) {
        json_t *item =
            json_pack("{s:i, s:f}", "index", (int)ranks[i].index, "score", (double)ranks[i].score);
        if (job->with_texts)
            json_object_set_new(item, "text", json_string(job->texts[ranks[i].index]));
        json_array_append_new(list, item);
    }
    if (ranks) {
        serve_answer(job, list);
    } else {
        json_decref(list);
        serve_fail(job, SERVE_FAILED, "out of memory");
    }
    free(ranks);
}

bool serve_tei_rerank_read(serve_job *job, const serve_site *site)
{
    const char *query = NULL;
    job->write = write_ranks;
    if (!serve_get_word(job, "query", &query))
        return false;
    if (!query)
        return serve_fail(job, SERVE_BAD_VALUE, "`query` is missing");
    if (!serve_get_texts(job, "texts", site->how->max_texts))
        return false;
    if (site->width)
        return serve_fail(job, SERVE_WRONG_MODEL, "Backend error: model is not a re-ranker model");
    if (!(job->queries = gb_alloc(job->count, sizeof *job->queries, NULL)))
        return serve_fail(job, SERVE_FAILED, "out of memory");
    for (uint32_t i = 0; i < job->count; i++)
        job->queries[i] = query;
    return serve_get_flag(job, "raw_scores", &job->raw) &&
           serve_get_flag(job, "return_text", &job->with_texts) && get_truncation(job);
}

void serve_tei_info(serve_job *job, const serve_site *site)
{
    const char *pooling = gabbro_model_pooling(site->model);
    if (pooling && strcmp(pooling, "last") == 0)
        pooling = "last_token"; /* its word there */
    json_t *kind = site->width ? json_pack("{s:{s:s}}", "embedding", "pooling", pooling)
                               : json_pack("{s:{s:{s:s}, s:{s:i}}}", "reranker", "id2label", "0",
                                           "LABEL_0", "label2id", "LABEL_0", 0);
    serve_answer(job, json_pack("{s:s, s:s, s:o, s:i, s:i, s:i, s:s}", "model_id", site->name,
                                "model_dtype", "float32", "model_type", kind, "max_input_length",
                                (int)site->max_tokens, "max_client_batch_size",
                                (int)site->how->max_texts, "max_concurrent_requests",
                                (int)site->how->queue, "version", gabbro_version()));
}
