/* Shared by the files of the train module. */
#ifndef TRAIN_PRIVATE_H
#define TRAIN_PRIVATE_H

#include <gabbro/retrieve.h>
#include <gabbro/train.h>

/* How a training of so many steps is done by its settings; the model and its texts are left to the
 * caller: params, config, max_length, label. */
gb_train_params train_params(const gb_optimiser_settings *optimiser,
                             const gb_memory_settings *memory, uint32_t steps);
/* Writes losses.tsv into the maker's artifact: a header of step and the losses' names, then a line
 * a step. */
bool train_save_losses(const gb_maker *maker, const char *const *names, uint32_t steps,
                       double (*log)[GB_MAX_LOSSES], gb_status *status);
/* What the objective alone knows. */
const gb_own_settings *train_own(const gb_pretraining_settings *settings);
/* A label for progress: "cotmae/query", or "mlm" where there is no context. */
#define TRAIN_LABEL 64
void train_label(const gb_pretraining_settings *settings, char label[TRAIN_LABEL]);
/* The context of a name; false where there is none. */
bool train_context(const char *name, gb_context *context);

extern const gb_option train_filter_options[]; /* of a gb_filter_settings */
/* Which queries are trained on, with which negatives. */
typedef struct train_set_params {
    const gb_collection *collection;  /* its split "train" has the positives */
    const gb_tokens *tokens;          /* its texts */
    const gb_words *negatives;        /* artifacts of runs */
    const char *pseudo_labels;        /* artifact of more judgements, or NULL */
    uint32_t depth;                   /* first passages of each run in the pool */
    uint32_t queries;                 /* a seeded subset; 0: all */
    uint64_t seed;                    /* of that */
    uint32_t wanted;                  /* negatives of a query from the pool */
    const gb_filter_settings *filter; /* what is no negative */
} train_set_params;
/* Makes a training set from artifacts; what was found is logged. texts, zero before, gets hashes
 * where the filter compares texts. To be freed by gb_training_set_free and gb_text_hashes_free,
 * also after a failure. */
bool train_set_make(const train_set_params *params, gb_training_set *set, gb_text_hashes *texts,
                    gb_filtered *filtered, gb_status *status);
/* An empty prompt is none. */
static inline const char *train_prompt(const char *prompt)
{
    return prompt && *prompt ? prompt : NULL;
}

/* Reads a teacher's scores and leaves out of the set what it did not score; drop: where that is
 * not an error. */
typedef struct train_teacher_params {
    const gb_collection *collection; /* whose ids the run has */
    const char *run;                 /* artifact */
    uint32_t negatives;              /* drawn of a query */
    bool drop;                       /* pairs without a score are left out, else GB_DATA */
} train_teacher_params;
bool train_teacher_read(const train_teacher_params *params, gb_training_set *set, gb_run *teacher,
                        gb_taught *found, gb_status *status);
/* Returns what a filter found, for a record. */
json_t *train_filtered_json(const gb_filtered *filtered);

/* ---- a model as teacher ---- */

/* Vectors of gabbro encode by one model, from which pairs are scored: inner products, of token
 * vectors late interaction. */
typedef struct train_pair_teacher train_pair_teacher;
/* Folders of the training queries and of the passages. GB_DATA if they do not go together; a text
 * without a vector fails when it is asked for. */
train_pair_teacher *train_pair_teacher_open(const gb_collection *collection,
                                            const gb_words *queries, const gb_words *passages,
                                            gb_status *status);
void train_pair_teacher_close(train_pair_teacher *teacher); /* NULL ok */
/* The same for a task; NULL of NULL. */
const gb_pair_teacher *train_pair_teacher_of(const train_pair_teacher *teacher);

/* ---- topics ---- */

/* Clusters the training queries by the vectors of a folder of gabbro encode: topics [set->count],
 * to be freed. GB_DATA if a query has no vector. NULL on failure. */
uint32_t *train_topics(const gb_collection *collection, const gb_training_set *set,
                       const char *folder, uint32_t clusters, uint64_t seed, gb_status *status);

/* ---- passages that are not trained ---- */

/* Vectors of all passages, and where they are searched. */
typedef struct train_fixed {
    gb_vector_set set;          /* folders of gabbro encode */
    gb_device *device;          /* set before the first search */
    gb_fixed_passages passages; /* the same for a task; its context is this structure */
} train_fixed;
/* Which vectors, and what they must belong to. */
typedef struct train_fixed_params {
    const gb_words *folders;         /* shards */
    const gb_collection *collection; /* its passages, all of them in their order */
    const char *init;                /* model that made them */
    uint32_t width;                  /* floats of its vectors */
} train_fixed_params;
/* Opens them; the structure must not move. GB_DATA if they do not belong together. To be closed
 * also after a failure, and of zeros. */
bool train_fixed_open(train_fixed *fixed, const train_fixed_params *params, gb_status *status);
void train_fixed_close(train_fixed *fixed);

/* ---- two towers ---- */

/* Says so where the model that training starts from has an encoder of queries that is left out. */
bool train_tower_left_out(const char *init, gb_status *status);
/* Values of the tower of queries: those of the model that training starts from, of two towers those
 * of its queries. GB_DATA if those are of another shape. */
bool train_tower_start(const char *init, const gb_bert *tower, const gb_params *params,
                       float *values, gb_status *status);
/* Writes both towers, as whole model folders in one that describes them. passages NULL: that one is
 * the encoder of `init`, as it is. */
bool train_towers_save(const gb_retriever_folder *folder, const gb_bert *passages,
                       const gb_bert *queries, const gb_folder *init, gb_status *status);

#endif
