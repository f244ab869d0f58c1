/* Trainer module: the training loop, which goes on from checkpoints; batches in parts, and over
 * ranks; what is computed twice for want of memory; what a training costs. Stands on nn. */
#ifndef GABBRO_TRAINER_H
#define GABBRO_TRAINER_H

#include <gabbro/nn.h>
#include <gabbro/ranks.h>

typedef enum gb_schedule_kind {
    GB_SCHEDULE_LINEAR,
    GB_SCHEDULE_COSINE,
    GB_SCHEDULE_CONSTANT
} gb_schedule_kind;
typedef struct gb_schedule {
    gb_schedule_kind kind; /* after the warm-up */
    float peak;            /* learning rate at its end */
    float floor_ratio;     /* cosine: ends at floor_ratio * peak */
    uint32_t warmup;       /* steps of linear warm-up from 0 */
    uint32_t steps;        /* in all */
} gb_schedule;
extern const char *const gb_decay_names[];                        /* by kind, ended by NULL */
float gb_schedule_at(const gb_schedule *schedule, uint32_t step); /* step counts from 0 */
/* Size of a batch on the tape; what tapes are recorded for. */
#define GB_BUCKET_SIZES 6
typedef struct gb_bucket {
    uint32_t size[GB_BUCKET_SIZES]; /* meaning is the task's own; equal shapes share a tape */
    uint32_t texts; /* of a part of the batch (see gb_microbatch); 0: the whole batch */
} gb_bucket;

#define GB_MAX_LOSSES 4

/* How the drawn batch of a task is cut into parts that run one after the other, each with less
 * memory than the whole (gb_train_params.micro_batch). A task is about the whole batch after
 * `sample` and about a part after `select`. The build of a part makes shape->texts texts, with
 * weights that are shares of the whole batch, and leaves losses at GB_NO_TENSOR that no part has by
 * itself. A part may have fewer texts. */
typedef struct gb_microbatch {
    /* Texts of the drawn batch, or pairs where texts belong together. NULL: cannot be cut. */
    uint32_t (*count)(const void *self);
    /* Sets the sizes of the part of texts [first, first + count). */
    void (*size)(const void *self, uint32_t first, uint32_t count, gb_bucket *bucket);
    /* Selects that part: inputs are filled from it until another is selected. */
    bool (*select)(void *self, uint32_t first, uint32_t count, gb_status *status);
    /* Where texts are compared with each other (gradient caching, Gao et al., 2021), vectors of a
     * text, else 0. build sets builder->vectors [texts * vectors, width], those of a text together.
     */
    uint32_t vectors;
    /* Appends the losses of the vectors of all texts of the batch [count * vectors, width]. */
    void (*compare)(void *self, gb_builder *builder, gb_tensor vectors,
                    gb_tensor losses[GB_MAX_LOSSES]);
    /* Where what texts are compared with is chosen by their vectors: called with these [count *
     * vectors, width], rows `ld` floats apart, before the inputs of compare are filled, on every
     * rank. A batch runs in parts then, even if it is one. NULL: nothing is chosen. */
    bool (*meet)(void *self, const float *vectors, uint32_t width, uint32_t ld, gb_status *status);
} gb_microbatch;

/* What is trained: an objective. One file each in src/pretrain and src/finetune. */
typedef struct gb_task {
    void *self;                            /* the objective's own data */
    const char *loss_names[GB_MAX_LOSSES]; /* total first; NULL-ended if fewer */
    /* Draw the batch of a step: pure function of (seed, step). Sets shape. */
    bool (*sample)(void *self, uint32_t step, gb_bucket *bucket, gb_status *status);
    /* Appends the forward pass, whose inputs gb_executable_fill writes from the drawn batch;
     * losses[0] is the total, which is differentiated. */
    void (*build)(void *self, gb_builder *builder, const gb_bucket *bucket,
                  gb_tensor losses[GB_MAX_LOSSES]);
    gb_microbatch microbatch; /* for training in parts of the batch */
} gb_task;

