/* What a killed training run resumes from. */
#ifndef TRAINER_CHECKPOINT_H
#define TRAINER_CHECKPOINT_H

#include "private.h"

/* Parameters and both moments, the next step, the losses so far, and the scale of the loss where
 * there is one (factor > 0): one file, replaced atomically, ended by a hash. */
bool trainer_checkpoint_write(const char *dir, gb_state *state, const gb_params *params,
                              uint32_t next_step, double (*log)[GB_MAX_LOSSES],
                              const loss_scale *scale, gb_status *status);
/* Restore; *next_step stays 0 when there is no checkpoint. A damaged one is reported and ignored:
 * the run then starts again. */
bool trainer_checkpoint_read(const char *dir, gb_state *state, const gb_params *params,
                             uint32_t steps, uint32_t *next_step, double (*log)[GB_MAX_LOSSES],
                             loss_scale *scale, gb_status *status);

#endif
