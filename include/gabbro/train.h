/* Train module: opens trainings from settings and artifacts. Settings go in; a task, how it is
 * trained and the values that it starts from come out, for whoever trains, times or compares
 * them. */
#ifndef GABBRO_TRAIN_H
#define GABBRO_TRAIN_H

#include <gabbro/experiment.h>
#include <gabbro/finetune.h>
#include <gabbro/options.h>
#include <gabbro/pretrain.h>

/* Options of AdamW and its learning rate, --learning-rate to --dropout. */
typedef struct gb_optimiser_settings {
    double rate;                 /* learning rate at its peak */
    double warmup;               /* share of the steps in which it rises from 0 */
    gb_schedule_kind decay_kind; /* of the learning rate after the warm-up */
    double final_rate;           /* share of the learning rate that a cosine ends at */
    double decay;                /* of weights, decoupled */
    double clip;                 /* largest norm of the gradient; 0: none */
    double dropout;              /* of states and attention */
} gb_optimiser_settings;
extern const gb_option gb_optimiser_options[];
/* Fails with GB_USAGE where one setting has no effect with another. */
bool gb_optimiser_check(const gb_optimiser_settings *settings, gb_status *status);

/* What a fine-tuning is measured by on the way. */
typedef struct gb_dev_settings {
    const char *split;   /* queries that are measured, or "train": held out of these; NULL: none */
    const char *run;     /* of cross-encoders: artifact of a run with what they rank, or NULL */
    const char *measure; /* one, for gb_metrics_add */
    uint32_t every;      /* steps from one measurement to the next; 0: a tenth of all */
    uint32_t queries;    /* of the split, a seeded subset; 0: all */
    uint32_t passages;   /* of retrievers: ranked beside the relevant ones; 0: all */
    uint32_t patience;   /* measurements that are no better, after which it ends; 0: none */
    bool keep_last;      /* the last model, not the best one */
    bool drop_identical; /* a passage with the query's id does not count */
} gb_dev_settings;
extern const gb_dev_settings gb_dev_defaults;
extern const gb_option gb_dev_options[]; /* but for `run` and `passages` */
/* Whether the settings are good together; there may be no split. */
bool gb_dev_check(const gb_dev_settings *settings, gb_status *status);

/* ---- pre-training ---- */

/* Which encoder is trained on what, and how. */
typedef struct gb_pretraining_settings {
    const char *objective;           /* by name; "none": a fresh encoder that is not trained */
    const char *collection, *tokens; /* artifacts */
    const char *vocabulary;          /* artifact */
    const char *init;                /* artifact or folder of a model to start from, or NULL */
    const char *generator;           /* of the masked LM that fills simlm's masks, or NULL */
    uint32_t layers, hidden, heads;  /* of a fresh encoder */
    uint32_t ffn;                    /* width of its feed-forward networks */
    double init_std;                 /* of fresh weights of the encoder, heads and decoders */
    uint32_t steps;                  /* optimiser steps */
    gb_optimiser_settings optimiser; /* of the steps */
    gb_memory_settings memory;       /* of a step */
    gb_pretrain_params params;       /* what all objectives know */
    gb_own_settings
        own[GB_OBJECTIVES_MAX]; /* what one alone knows, in the order of gb_objectives */
} gb_pretraining_settings;
gb_pretraining_settings gb_pretraining_defaults(void);

/* The options of a pre-training, which set all but the objective's name. An objective's own are in
 * no key before gb_pretraining_note was called with its name. */
#define GB_PRETRAINING_TABLES (3 + GB_OBJECTIVES_MAX) /* and an empty one that ends them */
void gb_pretraining_tables(gb_pretraining_settings *settings,
                           gb_option_table tables[GB_PRETRAINING_TABLES + 1]);
void gb_pretraining_note(gb_option_table tables[GB_PRETRAINING_TABLES + 1], const char *objective);
/* Whether the settings are good together. */
bool gb_pretraining_check(const gb_pretraining_settings *settings, gb_status *status);
/* Whether the objective reads what is given for it; the first of several may leave it to others. */
bool gb_pretraining_check_alone(const gb_pretraining_settings *settings, gb_status *status);
/* The objective, or NULL for "none". */
const gb_objective *gb_pretraining_objective(const gb_pretraining_settings *settings);

/* An opened pre-training. */
typedef struct gb_pretraining gb_pretraining;
/* Opens the artifacts and makes or reads the encoder. The settings must stay. */
gb_pretraining *gb_pretraining_open(const gb_pretraining_settings *settings, gb_status *status);
void gb_pretraining_close(gb_pretraining *pretraining); /* NULL ok */
/* What there is to train; NULL where the objective is "none" or there are no steps. */
const gb_training *gb_pretraining_training(const gb_pretraining *pretraining);
/* Before it is trained on a device: what the objective keeps there. device NULL: it is not trained,
 * and its batches are counted alone. */
bool gb_pretraining_prepare(gb_pretraining *pretraining, gb_device *device, gb_status *status);

