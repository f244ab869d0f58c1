/* What the training loop and the steps in parts share. */
#ifndef NN_TRAIN_H
#define NN_TRAIN_H

#include <gabbro/nn.h>

/* What a recorded tape is for. */
typedef enum bucket_kind {
    BUCKET_WHOLE,   /* a batch, forward and gradient */
    BUCKET_PART,    /* a part of it, its gradient added to what is there */
    BUCKET_VECTORS, /* a part, forward to its vectors alone */
    BUCKET_COMPARE, /* losses from all vectors, and the gradient of the vectors */
} bucket_kind;

/* A program and the shape it serves. */
typedef struct bucket {
    bucket_kind kind;                /* what it computes */
    gb_shape shape;                  /* of its batches */
    gb_exec *exec;                   /* the program */
    gb_tensor losses[GB_MAX_LOSSES]; /* outputs, or GB_NO_TENSOR */
    gb_tensor vectors;               /* output of BUCKET_VECTORS, input of BUCKET_COMPARE */
    gb_tensor gradient;              /* of them: output of BUCKET_COMPARE, input of BUCKET_PART */
} bucket;

/* A run whose losses have not been read yet. */
typedef struct pending {
    bucket *bucket;  /* NULL: none */
    uint64_t ticket; /* its run */
    uint32_t step;   /* its number */
    double *losses;  /* where they are added: of the step, or of its part */
} pending;

/* A part of the drawn batch. */
typedef struct part_cut {
    uint32_t first, count;        /* texts */
    bool begins;                  /* the first part of its share */
    double losses[GB_MAX_LOSSES]; /* of it, where a batch is spread over ranks */
} part_cut;

/* What a batch in shares needs on the host, see shares.c. Zero without shares. */
typedef struct share_sums {
    float **terms;      /* [capacity] gradients of shares, each GB_ARENA_GRADS; NULL until needed */
    uint32_t count;     /* those of this step so far; on rank 0 their sum, one */
    uint32_t capacity;  /* allocated */
    uint32_t *part_end; /* [ranks] parts of each rank end here */
    uint32_t *text_end; /* [ranks] and its texts */
    size_t *ends;       /* [ranks] of bytes to gather */
} share_sums;

/* What the loss is multiplied with, see scale.c; part of a checkpoint. */
typedef struct loss_scale {
    float factor;         /* of the next step; 0: none */
    uint32_t good;        /* steps in a row, since it changed */
    uint32_t skipped;     /* steps so far that updated nothing */
    uint32_t left_out[2]; /* whether of the last two steps, by step % 2, not counted yet */
} loss_scale;

typedef struct trainer {
    gb_device *device;             /* where */
    const gb_task *task;           /* what */
    const gb_train_params *params; /* how */
    gb_state *state;               /* parameters, gradients, moments */
    bucket **buckets;              /* recorded shapes */
    size_t bucket_count, bucket_capacity;
    gb_exec *adamw;                  /* norm, clipping, update */
    gb_tensor adamw_step;            /* its input */
    gb_tensor norm;                  /* of the gradient: its output, with loss scaling */
    uint64_t updates[2];             /* runs of it, by step % 2, not looked at yet; 0: none */
    loss_scale scale;                /* of the loss */
    double (*log)[GB_MAX_LOSSES];    /* losses of every step */
    pending last;                    /* run in flight */
    double flops;                    /* done by this process */
    double data_s, build_s, ranks_s; /* time spent on batches, programs and ranks */
    double *step_s;                  /* [steps] of each since it started */
    gb_padding padding;              /* rows of all batches */
    uint32_t parts;                  /* most parts of a batch so far */
    float *vectors, *gradients;      /* of all texts of a batch, when it runs in parts */
    size_t vector_capacity, gradient_capacity; /* allocated */
    part_cut *cuts;                            /* the parts of the drawn batch */
    size_t cut_capacity;                       /* allocated */
    share_sums sums;                           /* of a batch in shares */
} trainer;

uint32_t train_loss_count(const gb_task *task);
/* What a task builds its program from. */
gb_net train_net(const gb_train_params *params, gb_tape *tape, gb_padding *padding);
/* The bucket of a kind and shape, built when it is new. width: of vectors, for BUCKET_COMPARE. */
bucket *train_bucket(trainer *t, bucket_kind kind, const gb_shape *shape, uint32_t width,
                     gb_status *status);
/* Parameters, gradients and AdamW's program on the device; what to do is set. train_free: also
 * after a failure. */
bool train_prepare(trainer *t, const float *values, gb_status *status);
void train_free(trainer *t);
/* Gradients of a step's batch, and with `updated` the update by them. */
bool train_step(trainer *t, uint32_t step, bool updated, gb_status *status);
/* Submit a run of a filled bucket (updated: and the update), and read the losses of the run before
 * it. losses: where those of this one will be added. */
bool train_run(trainer *t, bucket *b, uint32_t step, double *losses, bool updated,
               gb_status *status);
/* Wait for the last run and add its losses to those of its step, or part, which it set to zero. */
bool train_collect(trainer *t, gb_status *status);
/* Program of a part of a batch, see parts.c. */
bool parts_build(trainer *t, bucket *b, gb_net *net, uint32_t width, gb_status *status);
/* Gradients of the drawn batch, in parts, into the arena. */
bool parts_run(trainer *t, uint32_t step, uint32_t texts, gb_status *status);

/* Loss scaling, see scale.c. Without it each does nothing, or what is done without. */
void scale_start(trainer *t);
/* Before a step: its factor, from the steps up to the last but one. */
bool scale_follow(trainer *t, uint32_t step, gb_status *status);
/* Before a checkpoint, and at the end: what became of the last two. */
bool scale_collect(trainer *t, gb_status *status);
/* Appends the gradient of a bucket's loss, times the factor. */
bool scale_backward(const trainer *t, bucket *b, gb_tape *tape, gb_status *status);

/* Shares of a batch and the ranks that have them, see shares.c. Without shares each does nothing.
 */
bool shares_prepare(trainer *t, gb_status *status);
void shares_free(trainer *t);
/* Share `share` of the drawn batch ends behind these texts and parts. */
void shares_cut(trainer *t, uint32_t share, uint32_t text_end, uint32_t part_end);
/* The vectors of the texts of all ranks into those of this one; bytes of a text. */
bool shares_vectors(trainer *t, size_t text_bytes, gb_status *status);
/* The gradient in the arena is that of a whole share. */
bool shares_take(trainer *t, gb_status *status);
/* Into the arena the sum of the shares of all ranks, and to the losses of the step those of their
 * parts. */
bool shares_sum(trainer *t, uint32_t step, uint32_t parts, gb_status *status);
/* A rank was asked to stop: all do, behind the same step. */
bool shares_stop(trainer *t, bool *stop, gb_status *status);
/* What rank 0 resumed from, to all. */
bool shares_resume(trainer *t, uint32_t *next_step, gb_status *status);
/* All ranks have these parameters. */
bool shares_agree(trainer *t, const float *values, gb_status *status);

#endif
