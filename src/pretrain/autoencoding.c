/* Auto-encoding MAE, a baseline of Bag-of-Word prediction (Ma et al., 2024): one BERT layer
 * recovers the passage itself from [CLS] and a copy of its own masks, of which it has more than the
 * encoder. */
#include "decoding.h"

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    gb_pretrain_params own = *params;
    own.context = GB_CONTEXT_SELF;
    if (!own.decoder_layers)
        own.decoder_layers = 1;
    return decoding_create(&own, data, bert, model, &decoder_masked, task, status);
}

const gb_objective objective_autoencoding = {"autoencoding", false, create, decoding_destroy};
