/* Folders of vectors: vectors.npy and ids.txt, as gabbro encode makes them or anyone else does. */
#ifndef CLI_VECTOR_SET_H
#define CLI_VECTOR_SET_H

#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

#include <gabbro/rows.h>

/* Several folders as one: shards of gabbro encode in the order of their texts, whatever the order
 * they are named in; other folders as they are named. */
typedef struct vector_set {
    gb_npy *npy;        /* the vectors */
    gb_vectors vectors; /* to search */
    char **ids;         /* [files] the lines of each ids.txt */
    const char **rows;  /* [vectors] start of each id, ended by a line end */
    size_t files;       /* folders */
    char *model;        /* that made them, as gb_identity says; "" where nothing says so */
} vector_set;
/* Refused: shards that are missing, twice there or of different makings, ids that are more or fewer
 * than vectors. Paths are steps or folders. */
bool vector_set_open(vector_set *set, const step_list *folders, gb_status *status);
void vector_set_close(vector_set *set);
const char *vector_set_id(const vector_set *set, uint32_t row, size_t *length);

#endif
