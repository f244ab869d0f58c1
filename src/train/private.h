/* Shared by the files of the train module. */
#ifndef TRAIN_PRIVATE_H
#define TRAIN_PRIVATE_H

#include <gabbro/train.h>

/* gb_train's settings of an optimiser. */
gb_schedule train_schedule(const gb_optimiser_settings *optimiser, uint32_t steps);
gb_adamw_params train_adamw(const gb_optimiser_settings *optimiser);
/* What the objective alone knows. */
const gb_own_settings *train_own(const gb_pretraining_settings *settings);
/* A label for progress: "cotmae/query", or "mlm" where there is no context. */
#define TRAIN_LABEL 64
void train_label(const gb_pretraining_settings *settings, char label[TRAIN_LABEL]);
/* The context of a name; false where there is none. */
bool train_context(const char *name, gb_context *context);

#endif
