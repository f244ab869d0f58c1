/* The training loop: draw, fill, run, step; tapes recorded once per shape and replayed. */
#include "checkpoint.h"
#include "private.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void bucket_destroy(training_program *b)
{
    if (!b)
        return;
    gb_executable_destroy(b->exec);
    free(b);
}

uint32_t trainer_loss_count(const gb_task *task)
{
    uint32_t count = 0;
    while (count < GB_MAX_LOSSES && task->loss_names[count])
        count++;
    return count;
}

gb_builder trainer_builder(const gb_train_params *params, gb_tape *tape, gb_padding *padding)
{
    return (gb_builder){.tape = tape,
                        .dropout = (float)params->config->hidden_dropout,
                        .attention_dropout = (float)params->config->attention_dropout,
                        .eps = (float)params->config->layer_norm_eps,
                        .max_length = params->max_length,
                        .recompute = params->recompute == GB_RECOMPUTE_LAYERS,
                        .padding = padding};
}

/* A batch: forward and gradient. */
static bool whole_build(trainer *t, training_program *b, gb_builder *builder, gb_status *status)
{
    t->task->build(t->task->self, builder, &b->bucket, b->losses);
    if (!gb_tape_ok(builder->tape, status))
        return false;
    for (uint32_t l = 0; l < trainer_loss_count(t->task); l++)
        gb_tape_output(builder->tape, b->losses[l]);
    b->forward_nodes = gb_tape_node_count(builder->tape);
    return trainer_scale_backward(t, b, builder->tape, status);
}

/* What the program of a bucket is built from. */
typedef struct bucket_plan {
    trainer *t;          /* for whom */
    training_program *b; /* which */
    uint32_t width;      /* of vectors, for PROGRAM_COMPARE */
} bucket_plan;

bool trainer_build(trainer *t, training_program *b, uint32_t width, gb_tape *tape,
                   gb_status *status)
{
    gb_builder builder = trainer_builder(t->params, tape, &t->padding);
    bool ok = b->kind == PROGRAM_BATCH ? whole_build(t, b, &builder, status)
                                       : trainer_microbatches_build(t, b, &builder, width, status);
    bool gradient = b->kind == PROGRAM_BATCH || b->kind == PROGRAM_MICROBATCH;
    if (ok && gradient && t->params->storage == GB_STORE_BFLOAT16)
        gb_keep_bfloat16(tape, b->forward_nodes);
    return ok && (!builder.recompute || gb_tape_prune(tape, status));
}

static bool training_program_build(void *self, gb_tape *tape, gb_status *status)
{
    const bucket_plan *plan = self;
    return trainer_build(plan->t, plan->b, plan->width, tape, status);
}

static training_program *bucket_add(trainer *t, training_program_kind kind, const gb_bucket *bucket,
                                    uint32_t width, gb_status *status)
{
    if (!gb_grow(&t->programs, &t->program_capacity, t->program_count + 1, sizeof *t->programs,
                 status))
        return NULL;
    training_program *b = gb_alloc(1, sizeof *b, status);
    if (!b)
        return NULL;
    b->kind = kind;
    b->bucket = *bucket;
    bucket_plan plan = {t, b, width};
    const gb_executable_params program = {.name = t->params->label,
                                          .state = t->state,
                                          .build = training_program_build,
                                          .self = &plan};
    if (!(b->exec = gb_executable_build(&program, status))) {
        bucket_destroy(b);
        return NULL;
    }
    return t->programs[t->program_count++] = b;
}

training_program *trainer_program(trainer *t, training_program_kind kind, const gb_bucket *bucket,
                                  uint32_t width, gb_status *status)
{
    for (size_t i = 0; i < t->program_count; i++)
        if (t->programs[i]->kind == kind &&
            !memcmp(&t->programs[i]->bucket, bucket, sizeof *bucket))
            return t->programs[i];
    double start_s = gb_now_s();
    training_program *b = bucket_add(t, kind, bucket, width, status);
    t->build_s += gb_now_s() - start_s;
    return b;
}

