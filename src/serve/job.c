/* Jobs of the HTTP server: members of requests, answers, and errors in the form of each API. */
#include "http.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void serve_job_free(serve_job *job)
{
    if (!job)
        return;
    json_decref(job->request);
    free(job->texts);
    free(job->queries);
    free(job->vectors);
    free(job->tokens);
    free(job->hits);
    gb_text_free(&job->body);
    free(job);
}

/* ---- answers ---- */

void serve_answer(serve_job *job, json_t *json)
{
    job->body.length = 0;
    if (gb_json_print(json, JSON_COMPACT | JSON_REAL_PRECISION(9), &job->body, NULL))
        job->status = 200;
    else
        serve_fail(job, SERVE_FAILED, "the answer cannot be made");
    json_decref(json);
}

/* Statuses and words of OpenAI's errors and of text-embeddings-inference's, by serve_error. */
static const struct {
    unsigned openai;         /* status; also of the own API */
    const char *type, *code; /* of OpenAI's; code NULL: null */
    unsigned tei;            /* status */
    const char *tei_type;    /* error_type */
} errors[] = {
    [SERVE_NO_JSON] = {400, "invalid_request_error", NULL, 400, "Validation"},
    [SERVE_BAD_VALUE] = {400, "invalid_request_error", NULL, 422, "Validation"},
    [SERVE_EMPTY] = {400, "invalid_request_error", NULL, 400, "Empty"},
    [SERVE_TOO_MANY] = {400, "invalid_request_error", NULL, 413, "Validation"},
    [SERVE_TOO_LONG] = {400, "invalid_request_error", "context_length_exceeded", 413, "Validation"},
    [SERVE_TOO_LARGE] = {413, "invalid_request_error", NULL, 413, "Validation"},
    [SERVE_NO_MODEL] = {404, "invalid_request_error", "model_not_found", 422, "Validation"},
    [SERVE_NO_TOKEN] = {401, "invalid_request_error", "invalid_api_key", 401, "Validation"},
    [SERVE_FOREIGN] = {403, "invalid_request_error", NULL, 403, "Validation"},
    [SERVE_NO_PATH] = {404, "invalid_request_error", NULL, 404, "Validation"},
    [SERVE_BAD_METHOD] = {405, "invalid_request_error", NULL, 405, "Validation"},
    [SERVE_OVERLOADED] = {429, "requests", "rate_limit_exceeded", 429, "Overloaded"},
    [SERVE_LATE] = {503, "server_error", NULL, 503, "Unhealthy"},
    [SERVE_WRONG_MODEL] = {400, "invalid_request_error", NULL, 424, "Backend"},
    [SERVE_FAILED] = {500, "server_error", NULL, 424, "Backend"},
};

bool serve_fail(serve_job *job, serve_error error, const char *fmt, ...)
{
    char message[600];
    va_list args;
    va_start(args, fmt);
    vsnprintf(message, sizeof message, fmt, args);
    va_end(args);
    /* A request's own words, cut or sent so, may be no UTF-8, which JSON cannot hold. */
    bool utf8 = gb_utf8_valid(message, strlen(message));
    for (char *at = message; !utf8 && *at; at++)
        *at = (*at & 0x80) ? '?' : *at;
    bool tei = job->api == SERVE_TEI;
    const char *code = errors[error].code, *text = message;
    json_t *json =
        tei ? json_pack("{s:s, s:s}", "error", text, "error_type", errors[error].tei_type)
            : json_pack("{s:{s:s, s:s, s:n, s:s?}}", "error", "message", text, "type",
                        errors[error].type, "param", "code", code);
    job->body.length = 0;
    if (!gb_json_print(json, JSON_COMPACT, &job->body, NULL))
        gb_text_free(&job->body); /* short of memory: the status says enough */
    json_decref(json);
    job->status = tei ? errors[error].tei : errors[error].openai;
    return false;
}

/* ---- members of a request ---- */

static json_t *member(const serve_job *job, const char *key)
{
    json_t *value = json_object_get(job->request, key);
    return json_is_null(value) ? NULL : value;
}

bool serve_get_flag(serve_job *job, const char *key, bool *value)
{
    const json_t *given = member(job, key);
    if (given && !json_is_boolean(given))
        return serve_fail(job, SERVE_BAD_VALUE, "`%s` must be true or false", key);
    if (given)
        *value = json_is_true(given);
    return true;
}

