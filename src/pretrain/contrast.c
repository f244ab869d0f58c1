#include "contrast.h"

double temperature_of(const gb_pretrain_params *params, double own)
{
    return params->temperature > 0 ? params->temperature : own;
}

pair_inputs pair_declare(gb_net *net, uint32_t count)
{
    return (pair_inputs){.labels = gb_tape_input(net->tape, "pair labels", GB_U32, count, 1),
                         .weights = gb_tape_input(net->tape, "pair weights", GB_F32, count, 1),
                         .count = count};
}

gb_tensor pair_loss(gb_net *net, const pair_inputs *in, gb_tensor a, gb_tensor b,
                    double temperature)
{
    gb_tensor scores = gb_matmul(net->tape, GB_NT, a, b);
    if (temperature != 1)
        scores = gb_scale(net->tape, scores, (float)(1 / temperature));
    return gb_softmax_loss(net->tape, scores, in->labels, in->weights, GB_NO_TENSOR);
}

bool pair_fill(gb_exec *exec, const pair_inputs *in, gb_status *status)
{
    uint32_t *labels = gb_exec_input(exec, in->labels, status);
    float *weights = labels ? gb_exec_input(exec, in->weights, status) : NULL;
    if (!weights)
        return false;
    for (uint32_t i = 0; i < in->count; i++) {
        labels[i] = i;
        weights[(size_t)i * 4] = 1.0f / (float)in->count;
    }
    return true;
}