/* What is computed again for the gradient instead of being kept. */
typedef enum gb_recompute {
    GB_RECOMPUTE_NONE,   /* nothing */
    GB_RECOMPUTE_LAYERS, /* layers: same bits */
    GB_RECOMPUTE_AUTO,   /* nothing, or layers, and then smaller micro-batches, as the device's
                            memory asks for it (gb_train_fit) */
} gb_recompute;

/* How activations are stored until the gradient needs them; sums and weights are floats. */
typedef enum gb_storage {
    GB_STORE_FLOAT32,  /* as they were computed */
    GB_STORE_BFLOAT16, /* rounded, in half the memory */
    GB_STORE_AUTO,     /* bfloat16 on GPUs, floats on CPUs */
} gb_storage;

/* Looks at a model on the way: values are those after `steps` steps, and a checkpoint of them is
 * written. Where a killed training goes on from that checkpoint, the call comes again. *stop, which
 * is false, ends the training here. */
typedef bool gb_train_check(void *self, uint32_t steps, const float *values, bool *stop,
                            gb_status *status);

typedef struct gb_train_params {
    const gb_params *params;      /* parameters */
    const gb_bert_config *config; /* dropout and norms */
    gb_schedule schedule;         /* learning rate and number of steps */
    gb_adamw_params adamw;        /* betas, eps, decay */
    float max_norm;               /* gradient clipping; 0: none */
    uint32_t max_length;          /* longest sequence in tokens */
    const char *label;            /* for progress lines */
    const char *resume_dir;       /* where to keep the checkpoint that a killed run resumes from */
    double checkpoint_s;     /* seconds between checkpoints at least; 0: only when interrupted */
    double checkpoint_share; /* of the time that checkpoints may take, so that there are fewer of
                                large models, but one in ten minutes; 0: any */
    /* Texts (or pairs, see gb_microbatch) on the device at once: gradients of the parts of a batch
     * add up to those of the batch, but for rounding. 0, or the whole batch: not cut. */
    uint32_t micro_batch;
    gb_recompute recompute; /* what is computed again for the gradient */
    gb_storage storage;     /* of activations */
    /* Runs of texts, as equal as can be, that a batch is divided into before it is cut into parts;
     * gradients are summed within a shard, then over the shards in their order. Ranks have whole
     * shards, so that results depend on the number of shards, not on that of ranks. 0: none. */
    uint32_t gradient_shards;
    /* What the loss is multiplied with at first, for gradients that half floats can hold; it is
     * halved after a step whose gradient is no number, which updates nothing, and doubled after
     * 2000 good ones. 0: by nothing, or 65536 where products have operands of half floats. */
    float loss_scale;
    gb_ranks *ranks;       /* that train together, not more than shards; NULL: alone */
    uint32_t check_every;  /* steps between the calls of check, which comes after the last step as
                              well; 0: it does not come */
    gb_train_check *check; /* looks at the model on the way, in rank 0 alone */
    void *check_self;      /* its first argument */
} gb_train_params;

typedef struct gb_train_result {
    double final_loss[GB_MAX_LOSSES]; /* mean of the last tenth of the steps */
    double first_loss[GB_MAX_LOSSES]; /* mean of the first tenth */
    uint32_t steps;                   /* done; fewer than asked for where check ended it */
    uint32_t resumed_at;              /* step this process started from */
    double flops;                     /* of this process */
    double seconds;                   /* of this process */
    double step_s;                    /* of a step, median: from batch to batch, nothing recorded */
    double data_s;                    /* of them: drawing and masking batches */
    double build_s;                   /* of them: recording programs */
    uint64_t arena_bytes;             /* activations on the device, of the largest program */
    uint32_t parts;                   /* most parts of a batch on a rank; 1: not cut */
    uint32_t micro_batch;             /* of gb_train_params, as it was settled */
    gb_recompute recompute;           /* likewise */
    gb_storage storage;               /* likewise */
    uint64_t rows_used;               /* tokens of texts that this process put into batches */
    uint64_t rows_computed;           /* the same with those that fill buckets up */
    float loss_scale;                 /* at the end; 0: none */
    uint32_t skipped;                 /* steps that updated nothing, see there */
    double ranks_s;                   /* of `seconds`: waiting for the other ranks, and sums */
} gb_train_result;

