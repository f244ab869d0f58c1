/* The API of text-embeddings-inference: /embed, /rerank, /info. Statuses and words of errors are
 * those of its router. */
#include "http.h"

#include <string.h>

static void write(serve_job *job, const serve_site *site)
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

bool serve_tei_embed_read(serve_job *job, const serve_site *site)
{
    const char *direction = NULL;
    job->write = write;
    job->scale = true;
    return serve_get_flag(job, "normalize", &job->scale) &&
           serve_get_flag(job, "truncate", &job->cut) &&
           serve_get_word(job, "truncation_direction", &direction) &&
           (!direction || !strcasecmp(direction, "right") ||
            serve_fail(job, SERVE_BAD_VALUE, "`truncation_direction` can only be \"Right\"")) &&
           serve_get_number(job, "dimensions", 1, site->width, &job->dims) &&
           serve_get_kind(job, "prompt_name", &job->kind) &&
           serve_get_texts(job, "inputs", site->how->max_texts);
}

bool serve_tei_rerank_read(serve_job *job, const serve_site *site)
{
    const char *query = NULL;
    if (!serve_get_word(job, "query", &query))
        return false;
    if (!query)
        return serve_fail(job, SERVE_BAD_VALUE, "`query` is missing");
    return serve_get_texts(job, "texts", site->how->max_texts) &&
           serve_fail(job, SERVE_WRONG_MODEL, "Backend error: model is not a re-ranker model");
}

void serve_tei_info(serve_job *job, const serve_site *site)
{
    serve_answer(job, json_pack("{s:s, s:s, s:{s:{s:s}}, s:i, s:i, s:i, s:s}", "model_id",
                                site->name, "model_dtype", "float32", "model_type", "embedding",
                                "pooling", "as the model's folder says", "max_input_length",
                                (int)site->max_tokens, "max_client_batch_size",
                                (int)site->how->max_texts, "max_concurrent_requests",
                                (int)site->how->queue, "version", gabbro_version()));
}
