/* The training of a command `gabbro pretrain`, for other commands. */
#ifndef CLI_PRETRAIN_H
#define CLI_PRETRAIN_H

#include <gabbro/nn.h>

/* Does something with a training; false with *status: it failed. */
typedef bool (*training_use)(void *self, const gb_training *training, gb_status *status);
/* Hand the training that `gabbro pretrain ARGUMENTS` would run to `use`, with the parameters that
 * it starts from. No step is made, no device opened. Returns the exit code; a failure is printed.
 */
int pretrain_open(int argc, char **argv, training_use use, void *self);

#endif
