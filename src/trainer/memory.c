/* What a training does to fit into the memory of its device, found before the first step: nothing
 * where it fits as it is; else layers are computed again for their gradient, which changes no bit;
 * else its batch is cut into smaller micro-batches. The choice follows from the task, the settings
 * and the size of the device's memory alone, not from what is free of it, so that a resumed
 * training makes the same one. */
#include "private.h"

#include <stdlib.h>

#define SAMPLES 4 /* batches that are looked at, evenly over the training */

/* Of other batches some are larger: buckets are a sixteenth of a power of two apart. */
static double with_margin(uint64_t bytes)
{
    return (double)bytes * 17 / 16;
}

/* What a device leaves to the activations of a training: an eighth of its memory is for the
 * desktop, the driver and the program's own. */
static double budget(const gb_device_caps *caps, uint64_t parameter_bytes)
{
    return (double)caps->memory_bytes * 7 / 8 - (double)parameter_bytes;
}

gb_storage gb_storage_on(gb_storage storage, const gb_device_caps *caps)
{
    return storage != GB_STORE_AUTO          ? storage
           : caps->profile == GB_PROFILE_CPU ? GB_STORE_FLOAT32
                                             : GB_STORE_BFLOAT16;
}

bool gb_train_cost_fits(const gb_train_cost *cost, double share, const gb_device_caps *caps)
{
    double widest = with_margin(cost->widest_bytes) * share;
    return with_margin(cost->activation_bytes) * share <= budget(caps, cost->parameter_bytes) &&
           widest <= (double)caps->max_buffer_bytes && widest <= (double)caps->max_binding_bytes;
}

/* ---- what a program takes ---- */

static void widen(gb_bucket *bucket, const gb_bucket *by)
{
    for (int i = 0; i < GB_BUCKET_SIZES; i++)
        if (by->size[i] > bucket->size[i])
            bucket->size[i] = by->size[i];
    bucket->texts = by->texts > bucket->texts ? by->texts : bucket->texts;
}

/* The bucket of the looked-at batches, in micro-batches as t->params says; *texts of a batch. */
static bool find_bucket(trainer *t, training_program *b, uint32_t *texts, gb_status *status)
{
    const gb_microbatch *microbatch = &t->task->microbatch;
    uint32_t steps = t->params->schedule.steps;
    *b = (training_program){.kind = PROGRAM_BATCH};
    *texts = 0;
    for (uint32_t s = 0; s < SAMPLES && (!s || s < steps); s++) {
        gb_bucket bucket = {0};
        uint32_t step = (uint32_t)((uint64_t)steps * s / SAMPLES);
        if (!t->task->sample(t->task->self, step, &bucket, status))
            return false;
        uint32_t count = microbatch->count ? microbatch->count(t->task->self) : 0;
        *texts = count > *texts ? count : *texts;
        bool whole = !t->params->gradient_shards &&
                     (!t->params->micro_batch || count <= t->params->micro_batch);
        if (!whole && !trainer_microbatches_bucket(t, count, &bucket, status))
            return false;
        b->kind = whole ? b->kind : PROGRAM_MICROBATCH;
        widen(&b->bucket, &bucket);
    }
    return true;
}

/* Activations of the largest program, and the texts of a batch. */
static bool measure(trainer *t, gb_train_cost *cost, uint32_t *texts, gb_status *status)
{
    training_program b;
    gb_plan plan;
    uint64_t buffer_bytes = gb_device_get_caps(t->device)->max_buffer_bytes;
    *cost = (gb_train_cost){.parameter_bytes = trainer_parameter_bytes(t->params->params)};
    gb_tape *tape = gb_tape_create(t->params->params, t->params->label, status);
    bool ok = tape && find_bucket(t, &b, texts, status) && trainer_build(t, &b, 0, tape, status) &&
              gb_tape_ok(tape, status) &&
              gb_plan_memory(tape, GB_ALIGNMENT, buffer_bytes, &plan, status);
    if (ok) {
        cost->activation_bytes = plan.arena_bytes + plan.input_bytes;
        cost->widest_bytes =
            plan.largest_bytes > plan.widest_bytes ? plan.largest_bytes : plan.widest_bytes;
    }
    gb_tape_destroy(tape);
    return ok;
}

