/* The positive before each other passage: log(1 + exp(s- - s+)), the mean over all passages of the
 * batch (STAR, Zhan et al., "Optimizing dense retrieval model training with hard negatives", 2021),
 * or over a query's own (ANCE's pairs of a positive and a negative, Xiong et al., 2020, are the
 * same: -log of the positive's share in a softmax of two). */
#include "private.h"

typedef struct settings {
    bool own; /* the query's own negatives alone */
} settings;

static const settings defaults = {.own = false};

#define FIELD(member) GB_FIELD(settings, member)
static const gb_option options[] = {{"own-negatives", GB_OPTION_FLAG, FIELD(own), 0, NULL,
                                     "pairs with a query's own negatives alone"},
                                    {0}};
#undef FIELD

static gb_tensor build(const gb_finetune_params *params, const void *own, gb_builder *builder,
                       const gb_batch_scores *scores)
{
    (void)params;
    const settings *o = own;
    const finetune_pair_weights how = {.own = 1, .others = o->own ? 0 : 1, .together = true};
    gb_pairs pairs = finetune_pairs(builder, scores, &how);
    return gb_pair_loss(builder->tape, scores->scores, &pairs);
}

const gb_loss loss_pairwise = {.name = "pairwise",
                               .label = "pairs",
                               .help = "the positive before each other passage (RankNet)",
                               .users = GB_USER_RANK,
                               .options = options,
                               .defaults = &defaults,
                               .own_bytes = sizeof defaults,
                               .build = build};
