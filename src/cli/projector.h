/* A model that gives vectors, and the masked-LM head that projects vectors to the vocabulary: what
 * the commands of figures share. */
#ifndef CLI_PROJECTOR_H
#define CLI_PROJECTOR_H

#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

typedef struct projector {
    gb_model_input model; /* its folder */
    gb_params *params;    /* of encoder and head */
    gb_bert bert;         /* both */
    float *values;        /* parameters */
    bool has_head;        /* the folder has the head */
} projector;
/* path: step or model folder; tokens_step: ids it will read, NULL: text of one's own. */
bool projector_open(projector *p, const char *path, const char *tokens_step, gb_status *status);
void projector_close(projector *p);
/* [CLS] vectors [count, H] of rows of a table of ids (rows NULL: the first count); free(*out). */
bool projector_encode(const projector *p, gb_device *device, const gb_table *table,
                      const uint32_t *rows, uint32_t count, uint32_t longest, float **out,
                      gb_status *status);
/* The `depth` tokens with the largest logits of every vector [count, H], best first, among equal
 * ones the lower id: top [count, depth]. full: transform, GELU, LN, E^T, bias; else the bare
 * E^T. Fails when the head is of another width or missing. */
bool projector_top(const projector *head, bool full, gb_device *device, const float *vectors,
                   uint32_t count, uint32_t width, uint32_t depth, uint32_t *top,
                   gb_status *status);

/* "NAME=MODEL" cut into its name (its own start, up to the '=') and the path behind it. Without a
 * '=' the name is the last part of the path. Names are printable and without tabs. */
#define MODEL_NAME 64
bool model_name(const char **item, char name[MODEL_NAME], gb_status *status);
/* The same for a whole list; no name twice. Returns what a step adds to its settings, {"names":
 * [...]}, or NULL. */
json_t *model_names(step_list *models, char names[STEP_LIST_MOST][MODEL_NAME], gb_status *status);

#endif
