/* What an artifact is made of: its settings that are not defaults and, recursively, its inputs. */
#include "store.h"

#include <stdlib.h>
#include <string.h>

static void print_given(const json_t *run, FILE *out)
{
    json_t *given = gb_artifact_given(run);
    char *text = json_dumps(given, JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(12));
    fprintf(out, "  %s", text ? text : "?");
    free(text);
    json_decref(given);
}

typedef struct tree {
    gb_store *store; /* whose artifacts are told */
    FILE *out;       /* gets the lines */
    gb_map *told;    /* names of artifacts that are above already */
    char *device;    /* of the last line that names one, or NULL */
} tree;

static void why_step(tree *t, const char *name, int depth);

static void why_input(tree *t, const char *role, const json_t *input, int depth)
{
    size_t i;
    json_t *one;
    json_array_foreach(input, i, one) why_input(t, role, one, depth);
    const char *identity = json_string_value(input);
    if (!identity)
        return;
    fprintf(t->out, "%*s%s: %s", depth * 2, "", role, identity);
    if (strncmp(identity, "sha256:", 7) == 0)
        fprintf(t->out, "\n");
    else
        why_step(t, identity, depth + 1);
}

/* Where it is another than that of the line before. */
static void tell_device(tree *t, const char *device)
{
    if (!*device || (t->device && !strcmp(t->device, device)))
        return;
    fprintf(t->out, "  on \"%s\"", device);
    free(t->device);
    t->device = gb_strdup(device, NULL);
}

/* Behind the name on the same line: the settings; below it the inputs. */
static void why_step(tree *t, const char *name, int depth)
{
    if (gb_map_get(t->told, name, strlen(name)) != GB_MAP_NONE) {
        fprintf(t->out, "  (above)\n");
        return;
    }
    gb_map_set(t->told, name, strlen(name), 1, NULL); /* without memory for it: told again */
    char *path = depth < 30 ? gb_store_find(t->store, name, NULL) : NULL;
    json_t *run = path ? gb_artifact_read(path, NULL) : NULL;
    if (!run) {
        fprintf(t->out, "  (not in this store)\n");
    } else {
        print_given(run, t->out);
        tell_device(t, gb_json_text(run, "device"));
        fprintf(t->out, "\n");
        const char *role;
        json_t *input;
        json_object_foreach(json_object_get(run, "inputs"), role, input)
            why_input(t, role, input, depth);
    }
    json_decref(run);
    free(path);
}

bool gb_store_why(gb_store *store, const char *text, FILE *out, gb_status *status)
{
    tree t = {store, out, gb_map_create(status), NULL};
    char *path = t.told ? gb_store_find(store, text, status) : NULL;
    json_t *run = path ? gb_artifact_read(path, status) : NULL;
    if (run) {
        const char *name = json_string_value(json_object_get(run, "step"));
        fprintf(out, "%s", name);
        why_step(&t, name, 1);
    }
    bool ok = run != NULL;
    json_decref(run);
    free(path);
    gb_map_destroy(t.told);
    free(t.device);
    return ok;
}
