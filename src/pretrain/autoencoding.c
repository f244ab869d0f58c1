/* Auto-encoding MAE, a baseline of Bag-of-Word prediction (Ma et al., 2024): one BERT layer
 * recovers the passage itself from [CLS] and a copy of its own masks, of which it has more than the
 * encoder. */
#include "decoding.h"

/* The paper wants more of the decoder than of the encoder, without saying how much. */
static const decoding_settings defaults = {
    .mask_ratio = .15, .decoder_mask_ratio = .45, .layers = 1};
static const gb_option options[] = {OPTION_MASK_RATIO(decoding_settings, mask_ratio),
                                    OPTION_DECODER_MASK_RATIO,
                                    OPTION_DECODER_LAYERS,
                                    {0}};

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    gb_pretrain_params own = *params;
    own.context = GB_CONTEXT_SELF;
    return pretrain_decoding_create(&own, data, bert, model, &decoder_masked, task, status);
}

const gb_objective objective_autoencoding = {
    .name = "autoencoding",
    .help = "the passage itself decoded from [CLS] and few of its tokens",
    .options = options,
    .defaults = &defaults,
    .own_bytes = sizeof defaults,
    .create = create,
    .destroy = pretrain_decoding_destroy};
