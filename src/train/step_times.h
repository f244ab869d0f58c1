/* What interleaved pre-trainings leave for the measures of their cost. */
#ifndef TRAIN_STEP_TIMES_H
#define TRAIN_STEP_TIMES_H

#include "private.h"

#define INTERLEAVED_MAX 16 /* pre-trainings */
#define STEP_TIMES_FILE                                                                            \
    "step_times.json" /* name -> {"data_s", "step_s"}: seconds of every step                       \
                       */

#endif
