/* A tiny collection with its vocabulary and tokens, a tiny model on it, and one pass of an
 * objective through both executors. Everything is made in the current folder (see unit/scratch.h).
 */
#ifndef TESTS_NN_TINY_H
#define TESTS_NN_TINY_H

#include "../unit/scratch.h"

#include <gabbro/pretrain.h>

#define MUST(x)                                                                                    \
    do {                                                                                           \
        bool must_ = (x);                                                                          \
        cr_assert(must_, "%s: %s: %s", #x, status.where, status.what);                             \
    } while (0)

/* ---- the collection ---- */

#define TINY_LONGEST  24 /* tokens of a sequence; one passage is longer */
#define TINY_SENTENCE (&(const gb_sentence_settings){.max_length = TINY_LONGEST})

typedef struct tiny {
    gb_vocab *vocab;           /* WordPiece vocabulary trained on the texts */
    gb_collection *collection; /* 6 documents of 1 to 4 passages, extractive queries */
    gb_tokens tokens;          /* its tokens, up to 40 a passage */
    gb_folder *generator;      /* a masked LM for simlm, once tiny_generator was called */
} tiny;
tiny tiny_make(void);
void tiny_free(tiny *t);
gb_pretrain_data tiny_data(const tiny *t);

/* Words of options, by their place. */
enum { TINY_CAUSAL, TINY_MASKED };
enum { TINY_SYMMETRIC, TINY_ONE_SIDED };
enum { TINY_NESTED, TINY_INDEPENDENT };
enum { TINY_FULL, TINY_PROJECTION };

/* Settings of any objective: those of all, and what any has of its own, called as its options are.
 */
typedef struct tiny_params {
    gb_pretrain_params common; /* its `own` is not set */
    double mask_ratio, decoder_mask_ratio;
    uint32_t decoder_masks, head_layers, skip_from, contrast;
    double lm_weight;
    uint32_t decoder, decoder_layers, window, bow_head;
    double bow_weight, bow_weight_final;
    const char *granularities;
    uint32_t spans;
    double temperature;
    gb_projector_kind projector;
    double contrast_weight;
    uint32_t queue;
    double momentum;
    bool mean_pooling;
    uint32_t train_queries;
} tiny_params;
/* Settings that all objectives accept. */
tiny_params tiny_settings(void);
/* The same for one objective; *own gets its own. */
gb_pretrain_params tiny_pretrain(const tiny_params *settings, const gb_objective *objective,
                                 gb_own_settings *own);
/* Two layers; heads 2. The model knows three tokens more than the vocabulary. */
gb_bert_config tiny_config(const tiny *t, uint32_t hidden, uint32_t ffn, double dropout);

/* Validation is on where it is installed; only kernels for these users (GB_USER_ bits) run. */
gb_device *tiny_device(uint32_t users);
/* Fails the test if the validation layer spoke. */
void tiny_device_close(gb_device *device);

/* Make a masked LM in the folder "generator" for the objectives that want one. Its config. */
gb_bert_config tiny_generator(tiny *t);

/* ---- a model ---- */

typedef struct model {
    gb_bert_config config;         /* sizes */
    gb_params *params;             /* parameters, "unreached.weight" last */
    gb_bert bert;                  /* encoder with head */
    const gb_objective *objective; /* NULL: the encoder alone */
    void *self;                    /* its data */
    gb_task task;                  /* its task */
    uint32_t max_length;           /* tokens of a sequence */
    bool kinked;                   /* its loss has kinks, between which it is smooth */
    float *values;                 /* [gb_params_floats] */
} model;
/* Make a model at *m, which must not move. The values are random everywhere, also where training
 * starts from zeros or ones, so that no gradient vanishes by chance. */
void model_make(model *m, const tiny *t, const gb_bert_config *config, const char *objective,
                const tiny_params *settings);
void model_free(model *m);
/* Value of a parameter; rows are *ld apart (ld may be NULL). */
const float *model_values(const model *m, uint32_t *ld, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));
/* Fail unless both value arrays agree bit by bit outside of padding. */
void expect_same_values(const gb_params *params, const float *a, const float *b);

/* ---- one pass ---- */

/* Loss and gradients of one step on the device, and the same inputs in the reference. */
typedef struct pass {
    gb_tape *tape;                   /* forward and backward */
    uint32_t forward_nodes;          /* nodes before the gradients */
    gb_tensor losses[GB_MAX_LOSSES]; /* outputs */
    gb_reference *reference;         /* inputs and parameters set, not run */
    gb_bucket bucket;                /* of the batch */
    double loss[GB_MAX_LOSSES];      /* of the device */
    bool kinked;                     /* differences are taken in steps that meet no kink */
    float *gradients;                /* GB_ARENA_GRADS of the device */
} pass;
/* larger: added to every size of the bucket: rows and labels that only fill up. */
pass compare_pass_make(const model *m, gb_device *device, uint32_t step, uint32_t larger);
void compare_pass_free(pass *p);
/* The n-th input of that name. */
gb_tensor pass_input(const pass *p, const char *name, uint32_t n);

/* The worst difference of any parameter's gradient from a wanted one, relative to the largest
 * magnitude of that parameter's gradient. */
double worst_gradient(const gb_params *params, const float *got, const double *wanted);
/* Four-point central differences of some values of every parameter against the gradients of the
 * reference, which was run. start: parameters before that; a program may change them. */
void check_differences(const pass *p, const gb_params *params, const double *start);

/* ---- a task that something happens to ---- */

/* A task with a signal raised while the batch of a step is drawn. */
typedef struct watched {
    gb_task inner; /* what it is */
    int signal;    /* to raise; 0: none */
    uint32_t at;   /* step */
} watched;
gb_task watched_task(watched *w);

#endif
