/* The table of objectives: one line each. */
#include "common.h"

const gb_objective *const gb_objectives[] = {
    &objective_mlm,
    &objective_cocondenser,
    &objective_cotmae,
    NULL,
};