/* How activations are stored on a device of these caps. */
gb_storage gb_storage_on(gb_storage storage, const gb_device_caps *caps);
/* Settles params->storage and GB_RECOMPUTE_AUTO for a device: changes params->recompute and, where
 * that is not enough, params->micro_batch. Draws some batches and plans their programs; nothing
 * runs. GB_MEMORY with what to do where not even one text fits. gb_train does it too. */
bool gb_train_fit(gb_device *device, const gb_task *task, gb_train_params *params,
                  gb_status *status);

/* Train values [gb_params_floats] in place. Losses of every step go to `log` (step, loss...) when
 * it is not NULL (a table of doubles [steps][GB_MAX_LOSSES], owned by the caller). On a signal:
 * saves and fails with GB_INTERRUPTED. A resumed run equals an uninterrupted one bit for bit. Of
 * several ranks each makes the same call; only rank 0 keeps and reads checkpoints, whatever number
 * of ranks they were made with. */
bool gb_train(gb_device *device, const gb_task *task, const gb_train_params *params, float *values,
              double (*log)[GB_MAX_LOSSES], gb_train_result *result, gb_status *status);

/* Gradients (GB_ARENA_GRADS) and losses of the batch of one step at these values, without the
 * update: what parts of a batch and layers computed twice are compared by. *arena_bytes:
 * activations on the device, of the largest program. */
bool gb_train_gradient(gb_device *device, const gb_task *task, const gb_train_params *params,
                       const float *values, uint32_t step, float *gradients,
                       double losses[GB_MAX_LOSSES], uint64_t *arena_bytes, gb_status *status);

/* One of several trainings that are compared, each as for gb_train. */
typedef struct gb_training {
    const gb_task *task;           /* what */
    const gb_train_params *params; /* how; all with the same number of steps, no ranks */
    const float *values;           /* from where; stay as they are */
} gb_training;
typedef struct gb_step_time {
    double data_s; /* drawing and masking the batch */
    double step_s; /* that, the device's work and waiting for it; recording programs left out */
} gb_step_time;
/* A step of each of `count` trainings in turn, waited for before the next begins, so that all meet
 * the machine in the same state: times [steps][count]. The first steps compile kernels. Nothing is
 * kept of the models. */
bool gb_train_interleaved(gb_device *device, const gb_training *trainings, uint32_t count,
                          gb_step_time *times, gb_status *status);

/* What a training takes. */
typedef struct gb_train_cost {
    double flops;              /* arithmetic of a step in one piece but for the update, mean */
    double update_flops;       /* of AdamW */
    uint64_t activation_bytes; /* activations and inputs on the device, of the largest batch */
    uint64_t widest_bytes;     /* of them: the largest tensor, which one buffer must hold */
    uint32_t texts;            /* of the last batch, as the task cuts it; 0: it cannot be cut */
    uint64_t parameter_bytes;  /* parameters, gradients and moments on the device */
} gb_train_cost;
/* Draws the first `batches` batches and builds their programs; needs no device. */
bool gb_train_estimate(const gb_task *task, const gb_train_params *params, uint32_t batches,
                       gb_train_cost *cost, gb_status *status);

/* Whether a device has room for it, with `share` times its texts (.5: half of them). */
bool gb_train_cost_fits(const gb_train_cost *cost, double share, const gb_device_caps *caps);

#endif
