/* A dense layer on the vector of a text. */
#include "layers.h"

#include <stdlib.h>
#include <string.h>

const char *const gb_projector_names[] = {[GB_PROJECTOR_NONE] = "none",
                                          [GB_PROJECTOR_LINEAR] = "linear",
                                          [GB_PROJECTOR_NONLINEAR] = "nonlinear",
                                          NULL};

bool gb_projector_declare(gb_params *params, const char *prefix, gb_projector_kind kind,
                          const gb_bert_config *config, gb_projector *projector, gb_status *status)
{
    uint32_t h = config->hidden_size;
    const layer_scope scope = {.params = params, .prefix = prefix, .config = config};
    *projector = (gb_projector){.kind = kind};
    const layer_entry list[] = {{"weight", LAYER_WEIGHT, h, h, &projector->weight},
                                {"bias", LAYER_BIAS, 1, h, &projector->bias}};
    return kind == GB_PROJECTOR_NONE ||
           nn_layer_declare(&scope, list, sizeof list / sizeof *list, status);
}

gb_tensor gb_projector_apply(gb_builder *builder, const gb_projector *projector, gb_tensor x)
{
    if (projector->kind == GB_PROJECTOR_NONE)
        return x;
    gb_tensor y = gb_linear(builder->tape, x, gb_tape_param(builder->tape, projector->weight),
                            gb_tape_param(builder->tape, projector->bias), false, GB_NO_TENSOR);
    return projector->kind == GB_PROJECTOR_LINEAR ? y : gb_tanh(builder->tape, y);
}

/* ---- of retrievers ---- */

static const char *const prefixes[] = {"", "retriever.linear", "retriever.nonlinear"};

bool gb_bert_add_projector(gb_params *params, gb_bert *bert, gb_projector_kind kind,
                           gb_status *status)
{
    return gb_projector_declare(params, prefixes[kind], kind, &bert->config, &bert->projector,
                                status);
}

static bool folder_has_kind(const gb_folder *folder, gb_projector_kind kind)
{
    char name[96];
    snprintf(name, sizeof name, "%s.weight", prefixes[kind]);
    return gb_folder_has(folder, name);
}

gb_projector_kind gb_folder_projector(const gb_folder *folder)
{
    gb_projector_kind kind = GB_PROJECTOR_NONLINEAR;
    while (kind != GB_PROJECTOR_NONE && !folder_has_kind(folder, kind))
        kind--;
    return kind;
}

/* A stored matrix [rows, cols] or vector [cols] into a parameter. */
static bool read_into(const gb_folder *folder, const char *name, const gb_param *param, bool vector,
                      float *values, gb_status *status)
{
    float *dense = gb_alloc((size_t)param->rows * param->cols, sizeof *dense, status);
    bool ok = dense && gb_folder_read(folder, name, vector ? param->cols : param->rows,
                                      vector ? 0 : param->cols, dense, status);
    for (uint32_t r = 0; ok && r < param->rows; r++)
        memcpy(values + param->offset + (size_t)r * param->ld, dense + (size_t)r * param->cols,
               sizeof *dense * param->cols);
    free(dense);
    return ok;
}

bool gb_bert_start_projector(const gb_folder *folder, const gb_params *params, const gb_bert *bert,
                             uint64_t seed, float *values, gb_status *status)
{
    const gb_projector *p = &bert->projector;
    if (p->kind == GB_PROJECTOR_NONE || folder_has_kind(folder, p->kind))
        return true;
    const gb_param *weight = gb_params_at(params, p->weight), *bias = gb_params_at(params, p->bias);
    if (gb_folder_has(folder, "projector.weight"))
        return read_into(folder, "projector.weight", weight, false, values, status) &&
               read_into(folder, "projector.bias", bias, true, values, status);
    float *fresh = gb_alloc(gb_params_floats(params), sizeof *fresh, status);
    if (!fresh)
        return false;
    gb_params_init(params, seed, fresh);
    memcpy(values + weight->offset, fresh + weight->offset,
           sizeof *fresh * weight->rows * weight->ld);
    free(fresh);
    return true;
}
