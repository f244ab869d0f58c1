/* LambdaRank for the reciprocal rank (Burges, 2010; Zhan et al., 2021, for ADORE): pairs of the
 * positive and each other passage, weighted by how much swapping them would change it. */
#include "private.h"

typedef struct settings {
    uint32_t cut; /* ranks behind it count nothing */
} settings;

static const settings defaults = {.cut = 200};

#define FIELD(member) GB_FIELD(settings, member)
static const gb_option options[] = {
    {"rank-cut", GB_OPTION_U32, FIELD(cut), 0, NULL, "ranks behind it count as no rank; 0: none"},
    {0}};
#undef FIELD

static gb_tensor build(const gb_finetune_params *params, const void *own, gb_builder *builder,
                       const gb_batch_scores *scores)
{
    (void)params;
    const settings *o = own;
    const finetune_pair_weights how = {.own = 1, .others = 1, .together = true};
    gb_pairs pairs = finetune_pairs(builder, scores, &how);
    pairs.ranks = gb_reciprocal_ranks(builder->tape, scores->scores, &pairs, o->cut);
    return gb_pair_loss(builder->tape, scores->scores, &pairs);
}

const gb_loss loss_lambdarank = {
    .name = "lambdarank",
    .label = "pairs",
    .help = "pairs weighted by the reciprocal ranks that they would swap (LambdaRank)",
    .users = GB_USER_RANK,
    .options = options,
    .defaults = &defaults,
    .own_bytes = sizeof defaults,
    .build = build};
