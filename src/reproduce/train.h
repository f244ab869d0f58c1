/* A training on the user's own collection: what `gabbro train` has of its own. */
#ifndef GABBRO_REPRODUCE_TRAIN_H
#define GABBRO_REPRODUCE_TRAIN_H

#include "session.h"

/* The entry of the recipe train.lua, which is in no catalog. */
extern const repro_entry repro_train_entry;
/* Prints all settings with their defaults and what they mean. */
bool repro_train_example(FILE *out, gb_status *status);
/* Reads the settings, and takes from them what other recipes get from options: the collection and
 * the model. */
bool repro_train_settings(repro_session *session, gb_status *status);
/* Writes the results of a finished training to a folder, and prints them: results.tsv, the
 * retriever's model/, the curves of each round. */
bool repro_train_finish(const repro_session *session, const repro_table *table, const char *out,
                        gb_status *status);

#endif
