/* What an artifact is made of: its settings and, recursively, its inputs. */
#include "store.h"

#include <stdlib.h>
#include <string.h>

static void print_member(const char *label, const json_t *value, FILE *out)
{
    char *text = json_dumps(value, JSON_SORT_KEYS | JSON_COMPACT | JSON_ENCODE_ANY |
                                       JSON_REAL_PRECISION(12));
    fprintf(out, "%s%s", label, text ? text : "?");
    free(text);
}

static void why_step(gb_store *store, const char *name, int depth, FILE *out);

static void why_input(gb_store *store, const char *role, const json_t *input, int depth, FILE *out)
{
    size_t i;
    json_t *one;
    json_array_foreach(input, i, one) why_input(store, role, one, depth, out);
    const char *identity = json_string_value(input);
    if (!identity)
        return;
    fprintf(out, "%*s%s: %s", depth * 2, "", role, identity);
    if (strncmp(identity, "sha256:", 7) == 0)
        fprintf(out, "\n");
    else
        why_step(store, identity, depth + 1, out);
}

/* Behind the name on the same line: the settings; below it the inputs. */
static void why_step(gb_store *store, const char *name, int depth, FILE *out)
{
    char *path = depth < 30 ? gb_store_find(store, name, NULL) : NULL;
    json_t *run = path ? gb_artifact_read(path, NULL) : NULL;
    if (!run) {
        fprintf(out, "  (not in this store)\n");
    } else {
        print_member("  ", json_object_get(run, "settings"), out);
        if (json_is_string(json_object_get(run, "device")))
            print_member("  on ", json_object_get(run, "device"), out);
        fprintf(out, "\n");
        const char *role;
        json_t *input;
        json_object_foreach(json_object_get(run, "inputs"), role, input)
            why_input(store, role, input, depth, out);
    }
    json_decref(run);
    free(path);
}

bool gb_store_why(gb_store *store, const char *text, FILE *out, gb_status *status)
{
    char *path = gb_store_find(store, text, status);
    json_t *run = path ? gb_artifact_read(path, status) : NULL;
    if (run) {
        const char *name = json_string_value(json_object_get(run, "step"));
        fprintf(out, "%s", name);
        why_step(store, name, 1, out);
    }
    bool ok = run != NULL;
    json_decref(run);
    free(path);
    return ok;
}