bool trainer_collect(trainer *t, gb_status *status)
{
    pending last = t->last;
    t->last.training_program = NULL;
    if (!last.training_program)
        return true;
    for (uint32_t l = 0; l < trainer_loss_count(t->task); l++) {
        if (last.training_program->losses[l] == GB_NO_TENSOR)
            continue;
        double *loss = &last.losses[l];
        const float *value = gb_executable_output(last.training_program->exec, last.ticket,
                                                  last.training_program->losses[l], status);
        if (!value)
            return false;
        *loss = last.training_program->kind == PROGRAM_BATCH ? value[0] : *loss + value[0];
    }
    if (!isfinite(last.losses[0]))
        return gb_fail(status, GB_MISMATCH, t->params->label, "lower the learning rate",
                       "the loss is no number at step %u", last.step);
    return true;
}

static bool update(trainer *t, uint32_t step, gb_status *status)
{
    float *values = gb_executable_input(t->adamw, t->adamw_step, status);
    if (!values)
        return false;
    gb_adamw_fill(&t->params->adamw, step + 1 - t->scale.skipped,
                  gb_schedule_at(&t->params->schedule, step), t->params->max_norm, values);
    if (t->scale.factor > 0)
        values[GB_ADAMW_UNSCALE] = 1 / t->scale.factor;
    t->flops += gb_executable_flops(t->adamw);
    return gb_executable_run(t->adamw, &t->updates[step % 2], status);
}

bool trainer_run(trainer *t, training_program *b, uint32_t step, double *losses, bool updated,
                 gb_status *status)
{
    pending now = {.training_program = b, .step = step, .losses = losses};
    if (!gb_executable_run(b->exec, &now.ticket, status) || (updated && !update(t, step, status)))
        return false;
    t->flops += gb_executable_flops(b->exec);
    /* Only now, with this run on its way, wait for the one before it. */
    if (!trainer_collect(t, status))
        return false;
    t->last = now;
    return true;
}

static bool whole_step(trainer *t, const gb_bucket *bucket, uint32_t step, bool updated,
                       gb_status *status)
{
    training_program *b = trainer_program(t, PROGRAM_BATCH, bucket, 0, status);
    return b && gb_executable_fill(b->exec, step, status) &&
           trainer_run(t, b, step, t->log[step], updated, status);
}

bool trainer_step(trainer *t, uint32_t step, bool updated, gb_status *status)
{
    const gb_microbatch *microbatch = &t->task->microbatch;
    gb_bucket bucket = {0};
    double start_s = gb_now_s();
    gb_ranks_at(t->params->ranks, "%s, step %u of %u", t->params->label, step + 1,
                t->params->schedule.steps);
    if (!trainer_scale_update(t, step, status) ||
        !t->task->sample(t->task->self, step, &bucket, status))
        return false;
    t->data_s += gb_now_s() - start_s;
    uint32_t most = t->params->micro_batch, gradient_shards = t->params->gradient_shards;
    uint32_t texts = most || gradient_shards ? microbatch->count(t->task->self) : 0;
    if (!gradient_shards && texts <= most)
        return whole_step(t, &bucket, step, updated, status);
    return trainer_microbatches_run(t, step, texts, status) &&
           (!updated || update(t, step, status));
}

/* What a kill may cost, however slowly a busy machine wrote the last checkpoint. */
#define MOST_WAIT_S 600

/* When the next checkpoint is due. */
typedef struct checkpoints {
    double last_s;  /* end of the last one, or the beginning */
    double taken_s; /* by the last one; 0: there was none */
} checkpoints;

static bool checkpoint_due(const trainer *t, const checkpoints *c)
{
    double wait_s = t->params->checkpoint_s, share = t->params->checkpoint_share;
    if (share > 0 && c->taken_s > share * wait_s)
        wait_s = fmax(wait_s, fmin(c->taken_s / share, MOST_WAIT_S));
    return t->params->checkpoint_s > 0 && gb_now_s() - c->last_s >= wait_s;
}

static bool save(trainer *t, uint32_t next_step, checkpoints *c, gb_status *status)
{
    double start_s = gb_now_s();
    if (!trainer_collect(t, status) || !trainer_scale_collect(t, status))
        return false;
    if (t->params->resume_dir && !gb_ranks_rank(t->params->ranks) &&
        !trainer_checkpoint_write(t->params->resume_dir, t->state, t->params->params, next_step,
                                  t->log, &t->scale, status))
        return false;
    c->last_s = gb_now_s();
    c->taken_s = c->last_s - start_s;
    return true;
}

static bool check_due(const trainer *t, uint32_t done)
{
    uint32_t every = t->params->check_every;
    return every && done && (done % every == 0 || done == t->params->schedule.steps);
}

