/* Checks of the whole gradient of any task: against float64 and finite differences, in parts of the
 * batch, with layers computed twice, in gradient shards. */
#ifndef TESTS_NN_GRADIENTS_H
#define TESTS_NN_GRADIENTS_H

#include "tiny.h"

/* The step whose batch is checked. */
#define GRADIENT_STEP 2

/* Gradients and losses of a step. */
typedef struct gradient {
    float *values;                /* [gb_params_floats] */
    double losses[GB_MAX_LOSSES]; /* of the task */
    uint64_t arena_bytes;         /* of activations */
} gradient;

gb_train_params plain_params(const model *m);
gradient gradient_by(gb_device *device, const model *m, const gb_train_params *params);
/* The norm of the difference of two gradients, relative to that of the second. */
double apart(const model *m, const gradient *a, const gradient *b);

/* The whole batch against the float64 reference, and that against finite differences. */
void check_reference(gb_device *device, const model *m, const char *name);
/* Parts of 1, 2 and 3 texts of the batch against all at once; some do not divide it. */
void check_parts(gb_device *device, const model *m, const char *name);
/* A batch in shards, as ranks have it: one shard is the batch in parts; several, more than there
 * are texts among them, give its gradients. */
void check_shards(gb_device *device, const model *m, const char *name);

#endif
