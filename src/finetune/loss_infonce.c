/* InfoNCE over all passages of the batch (Karpukhin et al., 2020): the negative logarithm of the
 * positive's share in the softmax of a query's scores. */
#include "private.h"

/* In nats a query; chance is the logarithm of the candidates, 3.47 of 32. */
#define CONVERGED 0.3

static gb_tensor build(const gb_finetune_params *params, const void *own, gb_builder *builder,
                       const gb_batch_scores *scores)
{
    (void)params;
    (void)own;
    return finetune_infonce(builder, scores);
}

const gb_loss loss_infonce = {.name = "infonce",
                              .label = "contrastive",
                              .help = "the positive against all passages of the batch (InfoNCE)",
                              .converged = CONVERGED,
                              .build = build};
