/* What the files of dense retrieval share. Private to the module. */
#ifndef RETRIEVE_PRIVATE_H
#define RETRIEVE_PRIVATE_H

#include <gabbro/retrieve.h>

const gb_retriever_params *retrieve_params(const gb_retriever *retriever); /* as it was opened */

/* gb_retriever_write of one rank: texts are the rows `at`, at + 1 ... of a file of `rows`. */
typedef struct retrieve_part {
    const gb_vector_file *file; /* written */
    gb_encode_rows texts;       /* of this rank */
    uint32_t at, rows;          /* see above */
    uint32_t width;             /* of a vector */
} retrieve_part;
bool retrieve_write_part(const retrieve_part *part, gb_encoder *encoder, gb_status *status);

#endif
