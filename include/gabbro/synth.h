/* Synth module: the mini world, a readable collection that is generated instead of downloaded
 * (docs/design/mini-world.md). Stands on base, text and data. */
#ifndef GABBRO_SYNTH_H
#define GABBRO_SYNTH_H

#include <gabbro/data.h>
#include <gabbro/eval.h>

#define GB_WORLD_VERSION 3 /* to be raised when the same seed gives another set */

/* Writes a set of the mini world as a collection folder. The same seed gives the same bytes. Beside
 * the files of every collection the folder has
 *   beir/               the same as a BEIR folder, for people and other tools
 *   vocab.txt           a WordPiece vocabulary; first words of names are two tokens, others one
 *   world.json          seed, version, set, and what was measured
 *   passages.truth.gbt  entity of a passage, then the facts that it states
 *   queries.truth.gbt   entity and fact that a query asks for
 * Sets: "main" (splits train, dev, dl19, dl20; generated queries), "wikipedia" (no queries),
 * "documents" (main's documents whole; train, dev, dl19, dl20), "nq" and "triviaqa" (answers.tsv;
 * train, test), "beir-<set>" (test). Only main has generated queries. The folder appears at once;
 * an existing collection there is replaced, and any other folder that is not empty is refused. */
bool gb_synth_generate(uint64_t seed, const char *set, const char *out_dir, gb_status *status);
/* Name of set `index`: 0 is "main"; NULL behind the last one. */
const char *gb_synth_set_name(uint32_t index);

/* What the generator of a collection knew about it: its files *.truth.gbt, opened. */
typedef struct gb_synth_truth gb_synth_truth;
/* Opens them. *truth is NULL, without failure, if the collection has no such files. GB_DATA if they
 * do not fit the collection. */
bool gb_synth_truth_open(const gb_collection *collection, gb_synth_truth **truth,
                         gb_status *status);
void gb_synth_truth_close(gb_synth_truth *truth); /* NULL ok */
/* Entity of a passage, and entity and fact that a query asks for; GB_MAP_NONE if unknown. */
uint32_t gb_synth_passage_entity(const gb_synth_truth *truth, uint32_t passage);
uint32_t gb_synth_query_entity(const gb_synth_truth *truth, uint32_t query);
uint32_t gb_synth_query_fact(const gb_synth_truth *truth, uint32_t query);
/* Shows from its run of a split what a model confuses: entities, or passages of one entity. Adds to
 * facts "right_entity_at_rank_1", how often the first passage is about the entity of the relevant
 * one, and "place_inside_entity", the mean position of the relevant passage among the retrieved
 * passages of its entity: 0 first, 1 last, .5 by chance. A fact is left out if no query has it. */
void gb_synth_diagnose(const gb_synth_truth *truth, const gb_split *split, const gb_run *run,
                       json_t *facts);

/* A mini world in memory. */
typedef struct gb_synth gb_synth;
/* Makes the world that a collection was written from, by its world.json. *world is NULL, without
 * failure, if the collection is not the set main of a mini world. */
bool gb_synth_of_collection(const gb_collection *collection, gb_synth **world, gb_status *status);
void gb_synth_destroy(gb_synth *world); /* NULL ok */
/* Says whether a passage and its context are related: a passage is if it has the same entity, and a
 * query if it asks, by its text alone, for a fact that the passage states. */
bool gb_synth_related(const gb_synth *world, const gb_pair *pair);
/* Makes what gb_queries_make needs of a world: its generators, and whether a query is about its
 * passage. The world must outlive it. */
gb_query_oracle gb_synth_oracle(gb_synth *world);

#endif
