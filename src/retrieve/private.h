/* What the files of dense retrieval share. Private to the module. */
#ifndef RETRIEVE_PRIVATE_H
#define RETRIEVE_PRIVATE_H

#include <gabbro/artifact.h>
#include <gabbro/lm.h>
#include <gabbro/retrieve.h>

const gb_retriever_params *retrieve_params(const gb_retriever *retriever); /* as it was opened */

/* Makes the vectors of texts first, first + 1 ... of a part into vectors [count, width]; of tokens
 * as many rows as `starts` says, and behind them what `whole` gets. */
typedef bool retrieve_vectors_fn(void *self, uint32_t first, uint32_t count, float *vectors,
                                 gb_status *status);
/* What one rank writes: texts that are the rows `at`, at + 1 ... of a file of `rows`. */
typedef struct retrieve_part {
    const gb_vector_file *file; /* written */
    const char *label;          /* of the progress line */
    const char *unit;           /* of it; NULL: texts */
    uint32_t chunk;             /* texts made at once; 0: 1024 */
    uint32_t count;             /* texts of this rank */
    uint32_t at, rows;          /* see above */
    uint32_t width;             /* of a vector */
    const uint32_t *starts;     /* [count + 1] of vectors of tokens: first row of each text of this
                                   rank, and the end; NULL: a row a text */
    const char *whole;          /* a second file, with one vector a text; NULL: none */
    uint32_t whole_width;       /* of its vectors */
    uint32_t whole_rows;        /* texts of all ranks */
    retrieve_vectors_fn *make;  /* makes them */
    void *self;                 /* its first argument */
} retrieve_part;
bool retrieve_write_part(const retrieve_part *part, gb_status *status);

#define RETRIEVE_MODEL (GB_IDENTITY + 32) /* bytes that name a model and its pooling */
/* Puts folders of vectors into the order of their texts, by vectors.json; ordered [count]. model:
 * what made them, "" if it is not known. GB_DATA as for gb_vector_set_open. */
bool retrieve_order_shards(const char *const *folders, size_t count, const char **ordered,
                           char model[RETRIEVE_MODEL], gb_status *status);

/* The run of a split that gabbro evaluate or gabbro rerank kept; an empty one if nothing was found.
 * GB_DATA if none was kept. */
bool retrieve_read_kept(const char *evaluation, const char *split, const gb_run_names *names,
                        gb_run *run, gb_status *status);
/* The bytes of a file of ids, one a line, which the caller frees; rows [wanted] gets where each
 * begins. what, order: whose ids they are, and the file that they follow, for messages. GB_DATA:
 * not as many, or one that is empty. */
char *retrieve_read_ids(const char *path, uint32_t wanted, const char *what, const char *order,
                        const char **rows, gb_status *status);
/* Adds the ids [count] of a folder's texts to names that are empty, so that rows of texts are rows
 * of names. GB_DATA: an id that the lines of a run cannot have, with a blank or, of a query, with #
 * first, where a comment begins, or one that is there twice. */
bool retrieve_name_all(gb_names *names, const char *folder, const char *const *ids, uint32_t count,
                       bool queries, gb_status *status);
/* Writes ids.txt: the external ids of the texts, whose rows are rows of `names`. */
bool retrieve_write_ids(const gb_row_file *names, const gb_encode_rows *texts, const char *folder,
                        gb_status *status);

/* Reads a run from a file of any layout, or from run.trec of an artifact. */
bool retrieve_read_run(const char *named, const gb_run_names *names, gb_run *run,
                       gb_status *status);

/* Frees what gb_vector_set_cut made; NULL ok. */
void retrieve_cutting_free(struct gb_vector_cutting *cutting);

/* What gb_vector_set_open puts shards together by. */
typedef struct retrieve_description {
    const char *model, *pooling; /* its folder; cls, mean, or NULL: as the folder says */
    const char *source;          /* artifact or folder that the texts are from */
    const char *split;           /* queries of this split; NULL: passages */
    uint32_t first, rows, total; /* row of the first text; texts; texts of all shards */
    uint32_t width;              /* of a vector */
} retrieve_description;
bool retrieve_write_description(const retrieve_description *description, const char *folder,
                                gb_status *status); /* vectors.json */

/* Makes what encodes texts by a LLaMA, with its tokens around them; dims and one_size as of
 * gb_lm_encoder_params. */
gb_lm_encoder *retrieve_language_encoder(const gb_language_input *model, gb_device *device,
                                         const gb_sentence_settings *sentence, uint32_t dims,
                                         bool one_size, gb_status *status);

/* All ranks have come here. */
bool retrieve_wait_for_ranks(gb_ranks *ranks, gb_status *status);

#endif
