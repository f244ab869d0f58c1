/* What pre-trainings timed in turns leave for the measures of their cost. */
#ifndef TRAIN_TURNS_H
#define TRAIN_TURNS_H

#include "private.h"

#define TURNS_MAX  16           /* pre-trainings */
#define TURNS_FILE "turns.json" /* name -> {"data_s", "step_s"}: seconds of every step */

#endif
