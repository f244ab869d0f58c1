/* A file of vectors that grows while texts are encoded, and goes on after a kill. */
#ifndef CLI_VECTOR_FILE_H
#define CLI_VECTOR_FILE_H

#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

#include <gabbro/encoding.h>

/* What is encoded. */
typedef struct vector_texts {
    const gb_table *tokens; /* ids of texts */
    const uint32_t *rows;   /* those wanted, or NULL: all */
    uint32_t first, count;  /* of those wanted */
    const char *label;      /* of the progress line */
} vector_texts;

/* The texts' vectors as .npy [count, width] (float32) at `path`. Every rank encodes its part of
 * them; the file is whole when they return. How far each is is kept in the step's resume folder, in
 * files that start with `name`: the next call with the same texts, model and number of ranks goes
 * on. */
bool vector_file_write(step_run *run, const char *path, const char *name, const vector_texts *texts,
                       gb_encoder *encoder, uint32_t width, gb_status *status);

#endif
