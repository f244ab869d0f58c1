/* The training loop: draw, fill, run, step; tapes recorded once per shape and replayed. */
#include "checkpoint.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A recorded tape and the shape it serves. */
typedef struct bucket {
    gb_shape shape;                  /* of its batches */
    gb_tape *tape;                   /* the program */
    gb_exec *exec;                   /* recorded */
    void *graph;                     /* the task's record of inputs */
    gb_tensor losses[GB_MAX_LOSSES]; /* outputs */
} bucket;

/* A step whose losses have not been read yet. */
typedef struct pending {
    bucket *bucket;  /* NULL: none */
    uint64_t ticket; /* its run */
    uint32_t step;   /* its number */
} pending;

typedef struct trainer {
    gb_device *device;             /* where */
    const gb_task *task;           /* what */
    const gb_train_params *params; /* how */
    gb_state *state;               /* parameters, gradients, moments */
    bucket **buckets;              /* recorded shapes */
    size_t bucket_count, bucket_capacity;
    gb_tape *adamw_tape;          /* norm, clipping, update */
    gb_exec *adamw;               /* recorded */
    gb_tensor adamw_step;         /* its input */
    double (*log)[GB_MAX_LOSSES]; /* losses of every step */
    pending last;                 /* step in flight */
    double flops;                 /* done by this process */
    double data_s, build_s;       /* time spent on batches and on programs */
} trainer;

static void bucket_destroy(bucket *b)
{
    if (!b)
        return;
    gb_exec_destroy(b->exec);
    gb_tape_destroy(b->tape);
    free(b->graph);
    free(b);
}

static uint32_t loss_count(const gb_task *task)
{
    uint32_t count = 0;
    while (count < GB_MAX_LOSSES && task->loss_names[count])
        count++;
    return count;
}

static bool bucket_build(trainer *t, bucket *b, gb_status *status)
{
    const gb_bert_config *config = t->params->config;
    b->tape = gb_tape_create(t->params->params, t->params->label, status);
    b->graph = gb_alloc(1, t->task->graph_bytes, status);
    if (!b->tape || !b->graph)
        return false;
    gb_net net = {.tape = b->tape,
                  .dropout = (float)config->hidden_dropout,
                  .attention_dropout = (float)config->attention_dropout,
                  .eps = (float)config->layer_norm_eps,
                  .longest = t->params->longest};
    t->task->build(t->task->self, &net, &b->shape, b->graph, b->losses);
    if (!gb_tape_ok(b->tape, status))
        return false;
    for (uint32_t l = 0; l < loss_count(t->task); l++)
        gb_tape_output(b->tape, b->losses[l]);
    if (!gb_backward(b->tape, b->losses[0], status))
        return false;
    b->exec = gb_exec_create(t->state, b->tape, status);
    return b->exec != NULL;
}

static bucket *bucket_of(trainer *t, const gb_shape *shape, gb_status *status)
{
    for (size_t i = 0; i < t->bucket_count; i++)
        if (!memcmp(&t->buckets[i]->shape, shape, sizeof *shape))
            return t->buckets[i];
    if (!gb_grow(&t->buckets, &t->bucket_capacity, t->bucket_count + 1, sizeof *t->buckets, status))
        return NULL;
    bucket *b = gb_alloc(1, sizeof *b, status);
    if (!b)
        return NULL;
    b->shape = *shape;
    if (!bucket_build(t, b, status)) {
        bucket_destroy(b);
        return NULL;
    }
    return t->buckets[t->bucket_count++] = b;
}

/* Losses of the step in flight into the log. */
static bool collect(trainer *t, gb_status *status)
{
    pending last = t->last;
    t->last.bucket = NULL;
    if (!last.bucket)
        return true;
    for (uint32_t l = 0; l < loss_count(t->task); l++) {
        const float *value =
            gb_exec_output(last.bucket->exec, last.ticket, last.bucket->losses[l], status);
        if (!value)
            return false;
        t->log[last.step][l] = value[0];
    }
    if (!isfinite(t->log[last.step][0]))
        return gb_fail(status, GB_MISMATCH, t->params->label, "lower the learning rate",
                       "the loss is no number at step %u", last.step);
    return true;
}

static bool do_step(trainer *t, uint32_t step, gb_status *status)
{
    gb_shape shape = {0};
    double start_s = gb_now_s();
    if (!t->task->sample(t->task->self, step, &shape, status))
        return false;
    double sampled_s = gb_now_s();
    bucket *b = bucket_of(t, &shape, status);
    t->data_s += sampled_s - start_s;
    t->build_s += gb_now_s() - sampled_s;
    if (!b || !t->task->fill(t->task->self, b->exec, b->graph, step, status))
        return false;
    pending now = {.bucket = b, .step = step};
    if (!gb_exec_run(b->exec, &now.ticket, status))
        return false;
    float *values = gb_exec_input(t->adamw, t->adamw_step, status);
    if (!values)
        return false;
    gb_adamw_fill(&t->params->adamw, step + 1, gb_schedule_at(&t->params->schedule, step),
                  t->params->largest_norm, values);
    if (!gb_exec_run(t->adamw, NULL, status))
        return false;
    t->flops += gb_exec_flops(b->exec) + gb_exec_flops(t->adamw);
    /* Only now, with this step on its way, wait for the one before it. */
    if (!collect(t, status))
        return false;
    t->last = now;
    return true;
}

