/* Shared by the files of the train module that measure a model on the way. */
#ifndef TRAIN_DEVELOPMENT_H
#define TRAIN_DEVELOPMENT_H

#include "private.h"

#include <gabbro/retrieve.h>

#define TRAIN_DEV_DEPTH 1000 /* passages of a query that are measured */

typedef struct train_dev train_dev;

/* What is measured, and how a model of the training is written and ranks. */
typedef struct train_dev_params {
    const gb_dev_settings *settings; /* with a split */
    gb_maker *maker;                 /* whose artifact is made */
    const gb_collection *collection; /* of the split */
    const gb_tokens *tokens;         /* its texts */
    const char *tokens_artifact;     /* which are these */
    uint32_t depth;                  /* passages of a query in settings->run that are ranked */
    uint64_t seed;                   /* of subsets */
    /* Writes the model as it is now. */
    bool (*save)(void *self, const char *folder, gb_status *status);
    /* Adds rankings for the split's queries by the model, which is in this folder too. */
    bool (*rank)(void *self, const train_dev *dev, const char *folder, gb_run *run,
                 gb_status *status);
    void *self; /* first argument of both */
} train_dev_params;

/* A point of the curve. */
typedef struct train_dev_point {
    uint32_t step; /* after which it was measured */
    double value;  /* mean over the queries */
} train_dev_point;

struct train_dev {
    train_dev_params how;    /* as given */
    const char *name;        /* of the split; "train": held out of it */
    gb_split split;          /* queries that are measured, and their judgements */
    gb_metrics metric;       /* one */
    uint32_t *passages;      /* [passage_count] rows that are ranked, ascending */
    uint32_t passage_count;  /* 0: all */
    gb_run candidates;       /* of settings->run, for these queries */
    uint32_t steps;          /* of the training */
    train_dev_point *points; /* [point_count] by step */
    size_t point_count, point_capacity;
    char *folder; /* in the artifact's resume folder, once it is made */
};

extern const gb_option train_dev_passage_options[]; /* of retrievers */
extern const gb_option train_dev_run_options[];     /* of cross-encoders */
/* Chooses queries and passages; those of "train" are taken out of the set. Close with
 * train_dev_close. */
train_dev *train_dev_open(const train_dev_params *params, gb_training_set *set, gb_status *status);
void train_dev_close(train_dev *dev); /* NULL ok */
/* The training is to look at it on the way. */
void train_dev_begin(train_dev *dev, gb_train_params *train);
/* After `steps` steps, for the rank that leads: development.tsv, facts, and the best model in the
 * artifact's model/; *kept tells whether it is there. */
bool train_dev_finish(train_dev *dev, uint32_t steps, bool *kept, gb_status *status);

/* ---- outcome.c ---- */

/* The losses' facts. of_scores: which loss tells whether the training converged, which it did below
 * limit; 0: that is not said. */
void train_note_losses(json_t *facts, const gb_train_result *result, int of_scores, double limit);
/* The facts of what was trained on. */
void train_note_set(json_t *facts, const gb_training_set *set, const gb_filtered *filtered);
/* A finished fine-tuning. Borrowed. */
typedef struct train_outcome {
    gb_maker *maker;               /* of the artifact */
    const gb_task *task;           /* what was trained */
    const gb_train_result *result; /* of it */
    double (*log)[GB_MAX_LOSSES];  /* [result->steps] */
    train_dev *dev;                /* or NULL */
    bool (*save)(void *self, const char *folder,
                 gb_status *status); /* as train_dev_params has it */
    void *self;                      /* its first argument */
} train_outcome;
/* Writes losses.tsv, and into model/ the best model of dev or the last one. */
bool train_save_outcome(const train_outcome *outcome, gb_status *status);

/* ---- development_rank.c ---- */

/* The texts of dev->passages alone, as an artifact of tokens in dev->folder. */
bool train_dev_write_texts(const train_dev *dev, gb_status *status);
/* Reads settings->run into dev->candidates. */
bool train_dev_read_run(train_dev *dev, gb_status *status);
/* Ranks by a retriever's folder: a `rank` of train_dev_params. */
bool train_dev_rank_retriever(void *self, const train_dev *dev, const char *folder, gb_run *run,
                              gb_status *status);
/* Ranks the candidates by a cross-encoder whose device is not set yet. */
bool train_dev_rank_pairs(const train_dev *dev, const gb_pair_scorer_params *scorer, gb_run *run,
                          gb_status *status);

#endif
