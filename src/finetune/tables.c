/* The tables of scorings and of losses: one line each. */
#include <gabbro/finetune.h>

// clang-format off
#define SCORINGS(SCORING) \
    SCORING(dense, "dense") \
    SCORING(sparse, "sparse") \
    SCORING(tokens, "tokens") \
    SCORING(coil, "coil")

#define LOSSES(LOSS) \
    LOSS(infonce, "infonce") \
    LOSS(margin_mse, "margin-mse") \
    LOSS(kl, "kl") \
    LOSS(pairwise, "pairwise") \
    LOSS(lambdarank, "lambdarank") \
    LOSS(passage, "passage-centred") \
    LOSS(ordered, "ordered")
// clang-format on

#define LISTED_NAME(id, name)      name,
#define DECLARED_SCORING(id, name) extern const gb_scoring scoring_##id;
#define LISTED_SCORING(id, name)   &scoring_##id,
SCORINGS(DECLARED_SCORING)
const gb_scoring *const gb_scorings[] = {SCORINGS(LISTED_SCORING) NULL};
const char *const gb_scoring_names[] = {SCORINGS(LISTED_NAME) NULL};

#define DECLARED_LOSS(id, name) extern const gb_loss loss_##id;
#define LISTED_LOSS(id, name)   &loss_##id,
LOSSES(DECLARED_LOSS)
const gb_loss *const gb_losses[] = {LOSSES(LISTED_LOSS) NULL};
const char *const gb_loss_names[] = {LOSSES(LISTED_NAME) NULL};
