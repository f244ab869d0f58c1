/* Auto-regression MAE, a baseline of Bag-of-Word prediction (Ma et al., 2024): a causal layer
 * writes the passage itself, unmasked, from [CLS]. */
#include "decoding.h"

/* All tokens back, as released: SEED is cited, its window not used. */
static const decoding_settings defaults = {.mask_ratio = .15, .layers = 1, .window = 0};
static const gb_option options[] = {
    OPTION_MASK_RATIO(decoding_settings, mask_ratio), OPTION_DECODER_LAYERS, OPTION_WINDOW, {0}};

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    gb_pretrain_params own = *params;
    own.context = GB_CONTEXT_SELF;
    return pretrain_decoding_create(&own, data, bert, model, &decoder_causal, task, status);
}

const gb_objective objective_autoregression = {
    .name = "autoregression",
    .help = "the passage itself written from [CLS], token by token",
    .options = options,
    .defaults = &defaults,
    .own_bytes = sizeof defaults,
    .create = create,
    .destroy = pretrain_decoding_destroy};
