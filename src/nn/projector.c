/* A dense layer on the vector of a text. */
#include <gabbro/nn.h>

#include <string.h>

static const char *const names[] = {"none", "linear", "nonlinear"};

bool gb_projector_find(const char *name, gb_projector_kind *kind)
{
    for (int k = 0; k < 3; k++)
        if (!strcmp(name, names[k])) {
            *kind = (gb_projector_kind)k;
            return true;
        }
    return false;
}

bool gb_projector_declare(gb_params *params, const char *prefix, gb_projector_kind kind,
                          const gb_bert_config *config, gb_projector *projector, gb_status *status)
{
    char name[96];
    uint32_t h = config->hidden_size;
    *projector = (gb_projector){.kind = kind};
    if (kind == GB_PROJECTOR_NONE)
        return true;
    snprintf(name, sizeof name, "%s.weight", prefix);
    projector->weight = gb_params_add(params, name, h, h, true, GB_INIT_NORMAL,
                                      (float)config->initializer_range, status);
    snprintf(name, sizeof name, "%s.bias", prefix);
    projector->bias = gb_params_add(params, name, 1, h, false, GB_INIT_ZEROS, 0, status);
    return projector->weight != UINT32_MAX && projector->bias != UINT32_MAX;
}

gb_tensor gb_projector_apply(gb_net *net, const gb_projector *projector, gb_tensor x)
{
    if (projector->kind == GB_PROJECTOR_NONE)
        return x;
    gb_tensor y = gb_linear(net->tape, x, gb_tape_param(net->tape, projector->weight),
                            gb_tape_param(net->tape, projector->bias), false, GB_NO_TENSOR);
    return projector->kind == GB_PROJECTOR_LINEAR ? y : gb_tanh(net->tape, y);
}
