/* The inside of a retriever. Private to the module. */
#ifndef RETRIEVE_RETRIEVER_H
#define RETRIEVE_RETRIEVER_H

#include "private.h"

#include <gabbro/late.h>

/* A model of late interaction, and its index. */
typedef struct retrieve_late {
    gb_late_settings settings; /* kind GB_LATE_NONE: vectors are of texts */
    gb_late head;              /* its projection */
    uint32_t *starts;          /* of the index, see gb_token_vectors */
    uint32_t *tags;            /* of COIL, otherwise NULL */
    gb_npy *whole;             /* of COIL, otherwise NULL */
} retrieve_late;

/* What encodes on the device. All of it is made when it is first asked for, and stays. */
typedef struct retrieve_programs {
    gb_state *state;                /* parameters on the device */
    gb_encoder *texts[2];           /* of passages, of queries */
    gb_late_encoder *late_texts[2]; /* by gb_late_side; where vectors are of tokens */
    gb_lm_encoder *language;        /* of all, where the model is a LLaMA */
} retrieve_programs;

struct gb_retriever {
    gb_retriever_params how;       /* as opened */
    gb_language_input language;    /* the retriever, if it is a LLaMA; otherwise: */
    gb_model_input model;          /* the retriever, an encoder */
    gb_params *params;             /* of its encoder */
    gb_bert bert;                  /* its encoder */
    struct gb_retriever *queries;  /* the tower of queries, if they have one of their own */
    float *values;                 /* its parameters */
    uint32_t hidden;               /* numbers of a state */
    gb_sentence_settings sentence; /* its pooling */
    gb_special_ids specials;       /* of its vocabulary */
    gb_tokens tokens;              /* ids of the collection */
    gb_npy *passages;              /* vectors of the index, or NULL */
    float *query_weights;          /* [vocabulary] of a query's tokens, where it is made of them */
    char *sparse_index;            /* path of the index of sparse vectors, or NULL */
    retrieve_late late;            /* where vectors are of tokens */
    retrieve_programs *programs;   /* what encodes */
};

static inline bool retrieve_is_language(const gb_retriever *r)
{
    return r->language.coder != NULL;
}
static inline bool retrieve_is_late(const gb_retriever *r)
{
    return r->late.settings.kind != GB_LATE_NONE;
}
/* Appends what was found to a run, k passages a query. */
bool retrieve_add_lists(const gb_encode_rows *queries, uint32_t k, const gb_found *found,
                        gb_run *run, gb_status *status);

/* The parameters on the device, and the program that encodes the texts of a kind: the retriever's,
 * the same at each call. NULL on failure. */
gb_state *retrieve_state(const gb_retriever *retriever, gb_status *status);
gb_encoder *retrieve_encoder(const gb_retriever *retriever, gb_text_kind kind, gb_status *status);
/* What of a padding came after an earlier one. */
gb_padding retrieve_padding_since(gb_padding now, gb_padding before);

#endif
