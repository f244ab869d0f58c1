/* Data room: what the layouts of other kits bring beyond a collection: variants of one, splits of
 * questions, negatives from files. docs/formats.md lists the layouts. */
#ifndef GABBRO_FORMATS_H
#define GABBRO_FORMATS_H

#include <gabbro/data.h>

/* A variant of a collection, noted in collection.json. */
typedef struct gb_import_variant {
    bool drop_titles;     /* passages without their titles */
    bool repair_encoding; /* text that was encoded twice turned back */
    bool cut;             /* spans of the stored collection at params->path, nothing else of it */
} gb_import_variant;
/* gb_collection_import of a variant. params->path may be any layout of docs/formats.md,
 * params->queries also docTTTTTquery's lines. */
bool gb_collection_import_as(const gb_import_params *params, const gb_import_variant *variant,
                             const char *out_dir, gb_status *status);

/* Queries of a split: those that `qrels` (of the split) judges, and those of questions/<split>.txt
 * of the collection (one id a line), which have answers alone. Rows, ascending and without repeats;
 * free(*queries). */
bool gb_collection_split_queries(const gb_collection *collection, const char *split,
                                 const gb_qrels *qrels, uint32_t **queries, uint32_t *count,
                                 gb_status *status);

typedef struct gb_negatives_params {
    const char *path;   /* training file, triples or mined negatives (src/data/training.h) */
    uint32_t per_query; /* a seeded sample of so many where there are more; 0: all */
    uint64_t seed;      /* of that sample */
    bool skip_unknown;  /* leave out queries and passages that the collection does not have */
} gb_negatives_params;
/* Passages that a file names as negatives of a collection's queries. */
typedef struct gb_negatives gb_negatives;
/* Queries and passages are found by their ids, or by their texts where the file gives none. */
gb_negatives *gb_negatives_read(const gb_collection *collection, const gb_negatives_params *params,
                                gb_status *status);
void gb_negatives_destroy(gb_negatives *negatives); /* NULL ok */
/* Rows of the negatives of a query, in the file's order; *count may be 0. */
const uint32_t *gb_negatives_of(const gb_negatives *negatives, uint32_t query, uint32_t *count);
uint64_t gb_negatives_skipped(const gb_negatives *negatives); /* unknown queries and passages */

#endif
