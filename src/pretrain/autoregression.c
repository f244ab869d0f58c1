/* Auto-regression MAE, a baseline of Bag-of-Word prediction (Ma et al., 2024): a causal layer
 * writes the passage itself, unmasked, from [CLS]. */
#include "decoding.h"

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    gb_pretrain_params own = *params;
    own.context = GB_CONTEXT_SELF;
    return decoding_create(&own, data, bert, model, &decoder_causal, task, status);
}

const gb_objective objective_autoregression = {"autoregression", false, create, decoding_destroy};