/* Train the encoder into the artifact: model/ and losses.tsv. */
bool gb_pretrain(gb_maker *maker, const gb_pretraining_settings *settings, gb_status *status);
/* Print what that takes. */
bool gb_pretrain_cost(gb_maker *maker, const gb_pretraining_settings *settings, gb_status *status);

/* ---- how well an encoder fills masks ---- */

/* Which encoder is measured on which passages. */
typedef struct gb_mlm_loss_params {
    const char *model;      /* artifact or folder of an encoder with its masked-LM head */
    const char *tokens;     /* artifact of the passages' tokens */
    const char *vocabulary; /* artifact of their vocabulary */
    uint32_t passages;      /* a seeded sample; 0: all */
    double mask_ratio;      /* share of the tokens that are masked */
    uint64_t seed;          /* of sample and masks, which are the same for every model */
} gb_mlm_loss_params;
/* Measure the mean loss, in nats a masked token, into the maker's metrics.json ("mlm:loss").
 * GB_DATA where model, tokens and vocabulary do not belong together or the model has no head. */
bool gb_mlm_loss(gb_maker *maker, const gb_mlm_loss_params *params, gb_status *status);
/* Print what that takes as NAME=NUMBER words. */
bool gb_mlm_loss_cost(const gb_mlm_loss_params *params, gb_status *status);

/* ---- weights of words ---- */

/* Which passages are weighed, and by what. */
typedef struct gb_word_weights_params {
    const char *model;               /* artifact or folder of a model of gabbro pretrain deepct */
    const char *collection, *tokens; /* artifacts */
    double scale;                    /* weights are multiplied by it and rounded */
} gb_word_weights_params;
#define GB_WORD_WEIGHT_MAX 65535 /* BM25 counts no further */
/* Writes vectors.jsonl into the maker's artifact, a line {"id": "p1", "contents": "", "vector":
 * {"word": 12}} a passage in their order, for BM25's --term-weights. Words of less than 1 are left
 * out. GB_DATA where the model makes no weights of words. */
bool gb_word_weights(gb_maker *maker, const gb_word_weights_params *params, gb_status *status);

/* ---- what a step of several pre-trainings takes ---- */

/* Time the steps of a pre-training and of others that differ in their objective, interleaved, into
 * the artifact's step_times.json. others: "OBJECTIVE" or "OBJECTIVE:CONTEXT", commas between. No
 * model is kept. */
bool gb_pretrain_interleaved(gb_maker *maker, const gb_pretraining_settings *settings,
                             const char *others, gb_status *status);
/* Whether the names are of objectives that can be trained so; then notes them in the tables. */
bool gb_pretrain_interleaved_check(const gb_pretraining_settings *settings, const char *others,
                                   gb_option_table tables[GB_PRETRAINING_TABLES + 1],
                                   gb_status *status);
/* Measures of one of these objectives beside the first, from the folder of such an artifact, into
 * the maker's metrics.json. */
bool gb_write_efficiency(gb_maker *maker, const char *folder, const char *objective,
                         gb_status *status);

/* ---- fine-tuning ---- */

/* Which passages are no negatives (gb_negative_filter). */
typedef struct gb_filter_settings {
    uint32_t skip;                  /* first passages of each run that are dropped */
    const char *scores;             /* artifact of a run with scores, or NULL */
    double margin, relative_margin; /* by these scores, to the positive's; open: none */
    double min_score, max_score;    /* by these scores; open: none */
    bool unique_texts;              /* copies of a positive or of another negative are dropped */
} gb_filter_settings;
/* Nothing is dropped. */
#define GB_FILTER_DEFAULTS                                                                         \
    {                                                                                              \
        .margin = GB_OPEN_REAL, .relative_margin = GB_OPEN_REAL, .min_score = GB_OPEN_REAL,        \
        .max_score = GB_OPEN_REAL                                                                  \
    }