/* Shows the model on the way; *stop: for all ranks. */
static bool check(trainer *t, uint32_t done, float *values, bool *stop, gb_status *status)
{
    const gb_train_params *params = t->params;
    char ends = 0;
    if (!gb_ranks_rank(params->ranks)) {
        bool wanted = false;
        if (!gb_state_read(t->state, GB_ARENA_PARAMS, values, status) ||
            !params->check(params->check_self, done, values, &wanted, status))
            return false;
        ends = wanted;
    }
    if (!gb_ranks_broadcast(params->ranks, &ends, 1, status))
        return false;
    *stop = ends;
    return true;
}

/* One step, with what comes behind it: a checkpoint where one is due. */
static bool step_and_save(trainer *t, uint32_t step, uint32_t first, checkpoints *saved,
                          gb_status *status)
{
    uint32_t steps = t->params->schedule.steps;
    double start_s = gb_now_s(), built_s = t->build_s;
    if (!trainer_step(t, step, true, status))
        return false;
    t->step_s[step - first] = gb_now_s() - start_s - (t->build_s - built_s);
    bool stop;
    if (!trainer_shards_stop(t, &stop, status))
        return false;
    if ((stop || checkpoint_due(t, saved) || check_due(t, step + 1)) &&
        !save(t, step + 1, saved, status))
        return false;
    return !stop || step + 1 == steps || /* a finished training is not stopped */
           gb_fail(status, GB_INTERRUPTED, t->params->label, "run the same command to resume",
                   "stopped after step %u of %u", step + 1, steps);
}

/* *done: steps that were done, also before this process. */
static bool loop(trainer *t, float *values, uint32_t *done, gb_status *status)
{
    uint32_t steps = t->params->schedule.steps, first = *done;
    bool over = false;
    char note[64] = "";
    gb_progress progress;
    gb_progress_begin(&progress, t->params->label, "steps", steps, first);
    checkpoints saved = {.last_s = gb_now_s()};
    if (check_due(t, first) && !check(t, first, values, &over, status))
        return false;
    for (uint32_t step = first; step < steps && !over; step++) {
        if (!step_and_save(t, step, first, &saved, status))
            return false;
        if (step > first)
            snprintf(note, sizeof note, "loss %.4f", t->log[step - 1][0]);
        gb_progress_update(&progress, step + 1, note);
        *done = step + 1;
        if (check_due(t, *done) && !check(t, *done, values, &over, status))
            return false;
    }
    if (!trainer_collect(t, status) || !trainer_scale_collect(t, status))
        return false;
    *note = '\0';
    if (*done)
        snprintf(note, sizeof note, "loss %.4f", t->log[*done - 1][0]);
    gb_progress_end(&progress, *done, note);
    return true;
}

static bool update_build(void *self, gb_tape *tape, gb_status *status)
{
    trainer *t = self;
    (void)status;
    t->adamw_step = gb_adamw_input(tape, t->scale.factor > 0);
    t->norm = gb_adamw(tape, &t->params->adamw, t->adamw_step);
    if (t->scale.factor > 0)
        gb_tape_output(tape, t->norm);
    return true;
}

bool trainer_prepare(trainer *t, const float *values, gb_status *status)
{
    if ((t->params->micro_batch || t->params->gradient_shards) && !t->task->microbatch.count)
        return gb_fail(status, GB_USAGE, t->params->label,
                       "leave --micro-batch, --gradient-shards and --simulate-ranks out",
                       "its batch cannot be cut into parts");
    t->settled = *t->params;
    if (t->task->microbatch.meet && !t->settled.gradient_shards)
        t->settled.gradient_shards = 1;
    if (!gb_train_fit(t->device, t->task, &t->settled, status))
        return false;
    t->params = &t->settled;
    trainer_scale_start(t);
    t->step_s = gb_alloc(t->params->schedule.steps, sizeof *t->step_s, status);
    if (!t->step_s || !trainer_shards_prepare(t, status))
        return false;
    t->state = gb_state_create(t->device, t->params->params, true, status);
    if (!t->state || !gb_state_write(t->state, GB_ARENA_PARAMS, values, status))
        return false;
    const gb_executable_params update = {
        .name = "adamw", .state = t->state, .build = update_build, .self = t};
    t->adamw = gb_executable_build(&update, status);
    return t->adamw != NULL;
}

