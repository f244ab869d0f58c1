/* Writing JSON. */
#include "gabbro/json.h"

#include <stdlib.h>
#include <string.h>

bool gb_json_print(const json_t *json, size_t format, gb_text *out, gb_status *status)
{
    char *text = json ? json_dumps(json, format & ~GB_JSON_NEWLINE) : NULL;
    if (!gb_memory_check("writing JSON", status)) {
        free(text);
        return false;
    }
    /* Where memory was not the cause, the value could not be made or printed. */
    if (!text)
        return gb_fail(status, GB_DATA, NULL, "look at the model and its training",
                       "a number is not finite, or a text is no UTF-8: JSON can hold neither");
    gb_text_append(out, text, strlen(text));
    if (format & GB_JSON_NEWLINE)
        gb_text_append(out, "\n", 1);
    free(text);
    return !out->failed || gb_fail_memory(status, "writing JSON");
}

bool gb_json_write_line(json_t *json, FILE *out, gb_status *status)
{
    gb_text text = {0};
    bool ok = gb_json_print(json, JSON_COMPACT | GB_JSON_NEWLINE, &text, status);
    if (ok)
        fwrite(text.data, 1, text.length, out);
    json_decref(json);
    gb_text_free(&text);
    return ok;
}

bool gb_json_save(const json_t *json, size_t format, const char *path, gb_status *status)
{
    gb_text text = {0};
    bool ok = gb_json_print(json, format, &text, status) && gb_text_write(&text, path, status);
    gb_text_free(&text);
    return ok;
}

bool gb_json_save_in(const json_t *json, size_t format, const char *folder, const char *name,
                     gb_status *status)
{
    char *path = gb_path_join(status, folder, name);
    bool ok = path && gb_json_save(json, format, path, status);
    free(path);
    return ok;
}
