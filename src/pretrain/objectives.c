/* The table of objectives: one line each. */
#include <gabbro/pretrain.h>

#include <string.h>

// clang-format off
#define OBJECTIVES(OBJECTIVE) \
    OBJECTIVE(mlm) \
    OBJECTIVE(condenser) \
    OBJECTIVE(cocondenser) \
    OBJECTIVE(cotmae) \
    OBJECTIVE(autoencoding) \
    OBJECTIVE(autoregression) \
    OBJECTIVE(bottleneck) \
    OBJECTIVE(enhanced) \
    OBJECTIVE(seed) \
    OBJECTIVE(simlm) \
    OBJECTIVE(bow) \
    OBJECTIVE(costa) \
    OBJECTIVE(ict) \
    OBJECTIVE(simcse) \
    OBJECTIVE(contriever) \
    OBJECTIVE(prop) \
    OBJECTIVE(bprop) \
    OBJECTIVE(deepct)
// clang-format on

#define DECLARED(name) extern const gb_objective objective_##name;
OBJECTIVES(DECLARED)
#define LISTED(name) &objective_##name,
const gb_objective *const gb_objectives[] = {OBJECTIVES(LISTED) NULL};

const gb_objective *gb_objective_find(const char *name)
{
    for (const gb_objective *const *o = gb_objectives; *o; o++)
        if (!strcmp((*o)->name, name))
            return *o;
    return NULL;
}

gb_own_settings gb_objective_defaults(const gb_objective *objective)
{
    return gb_own_settings_of(objective->defaults, objective->own_bytes);
}

bool gb_objective_set(const gb_objective *objective, gb_own_settings *own, const char *option,
                      const char *value, gb_status *status)
{
    const gb_option_table tables[] = {{NULL, objective->options, own}, {0}};
    return gb_option_set(tables, option, value, status);
}
