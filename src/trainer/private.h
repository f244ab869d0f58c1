/* What the training loop and the steps in parts share. */
#ifndef TRAINER_PRIVATE_H
#define TRAINER_PRIVATE_H

#include <gabbro/trainer.h>

/* What a recorded tape is for. */
typedef enum training_program_kind {
    PROGRAM_BATCH,      /* a batch, forward and gradient */
    PROGRAM_MICROBATCH, /* a part of it, its gradient added to what is there */
    PROGRAM_VECTORS,    /* a part, forward to its vectors alone */
    PROGRAM_COMPARE,    /* losses from all vectors, and the gradient of the vectors */
} training_program_kind;

/* A program and the shape it serves. */
typedef struct training_program {
    training_program_kind kind;      /* what it computes */
    gb_bucket bucket;                /* of its batches */
    gb_executable *exec;             /* the program */
    uint32_t forward_nodes;          /* nodes before those of the gradient */
    gb_tensor losses[GB_MAX_LOSSES]; /* outputs, or GB_NO_TENSOR */
    gb_tensor vectors;               /* output of PROGRAM_VECTORS, input of PROGRAM_COMPARE */
    gb_tensor gradient; /* of them: output of PROGRAM_COMPARE, input of PROGRAM_MICROBATCH */
} training_program;

/* A run whose losses have not been read yet. */
typedef struct pending {
    training_program *training_program; /* NULL: none */
    uint64_t ticket;                    /* its run */
    uint32_t step;                      /* its number */
    double *losses;                     /* where they are added: of the step, or of its part */
} pending;

/* A part of the drawn batch. */
typedef struct microbatch_range {
    uint32_t first, count;        /* texts */
    bool begins;                  /* the first part of its share */
    double losses[GB_MAX_LOSSES]; /* of it, where a batch is spread over ranks */
} microbatch_range;

/* What a batch in shards needs on the host, see shards.c. Zero without shards. */
typedef struct shard_sums {
    float **terms;     /* [capacity] gradients of shards, each GB_ARENA_GRADS; NULL until needed */
    uint32_t count;    /* those of this step so far; on rank 0 their sum, one */
    uint32_t capacity; /* allocated */
    uint32_t *microbatch_end; /* [ranks] parts of each rank end here */
    uint32_t *text_end;       /* [ranks] and its texts */
    size_t *ends;             /* [ranks] of bytes to gather */
} shard_sums;

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
    const gb_train_params *params; /* how; after trainer_prepare `settled` */
    gb_train_params settled;       /* with what fits the device (gb_train_fit) */
    gb_state *state;               /* parameters, gradients, moments */
    training_program **programs;   /* recorded shapes */
    size_t program_count, program_capacity;
    gb_executable *adamw;            /* norm, clipping, update */
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
    microbatch_range *cuts;                    /* the parts of the drawn batch */
    size_t cut_capacity;                       /* allocated */
    shard_sums sums;                           /* of a batch in shards */
} trainer;

uint32_t trainer_loss_count(const gb_task *task);
/* What a task builds its program from. */
gb_builder trainer_builder(const gb_train_params *params, gb_tape *tape, gb_padding *padding);
/* The bucket of a kind and shape, built when it is new. width: of vectors, for PROGRAM_COMPARE. */
training_program *trainer_program(trainer *t, training_program_kind kind, const gb_bucket *bucket,
                                  uint32_t width, gb_status *status);
/* Builds the program b of its kind and bucket onto a tape. width: as above. */
bool trainer_build(trainer *t, training_program *b, uint32_t width, gb_tape *tape,
                   gb_status *status);
/* Bytes of parameters, gradients and moments. */
uint64_t trainer_parameter_bytes(const gb_params *params);
/* The bucket of all micro-batches of the drawn batch of `texts`. */
bool trainer_microbatches_bucket(trainer *t, uint32_t texts, gb_bucket *bucket, gb_status *status);
/* Parameters, gradients and AdamW's program on the device; what to do is set. trainer_free: also
 * after a failure. */
bool trainer_prepare(trainer *t, const float *values, gb_status *status);
void trainer_free(trainer *t);
/* Gradients of a step's batch, and with `updated` the update by them. */
bool trainer_step(trainer *t, uint32_t step, bool updated, gb_status *status);
/* Submit a run of a filled bucket (updated: and the update), and read the losses of the run before
 * it. losses: where those of this one will be added. */
bool trainer_run(trainer *t, training_program *b, uint32_t step, double *losses, bool updated,
                 gb_status *status);
/* Wait for the last run and add its losses to those of its step, or part, which it set to zero. */
bool trainer_collect(trainer *t, gb_status *status);
/* Program of a part of a batch, see microbatch.c. */
bool trainer_microbatches_build(trainer *t, training_program *b, gb_builder *builder,
                                uint32_t width, gb_status *status);
/* Gradients of the drawn batch, in parts, into the arena. */
bool trainer_microbatches_run(trainer *t, uint32_t step, uint32_t texts, gb_status *status);

/* Loss scaling, see scale.c. Without it each does nothing, or what is done without. */
void trainer_scale_start(trainer *t);
/* Before a step: its factor, from the steps up to the last but one. */
bool trainer_scale_update(trainer *t, uint32_t step, gb_status *status);
/* Before a checkpoint, and at the end: what became of the last two. */
bool trainer_scale_collect(trainer *t, gb_status *status);
/* Appends the gradient of a bucket's loss, times the factor. */
bool trainer_scale_backward(const trainer *t, training_program *b, gb_tape *tape,
                            gb_status *status);

/* Shards of a batch and the ranks that have them, see shards.c. Without shards each does nothing.
 */
bool trainer_shards_prepare(trainer *t, gb_status *status);
void trainer_shards_free(trainer *t);
/* Share `share` of the drawn batch ends behind these texts and parts. */
void trainer_shards_end(trainer *t, uint32_t share, uint32_t text_end, uint32_t microbatch_end);
/* The vectors of the texts of all ranks into those of this one; bytes of a text. */
bool trainer_shards_vectors(trainer *t, size_t text_bytes, gb_status *status);
/* The gradient in the arena is that of a whole share. */
bool trainer_shards_add(trainer *t, gb_status *status);
/* Into the arena the sum of the shards of all ranks, and to the losses of the step those of their
 * parts. */
bool trainer_shards_sum(trainer *t, uint32_t step, uint32_t parts, gb_status *status);
/* A rank was asked to stop: all do, behind the same step. */
bool trainer_shards_stop(trainer *t, bool *stop, gb_status *status);
/* What rank 0 resumed from, to all. */
bool trainer_shards_resume(trainer *t, uint32_t *next_step, gb_status *status);
/* All ranks have these parameters. */
bool trainer_shards_agree(trainer *t, const float *values, gb_status *status);

#endif
