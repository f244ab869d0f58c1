/* Which rows of tables an artifact is, as gb_catalog_note keeps them. */
#include "private.h"

#include <string.h>

/* What is being looked for. */
typedef struct wanted {
    const char *artifact; /* its name */
    gb_text *rows;        /* found so far */
} wanted;

static bool take(void *self, const json_t *note, gb_status *status)
{
    const wanted *w = self;
    const char *row, *seed;
    json_t *seeds, *name;
    json_object_foreach(json_object_get(note, "rows"), row, seeds)
    {
        json_object_foreach(seeds, seed, name)
        {
            const char *text = json_string_value(name);
            if (text && strcmp(text, w->artifact) == 0)
                gb_text_printf(w->rows, "%s, scale %s: row %s, seed %s\n",
                               gb_json_text(note, "table"), gb_json_text(note, "scale"), row, seed);
        }
    }
    return !w->rows->failed || gb_fail_memory(status, "looking for rows");
}

bool gb_catalog_rows(gb_store *store, const char *artifact, gb_text *rows, gb_status *status)
{
    return experiment_each_note(gb_store_root(store), take, &(wanted){artifact, rows}, status);
}
