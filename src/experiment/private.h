/* Shared by the files of the experiment module. */
#ifndef EXPERIMENT_PRIVATE_H
#define EXPERIMENT_PRIVATE_H

#include <gabbro/experiment.h>
#include <gabbro/ops.h>

/* ---- origin ---- */

/* Adds to facts what the program was built from and what it ran on: "built" (source commit,
 * compiler, libraries) and "machine" (system, processor, of a device its UUID and limits; caps may
 * be NULL). None of it is part of a key. */
void experiment_note_origin(const gb_config *config, const gb_device_caps *caps, json_t *facts);

/* ---- options ---- */

/* Read the command line, options of all such commands included, and settle what follows from them.
 */
gb_parsed experiment_maker_parse(gb_maker *maker, int argc, char **argv, gb_status *status);
/* Finds the models that were named otherwise than by a folder. */
bool experiment_maker_find_models(gb_maker *maker, gb_status *status);
/* --pooling of a program: cls, mean, last or NULL. */
void experiment_maker_pool(gb_maker *maker, const char *pooling);
/* The value that an option had before the command line, borrowed; NULL: unknown. value: sets it,
 * and takes the reference; NULL for lack of memory. */
json_t *experiment_maker_initial(const gb_maker *maker, const gb_option *option, json_t *value);
/* Notes the values that options have before they are given: their defaults. */
bool experiment_maker_note_initial(gb_maker *maker, gb_status *status);
/* Refuses options of an objective, a scoring or a loss that is not the chosen one, and of encoding
 * where the check took GB_MAKES_ENCODING away. GB_USAGE. */
bool experiment_maker_check_chosen(gb_maker *maker, gb_status *status);
/* All tables of a maker's command, ended by an empty one. */
#define MAKER_TABLES 40
void experiment_maker_tables(gb_maker *maker, gb_option_table tables[MAKER_TABLES]);

/* ---- rows of tables ---- */

/* Calls each(self, note, status) for what gb_catalog_note left in the store at root. Stops when it
 * returns false. */
typedef bool experiment_note_fn(void *self, const json_t *note, gb_status *status);
bool experiment_each_note(const char *root, experiment_note_fn *each, void *self,
                          gb_status *status);

/* ---- key ---- */

/* Find the artifact, or begin it, in rank 0; others hear of it. */
bool experiment_maker_begin(gb_maker *maker, gb_status *status);
/* Kind of the artifact. */
const char *experiment_maker_kind(const gb_maker *maker);
/* Whether the artifact is there, as rank 0 found. */
bool experiment_maker_done(const gb_maker *maker);

/* ---- ranks ---- */

/* Before the artifact is begun: start the ranks, or join them where they were started, and settle
 * the number of shards and the own device. */
bool experiment_maker_ranks_join(gb_maker *maker, char *const argv[], gb_status *status);
/* Rank 0 began the artifact, or failed to: to all. device: its identity, or NULL; name: of the
 * artifact that this rank would make. */
bool experiment_maker_ranks_begun(gb_maker *maker, const char *device, const char *name,
                                  gb_status *status);
/* The end of a rank, and where it failed of all of them. Prints the failure. */
void experiment_maker_ranks_close(gb_maker *maker, const gb_status *status);

#endif
