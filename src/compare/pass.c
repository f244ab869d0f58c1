#include "pass.h"

#include <stdlib.h>

static void keep_all(gb_tape *tape)
{
    for (gb_tensor i = 0; i < (gb_tensor)gb_tape_tensor_count(tape); i++) {
        const gb_tensor_info *info = gb_tape_tensor(tape, i);
        if (info->role == GB_ROLE_TEMP && info->producer >= 0 && !info->is_constant)
            gb_tape_output(tape, i);
    }
}

bool pass_make(pass *p, const gb_training *training, uint32_t step, bool all, gb_status *status)
{
    const gb_task *task = training->task;
    const gb_train_params *train = training->params;
    gb_shape shape = {0};
    gb_tensor losses[GB_MAX_LOSSES];
    *p = (pass){0};
    if (!task->sample(task->self, step, &shape, status) ||
        !(p->tape = gb_tape_create(train->params, "pass", status)) ||
        !(p->graph = gb_alloc(1, task->graph_bytes, status)))
        return false;
    gb_net net = {.tape = p->tape,
                  .dropout = (float)train->config->hidden_dropout,
                  .attention_dropout = (float)train->config->attention_dropout,
                  .eps = (float)train->config->layer_norm_eps,
                  .longest = train->longest};
    task->build(task->self, &net, &shape, p->graph, losses);
    p->loss = losses[0];
    gb_tape_output(p->tape, losses[0]);
    if (!gb_tape_ok(p->tape, status) || !gb_backward(p->tape, losses[0], status))
        return false;
    if (all)
        keep_all(p->tape);
    return gb_tape_ok(p->tape, status);
}

void pass_free(pass *p)
{
    gb_tape_destroy(p->tape);
    free(p->graph);
    *p = (pass){0};
}
