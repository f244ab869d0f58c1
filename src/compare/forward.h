/* Everything that a model computes of a few texts, on the device and in the float64 reference: for
 * checks of a model folder. */
#ifndef CLI_FORWARD_H
#define CLI_FORWARD_H

#include <gabbro/nn.h>

/* A model of a folder. */
typedef struct forward_model {
    gb_folder *folder;             /* open */
    gb_bert_config config;         /* sizes */
    gb_sentence_settings sentence; /* pooling */
    gb_params *params;             /* encoder, head and projector where it has them */
    gb_bert bert;                  /* the model */
    float *values;                 /* its values */
} forward_model;
/* `path`: a folder, or that of a step with a folder "model" in it. Reads every value. */
bool compare_forward_model_open(forward_model *model, const char *path, gb_status *status);
void compare_forward_model_close(forward_model *model);
gb_state *compare_forward_state(const forward_model *model, gb_device *device, gb_status *status);

/* A program for batches of up to so many rows (rounded up to a bucket) and exactly so many texts.
 */
typedef struct forward {
    const forward_model *model; /* borrowed */
    gb_executable *exec;        /* the program */
    gb_batch batch;             /* texts of the run; their arrays are the caller's */
    gb_tensor *hidden;          /* [layers + 1] states of the embeddings and of every layer */
    gb_tensor first, mean;      /* [texts, H] of the last layer */
    gb_tensor sentence;         /* [texts, H] pooled, projected and scaled as the folder says */
    gb_tensor logits;           /* [rows, V] of the masked-LM head, or GB_NO_TENSOR */
    uint32_t rows, texts;       /* of a batch */
    uint32_t max_length;        /* tokens of a text */
    bool with_logits;           /* of the head */
} forward;
/* state: the model's parameters on a device (compare_forward_state). logits: also those of the
 * head. */
bool compare_forward_make(forward *f, const forward_model *model, gb_state *state, uint32_t rows,
                          uint32_t texts, uint32_t max_length, bool logits, gb_status *status);
void compare_forward_free(forward *f);
/* Run a batch of exactly f->texts texts. */
bool compare_forward_run(forward *f, const gb_batch *batch, uint64_t *ticket, gb_status *status);
/* The same batch once more in float64; the worst difference of any output of the batch's rows or
 * texts, relative to the largest value of that output. */
bool compare_forward_compare(forward *f, const gb_batch *batch, uint64_t ticket, double *worst,
                             gb_status *status);

/* Largest difference of got [rows, ld] from wanted [rows, cols], and the largest magnitude there;
 * both only grow. Infinity where a value is no number. */
void compare_forward_differs(const float *got, uint32_t ld, const float *wanted, uint32_t rows,
                             uint32_t cols, double *difference, double *largest);

#endif
