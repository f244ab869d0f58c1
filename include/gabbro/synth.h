/* Synth module: the mini world, a readable collection that is generated instead of downloaded
 * (docs/design/mini-world.md). Stands on base, text and data. */
#ifndef GABBRO_SYNTH_H
#define GABBRO_SYNTH_H

#include <gabbro/data.h>
#include <gabbro/eval.h>

#define GB_WORLD_VERSION 2 /* raised whenever the same seed would give another set */

/* Writes a set of the world of a seed as a collection folder, and beside its tables:
 *   beir/               the same as a BEIR folder, for people and other tools
 *   vocab.txt           a WordPiece vocabulary: first words of names are two pieces, others one
 *   world.json          seed, version, set, and what was measured
 *   passages.truth.gbt  entity of a passage, then the facts that it states
 *   queries.truth.gbt   entity and fact that a query asks for
 * Sets: "main" (splits train, dev, dl19, dl20; generated queries), "wikipedia" (no questions),
 * "documents" (main's documents whole; train, dev, dl19, dl20), "nq" and "triviaqa" (answers.tsv;
 * train, test), "beir-<set>" (test). Only main has generated queries. A folder appears whole; an
 * existing collection there is replaced, any other non-empty folder refused. */
bool gb_synth_generate(uint64_t seed, const char *set, const char *out_dir, gb_status *status);
const char *gb_synth_set_name(uint32_t index); /* 0: "main"; NULL behind the last */

/* What the maker of a collection knows about it: its files *.truth.gbt, opened. */
typedef struct gb_synth_truth gb_synth_truth;
/* *truth is NULL, without failure, where the collection has no such file. GB_DATA where it does not
 * fit the collection. */
bool gb_synth_truth_open(const gb_collection *collection, gb_synth_truth **truth,
                         gb_status *status);
void gb_synth_truth_close(gb_synth_truth *truth); /* NULL ok */
/* GB_MAP_NONE where there is no such row. */
uint32_t gb_synth_passage_entity(const gb_synth_truth *truth, uint32_t passage);
uint32_t gb_synth_query_entity(const gb_synth_truth *truth, uint32_t query); /* it is about */
uint32_t gb_synth_query_fact(const gb_synth_truth *truth, uint32_t query);   /* it asks for */
/* Where a model stands, by its run of a split. Adds to facts, where there are such queries,
 * "right_entity_at_rank_1", how often the best passage speaks of the entity of the positive, and
 * "place_inside_entity", where among the passages of that entity the positive is: 0 first, 1 last,
 * .5 by chance. */
void gb_synth_diagnose(const gb_synth_truth *truth, const gb_split *split, const gb_run *run,
                       json_t *facts);

/* A world in memory. */
typedef struct gb_synth gb_synth;
/* The one that a collection was written from, by its world.json; *world is NULL, without failure,
 * where the collection is not the set main of a mini world. */
bool gb_synth_of_collection(const gb_collection *collection, gb_synth **world, gb_status *status);
void gb_synth_destroy(gb_synth *world); /* NULL ok */
/* Whether two passages have the same entity; whether a query, by its text alone, asks for a fact
 * that the passage states. */
bool gb_synth_related(const gb_synth *world, const gb_pair *pair);
/* What gb_queries_make asks of a world: its generators, and whether a query is about its passage.
 */
gb_query_oracle gb_synth_oracle(gb_synth *world);

#endif
