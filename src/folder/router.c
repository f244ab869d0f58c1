/* Folders of sentence-transformers' Router, whose queries and passages go through other modules,
 * each in a sub-folder: those of learned sparse vectors whose queries are weights of their tokens.
 */
#include "folder/internal.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

bool folder_load_router(const char *root, json_t **router, gb_status *status)
{
    char *path = gb_path_join(status, root, FOLDER_ROUTER_SETTINGS);
    bool there = path && gb_file_exists(path);
    *router = there ? gb_json_load(path, GB_JSON_REALS, status) : NULL;
    bool ok = path && (*router || !there);
    free(path);
    return ok;
}

const char *folder_class(const char *type)
{
    const char *dot = strrchr(type, '.');
    return dot ? dot + 1 : type;
}

const char *folder_module_at(const json_t *router, const char *route, size_t index)
{
    const json_t *routes = json_object_get(router, "structure");
    return json_string_value(json_array_get(json_object_get(routes, route), index));
}

bool folder_module_is(const json_t *router, const char *route, size_t index, const char *kind)
{
    const char *module = folder_module_at(router, route, index);
    const json_t *types = json_object_get(router, "types");
    return module && strcmp(folder_class(gb_json_text(types, module)), kind) == 0;
}

bool folder_router_is_sparse(const char *root, bool *sparse, gb_status *status)
{
    json_t *router;
    bool ok = folder_load_router(root, &router, status);
    *sparse = folder_module_is(router, "document", 1, "SpladePooling");
    json_decref(router);
    return ok;
}

char *folder_find_body(const char *root, gb_status *status)
{
    json_t *router;
    char *body = NULL;
    if (!folder_load_router(root, &router, status))
        return NULL;
    const char *module = folder_module_at(router, "document", 0);
    if (module && *module && !strchr(module, '/') && strcmp(module, "..") != 0)
        body = gb_path_join(status, root, module);
    else
        body = gb_strdup(root, status);
    json_decref(router);
    return body;
}

static bool fail_route(const char *root, const char *route, gb_status *status)
{
    return gb_fail(status, GB_DATA, root,
                   "passages by a masked-LM head and SpladePooling, queries by "
                   "SparseStaticEmbedding are computed",
                   "the modules of a %s are not known here together", route);
}

bool folder_read_router(const gb_folder *folder, char **pooling, gb_status *status)
{
    const char *root = gb_folder_path(folder);
    json_t *router;
    *pooling = NULL;
    bool ok =
        folder_load_router(root, &router, status) &&
        (router || gb_fail(status, GB_DATA, root, "fetch or write the folder again",
                           "its modules ask for " FOLDER_ROUTER_SETTINGS ", which is missing"));
    if (ok && (!(folder_module_is(router, "document", 0, "MLMTransformer") ||
                 folder_module_is(router, "document", 0, "Transformer")) ||
               !folder_module_is(router, "document", 1, "SpladePooling") ||
               folder_module_at(router, "document", 2)))
        ok = fail_route(root, "document", status);
    if (ok && (!folder_module_is(router, "query", 0, "SparseStaticEmbedding") ||
               folder_module_at(router, "query", 1)))
        ok = fail_route(root, "query", status);
    ok = ok && (*pooling = gb_strdup(folder_module_at(router, "document", 1), status));
    json_decref(router);
    return ok;
}

bool gb_folder_query_weights(const gb_folder *folder, float *weights, gb_status *status)
{
    char *file = NULL;
    uint32_t count = gb_folder_config(folder)->vocab_size;
    json_t *router;
    bool ok = folder_load_router(gb_folder_path(folder), &router, status);
    const char *module = folder_module_at(router, "query", 0);
    ok = ok && module &&
         (file = gb_format(status, "%s/%s/model.safetensors", gb_folder_path(folder), module));
    gb_safetensors *tensors = ok ? gb_safetensors_open(file, status) : NULL;
    const gb_stored *stored = tensors ? gb_safetensors_find(tensors, "weight") : NULL;
    ok = tensors && (stored || gb_fail(status, GB_DATA, file, NULL, "there is no tensor weight")) &&
         gb_stored_read(stored, count, 0, weights, status);
    for (uint32_t i = 0; ok && i < count; i++)
        ok = (isfinite(weights[i]) && weights[i] >= 0) ||
             gb_fail(status, GB_DATA, file, "weights are numbers from 0 on",
                     "the weight of token %u is %g", i, (double)weights[i]);
    gb_safetensors_close(tensors);
    json_decref(router);
    free(file);
    return ok;
}

/* ---- writing ---- */

static json_t *router_settings(void)
{
    static const char place[] = "sentence_transformers.sparse_encoder.models.";
    char query[100], transformer[100], pooling[100];
    snprintf(query, sizeof query, "%sSparseStaticEmbedding", place);
    snprintf(transformer, sizeof transformer, "%sMLMTransformer", place);
    snprintf(pooling, sizeof pooling, "%sSpladePooling", place);
    return json_pack("{s:{s:s, s:s, s:s}, s:{s:[s], s:[s, s]}, s:{s:s, s:b}}", "types",
                     FOLDER_QUERY_TOKENS, query, FOLDER_DOCUMENT, transformer,
                     FOLDER_DOCUMENT_POOLING, pooling, "structure", "query", FOLDER_QUERY_TOKENS,
                     "document", FOLDER_DOCUMENT, FOLDER_DOCUMENT_POOLING, "parameters",
                     "default_route", "document", "allow_empty_key", 1);
}

/* The module of queries: a weight of 1 for each token. */
static bool write_query_tokens(const char *dir, const gb_folder_params *params, gb_status *status)
{
    uint32_t count = params->config->vocab_size;
    float *ones = gb_alloc(count, sizeof *ones, status);
    for (uint32_t i = 0; ones && i < count; i++)
        ones[i] = 1;
    const gb_weight weight = {.name = "weight", .rows = count, .data = ones};
    char *sub = gb_path_join(status, dir, FOLDER_QUERY_TOKENS);
    char *file = sub ? gb_path_join(status, sub, "model.safetensors") : NULL;
    json_t *config = json_pack("{s:b}", "frozen", 1);
    bool ok =
        ones && file && gb_make_dirs(sub, status) &&
        gb_safetensors_write(file, &weight, 1, status) &&
        gb_json_save_in(config, FOLDER_JSON, sub, "config.json", status) &&
        folder_write_tokenizer(sub, params->vocab, &params->tokenizer,
                               params->config->max_positions, FOLDER_WITH_TYPES, NULL, status);
    json_decref(config);
    free(ones);
    free(sub);
    free(file);
    return ok;
}

bool folder_write_router(const char *dir, const gb_folder_params *params, gb_status *status)
{
    json_t *settings = router_settings();
    bool ok = gb_json_save_in(settings, FOLDER_JSON, dir, FOLDER_ROUTER_SETTINGS, status) &&
              write_query_tokens(dir, params, status);
    json_decref(settings);
    return ok;
}