static bool save(trainer *t, uint32_t next_step, gb_status *status)
{
    return !t->params->resume_dir || checkpoint_write(t->params->resume_dir, t->state,
                                                      t->params->params, next_step, t->log, status);
}

static bool loop(trainer *t, uint32_t first, gb_status *status)
{
    uint32_t steps = t->params->schedule.steps;
    gb_progress progress;
    gb_progress_begin(&progress, t->params->label, "steps", steps, first);
    double saved_s = gb_now_s();
    for (uint32_t step = first; step < steps; step++) {
        if (!do_step(t, step, status))
            return false;
        char note[64] = "";
        if (step > first)
            snprintf(note, sizeof note, "loss %.4f", t->log[step - 1][0]);
        gb_progress_update(&progress, step + 1, note);
        bool stop = gb_interrupted();
        bool due = t->params->checkpoint_s > 0 && gb_now_s() - saved_s >= t->params->checkpoint_s;
        if ((stop || due) && (!collect(t, status) || !save(t, step + 1, status)))
            return false;
        if (due)
            saved_s = gb_now_s();
        if (stop)
            return gb_fail(status, GB_INTERRUPTED, t->params->label,
                           "run the same command to resume", "stopped after step %u of %u",
                           step + 1, steps);
    }
    if (!collect(t, status))
        return false;
    char note[64] = "";
    if (steps)
        snprintf(note, sizeof note, "loss %.4f", t->log[steps - 1][0]);
    gb_progress_end(&progress, steps, note);
    return true;
}

static bool prepare(trainer *t, const float *values, gb_status *status)
{
    t->state = gb_state_create(t->device, t->params->params, true, status);
    if (!t->state || !gb_state_write(t->state, GB_ARENA_PARAMS, values, status))
        return false;
    t->adamw_tape = gb_tape_create(t->params->params, "adamw", status);
    if (!t->adamw_tape)
        return false;
    t->adamw_step = gb_adamw_input(t->adamw_tape);
    gb_adamw(t->adamw_tape, &t->params->adamw, t->adamw_step);
    t->adamw = gb_exec_create(t->state, t->adamw_tape, status);
    return t->adamw != NULL;
}

static void summarise(const trainer *t, uint32_t steps, gb_train_result *result)
{
    uint32_t tenth = steps / 10 ? steps / 10 : 1;
    for (uint32_t l = 0; l < loss_count(t->task) && steps; l++) {
        double first = 0, last = 0;
        for (uint32_t i = 0; i < tenth; i++) {
            first += t->log[i][l] / tenth;
            last += t->log[steps - 1 - i][l] / tenth;
        }
        result->first_loss[l] = first;
        result->final_loss[l] = last;
    }
    result->steps = steps;
    result->flops = t->flops;
    result->data_s = t->data_s;
    result->build_s = t->build_s;
}

bool gb_train(gb_device *device, const gb_task *task, const gb_train_params *params, float *values,
              double (*log)[GB_MAX_LOSSES], gb_train_result *result, gb_status *status)
{
    *result = (gb_train_result){0};
    double start_s = gb_now_s();
    uint32_t steps = params->schedule.steps;
    double(*own_log)[GB_MAX_LOSSES] = log ? NULL : gb_alloc(steps, sizeof *own_log, status);
    trainer t = {.device = device, .task = task, .params = params, .log = log ? log : own_log};
    bool ok = t.log && prepare(&t, values, status);
    if (ok && params->resume_dir)
        ok = checkpoint_read(params->resume_dir, t.state, params->params, steps,
                             &result->resumed_at, t.log, status);
    uint32_t resumed_at = result->resumed_at;
    ok = ok && loop(&t, resumed_at, status) &&
         gb_state_read(t.state, GB_ARENA_PARAMS, values, status);
    if (ok)
        summarise(&t, steps, result);
    result->resumed_at = resumed_at;
    result->seconds = gb_now_s() - start_s;
    for (size_t i = 0; i < t.bucket_count; i++)
        bucket_destroy(t.buckets[i]);
    free(t.buckets);
    gb_exec_destroy(t.adamw);
    gb_tape_destroy(t.adamw_tape);
    gb_state_destroy(t.state);
    free(own_log);
    return ok;
}