/* Which retriever is trained on what, and how. */
typedef struct gb_finetuning_settings {
    const char *init;                /* artifact or folder of the encoder */
    const char *collection, *tokens; /* artifacts */
    gb_words negatives;              /* artifacts of runs */
    gb_words passage_vectors;        /* folders of gabbro encode: passages are not trained */
    const char *pseudo_labels;       /* artifact of more judgements, or NULL */
    gb_projector_kind projector;     /* on query and passage vectors */
    uint32_t epochs;                 /* over the training queries */
    uint32_t train_queries;          /* a seeded subset; 0: all */
    uint32_t depth;                  /* first passages of each run in the pool */
    gb_filter_settings filter;       /* of them */
    double temperature;              /* scores are divided by it; 0: by the kind of vectors */
    const char *matryoshka;          /* lengths of vectors, see gb_matryoshka_read; NULL: whole */
    const char *matryoshka_weights;  /* of their losses, or NULL */
    gb_optimiser_settings optimiser; /* of the steps */
    gb_memory_settings memory;       /* of a step */
    gb_dev_settings dev;             /* what it is measured by on the way */
    const char *teacher;             /* artifact of a run with a teacher's scores, or NULL */
    gb_words teacher_queries;        /* folders of gabbro encode: a model as teacher */
    gb_words teacher_passages;       /* likewise, of all passages */
    bool drop_unscored;              /* pairs that the teacher did not score, instead of failing */
    const char *query_vectors;       /* artifact of gabbro encode --split train, or NULL */
    uint32_t clusters;               /* of them: batches are of one; 0: of all queries */
    bool two_towers;                 /* queries have an encoder of their own */
    bool mask_copies;                /* within a batch, see gb_finetune_data.copies */
    bool no_duplicates;              /* likewise, see gb_finetune_data.distinct */
    uint32_t scoring, loss;          /* indices into gb_scorings and gb_losses */
    gb_own_settings scoring_own[GB_SCORINGS_MAX]; /* what one alone knows, in their order */
    gb_own_settings loss_own[GB_LOSSES_MAX];      /* likewise */
    gb_finetune_params params;                    /* of the task, but what is above */
} gb_finetuning_settings;
gb_finetuning_settings gb_finetuning_defaults(void);
/* The options of a fine-tuning, which set all. A scoring's and a loss's own are in no key before
 * gb_finetuning_note was called, after parsing. */
#define GB_FINETUNING_TABLES (6 + GB_SCORINGS_MAX + GB_LOSSES_MAX)
void gb_finetuning_tables(gb_finetuning_settings *settings,
                          gb_option_table tables[GB_FINETUNING_TABLES + 1]);
void gb_finetuning_note(const gb_finetuning_settings *settings,
                        gb_option_table tables[GB_FINETUNING_TABLES + 1]);

/* Whether the settings are good together. */
bool gb_finetuning_check(const gb_finetuning_settings *settings, gb_status *status);

/* Train the retriever into the artifact: model/, losses.tsv, and development.tsv where it was
 * measured on the way. */
bool gb_finetune(gb_maker *maker, const gb_finetuning_settings *settings, gb_status *status);
/* Print what that takes. */
bool gb_finetune_cost(gb_maker *maker, const gb_finetuning_settings *settings, gb_status *status);

/* ---- cross-encoders ---- */

/* Which cross-encoder is trained on what, and how. */
typedef struct gb_cross_settings {
    const char *init;                /* artifact or folder of an encoder or a cross-encoder */
    const char *collection, *tokens; /* artifacts */
    gb_words negatives;              /* artifacts of runs */
    const char *pseudo_labels;       /* artifact of more judgements, or NULL */
    uint32_t epochs;                 /* over the training queries */
    uint32_t train_queries;          /* a seeded subset; 0: all */
    uint32_t depth;                  /* first passages of each run in the pool */
    uint32_t max_length;             /* tokens of a pair; 0: as query and passage need */
    bool extend_positions;           /* fresh ones where pairs need more than the model has */
    gb_filter_settings filter;       /* of the pool */
    gb_optimiser_settings optimiser; /* of the steps */
    gb_memory_settings memory;       /* of a step */
    gb_dev_settings dev;             /* what it is measured by on the way */
    gb_cross_params params;          /* of the task, but for its lengths */
} gb_cross_settings;
extern const gb_cross_settings gb_cross_defaults;
/* The options of such a training, which set all. */
#define GB_CROSS_TABLES 6
void gb_cross_tables(gb_cross_settings *settings, gb_option_table tables[GB_CROSS_TABLES + 1]);
/* Train the cross-encoder into the artifact, like a retriever. */
bool gb_train_cross(gb_maker *maker, const gb_cross_settings *settings, gb_status *status);
/* Print what that takes. */
bool gb_train_cross_cost(gb_maker *maker, const gb_cross_settings *settings, gb_status *status);

/* Which scores become labels. */
typedef struct gb_pseudo_settings {
    const char *run;         /* artifact of a run with probabilities, as of gabbro rerank */
    const char *collection;  /* artifact of its queries */
    gb_pseudo_bounds bounds; /* see there */
} gb_pseudo_settings;
/* Labels the queries of a run that are in no split: qrels.tsv and run.trec, the negatives, in the
 * artifact. What a training takes of it: gb_finetuning_settings.pseudo_labels. */
bool gb_pseudo_label(gb_maker *maker, const gb_pseudo_settings *settings, gb_status *status);

/* ---- two towers ---- */

/* Two models that become one. */
typedef struct gb_towers {
    const gb_config *config; /* of the environment: where models are found by name */
    const char *queries;     /* model of queries, as gb_find_model takes it */
    const char *passages;    /* model of passages */
    const char *pooling;     /* cls, mean or last; NULL: as the folders say */
    const char *to;          /* folder that is written; nothing may be there */
} gb_towers;
/* Writes a folder of two towers (gb_folder_tower) from two dense encoders with one vocabulary, one
 * width, one pooling and one scaling; prompts are those that either wants for its texts. GB_DATA
 * for other models, GB_USAGE if `to` is there. */
bool gb_towers_join(const gb_towers *towers, gb_status *status);

#endif
