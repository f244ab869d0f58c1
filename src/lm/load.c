/* T5 and LLaMA from and to Hugging Face folders. */
#include <gabbro/lm.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The tensors of a folder, and how they are kept. */
typedef struct source {
    gb_safetensors *tensors; /* open */
    char *path;              /* for messages */
    gb_quant quant;          /* of its matrices on the device */
} source;

static bool source_open(source *s, const char *folder, gb_status *status)
{
    s->path = gb_folder_tensor_file(folder, status);
    s->tensors = s->path ? gb_safetensors_open(s->path, status) : NULL;
    return s->tensors != NULL;
}

static void source_close(source *s)
{
    gb_safetensors_close(s->tensors);
    free(s->path);
}

static bool keep_row(const gb_stored *stored, uint32_t row, gb_quant quant, const float *from,
                     uint32_t cols, float *to, gb_status *status)
{
    for (uint32_t c = 0; c < cols; c++)
        if (!isfinite(from[c]))
            return gb_fail(status, GB_DATA, stored->path,
                           "the training that wrote it diverged, or the file is damaged",
                           "tensor %s is not finite in row %u", stored->name, row);
    if (gb_quant_pack_row(quant, from, cols, (uint32_t *)(void *)to))
        return true;
    return gb_fail(status, GB_DATA, stored->path, "give --weights bf16 or q8",
                   "tensor %s has a value beyond %s in row %u", stored->name,
                   gb_packing_names[quant], row);
}

/* A share of a parameter, whose values begin at `values`. */
static bool load_part(const source *s, const gb_param *param, const gb_file_part *part,
                      float *values, gb_status *status)
{
    const gb_stored *stored = gb_safetensors_find(s->tensors, part->name);
    if (!stored && strncmp(part->name, "model.", 6) == 0) /* a LlamaModel, without its head */
        stored = gb_safetensors_find(s->tensors, part->name + 6);
    if (!stored)
        return gb_fail(status, GB_DATA, s->path,
                       "is it a model of the kind and size that config.json says?",
                       "tensor %.120s is missing", part->name);
    gb_quant quant = param->file_cols == param->cols ? GB_QUANT_NONE : s->quant;
    float *dense = gb_alloc((size_t)part->rows * part->cols, sizeof *dense, status);
    bool ok = dense && gb_stored_read(stored, part->vector ? part->cols : part->rows,
                                      part->vector ? 0 : part->cols, dense, status);
    for (uint32_t r = 0; ok && r < part->rows; r++)
        ok = keep_row(stored, r, quant, dense + (size_t)r * part->cols, part->cols,
                      values + part->at + (uint64_t)r * param->ld, status);
    free(dense);
    return ok;
}

static bool load_param(const source *s, const gb_param *param, float *values, gb_status *status)
{
    for (uint32_t i = 0; i < gb_param_part_count(param); i++) {
        gb_file_part part;
        gb_param_part(param, i, &part);
        if (!load_part(s, param, &part, values, status))
            return false;
    }
    return true;
}

bool gb_lm_load(const char *folder, const gb_params *params, float *values, gb_status *status)
{
    source s = {.quant = GB_QUANT_NONE};
    bool ok = source_open(&s, folder, status);
    memset(values, 0, gb_params_floats(params) * sizeof *values);
    for (uint32_t i = 0; ok && i < gb_params_count(params); i++) {
        const gb_param *param = gb_params_at(params, i);
        ok = load_param(&s, param, values + param->offset, status);
    }
    source_close(&s);
    return ok;
}

bool gb_lm_upload(const char *folder, const gb_lm *lm, const gb_params *params, gb_state *state,
                  gb_status *status)
{
    source s = {.quant = lm->quant};
    bool ok = source_open(&s, folder, status);
    for (uint32_t i = 0; ok && i < gb_params_count(params); i++) {
        const gb_param *param = gb_params_at(params, i);
        if (!gb_param_part_count(param))
            continue;
        size_t floats = (size_t)param->rows * param->ld;
        float *values = gb_alloc(floats, sizeof *values, status);
        ok = values && load_param(&s, param, values, status) &&
             gb_state_write_part(state, param->offset, floats, values, status);
        free(values);
    }
    source_close(&s);
    return ok;
}

bool gb_lm_save(const char *folder, const gb_lm_config *config, const gb_params *params,
                const float *values, const gb_vocab *vocab, uint32_t max_length, gb_status *status)
{
    gb_file_tensors list;
    bool ok =
        gb_file_tensors_make(&list, params, values, status) &&
        gb_lm_folder_write(folder, config, list.model, list.model_count, vocab, max_length, status);
    gb_file_tensors_free(&list);
    return ok;
}
