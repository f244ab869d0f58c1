/* Settings: named values that decide results. A scale gives them, files of the user and --set
 * change them, and a recipe reads them. */
#ifndef GABBRO_REPRODUCE_SETTINGS_H
#define GABBRO_REPRODUCE_SETTINGS_H

#include <gabbro/json.h>

typedef struct repro_setting {
    char *name;   /* a-z, 0-9 and _, beginning with a letter */
    char *value;  /* as written */
    char *origin; /* file:line it was read from; "" for a value set otherwise */
    bool chosen;  /* by the user, in a file of his own or by --set */
    bool derived; /* made from another one by a prefix: it is not listed in results */
} repro_setting;

/* Zero-initialise; free with repro_settings_free. */
typedef struct repro_settings {
    repro_setting *items; /* [count], in the order in which they were first read */
    size_t count;         /* of them */
    size_t capacity;      /* allocated */
} repro_settings;
void repro_settings_free(repro_settings *settings);
bool repro_settings_copy(const repro_settings *from, repro_settings *to, gb_status *status);

/* Reads lines `NAME = VALUE`, with comments from a # on. A value is one or more words of characters
 * that a shell takes as they are, because recipes print them as parts of commands. Fails with
 * GB_DATA and file:line for any other line and for a name that is given twice.
 * known: the names that there are; another one is refused, naming the nearest, unless it is
 * paper_PAPER_NAME of a known NAME. NULL: all names are taken, as from a scale. Values of a file
 * with `known` count as chosen. */
bool repro_settings_read(repro_settings *settings, const char *path, const repro_settings *known,
                         gb_status *status);
/* Changes one by `NAME=VALUE`, as --set does: GB_USAGE where the name or the value is wrong. */
bool repro_settings_choose(repro_settings *settings, const char *change,
                           const repro_settings *known, gb_status *status);
/* PREFIX_NAME stands for NAME, unless the user chose NAME itself. */
bool repro_settings_apply_prefix(repro_settings *settings, const char *prefix, gb_status *status);
/* The value of a setting, NULL where there is none; valid until it is changed. */
const char *repro_settings_get(const repro_settings *settings, const char *name);
/* Gives a setting that there is another value, on behalf of a recipe. */
bool repro_settings_put(repro_settings *settings, const char *name, const char *value,
                        gb_status *status);
/* {"name": "value", ...} of all that are not derived; a new reference, or NULL. */
json_t *repro_settings_json(const repro_settings *settings);

#endif
