/* The list of a model's parameters and their places in the arena. */
#include <gabbro/tape.h>

#include <stdlib.h>
#include <string.h>

struct gb_params {
    gb_param *items;  /* parameters in the order they were added */
    uint32_t count;   /* how many */
    size_t capacity;  /* allocated */
    gb_map *names;    /* name -> index */
    uint64_t decayed; /* floats of the window that decays */
    uint64_t trained; /* floats of all that is trained */
    uint64_t floats;  /* floats of the arena */
    bool frozen;      /* laid out */
};

/* Every parameter starts at a multiple of 256 bytes, what any device accepts as binding offset. */
#define PARAM_ALIGN_FLOATS 64

gb_params *gb_params_create(gb_status *status)
{
    gb_params *params = gb_alloc(1, sizeof *params, status);
    if (!params)
        return NULL;
    params->names = gb_map_create(status);
    if (!params->names) {
        free(params);
        return NULL;
    }
    return params;
}

void gb_params_destroy(gb_params *params)
{
    if (!params)
        return;
    gb_map_destroy(params->names);
    free(params->items);
    free(params);
}

/* The star of a spec's name, or NULL where it has no parts. */
static const char *star_of(const gb_param_spec *spec)
{
    return spec->parts ? strchr(spec->name, '*') : NULL;
}

static bool check(const gb_params *params, const gb_param_spec *spec, gb_status *status)
{
    if (params->frozen)
        return gb_fail(status, GB_INTERNAL, spec->name, NULL, "parameter added after the layout");
    if (spec->kind == GB_PARAM_VECTOR && spec->rows != 1)
        return gb_fail(status, GB_INTERNAL, spec->name, NULL, "a vector of %u rows", spec->rows);
    uint32_t whole = spec->kind == GB_PARAM_VECTOR ? spec->cols : spec->rows;
    bool stored = spec->kind != GB_PARAM_STATE;
    if (spec->parts && (!star_of(spec) || (stored && whole % spec->parts->count)))
        return gb_fail(status, GB_INTERNAL, spec->name, NULL, "%u equal parts of %u",
                       spec->parts->count, whole);
    return true;
}

static bool set_name(const gb_params *params, const gb_param_spec *spec, gb_param *param,
                     gb_status *status)
{
    const char *star = star_of(spec);
    int before = (int)(star ? (size_t)(star - spec->name) : strlen(spec->name));
    int length = snprintf(param->name, sizeof param->name, "%.*s%s%s", before, spec->name,
                          star ? spec->parts->whole : "", star ? star + 1 : "");
    param->parts_at = (uint32_t)before;
    if ((size_t)length >= sizeof param->name)
        return gb_fail(status, GB_INTERNAL, spec->name, NULL,
                       "the name of a parameter has more than %zu bytes", sizeof param->name - 1);
    return gb_params_find(params, param->name) == UINT32_MAX ||
           gb_fail(status, GB_INTERNAL, param->name, NULL, "parameter added twice");
}

uint32_t gb_params_add(gb_params *params, const gb_param_spec *spec, gb_status *status)
{
    if (!check(params, spec, status) || !gb_grow(&params->items, &params->capacity,
                                                 params->count + 1, sizeof *params->items, status))
        return UINT32_MAX;
    gb_param *param = &params->items[params->count];
    bool trained = spec->kind != GB_PARAM_STATE && !spec->untrained;
    *param = (gb_param){.kind = spec->kind,
                        .rows = spec->rows,
                        .cols = spec->cols,
                        .ld = (spec->cols + 3) & ~3u,
                        .trained = trained,
                        .decays = trained && spec->kind == GB_PARAM_MATRIX,
                        .init = spec->init,
                        .init_std = spec->init_std,
                        .file = spec->file,
                        .file_cols = spec->file_cols ? spec->file_cols : spec->cols,
                        .parts = spec->parts};
    if (!set_name(params, spec, param, status) ||
        !gb_map_set(params->names, param->name, strlen(param->name), params->count, status))
        return UINT32_MAX;
    return params->count++;
}

