/* Parameters as tensors of the files in a model folder. */
#include <gabbro/nn.h>

#include <stdlib.h>
#include <string.h>

uint32_t gb_param_part_count(const gb_param *param)
{
    return param->kind == GB_PARAM_STATE ? 0 : param->parts ? param->parts->count : 1;
}

static void set_name(const gb_param *param, uint32_t index, char name[GB_WEIGHT_NAME])
{
    const gb_param_parts *parts = param->parts;
    if (parts)
        snprintf(name, GB_WEIGHT_NAME, "%.*s%s%s", (int)param->parts_at, param->name,
                 parts->names[index], param->name + param->parts_at + strlen(parts->whole));
    else
        snprintf(name, GB_WEIGHT_NAME, "%s", param->name);
}

void gb_param_part(const gb_param *param, uint32_t index, gb_file_part *part)
{
    uint32_t count = gb_param_part_count(param);
    bool vector = param->kind == GB_PARAM_VECTOR;
    *part = (gb_file_part){.rows = vector ? 1 : param->rows / count,
                           .cols = vector ? param->file_cols / count : param->file_cols,
                           .vector = vector};
    part->at = (uint64_t)index * (vector ? part->cols : (uint64_t)part->rows * param->ld);
    set_name(param, index, part->name);
}

static bool add(gb_file_tensors *list, const gb_param *param, const float *values,
                gb_status *status)
{
    for (uint32_t i = 0; i < gb_param_part_count(param); i++) {
        gb_file_part part;
        gb_param_part(param, i, &part);
        char *name = gb_arena_strdup(list->names, part.name, strlen(part.name), status);
        if (!name)
            return false;
        gb_weight *weight = param->file == GB_FILE_ASIDE ? &list->aside[list->aside_count++]
                                                         : &list->model[list->model_count++];
        *weight = (gb_weight){.name = name,
                              .rows = part.vector ? part.cols : part.rows,
                              .cols = part.vector ? 0 : part.cols,
                              .data = values + param->offset + part.at,
                              .stride = param->ld};
    }
    return true;
}

bool gb_file_tensors_make(gb_file_tensors *list, const gb_params *params, const float *values,
                          gb_status *status)
{
    size_t most = 0;
    for (uint32_t i = 0; i < gb_params_count(params); i++)
        most += gb_param_part_count(gb_params_at(params, i));
    *list = (gb_file_tensors){.model = gb_alloc(most, sizeof *list->model, status),
                              .aside = gb_alloc(most, sizeof *list->aside, status),
                              .names = gb_arena_create(1 << 16, status)};
    bool ok = list->model && list->aside && list->names;
    for (uint32_t i = 0; ok && i < gb_params_count(params); i++)
        ok = add(list, gb_params_at(params, i), values, status);
    return ok;
}

void gb_file_tensors_free(gb_file_tensors *list)
{
    gb_arena_destroy(list->names);
    free(list->model);
    free(list->aside);
}
