/* Bottlenecked query generation (Ma et al., 2023): a causal layer writes a generated query from the
 * passage's [CLS]; with context self, the baseline, the passage itself. One query is drawn at every
 * visit: the paper does not say how several become one text, and the group's later code draws. */
#include "decoding.h"

/* All tokens back, as the paper gives no window. */
static const decoding_settings defaults = {.mask_ratio = .15, .layers = 1, .window = 0};
static const gb_option options[] = {
    OPTION_MASK_RATIO(decoding_settings, mask_ratio), OPTION_DECODER_LAYERS, OPTION_WINDOW, {0}};

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    return pretrain_decoding_create(params, data, bert, model, &decoder_causal, task, status);
}

const gb_objective objective_bottleneck = {
    .name = "bottleneck",
    .help = "the context, e.g. a query, written from [CLS], token by token",
    .needs = GB_NEEDS_CONTEXT,
    .options = options,
    .defaults = &defaults,
    .own_bytes = sizeof defaults,
    .create = create,
    .destroy = pretrain_decoding_destroy};
