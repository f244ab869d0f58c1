/* Fields of the lines of runs and judgements. Private to the room. */
#ifndef GABBRO_RETRIEVE_FIELDS_H
#define GABBRO_RETRIEVE_FIELDS_H

#include <gabbro/base.h>

#define GB_MAX_FIELDS 7 /* a TREC run line has 6; what follows the tag is ignored */

typedef struct gb_field {
    char *text;    /* NUL-terminated inside the line */
    size_t length; /* bytes */
} gb_field;

/* Cut a line at blanks and tabs in place; the rest behind GB_MAX_FIELDS - 1 fields is dropped.
 * Returns the number of fields, 0 for an empty line or one that starts with '#'. */
size_t gb_split_fields(char *line, size_t length, gb_field fields[GB_MAX_FIELDS]);
bool gb_parse_int(const char *text, int64_t *value);  /* whole text, decimal */
bool gb_parse_score(const char *text, double *value); /* whole text, not NaN */

#endif