uint32_t gb_params_add_matrix(gb_params *params, const char *name, uint32_t rows, uint32_t cols,
                              float std, gb_status *status)
{
    const gb_param_spec spec = {
        .name = name, .rows = rows, .cols = cols, .init = GB_INIT_NORMAL, .init_std = std};
    return gb_params_add(params, &spec, status);
}

uint32_t gb_params_add_vector(gb_params *params, const char *name, uint32_t cols, gb_init init,
                              gb_status *status)
{
    const gb_param_spec spec = {
        .name = name, .kind = GB_PARAM_VECTOR, .rows = 1, .cols = cols, .init = init};
    return gb_params_add(params, &spec, status);
}

uint32_t gb_params_add_state(gb_params *params, const char *name, uint32_t rows, uint32_t cols,
                             float std, gb_status *status)
{
    const gb_param_spec spec = {.name = name,
                                .kind = GB_PARAM_STATE,
                                .rows = rows,
                                .cols = cols,
                                .init = std > 0 ? GB_INIT_NORMAL : GB_INIT_ZEROS,
                                .init_std = std};
    return gb_params_add(params, &spec, status);
}

/* Place the parameters that are trained and decay as said, from `offset` on; returns the end. */
static uint64_t place(gb_params *params, bool trained, bool decays, uint64_t offset)
{
    for (uint32_t i = 0; i < params->count; i++) {
        gb_param *param = &params->items[i];
        if (param->trained != trained || param->decays != decays)
            continue;
        param->offset = offset;
        offset += (uint64_t)param->rows * param->ld;
        offset = (offset + PARAM_ALIGN_FLOATS - 1) / PARAM_ALIGN_FLOATS * PARAM_ALIGN_FLOATS;
    }
    return offset;
}

void gb_params_freeze(gb_params *params)
{
    if (params->frozen)
        return;
    params->decayed = place(params, true, true, 0);
    params->trained = place(params, true, false, params->decayed);
    params->floats = place(params, false, false, params->trained);
    params->frozen = true;
}

uint32_t gb_params_count(const gb_params *params)
{
    return params->count;
}

const gb_param *gb_params_at(const gb_params *params, uint32_t index)
{
    return &params->items[index];
}

uint32_t gb_params_find(const gb_params *params, const char *name)
{
    return gb_map_get(params->names, name, strlen(name));
}

uint64_t gb_params_floats(const gb_params *params)
{
    return params->floats;
}

uint64_t gb_params_arena_floats(const gb_params *params, gb_arena_id arena)
{
    return arena == GB_ARENA_PARAMS ? params->floats : params->trained;
}

uint64_t gb_params_decayed_floats(const gb_params *params)
{
    return params->decayed;
}

/* FNV-1a: gives every parameter name a stream of its own. */
static uint32_t name_stream(const char *name)
{
    uint32_t hash = 2166136261u;
    for (; *name; name++)
        hash = (hash ^ (unsigned char)*name) * 16777619u;
    return hash;
}

void gb_param_init(const gb_param *param, uint64_t seed, float *values)
{
    gb_rng rng = gb_rng_make(seed, GB_RNG_INIT, name_stream(param->name), 0);
    bool drawn = param->init == GB_INIT_NORMAL && param->init_std != 0;
    for (uint32_t row = 0; row < param->rows; row++) {
        float *out = values + param->offset + (uint64_t)row * param->ld;
        for (uint32_t col = 0; col < param->cols; col++) {
            if (drawn)
                out[col] = (float)(gb_rng_normal(&rng) * param->init_std);
            else
                out[col] = param->init == GB_INIT_ONES;
        }
    }
}

void gb_params_init(const gb_params *params, uint64_t seed, float *values)
{
    memset(values, 0, params->floats * sizeof *values);
    for (uint32_t i = 0; i < params->count; i++)
        gb_param_init(&params->items[i], seed, values);
}
