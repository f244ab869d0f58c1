#include "gabbro/figures.h"
#include "gabbro/retrieve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool gb_vocab_projection_open(gb_vocab_projection *p, const char *path, const gb_tokens *tokens,
                              gb_status *status)
{
    *p = (gb_vocab_projection){0};
    if (!gb_model_input_open(&p->model, path, tokens, status))
        return false;
    p->has_head = gb_folder_has_head(p->model.folder);
    if ((p->params = gb_params_create(status)) &&
        gb_bert_declare(p->params, &p->model.config, p->has_head, &p->bert, status) &&
        (p->values = gb_model_input_values(p->model.folder, p->params, status)))
        return true;
    gb_vocab_projection_close(p);
    return false;
}

void gb_vocab_projection_close(gb_vocab_projection *p)
{
    if (p->params)
        gb_bert_free(&p->bert);
    gb_params_destroy(p->params);
    if (p->model.folder)
        gb_model_input_close(&p->model);
    free(p->values);
    *p = (gb_vocab_projection){0};
}

bool gb_vocab_projection_encode(const gb_vocab_projection *p, gb_device *device,
                                const gb_projected_texts *texts, float **out, gb_status *status)
{
    const gb_encoder_params how = {.device = device,
                                   .bert = &p->bert,
                                   .params = p->params,
                                   .values = p->values,
                                   .specials = gb_vocab_specials(p->model.vocab),
                                   .max_length = texts->max_length};
    const gb_encode_rows rows = {
        .tokens = texts->file, .rows = texts->rows, .count = texts->count, .label = "encode"};
    *out = gb_alloc((size_t)texts->count * p->model.config.hidden_size, sizeof **out, status);
    return *out && gb_encode(&how, &rows, *out, status);
}

static const float *values_of(const gb_vocab_projection *p, uint32_t index, uint32_t *ld)
{
    const gb_param *param = gb_params_at(p->params, index);
    if (ld)
        *ld = param->ld;
    return p->values + param->offset;
}

/* NULL: ModernBERT has no such bias. */
static const float *bias_of(const gb_vocab_projection *p, uint32_t index)
{
    return index == UINT32_MAX ? NULL : values_of(p, index, NULL);
}

/* out = LN(GELU(W h + b)), float64 sums in order; [H] */
static void transform(const gb_vocab_projection *p, const float *h, double *scratch, float *out)
{
    uint32_t width = p->model.config.hidden_size, ld;
    const float *weight = values_of(p, p->bert.transform_weight, &ld);
    const float *bias = bias_of(p, p->bert.transform_bias);
    const float *gain = values_of(p, p->bert.head_norm_weight, NULL);
    const float *shift = bias_of(p, p->bert.head_norm_bias);
    double mean = 0, variance = 0;
    for (uint32_t r = 0; r < width; r++) {
        double sum = bias ? (double)bias[r] : 0;
        for (uint32_t c = 0; c < width; c++)
            sum += (double)weight[(size_t)r * ld + c] * (double)h[c];
        scratch[r] = sum * .5 * (1 + erf(sum * M_SQRT1_2));
        mean += scratch[r] / width;
    }
    for (uint32_t r = 0; r < width; r++)
        variance += (scratch[r] - mean) * (scratch[r] - mean) / width;
    double scale = 1 / sqrt(variance + p->model.config.layer_norm_eps);
    for (uint32_t r = 0; r < width; r++)
        out[r] =
            (float)((scratch[r] - mean) * scale * (double)gain[r] + (shift ? (double)shift[r] : 0));
}

/* Vectors and tokens such that their inner products are the logits: with a bias, one column more.
 */
static bool operands(const gb_vocab_projection *head, const gb_projected_vectors *vectors,
                     float *left, float *right, gb_status *status)
{
    bool full = vectors->full;
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
    for (uint32_t i = 0; i < vectors->count; i++) {
        const float *h = vectors->values + (size_t)i * width;
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

bool gb_vocab_projection_top(const gb_vocab_projection *head, gb_device *device,
                             const gb_projected_vectors *vectors, uint32_t depth, uint32_t *top,
                             gb_status *status)
{
    const char *path = gb_folder_path(head->model.folder);
    bool full = vectors->full;
    uint32_t count = vectors->count, width = head->model.config.hidden_size;
    uint32_t tokens = gb_vocab_size(head->model.vocab), columns = width + (full ? 1 : 0);
    if (vectors->width != width)
        return gb_fail(status, GB_USAGE, path, "give a --reference of the same width, or none",
                       "the head is for vectors of %u numbers, the model gives %u", width,
                       vectors->width);
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
    bool ok = left && right && scores && operands(head, vectors, left, right, status) &&
              gb_search(device, &queries, &words, &params, &(gb_found){top, scores}, status);
    free(left);
    free(right);
    free(scores);
    return ok;
}
