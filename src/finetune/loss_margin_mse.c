/* MarginMSE (Hofstaetter et al., "Improving efficient neural ranking models with cross-architecture
 * knowledge distillation", 2020): the difference of the scores of positive and negative should be
 * the teacher's. */
#include "private.h"

typedef struct settings {
    double in_batch; /* weight of pairs with passages of other queries */
    double contrast; /* weight of the contrastive loss beside it */
} settings;

static const settings defaults = {.in_batch = 0, .contrast = 0};

#define FIELD(member) GB_FIELD(settings, member)
static const gb_option options[] = {
    {"in-batch-weight", GB_OPTION_REAL, FIELD(in_batch), 0, NULL,
     "weight of the margins to passages of other queries, where the teacher has them"},
    {"contrast-weight", GB_OPTION_REAL, FIELD(contrast), 0, NULL,
     "weight of the contrastive loss (infonce) that is added"},
    {0}};
#undef FIELD

static gb_tensor margins(gb_builder *builder, const gb_batch_scores *scores, const void *own)
{
    const settings *o = own;
    const finetune_pair_weights how = {.own = 1, .others = (float)o->in_batch, .taught = true};
    gb_pairs pairs = finetune_pairs(builder, scores, &how);
    pairs.square = true;
    return gb_pair_loss(builder->tape, scores->scores, &pairs);
}

static gb_tensor build(const gb_finetune_params *params, const void *own, gb_builder *builder,
                       const gb_batch_scores *scores)
{
    (void)params;
    const settings *o = own;
    return finetune_with_contrast(builder, scores, o->contrast, margins, own);
}

const gb_loss loss_margin_mse = {.name = "margin-mse",
                                 .label = "margins",
                                 .help = "the teacher's differences of scores (MarginMSE)",
                                 .needs = GB_LOSS_TEACHER,
                                 .users = GB_USER_RANK,
                                 .options = options,
                                 .defaults = &defaults,
                                 .own_bytes = sizeof defaults,
                                 .build = build};
