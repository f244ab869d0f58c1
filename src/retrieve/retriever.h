/* The inside of a retriever. Private to the module. */
#ifndef RETRIEVE_RETRIEVER_H
#define RETRIEVE_RETRIEVER_H

#include "private.h"

#include <gabbro/artifact.h>

struct gb_retriever {
    gb_retriever_params how;       /* as opened */
    gb_model_input model;          /* the retriever */
    gb_params *params;             /* of its encoder */
    gb_bert bert;                  /* its encoder */
    float *values;                 /* its parameters */
    gb_sentence_settings sentence; /* its pooling */
    gb_special_ids specials;       /* of its vocabulary */
    gb_tokens tokens;              /* ids of the collection */
    gb_npy *passages;              /* vectors of the index, or NULL */
    float *query_weights;          /* [vocabulary] of a query's tokens, where it is made of them */
    char *sparse_index;            /* path of the index of sparse vectors, or NULL */
};

gb_encoder *retrieve_encoder(const gb_retriever *retriever, gb_text_kind kind, gb_status *status);

#endif
