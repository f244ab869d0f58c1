/* The projection of tokens. */
#include <gabbro/late.h>

#include <string.h>

bool gb_late_declare(gb_params *params, const gb_bert_config *config,
                     const gb_late_settings *settings, gb_special_ids specials, gb_late *late,
                     gb_status *status)
{
    bool colbert = settings->kind == GB_LATE_COLBERT;
    *late = (gb_late){.settings = settings, .specials = specials, .bias = UINT32_MAX};
    const gb_param_spec weight = {.name = colbert ? "linear.weight" : "coil.weight",
                                  .rows = settings->width,
                                  .cols = config->hidden_size,
                                  .init = GB_INIT_NORMAL,
                                  .init_std = (float)config->initializer_range,
                                  .file = colbert ? GB_FILE_OPTIONAL : GB_FILE_ASIDE};
    late->weight = gb_params_add(params, &weight, status);
    if (late->weight != UINT32_MAX && !colbert)
        late->bias =
            gb_params_add_vector(params, "coil.bias", settings->width, GB_INIT_ZEROS, status);
    return late->weight != UINT32_MAX && (colbert || late->bias != UINT32_MAX);
}

gb_tensor gb_late_vectors(gb_builder *builder, const gb_late *late, gb_tensor h)
{
    gb_tape *tape = builder->tape;
    gb_tensor weight = gb_tape_param(tape, late->weight);
    if (late->settings->kind == GB_LATE_COLBERT)
        return gb_normalize_rows(tape,
                                 gb_linear(tape, h, weight, GB_NO_TENSOR, false, GB_NO_TENSOR));
    return gb_linear(tape, h, weight, gb_tape_param(tape, late->bias), false, GB_NO_TENSOR);
}
