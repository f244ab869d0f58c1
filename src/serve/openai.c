/* OpenAI's API: /v1/embeddings and /v1/models. Statuses and members as its reference documents
 * them; "input_type" (query, passage) comes from other servers of the same API. */
#include "http.h"

#include <string.h>

#define MAX_TEXTS 2048 /* of a request, as the API has it */

static void write_embeddings(serve_job *job, const serve_site *site)
{
    gb_text *out = &job->body;
    uint64_t tokens = 0;
    gb_text_printf(out, "{\"object\":\"list\",\"data\":[");
    for (uint32_t i = 0; i < job->count; i++) {
        gb_text_printf(out, "%s{\"object\":\"embedding\",\"index\":%u,\"embedding\":", i ? "," : "",
                       i);
        serve_print_vector(job, site, i, out);
        gb_text_printf(out, "}");
        tokens += job->tokens[i] < site->max_tokens ? job->tokens[i] : site->max_tokens;
    }
    json_t *name = json_string(site->name);
    gb_text_printf(out, "],\"model\":");
    bool ok = gb_json_print(name, JSON_ENCODE_ANY | JSON_COMPACT, out, NULL);
    gb_text_printf(out, ",\"usage\":{\"prompt_tokens\":%llu,\"total_tokens\":%llu}}",
                   (unsigned long long)tokens, (unsigned long long)tokens);
    json_decref(name);
    job->status = 200;
    if (!ok || out->failed)
        serve_fail(job, SERVE_FAILED, "out of memory");
}

/* The name of the command line, or the last part of it; a "/" at its end says nothing. */
static bool is_model(const char *name, const char *asked)
{
    size_t end = strlen(name), length = strlen(asked);
    if (!strcmp(name, asked))
        return true;
    while (end > 1 && name[end - 1] == '/')
        end--;
    return length && length <= end && !memcmp(name + end - length, asked, length) &&
           (length == end || name[end - length - 1] == '/') &&
           (length == end || !memchr(asked, '/', length));
}

bool serve_openai_read(serve_job *job, const serve_site *site)
{
    const char *model = NULL, *format = "float";
    job->write = write_embeddings;
    job->scale = true;
    if (!serve_get_word(job, "model", &model) || !serve_get_word(job, "encoding_format", &format))
        return false;
    if (!model)
        return serve_fail(job, SERVE_BAD_VALUE, "you must provide a model parameter");
    if (!is_model(site->name, model))
        return serve_fail(job, SERVE_NO_MODEL,
                          "The model `%.200s` does not exist or you do not have access to it.",
                          model);
    if (!site->width)
        return serve_fail(job, SERVE_WRONG_MODEL,
                          "The model `%.200s` scores pairs, it makes no "
                          "vectors: /rerank",
                          model);
    job->base64 = !strcmp(format, "base64");
    if (!job->base64 && strcmp(format, "float") != 0)
        return serve_fail(job, SERVE_BAD_VALUE, "`encoding_format` is \"float\" or \"base64\"");
    return serve_get_number(job, "dimensions", 1, site->width, &job->dims) &&
           serve_get_kind(job, "input_type", &job->kind) &&
           serve_get_texts(job, "input", MAX_TEXTS);
}

void serve_openai_models(serve_job *job, const serve_site *site)
{
    serve_answer(job, json_pack("{s:s, s:[{s:s, s:s, s:i, s:s}]}", "object", "list", "data", "id",
                                site->name, "object", "model", "created", 0, "owned_by", "gabbro"));
}