/* ---- the choice ---- */

static bool no_room(const trainer *t, const gb_train_cost *cost, gb_status *status)
{
    const double mib = 1 << 20;
    const gb_device_caps *caps = gb_device_get_caps(t->device);
    return gb_fail(status, GB_MEMORY, t->params->label,
                   t->task->microbatch.count
                       ? "use shorter passages, a smaller model, or a device with more memory"
                       : "use a smaller --batch or shorter passages: it cannot be cut into parts",
                   "parameters with gradients and moments take %.1f MiB, activations of the "
                   "smallest part of a batch %.1f MiB, its largest tensor %.1f MiB; %s has %.1f "
                   "MiB, and %.1f MiB in a buffer",
                   (double)cost->parameter_bytes / mib, (double)cost->activation_bytes / mib,
                   (double)cost->widest_bytes / mib, caps->name, (double)caps->memory_bytes / mib,
                   (double)caps->max_buffer_bytes / mib);
}

/* The same on all ranks: what the one with the least memory needs. */
static bool agree(gb_train_params *params, gb_status *status)
{
    uint32_t count = gb_ranks_count(params->ranks), rank = gb_ranks_rank(params->ranks);
    if (!params->ranks)
        return true;
    uint32_t *all = gb_alloc(count, sizeof *all, status);
    size_t *ends = all ? gb_alloc(count, sizeof *ends, status) : NULL;
    for (uint32_t r = 0; ends && r < count; r++)
        ends[r] = (r + 1) * sizeof *all;
    if (ends)
        all[rank] = params->micro_batch;
    bool ok = ends && gb_ranks_gather(params->ranks, all, ends, status);
    for (uint32_t r = 0; ok && r < count; r++)
        if (all[r] && (!params->micro_batch || all[r] < params->micro_batch))
            params->micro_batch = all[r];
    free(ends);
    free(all);
    return ok;
}

static bool choose(trainer *t, gb_train_params *params, gb_status *status)
{
    const gb_device_caps *caps = gb_device_get_caps(t->device);
    gb_train_cost cost;
    uint32_t texts;
    params->recompute = GB_RECOMPUTE_NONE;
    if (!measure(t, &cost, &texts, status))
        return false;
    if (gb_train_cost_fits(&cost, 1, caps))
        return true;
    params->recompute = GB_RECOMPUTE_LAYERS;
    uint32_t shards = params->gradient_shards ? params->gradient_shards : 1;
    uint32_t most = (texts + shards - 1) / shards;
    most = params->micro_batch && params->micro_batch < most ? params->micro_batch : most;
    for (;;) {
        if (!measure(t, &cost, &texts, status))
            return false;
        if (gb_train_cost_fits(&cost, 1, caps))
            break;
        if (most < 2)
            return no_room(t, &cost, status);
        params->micro_batch = most = (most + 1) / 2;
    }
    gb_log(GB_LOG_INFO, "%s: to fit into %s, layers are computed twice%s", params->label,
           caps->name, params->micro_batch ? ", a batch in micro-batches" : "");
    return true;
}

bool gb_train_fit(gb_device *device, const gb_task *task, gb_train_params *params,
                  gb_status *status)
{
    params->storage = gb_storage_on(params->storage, gb_device_get_caps(device));
    if (params->recompute != GB_RECOMPUTE_AUTO)
        return true;
    trainer t = {.device = device, .task = task, .params = params};
    trainer_scale_start(&t);
    bool ok =
        trainer_shards_prepare(&t, status) && choose(&t, params, status) && agree(params, status);
    trainer_shards_free(&t);
    free(t.cuts);
    return ok;
}
