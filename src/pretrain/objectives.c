/* The table of objectives: one line each. */
#include "contrast.h"

// clang-format off
const gb_objective *const gb_objectives[] = {
    &objective_mlm,
    &objective_condenser,
    &objective_cocondenser,
    &objective_cotmae,
    &objective_autoencoding,
    &objective_autoregression,
    &objective_bottleneck,
    &objective_enhanced,
    &objective_seed,
    &objective_simlm,
    &objective_bow,
    &objective_costa,
    &objective_ict,
    &objective_simcse,
    &objective_contriever,
    &objective_prop,
    &objective_bprop,
    NULL,
};
// clang-format on
