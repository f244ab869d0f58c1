/* Bottlenecked query generation (Ma et al., 2023): a causal layer writes a generated query from the
 * passage's [CLS]; with context self, the baseline, the passage itself. One query is drawn at every
 * visit: the paper does not say how several become one text, and the group's later code draws. */
#include "decoding.h"

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    return decoding_create(params, data, bert, model, &decoder_causal, task, status);
}

const gb_objective objective_bottleneck = {"bottleneck", true, create, decoding_destroy};
