/* Fields of the lines of runs and judgements. Private to the module. */
#ifndef EVAL_FIELDS_H
#define EVAL_FIELDS_H

#include <gabbro/base.h>

#define EVAL_MAX_FIELDS 7 /* a TREC run line has 6; what follows the tag is ignored */

typedef struct eval_field {
    char *text;    /* NUL-terminated inside the line */
    size_t length; /* bytes */
} eval_field;

/* Cut a line at blanks and tabs in place; the rest behind EVAL_MAX_FIELDS - 1 fields is dropped.
 * Returns the number of fields, 0 for an empty line or one that starts with '#'. */
size_t eval_split_fields(char *line, size_t length, eval_field fields[EVAL_MAX_FIELDS]);
bool eval_parse_int(const char *text, int64_t *value);  /* whole text, decimal */
bool eval_parse_score(const char *text, double *value); /* whole text, not NaN */

#endif
