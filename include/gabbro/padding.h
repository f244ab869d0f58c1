/* Tape room: how many of the rows that a program computes belong to texts; the others fill a bucket
 * up. */
#ifndef GABBRO_PADDING_H
#define GABBRO_PADDING_H

#include <gabbro/tape.h>

/* Rows of tokens of all batches so far. */
typedef struct gb_padding {
    uint64_t used;     /* of texts */
    uint64_t computed; /* with those that fill up */
} gb_padding;
/* To be called when a batch is put into a program. */
void gb_exec_note_rows(gb_exec *exec, uint64_t used, uint64_t computed);
gb_padding gb_exec_padding(const gb_exec *exec);

#endif
