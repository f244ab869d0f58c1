/* A training whose steps can be taken apart. trial_make: a small one on made-up tokens, the same
 * everywhere: masked LM and a contrastive loss of an encoder with dropout. What `determinism` and
 * `compare-devices` run; the latter also that of a step (compare.h). */
#ifndef CLI_TRIAL_H
#define CLI_TRIAL_H

#include <gabbro/nn.h>

#define TRIAL_TEXTS 12

typedef struct trial {
    gb_bert_config config; /* of the encoder */
    gb_params *params;     /* its parameters */
    gb_bert bert;          /* it */
    float *values;         /* initial parameters [gb_params_floats] */
    gb_packed packed;      /* batch of the step sampled last */
    uint32_t *masked;      /* its masked rows */
    uint32_t *labels;      /* what they were */
    uint32_t masked_count; /* how many */
    gb_packed part;        /* texts that run now, when a part of the batch does */
    bool in_part;          /* it does */
    uint32_t *picked;      /* masked rows of what runs now */
    uint32_t picked_first; /* the first of them among all */
    uint32_t picked_count; /* how many */
    uint32_t kill_at;      /* the process kills itself before this step; UINT32_MAX: never */
    gb_task task;          /* for gb_train */
    gb_train_params train; /* likewise */
} trial;

/* Zero or filled: trial_free takes both. */
bool trial_make(trial *t, uint32_t steps, gb_status *status);
void trial_free(trial *t);

/* The step as a program of its own. */
typedef struct trial_pass {
    gb_tape *tape;  /* forward and gradient */
    void *graph;    /* inputs */
    gb_tensor loss; /* total */
} trial_pass;
/* Draw the batch of `step` and build its program. `all`: every tensor is kept and copied back. */
bool trial_pass_make(trial_pass *pass, trial *t, uint32_t step, bool all, gb_status *status);
void trial_pass_free(trial_pass *pass);

#endif
