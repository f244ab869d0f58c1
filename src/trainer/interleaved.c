/* Several trainings a step each in turn: what a step of each takes, on a machine whose speed
 * drifts. */
#include "private.h"

#include <stdlib.h>

static bool open_all(trainer *trainers, gb_device *device, const gb_training *trainings,
                     uint32_t count, gb_status *status)
{
    bool ok = true;
    for (uint32_t i = 0; ok && i < count; i++) {
        const gb_training *one = &trainings[i];
        trainer *t = &trainers[i];
        *t = (trainer){.device = device, .task = one->task, .params = one->params};
        t->log = gb_alloc(one->params->schedule.steps, sizeof *t->log, status);
        ok = t->log && trainer_prepare(t, one->values, status);
    }
    return ok;
}

static bool step_once(trainer *t, uint32_t step, gb_step_time *time, gb_status *status)
{
    double start_s = gb_now_s(), data_s = t->data_s, build_s = t->build_s;
    if (!trainer_step(t, step, true, status) || !trainer_collect(t, status))
        return false;
    time->data_s = t->data_s - data_s;
    time->step_s = gb_now_s() - start_s - (t->build_s - build_s);
    return true;
}

static bool interleave(trainer *trainers, uint32_t count, uint32_t steps, gb_step_time *times,
                       gb_status *status)
{
    gb_progress progress;
    gb_progress_begin(&progress, "interleaved trainings", "rounds", steps, 0);
    for (uint32_t step = 0; step < steps; step++) {
        for (uint32_t i = 0; i < count; i++)
            if (!step_once(&trainers[i], step, &times[(size_t)step * count + i], status))
                return false;
        gb_progress_update(&progress, step + 1, "");
        if (gb_interrupted())
            return gb_fail(status, GB_INTERRUPTED, "interleaved trainings",
                           "run the same command again: it begins anew", "stopped after %u of %u",
                           step + 1, steps);
    }
    gb_progress_end(&progress, steps, "");
    return true;
}

bool gb_train_interleaved(gb_device *device, const gb_training *trainings, uint32_t count,
                          gb_step_time *times, gb_status *status)
{
    trainer *trainers = gb_alloc(count, sizeof *trainers, status);
    bool ok = trainers && open_all(trainers, device, trainings, count, status) &&
              interleave(trainers, count, trainings[0].params->schedule.steps, times, status);
    for (uint32_t i = 0; trainers && i < count; i++) {
        trainer_free(&trainers[i]);
        free(trainers[i].log);
    }
    free(trainers);
    return ok;
}
