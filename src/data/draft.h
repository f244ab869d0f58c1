/* Folders that appear at once: filled under another name, then renamed. */
#ifndef GABBRO_DATA_DRAFT_H
#define GABBRO_DATA_DRAFT_H

#include <gabbro/base.h>

/* An empty folder beside `target`, to be filled and then given to gb_place_folder. Refuses a
 * `target` that exists, is not empty and has no file `mark` (so nobody's work is deleted). NULL and
 * status on failure; the caller frees the path. */
char *gb_draft_create(const char *target, const char *mark, gb_status *status);

#endif