bool serve_get_number(serve_job *job, const char *key, uint32_t min, uint32_t max, uint32_t *value)
{
    const json_t *given = member(job, key);
    json_int_t number = json_integer_value(given);
    if (given && (!json_is_integer(given) || number < min || number > max))
        return serve_fail(job, SERVE_BAD_VALUE, "`%s` must be a whole number from %u to %u", key,
                          min, max);
    if (given)
        *value = (uint32_t)number;
    return true;
}

bool serve_get_word(serve_job *job, const char *key, const char **value)
{
    const json_t *given = member(job, key);
    if (given && !json_is_string(given))
        return serve_fail(job, SERVE_BAD_VALUE, "`%s` must be a string", key);
    if (given)
        *value = json_string_value(given);
    return true;
}

bool serve_get_kind(serve_job *job, const char *key, gabbro_kind *kind)
{
    const char *word = NULL;
    if (!serve_get_word(job, key, &word))
        return false;
    *kind = GABBRO_PLAIN;
    if (word && !strcmp(word, "query"))
        *kind = GABBRO_QUERY;
    else if (word && (!strcmp(word, "passage") || !strcmp(word, "document")))
        *kind = GABBRO_PASSAGE;
    else if (word)
        return serve_fail(job, SERVE_BAD_VALUE, "`%s` is \"query\", \"passage\" or \"document\"",
                          key);
    return true;
}

static bool add_text(serve_job *job, const json_t *text, const char *key)
{
    if (!json_is_string(text))
        return serve_fail(job, SERVE_BAD_VALUE,
                          "`%s` must be a string or a list of strings; lists of token ids are not "
                          "taken",
                          key);
    if (!json_string_length(text))
        return serve_fail(job, SERVE_EMPTY, "`%s` cannot be empty", key);
    job->texts[job->count++] = json_string_value(text);
    return true;
}

bool serve_get_texts(serve_job *job, const char *key, uint32_t most)
{
    const json_t *given = member(job, key);
    job->member = key;
    if (!given)
        return serve_fail(job, SERVE_BAD_VALUE, "`%s` is missing", key);
    size_t count = json_is_array(given) ? json_array_size(given) : 1;
    if (!count)
        return serve_fail(job, SERVE_EMPTY, "`%s` cannot be empty", key);
    if (count > most)
        return serve_fail(job, SERVE_TOO_MANY, "batch size %zu > maximum allowed batch size %u",
                          count, most);
    job->single = !json_is_array(given);
    if (!(job->texts = gb_alloc(count, sizeof *job->texts, NULL)))
        return serve_fail(job, SERVE_FAILED, "out of memory");
    if (job->single)
        return add_text(job, given, key);
    for (size_t i = 0; i < count; i++)
        if (!add_text(job, json_array_get(given, i), key))
            return false;
    return true;
}

/* ---- vectors ---- */

void serve_print_vector(const serve_job *job, const serve_site *site, uint32_t row, gb_text *out)
{
    float *vector = job->vectors + (size_t)row * site->width;
    uint32_t width = job->dims ? job->dims : site->width;
    double square = 0;
    for (uint32_t i = 0; i < width; i++)
        square += (double)vector[i] * (double)vector[i];
    /* A part of a vector of length 1 is scaled again, as Matryoshka models want it. */
    double factor = job->scale && square > 0 ? 1 / sqrt(square) : 1;
    if (job->scale && fabs(factor - 1) < 1e-6)
        factor = 1; /* the model has done it */
    for (uint32_t i = 0; i < width && factor != 1; i++)
        vector[i] = (float)((double)vector[i] * factor);
    if (job->base64) { /* little endian, as all machines that have a Vulkan driver are */
        gb_text_append(out, "\"", 1);
        gb_base64_append(out, vector, width * sizeof *vector);
        gb_text_append(out, "\"", 1);
        return;
    }
    gb_text_append(out, "[", 1);
    for (uint32_t i = 0; i < width; i++)
        gb_text_printf(out, "%s%.9g", i ? "," : "", (double)vector[i]);
    gb_text_append(out, "]", 1);
}
