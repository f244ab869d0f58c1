#include "projector.h"

#include <gabbro/retrieve.h>

#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

bool projector_open(projector *p, const char *path, const char *tokens_step, gb_status *status)
{
    *p = (projector){0};
    if (!gb_model_input_open(&p->model, path, tokens_step, status))
        return false;
    p->has_head = gb_folder_has_head(p->model.folder);
    if ((p->params = gb_params_create(status)) &&
        gb_bert_declare(p->params, &p->model.config, p->has_head, &p->bert, status) &&
        (p->values = gb_model_input_values(p->model.folder, p->params, status)))
        return true;
    projector_close(p);
    return false;
}

void projector_close(projector *p)
{
    if (p->params)
        gb_bert_free(&p->bert);
    gb_params_destroy(p->params);
    if (p->model.folder)
        gb_model_input_close(&p->model);
    free(p->values);
    *p = (projector){0};
}

bool projector_encode(const projector *p, gb_device *device, const gb_table *table,
                      const uint32_t *rows, uint32_t count, uint32_t longest, float **out,
                      gb_status *status)
{
    gb_special_ids specials = gb_vocab_specials(p->model.vocab);
    *out = gb_alloc((size_t)count * p->model.config.hidden_size, sizeof **out, status);
    return *out && gb_encode(device, &p->bert, p->params, p->values, &specials, table, rows, count,
                             longest, "encode", *out, status);
}

static const float *values_of(const projector *p, uint32_t index, uint32_t *ld)
{
    const gb_param *param = gb_params_at(p->params, index);
    if (ld)
        *ld = param->ld;
    return p->values + param->offset;
}

/* out = LN(GELU(W h + b)), float64 sums in order; [H] */
static void transform(const projector *p, const float *h, double *scratch, float *out)
{
    uint32_t width = p->model.config.hidden_size, ld;
    const float *weight = values_of(p, p->bert.transform_weight, &ld);
    const float *bias = values_of(p, p->bert.transform_bias, NULL);
    const float *gain = values_of(p, p->bert.head_norm_weight, NULL);
    const float *shift = values_of(p, p->bert.head_norm_bias, NULL);
    double mean = 0, variance = 0;
    for (uint32_t r = 0; r < width; r++) {
        double sum = (double)bias[r];
        for (uint32_t c = 0; c < width; c++)
            sum += (double)weight[(size_t)r * ld + c] * (double)h[c];
        scratch[r] = sum * .5 * (1 + erf(sum * M_SQRT1_2));
        mean += scratch[r] / width;
    }
    for (uint32_t r = 0; r < width; r++)
        variance += (scratch[r] - mean) * (scratch[r] - mean) / width;
    double scale = 1 / sqrt(variance + p->model.config.layer_norm_eps);
    for (uint32_t r = 0; r < width; r++)
        out[r] = (float)((scratch[r] - mean) * scale * (double)gain[r] + (double)shift[r]);
}

/* Vectors and tokens such that their inner products are the logits: with a bias, one column more.
 */
static bool operands(const projector *head, bool full, const float *vectors, uint32_t count,
                     float *left, float *right, gb_status *status)
{
    uint32_t width = head->model.config.hidden_size, columns = width + (full ? 1 : 0), ld;
    uint32_t tokens = gb_vocab_size(head->model.vocab);
    const float *words = values_of(head, head->bert.word, &ld);
    const float *bias = full ? values_of(head, head->bert.head_bias, NULL) : NULL;
    double *scratch = gb_alloc(width, sizeof *scratch, status);
    if (!scratch)
        return false;
    for (uint32_t t = 0; t < tokens; t++) {
        memcpy(right + (size_t)t * columns, words + (size_t)t * ld, width * sizeof *right);
        if (full)
            right[(size_t)t * columns + width] = bias[t];
    }
    for (uint32_t i = 0; i < count; i++) {
        const float *h = vectors + (size_t)i * width;
        float *out = left + (size_t)i * columns;
        if (!full) {
            memcpy(out, h, width * sizeof *out);
        } else {
            transform(head, h, scratch, out);
            out[width] = 1;
        }
    }
    free(scratch);
    return true;
}

bool projector_top(const projector *head, bool full, gb_device *device, const float *vectors,
                   uint32_t count, uint32_t width, uint32_t depth, uint32_t *top, gb_status *status)
{
    const char *path = gb_folder_path(head->model.folder);
    uint32_t tokens = gb_vocab_size(head->model.vocab), columns = width + (full ? 1 : 0);
    if (width != head->model.config.hidden_size)
        return gb_fail(status, GB_USAGE, path, "give a --reference of the same width, or none",
                       "the head is for vectors of %u numbers, the model gives %u",
                       head->model.config.hidden_size, width);
    if (full && !head->has_head)
        return gb_fail(status, GB_USAGE, path,
                       "give --reference MODEL with one, or --projection plain",
                       "the model has no masked-LM head");
    if (depth > tokens)
        return gb_fail(status, GB_USAGE, path, NULL, "%u best tokens of a vocabulary of %u", depth,
                       tokens);
    float *left = gb_alloc((size_t)count * columns, sizeof *left, status);
    float *right = gb_alloc((size_t)tokens * columns, sizeof *right, status);
    float *scores = gb_alloc((size_t)count * depth, sizeof *scores, status);
    gb_vectors queries = {.rows = count, .width = columns, .values = left};
    gb_vectors words = {.rows = tokens, .width = columns, .values = right};
    gb_search_params params = {.k = depth, .label = "project"};
    bool ok = left && right && scores &&
              operands(head, full, vectors, count, left, right, status) &&
              gb_search(device, &queries, &words, &params, top, scores, status);
    free(left);
    free(right);
    free(scores);
    return ok;
}

bool model_name(const char **item, char name[MODEL_NAME], gb_status *status)
{
    const char *given = *item, *equals = strchr(given, '=');
    size_t length = equals ? (size_t)(equals - given) : 0;
    const char *start = equals ? given : gb_path_name(given, &length);
    if (equals)
        *item = equals + 1;
    bool fine = length && length < MODEL_NAME && **item && gb_utf8_valid(start, length);
    for (size_t i = 0; fine && i < length; i++)
        fine = !iscntrl((unsigned char)start[i]);
    if (!fine)
        return gb_fail(status, GB_USAGE, NULL, "--model NAME=MODEL", "\"%.80s\" names no model",
                       given);
    snprintf(name, MODEL_NAME, "%.*s", (int)length, start);
    return true;
}

json_t *model_names(step_list *models, char names[STEP_LIST_MOST][MODEL_NAME], gb_status *status)
{
    json_t *list = json_array();
    for (size_t m = 0; list && m < models->count; m++) {
        bool ok = model_name(&models->items[m], names[m], status);
        for (size_t n = 0; ok && n < m; n++)
            if (!strcmp(names[m], names[n]))
                ok = gb_fail(status, GB_USAGE, NULL, "--model NAME=MODEL",
                             "two models have the name \"%s\"", names[m]);
        if (!ok) {
            json_decref(list);
            return NULL;
        }
        json_array_append_new(list, json_string(names[m]));
    }
    json_t *settings = list ? json_pack("{s:o}", "names", list) : NULL;
    if (!settings)
        gb_fail_memory(status, "naming models");
    return settings;
}
