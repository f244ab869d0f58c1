/* Loss scaling (Micikevicius et al., 2018) for products in half floats, whose smallest value is
 * 6e-8: gradients are made times a factor, and divided by it in the update. A step whose gradient
 * is no number updates nothing and halves the factor; many good ones in a row double it. The factor
 * of a step follows from the steps up to the last but one, whose updates are finished: the device
 * never waits for the host, and a resumed run has the same factors. */
#include "private.h"

#include <math.h>

#define FIRST_SCALE 65536.f
#define LEAST_SCALE 0x1p-24f
#define MOST_SCALE  0x1p+24f /* sums of squares of scaled gradients stay floats */
#define GOOD_STEPS  2000     /* as torch.amp.GradScaler */

void trainer_scale_start(trainer *t)
{
    bool halves = gb_device_get_caps(t->device)->precision == GB_FP16;
    t->scale.factor = t->params->loss_scale > 0 ? t->params->loss_scale : halves ? FIRST_SCALE : 0;
}

/* Whether the update of a step was left out. */
static bool read_outcome(trainer *t, uint32_t step, gb_status *status)
{
    uint64_t ticket = t->updates[step % 2];
    if (!ticket)
        return true;
    const float *norm = gb_executable_output(t->adamw, ticket, t->norm, status);
    if (!norm)
        return false;
    t->scale.left_out[step % 2] = !isfinite(*norm);
    t->updates[step % 2] = 0;
    return true;
}

bool trainer_scale_update(trainer *t, uint32_t step, gb_status *status)
{
    loss_scale *s = &t->scale;
    if (s->factor <= 0 || step < 2)
        return true;
    if (!read_outcome(t, step - 2, status))
        return false;
    if (!s->left_out[step % 2]) {
        if (++s->good == GOOD_STEPS) {
            s->factor = fminf(s->factor * 2, MOST_SCALE);
            s->good = 0;
        }
        return true;
    }
    s->factor /= 2;
    s->good = 0;
    s->skipped++;
    s->left_out[step % 2] = 0;
    return s->factor >= LEAST_SCALE ||
           gb_fail(status, GB_MISMATCH, t->params->label, "lower the learning rate",
                   "the gradient is no number at step %u, however small it is made", step - 1);
}

bool trainer_scale_collect(trainer *t, gb_status *status)
{
    return t->scale.factor <= 0 || (read_outcome(t, 0, status) && read_outcome(t, 1, status));
}

typedef struct factor_record {
    gb_tensor factor;        /* f32 [1, 1] */
    const loss_scale *scale; /* its value */
} factor_record;

static bool fill_factor(const void *record_, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const factor_record *record = record_;
    float *factor = gb_executable_input(exec, record->factor, status);
    if (factor)
        *factor = record->scale->factor;
    return factor != NULL;
}

bool trainer_scale_backward(const trainer *t, training_program *b, gb_tape *tape, gb_status *status)
{
    if (t->scale.factor <= 0)
        return gb_backward(tape, b->losses[0], status);
    const factor_record record = {gb_tape_input(tape, "loss scale", GB_F32, 1, 1), &t->scale};
    gb_tape_fill_by(tape, fill_factor, &record, sizeof record);
    return gb_backward_from(tape, b->losses[0], record.factor, status);
}
