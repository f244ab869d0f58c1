#include "pass.h"

/* What the program is built from. */
typedef struct plan {
    const gb_training *training; /* whose step */
    gb_bucket shape;             /* of its batch */
    bool all;                    /* every tensor is kept */
    gb_tensor loss;              /* of the program */
} plan;

static void keep_all(gb_tape *tape)
{
    for (gb_tensor i = 0; i < (gb_tensor)gb_tape_tensor_count(tape); i++) {
        const gb_tensor_info *info = gb_tape_tensor(tape, i);
        if (info->role == GB_ROLE_TEMP && info->producer >= 0 && !info->is_constant)
            gb_tape_output(tape, i);
    }
}

static bool build(void *self, gb_tape *tape, gb_status *status)
{
    plan *p = self;
    const gb_task *task = p->training->task;
    const gb_train_params *train = p->training->params;
    gb_tensor losses[GB_MAX_LOSSES];
    gb_builder net = gb_builder_forward(tape, train->config, train->max_length);
    net.dropout = (float)train->config->hidden_dropout;
    net.attention_dropout = (float)train->config->attention_dropout;
    task->build(task->self, &net, &p->shape, losses);
    p->loss = losses[0];
    gb_tape_output(tape, losses[0]);
    if (!gb_tape_ok(tape, status) || !gb_backward(tape, losses[0], status))
        return false;
    if (p->all)
        keep_all(tape);
    return true;
}

bool compare_pass_make(pass *p, gb_state *state, const gb_training *training, uint32_t step,
                       bool all, gb_status *status)
{
    const gb_task *task = training->task;
    plan from = {.training = training, .all = all};
    const gb_executable_params program = {
        .name = "pass", .state = state, .build = build, .self = &from};
    *p = (pass){0};
    if (!task->sample(task->self, step, &from.shape, status) ||
        !(p->exec = gb_executable_build(&program, status)))
        return false;
    p->loss = from.loss;
    return true;
}

void compare_pass_free(pass *p)
{
    gb_executable_destroy(p->exec);
    *p = (pass){0};
}
