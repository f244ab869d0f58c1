/* Learning-rate schedules: linear warm-up from zero, then linear, cosine or constant. */
#include <gabbro/trainer.h>

#include <math.h>

const char *const gb_decay_names[] = {[GB_SCHEDULE_LINEAR] = "linear",
                                      [GB_SCHEDULE_COSINE] = "cosine",
                                      [GB_SCHEDULE_CONSTANT] = "constant",
                                      NULL};

float gb_schedule_at(const gb_schedule *schedule, uint32_t step)
{
    double peak = schedule->peak, t = step, warmup = schedule->warmup;
    if (step < schedule->warmup)
        return (float)(peak * t / warmup);
    double left = schedule->steps > schedule->warmup ? schedule->steps - warmup : 1;
    double done = (t - warmup) / left;
    switch (schedule->kind) {
    case GB_SCHEDULE_LINEAR:
        return (float)(peak * fmax(0, 1 - done));
    case GB_SCHEDULE_COSINE:
        return (float)(peak * ((1 - schedule->floor_ratio) * 0.5 * (1 + cos(M_PI * fmin(1, done))) +
                               schedule->floor_ratio));
    case GB_SCHEDULE_CONSTANT:
        break;
    }
    return (float)peak;
}
