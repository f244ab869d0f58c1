/* A file of vectors that grows while texts are encoded, and goes on after a kill. */
#ifndef CLI_VECTOR_FILE_H
#define CLI_VECTOR_FILE_H

#include "cli.h"

#include <gabbro/encoding.h>

/* What is encoded. */
typedef struct vector_texts {
    const gb_table *tokens; /* ids of texts */
    const uint32_t *rows;   /* those wanted, or NULL: all */
    uint32_t first, count;  /* of those wanted */
    const char *label;      /* of the progress line */
} vector_texts;

/* The texts' vectors as .npy (float32) [count, width] at `path`. How many are there is kept in the
 * file `journal`, from which the next call with the same texts and model goes on. */
bool vector_file_write(const char *path, const char *journal, const vector_texts *texts,
                       gb_encoder *encoder, uint32_t width, gb_status *status);

#endif
