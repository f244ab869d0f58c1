/* Pre-training room: one objective a file, each a gb_task over a collection's tokens. */
#ifndef GABBRO_PRETRAIN_H
#define GABBRO_PRETRAIN_H

#include <gabbro/nn.h>

/* What a passage is paired with. */
typedef enum gb_context { GB_CONTEXT_NONE, GB_CONTEXT_SPAN, GB_CONTEXT_QUERY } gb_context;

typedef enum gb_decoder { GB_DECODER_CAUSAL, GB_DECODER_MASKED } gb_decoder;

/* Settings of a pre-training; what an objective does not use stays at its default. */
typedef struct gb_pretrain_params {
    gb_context context;        /* of contextual objectives */
    uint32_t batch;            /* passages, or pairs, of a step */
    uint32_t longest;          /* tokens of a sequence, specials included */
    uint32_t queries;          /* generated queries used of each passage (C); 5 */
    double mask_ratio;         /* of the encoder's input */
    double decoder_mask_ratio; /* CoT-MAE, masked decoder; .45 */
    uint32_t head_layers;      /* Condenser head; 2 */
    uint32_t skip_from;        /* layer whose states the Condenser head takes; half of the layers */
    gb_decoder decoder;        /* CoT-MAE. Causal is the default: the published models come from the
                                  released code, which decodes causally; the paper's text says
                                  masked (deviation 5) */
    uint32_t decoder_layers;   /* CoT-MAE; 1 causal, 2 masked */
    uint32_t window;           /* causal decoder: tokens it sees back, itself included; 3. 0: all */
    uint64_t seed;             /* of order, masks, contexts and dropout */
} gb_pretrain_params;

/* What is trained on. Borrowed. */
typedef struct gb_pretrain_data {
    const gb_collection *collection; /* documents of the passages */
    const gb_tokens *tokens;         /* passages and generated queries as ids */
    const gb_vocab *vocab;           /* for whole words */
} gb_pretrain_data;

/* An objective: what it adds to the encoder, and its task. */
typedef struct gb_objective {
    const char *name; /* as on the command line */
    bool contextual;  /* pairs passages with contexts */
    /* Declare the parameters beyond the encoder with head; task's self is made here. */
    void *(*create)(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status);
    void (*destroy)(void *self);
} gb_objective;

/* By name, or NULL. */
const gb_objective *gb_objective_find(const char *name);
/* The table of all objectives, ended by NULL. */
extern const gb_objective *const gb_objectives[];

#endif