void trainer_free(trainer *t)
{
    for (size_t i = 0; i < t->program_count; i++)
        bucket_destroy(t->programs[i]);
    free(t->programs);
    free(t->vectors);
    free(t->gradients);
    free(t->cuts);
    free(t->step_s);
    trainer_shards_free(t);
    gb_executable_destroy(t->adamw);
    gb_state_destroy(t->state);
}

static uint64_t largest_arena(const trainer *t)
{
    uint64_t largest = 0;
    for (size_t i = 0; i < t->program_count; i++) {
        uint64_t bytes = gb_executable_arena_bytes(t->programs[i]->exec);
        largest = bytes > largest ? bytes : largest;
    }
    return largest;
}

static void summarise(const trainer *t, uint32_t steps, gb_train_result *result)
{
    uint32_t tenth = steps / 10 ? steps / 10 : 1;
    for (uint32_t l = 0; l < trainer_loss_count(t->task) && steps; l++) {
        double first = 0, last = 0;
        for (uint32_t i = 0; i < tenth; i++) {
            first += t->log[i][l] / tenth;
            last += t->log[steps - 1 - i][l] / tenth;
        }
        result->first_loss[l] = first;
        result->final_loss[l] = last;
    }
    result->steps = steps;
    uint32_t here = steps - result->resumed_at;
    gb_sort_doubles(t->step_s, here);
    result->step_s = here ? t->step_s[here / 2] : 0;
    result->flops = t->flops;
    result->data_s = t->data_s;
    result->build_s = t->build_s;
    result->parts = t->parts ? t->parts : 1;
    result->micro_batch = t->params->micro_batch;
    result->recompute = t->params->recompute;
    result->storage = t->params->storage;
    result->ranks_s = t->ranks_s;
    result->loss_scale = t->scale.factor;
    result->skipped = t->scale.skipped + t->scale.left_out[0] + t->scale.left_out[1];
    result->arena_bytes = largest_arena(t);
    result->rows_used = t->padding.used;
    result->rows_computed = t->padding.computed;
}

bool gb_train(gb_device *device, const gb_task *task, const gb_train_params *params, float *values,
              double (*log)[GB_MAX_LOSSES], gb_train_result *result, gb_status *status)
{
    *result = (gb_train_result){0};
    double start_s = gb_now_s();
    uint32_t steps = params->schedule.steps;
    double(*own_log)[GB_MAX_LOSSES] = log ? NULL : gb_alloc(steps, sizeof *own_log, status);
    trainer t = {.device = device, .task = task, .params = params, .log = log ? log : own_log};
    bool ok = t.log && trainer_prepare(&t, values, status);
    if (ok && params->resume_dir && !gb_ranks_rank(params->ranks))
        ok = trainer_checkpoint_read(params->resume_dir, t.state, params->params, steps,
                                     &result->resumed_at, t.log, &t.scale, status);
    ok = ok && trainer_shards_resume(&t, &result->resumed_at, status);
    uint32_t resumed_at = result->resumed_at, done = resumed_at;
    ok = ok && loop(&t, values, &done, status) &&
         gb_state_read(t.state, GB_ARENA_PARAMS, values, status) &&
         trainer_shards_agree(&t, values, status);
    if (ok)
        summarise(&t, done, result);
    result->resumed_at = resumed_at;
    result->seconds = gb_now_s() - start_s;
    trainer_free(&t);
    free(own_log);
    return ok;
}

bool gb_train_gradient(gb_device *device, const gb_task *task, const gb_train_params *params,
                       const float *values, uint32_t step, float *gradients,
                       double losses[GB_MAX_LOSSES], uint64_t *arena_bytes, gb_status *status)
{
    uint64_t floats = gb_params_arena_floats(params->params, GB_ARENA_GRADS);
    double(*log)[GB_MAX_LOSSES] = gb_alloc((size_t)step + 1, sizeof *log, status);
    trainer t = {.device = device, .task = task, .params = params, .log = log};
    bool ok = log && trainer_prepare(&t, values, status) && trainer_step(&t, step, false, status) &&
              trainer_collect(&t, status) &&
              gb_state_read(t.state, GB_ARENA_GRADS, gradients, status);
    for (uint64_t i = 0; ok && t.scale.factor > 0 && i < floats; i++)
        gradients[i] /= t.scale.factor;
    if (ok) {
        memcpy(losses, log[step], sizeof log[step]);
        *arena_bytes = largest_arena(&t);
    }
    trainer_free(&t);
    free(log);
    return ok;
}
