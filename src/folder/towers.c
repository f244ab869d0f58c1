/* Folders of two towers: sentence-transformers' Router whose queries go through another encoder
 * than its passages. Each tower is a whole model folder. */
#include "folder/internal.h"

#include <stdlib.h>
#include <string.h>

#define QUERY    "query"
#define DOCUMENT "document"

bool gb_folder_tower(const char *root, gb_text_kind kind, char **tower, gb_status *status)
{
    json_t *router;
    *tower = NULL;
    if (!folder_load_router(root, &router, status))
        return false;
    bool ok = true, two = folder_module_is(router, QUERY, 0, "Transformer") &&
                          folder_module_is(router, DOCUMENT, 0, "Transformer");
    const char *module = folder_module_at(router, kind == GB_TEXT_QUERY ? QUERY : DOCUMENT, 0);
    if (two && (!*module || strchr(module, '/') || !strcmp(module, "..")))
        ok = gb_fail(status, GB_DATA, root, "correct " FOLDER_ROUTER_SETTINGS,
                     "the path \"%.100s\" leads elsewhere", module);
    else if (two)
        ok = (*tower = gb_path_join(status, root, module)) != NULL;
    char *modules = *tower ? gb_path_join(status, *tower, "modules.json") : NULL;
    if (ok && *tower && !(modules && gb_file_exists(modules)))
        ok = gb_fail(status, GB_DATA, *tower,
                     "write modules.json and 1_Pooling into both towers, as gabbro does",
                     "the tower does not say itself how its vectors are pooled");
    free(modules);
    json_decref(router);
    return ok;
}

/* Types, and the route of one tower. */
static void add_tower(json_t *types, json_t *structure, const char *name, bool normalize)
{
    static const char *const modules[][2] = {
        {"", "Transformer"}, {"/1_Pooling", "Pooling"}, {"/2_Normalize", "Normalize"}};
    json_t *route = json_array();
    for (size_t m = 0; m < (normalize ? 3 : 2); m++) {
        char id[64], type[80];
        snprintf(id, sizeof id, "%s%s", name, modules[m][0]);
        snprintf(type, sizeof type, "sentence_transformers.models.%s", modules[m][1]);
        json_object_set_new(types, id, json_string(type));
        json_array_append_new(route, json_string(id));
    }
    json_object_set_new(structure, name, route);
}

bool gb_towers_write(const char *root, const gb_sentence_settings *how, gb_status *status)
{
    json_t *types = json_object(), *structure = json_object();
    add_tower(types, structure, QUERY, how->normalize);
    add_tower(types, structure, DOCUMENT, how->normalize);
    json_t *router = json_pack("{s:o, s:o, s:{s:s, s:b}}", "types", types, "structure", structure,
                               "parameters", "default_route", DOCUMENT, "allow_empty_key", 1);
    json_t *modules = json_pack("[{s:i, s:s, s:s, s:s}]", "idx", 0, "name", "0", "path", "", "type",
                                "sentence_transformers.models.Router");
    bool ok = gb_json_save_in(router, FOLDER_JSON, root, FOLDER_ROUTER_SETTINGS, status) &&
              folder_write_prompts(root, how, status) &&
              gb_json_save_in(modules, FOLDER_JSON, root, "modules.json", status);
    json_decref(router);
    json_decref(modules);
    return ok;
}
