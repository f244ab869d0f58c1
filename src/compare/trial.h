/* A small training on made-up tokens, the same everywhere: coCondenser, whose masked LM and
 * contrastive loss go through most kernels, of an encoder with dropout. */
#ifndef COMPARE_TRIAL_H
#define COMPARE_TRIAL_H

#include <gabbro/pretrain.h>

#define TRIAL_PAIRS 6 /* of a batch */

typedef struct trial {
    uint32_t *document;       /* of each passage, [passages] */
    gb_collection collection; /* passages in documents, without texts */
    gb_tokens tokens;         /* of the passages */
    gb_vocab *vocab;          /* of the tokens */
    gb_bert_config config;    /* of the encoder */
    gb_params *params;        /* its parameters and those of the objective */
    gb_bert bert;             /* the encoder */
    float *values;            /* initial parameters [gb_params_floats] */
    void *objective;          /* the objective's own data */
    gb_task task;             /* what is trained */
    gb_train_params train;    /* how */
} trial;

/* A training of that many steps. Zero or filled, compare_trial_free takes both. */
bool compare_trial_make(trial *t, const gb_config *config, uint32_t steps, gb_status *status);
void compare_trial_free(trial *t);

#endif
