/* What `gabbro compare-devices` compares beside its own small training. */
#ifndef CLI_COMPARE_H
#define CLI_COMPARE_H

#include "trial.h"

/* Print the cells of two folders that `gabbro report` wrote side by side, with their differences
 * and where B's lie among the recorded results. */
bool compare_tables(const char *a, const char *b, gb_status *status);

/* Takes a training apart; false with *status: it failed. */
typedef bool (*trial_use)(void *self, trial *t, gb_status *status);
/* Hand the training that `gabbro pretrain ARGUMENTS` would run to `use`, with the parameters that
 * it starts from. No step is made, no device opened. Returns the exit code; a failure is printed.
 */
int pretrain_trial(int argc, char **argv, trial_use use, void *self);

#endif
