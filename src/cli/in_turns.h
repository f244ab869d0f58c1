/* What a step of several pre-trainings takes, measured in turns; see in_turns.c and efficiency.c.
 */
#ifndef CLI_IN_TURNS_H
#define CLI_IN_TURNS_H

#include "cli.h"

#include <gabbro/artifact.h>
#include <gabbro/experiment.h>

#define IN_TURNS_MOST 16           /* objectives at once */
#define IN_TURNS_FILE "turns.json" /* objective -> {"data_s": [steps], "step_s": [steps]} */

/* Instead of the training of `argv` (`first` is its objective's word): times of its steps and of
 * those of `others`, "bow,enhanced", with the same options, into the begun step, which it ends.
 * Returns the exit code; a failure to make one of the trainings is printed, any other is in
 * *status. */
int in_turns(step_run *run, int argc, char **argv, const char *first, const char *others,
             gb_status *status);

#endif
