/* T5 and LLaMA from and to Hugging Face folders. What lies together here (key and value, gate and
 * up) lies apart there; everything else has the same name on both sides. */
#include "nn/language.h"

#include <gabbro/upload.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Joined here: the name's part, and the two that stand for it in the folders. */
static const char *const joined[][3] = {{".kv.", ".k.", ".v."},
                                        {".kv_proj.", ".k_proj.", ".v_proj."},
                                        {".wi_01.", ".wi_0.", ".wi_1."},
                                        {".gate_up_proj.", ".gate_proj.", ".up_proj."}};

/* The tensors of a folder, and how they are kept. */
typedef struct source {
    gb_safetensors *tensors; /* open */
    char *path;              /* for messages */
    gb_packing packing;      /* of parameters with a width */
} source;

static bool source_open(source *s, const char *folder, gb_status *status)
{
    s->path = gb_path_join(status, folder, "model.safetensors");
    if (s->path && !gb_file_exists(s->path)) {
        free(s->path);
        s->path = gb_path_join(status, folder, "model.safetensors.index.json");
    }
    s->tensors = s->path ? gb_safetensors_open(s->path, status) : NULL;
    return s->tensors != NULL;
}

static void source_close(source *s)
{
    gb_safetensors_close(s->tensors);
    free(s->path);
}

static bool keep_row(const source *s, const gb_stored *stored, uint32_t row, uint32_t width,
                     const float *from, uint32_t cols, float *to, gb_status *status)
{
    for (uint32_t c = 0; c < cols; c++)
        if (!isfinite(from[c]))
            return gb_fail(status, GB_DATA, stored->path,
                           "the training that wrote it diverged, or the file is damaged",
                           "tensor %s is not finite in row %u", stored->name, row);
    if (gb_pack_row(width ? s->packing : GB_PACKED_NOT, from, cols, (uint32_t *)(void *)to))
        return true;
    return gb_fail(status, GB_DATA, stored->path, "give --weights bf16 or q8",
                   "tensor %s has a value beyond %s in row %u", stored->name,
                   gb_packing_name(s->packing), row);
}

/* Rows [row0, row0 + rows) of a parameter from the tensor `name`; values: the parameter's. */
static bool load_rows(const source *s, const char *name, const gb_param *param, uint32_t width,
                      uint32_t row0, uint32_t rows, float *values, gb_status *status)
{
    const gb_stored *stored = gb_safetensors_find(s->tensors, name);
    if (!stored)
        return gb_fail(status, GB_DATA, s->path,
                       "is it a model of the kind and size that config.json says?",
                       "tensor %.120s is missing", name);
    bool vector = strstr(name, "norm") != NULL;
    uint32_t cols = width ? width : param->cols;
    float *dense = gb_alloc((size_t)rows * cols, sizeof *dense, status);
    bool ok =
        dense && gb_stored_read(stored, vector ? cols : rows, vector ? 0 : cols, dense, status);
    for (uint32_t r = 0; ok && r < rows; r++)
        ok = keep_row(s, stored, r, width, dense + (size_t)r * cols, cols,
                      values + (size_t)(row0 + r) * param->ld, status);
    free(dense);
    return ok;
}

/* The one or two tensors of the folders that a parameter is, half of its rows each. */
static uint32_t stored_names(const gb_param *param, char names[2][GB_WEIGHT_NAME])
{
    for (size_t j = 0; j < sizeof joined / sizeof *joined; j++) {
        const char *at = strstr(param->name, joined[j][0]);
        for (uint32_t half = 0; at && half < 2; half++)
            snprintf(names[half], GB_WEIGHT_NAME, "%.*s%s%s", (int)(at - param->name), param->name,
                     joined[j][1 + half], at + strlen(joined[j][0]));
        if (at)
            return 2;
    }
    snprintf(names[0], GB_WEIGHT_NAME, "%s", param->name);
    return 1;
}

static bool load_param(const source *s, const gb_param *param, uint32_t width, float *values,
                       gb_status *status)
{
    char names[2][GB_WEIGHT_NAME];
    uint32_t count = stored_names(param, names), rows = param->rows / count;
    for (uint32_t n = 0; n < count; n++)
        if (!load_rows(s, names[n], param, width, n * rows, rows, values, status))
            return false;
    return true;
}

static bool is_cache(const gb_param *param)
{
    return !strncmp(param->name, LANGUAGE_CACHE, strlen(LANGUAGE_CACHE));
}

bool gb_language_load(const char *folder, const gb_params *params, float *values, gb_status *status)
{
    source s = {.packing = GB_PACKED_NOT};
    bool ok = source_open(&s, folder, status);
    memset(values, 0, gb_params_floats(params) * sizeof *values);
    for (uint32_t i = 0; ok && i < gb_params_count(params); i++) {
        const gb_param *param = gb_params_at(params, i);
        ok = is_cache(param) || load_param(&s, param, 0, values + param->offset, status);
    }
    source_close(&s);
    return ok;
}

bool gb_language_upload(const char *folder, const gb_language *lm, const gb_params *params,
                        gb_state *state, gb_status *status)
{
    source s = {.packing = lm->packing};
    bool ok = source_open(&s, folder, status);
    for (uint32_t i = 0; ok && i < gb_params_count(params); i++) {
        const gb_param *param = gb_params_at(params, i);
        if (is_cache(param))
            continue;
        size_t floats = (size_t)param->rows * param->ld;
        float *values = gb_alloc(floats, sizeof *values, status);
        ok = values &&
             load_param(&s, param, i < lm->width_count ? lm->widths[i] : 0, values, status) &&
             gb_state_write_part(state, param->offset, floats, values, status);
        free(values);
    }
    source_close(&s);
    return ok;
}

/* ---- writing ---- */

static bool store_param(gb_arena *arena, const gb_param *param, const float *values,
                        gb_weight *weights, size_t *weight_count, gb_status *status)
{
    char names[2][GB_WEIGHT_NAME];
    bool vector = strstr(param->name, "norm") != NULL;
    uint32_t count = stored_names(param, names), rows = param->rows / count;
    for (uint32_t n = 0; n < count; n++) {
        float *dense = gb_arena_alloc(arena, sizeof *dense * rows * param->cols, status);
        char *name = dense ? gb_arena_strdup(arena, names[n], strlen(names[n]), status) : NULL;
        if (!name)
            return false;
        for (uint32_t r = 0; r < rows; r++)
            memcpy(dense + (size_t)r * param->cols,
                   values + param->offset + (uint64_t)(n * rows + r) * param->ld,
                   sizeof *dense * param->cols);
        weights[(*weight_count)++] =
            (gb_weight){name, vector ? param->cols : rows, vector ? 0 : param->cols, dense};
    }
    return true;
}

bool gb_language_save(const char *folder, const gb_language_config *config, const gb_params *params,
                      const float *values, const gb_vocab *vocab, uint32_t max_length,
                      gb_status *status)
{
    gb_arena *arena = gb_arena_create(1 << 20, status);
    gb_weight *weights = gb_alloc((size_t)gb_params_count(params) * 2, sizeof *weights, status);
    size_t count = 0;
    bool ok = arena && weights;
    for (uint32_t i = 0; ok && i < gb_params_count(params); i++) {
        const gb_param *param = gb_params_at(params, i);
        if (!is_cache(param))
            ok = store_param(arena, param, values, weights, &count, status);
    }
    ok = ok && gb_language_folder_write(folder, config, weights, count, vocab, max_length, status);
    gb_arena_destroy(arena);
    free(weights);
    return ok;
}
