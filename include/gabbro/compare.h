/* Compare module: shows whether a device gives the same bits again, what the same training gives on
 * two devices, and whether a model computes the same as float64 and as another program. */
#ifndef GABBRO_COMPARE_H
#define GABBRO_COMPARE_H

#include <gabbro/trainer.h>

#include <stdio.h>

/* ---- determinism ---- */

/* How gb_determinism tests a device. */

typedef struct gb_determinism_params {
    const gb_config *config; /* what the environment asks for */
    const char *select;      /* device by index, name or UUID; NULL: the best */
    uint32_t replays;        /* replays of one step, at least 2 */
    uint32_t steps;          /* steps of a whole training, at least 3 */
    FILE *out;               /* gets a line for each comparison: what, how often, result */
    /* Must run gb_determinism_killed(params, folder, kill_at) in a process of its own and wait for
     * its end. Returns false if the process was not killed. */
    bool (*run_killed)(const struct gb_determinism_params *params, const char *folder,
                       uint32_t kill_at, gb_status *status);
} gb_determinism_params;
/* Shows by a small training (artificial tokens, 2 layers, dropout) whether a device gives the same
 * bits again. It compares replays of a step; whole trainings; few barriers with many; layers that
 * are computed again for their gradient with stored ones; and a training that was killed and
 * resumed with an uninterrupted one. It also checks that micro-batches give the gradients of the
 * whole batch, except for rounding. *equal: everything was as it should be. */
bool gb_determinism(const gb_determinism_params *params, bool *equal, gb_status *status);
/* Runs the same training, saving its state in `folder` after every step, until the process kills
 * itself before step `kill_at`. It returns only if that fails. */
bool gb_determinism_killed(const gb_determinism_params *params, const char *folder,
                           uint32_t kill_at, gb_status *status);

/* ---- two devices ---- */

/* Which devices gb_compare_devices compares, and how. */

typedef struct gb_compare_devices_params {
    const gb_config *config; /* what the environment asks for; settings of a device replace it */
    /* A and B: each an index, part of a name, UUID or "cpu", and behind commas the settings of this
     * device, which are variables of the environment: "0,GABBRO_PROFILE=scalar". */
    const char *devices[2];
    uint32_t steps; /* steps to compare; no more than the training has */
    FILE *out;      /* gets the devices, a line for each step, and the first tensors that differ */
} gb_compare_devices_params;
/* Makes the same steps of `training` (NULL: of a small one on artificial tokens) on both devices
 * and compares every tensor: activations, gradients, moments, parameters. *worst gets the largest
 * difference of a tensor in the first step, relative to the tensor's largest value. */
bool gb_compare_devices(const gb_compare_devices_params *params, const gb_training *training,
                        double *worst, gb_status *status);
/* Prints a line each for A and B, with the device identity that keys of artifacts contain. */
bool gb_compare_device_names(const gb_compare_devices_params *params, gb_status *status);

/* ---- models ---- */

/* How gb_verify checks a model. */

typedef struct gb_verify_params {
    const gb_config *config; /* what the environment asks for */
    const char *model;       /* a Hugging Face folder, or the folder of an artifact */
    const char *golden; /* safetensors with the numbers of another program; NULL: golden.safetensors
                           of the model folder, if it is there */
    const char *select; /* device by index, name or UUID; NULL: the best */
    double bound;       /* largest allowed difference from golden numbers, as a share of the largest
                           value */
    bool trust;         /* print differences as lines "trust:", what, against what, worst, bound */
    FILE *out;          /* gets what was checked */
} gb_verify_params;
/* Checks a model: its files, tensors, tokenizer and pooling, and what the device computes for some
 * texts against float64 and against golden numbers. *held: all differences are within their bounds.
 * GB_DATA if the folder is incomplete, or if the golden file has another form or belongs to another
 * model (src/compare/golden.c). */
bool gb_verify(const gb_verify_params *params, bool *held, gb_status *status);

#endif
