/* Compare module: whether a device gives the same bits again, what the same training gives on two
 * devices, and whether a model computes what float64 and another program say. */
#ifndef GABBRO_COMPARE_H
#define GABBRO_COMPARE_H

#include <gabbro/nn.h>

#include <stdio.h>

/* ---- determinism ---- */

typedef struct gb_determinism_params {
    const gb_config *config; /* what the environment asks for */
    const char *select;      /* device by index, name or UUID; NULL: the best */
    uint32_t replays;        /* of one step, at least 2 */
    uint32_t steps;          /* of a whole training, at least 3 */
    FILE *out;               /* gets a line for each comparison: what, how often, result */
    /* Runs gb_determinism_killed(params, folder, kill_at) in a process of its own and waits for its
     * end. False if it was not killed. */
    bool (*run_killed)(const struct gb_determinism_params *params, const char *folder,
                       uint32_t kill_at, gb_status *status);
} gb_determinism_params;
/* Shows on a small training (made-up tokens, 2 layers, dropout) that the device gives the same bits
 * again: replays of a step, whole trainings, few barriers against many, layers computed again for
 * their gradient against kept ones, a training that is killed and resumed; and that the gradients
 * of a batch in parts are those of the whole but for rounding. *equal: all of it held. */
bool gb_determinism(const gb_determinism_params *params, bool *equal, gb_status *status);
/* The same training with a checkpoint in `folder` after every step; before step `kill_at` the
 * process kills itself. Returns only if that fails. */
bool gb_determinism_killed(const gb_determinism_params *params, const char *folder,
                           uint32_t kill_at, gb_status *status);

/* ---- two devices ---- */

typedef struct gb_compare_devices_params {
    const gb_config *config; /* what the environment asks for; settings of a side replace it */
    /* A and B: index, part of a name, UUID or "cpu", each with settings of its own behind commas:
     * "0,GABBRO_PROFILE=scalar" (variables of the environment). */
    const char *devices[2];
    uint32_t steps; /* compared, or fewer where the training has fewer */
    FILE *out;      /* gets what the devices are, a line for each step, and where they part */
} gb_compare_devices_params;
/* Makes steps of `training` (NULL: of a small one on made-up tokens) on both devices and compares
 * every tensor: activations, gradients, moments, parameters. *worst: the largest difference of a
 * tensor in the first step, relative to the tensor's largest value. */
bool gb_compare_devices(const gb_compare_devices_params *params, const gb_training *training,
                        double *worst, gb_status *status);
/* Only prints what A and B are, a line each, as the keys of steps have it. */
bool gb_compare_device_names(const gb_compare_devices_params *params, gb_status *status);

/* ---- models ---- */

typedef struct gb_verify_params {
    const gb_config *config; /* what the environment asks for */
    const char *model;       /* a Hugging Face folder, or the folder of a step */
    const char *golden; /* safetensors with another program's numbers; NULL: golden.safetensors of
                           the model folder, if it is there */
    const char *select; /* device by index, name or UUID; NULL: the best */
    double bound;       /* largest difference allowed from golden numbers, of the largest value */
    bool trust;         /* differences as lines "trust:", what, against what, worst, bound */
    FILE *out;          /* gets what was checked */
} gb_verify_params;
/* Checks a model: its files, tensors, tokenizer and pooling, then some texts on the device against
 * float64 and against golden numbers. *held: all differences are within their bounds. GB_DATA where
 * the folder is incomplete or the golden file is not of its form and model (src/compare/golden.h).
 */
bool gb_verify(const gb_verify_params *params, bool *held, gb_status *status);

#endif
