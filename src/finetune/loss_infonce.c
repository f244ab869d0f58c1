/* InfoNCE over all passages of the batch (Karpukhin et al., 2020): the negative logarithm of the
 * positive's share in the softmax of a query's scores. */
#include "private.h"

/* In nats a query; chance is the logarithm of the candidates, 3.47 of 32. */
#define CONVERGED 0.3

/* The positives of the queries. */
typedef struct target_inputs {
    const gb_training_batch *batch; /* sizes */
    gb_tensor labels, weights;      /* [Q, 1] */
} target_inputs;

static bool fill_targets(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const target_inputs *to = record;
    uint32_t queries = to->batch->queries;
    uint32_t *labels = gb_executable_input(exec, to->labels, status);
    float *weights = labels ? gb_executable_input(exec, to->weights, status) : NULL;
    for (uint32_t i = 0; weights && i < queries; i++) {
        labels[i] = gb_positive_column(to->batch, i);
        weights[(size_t)i * 4] = 1.0f / (float)queries;
    }
    return weights != NULL;
}

static gb_tensor build(const gb_finetune_params *params, const void *own, gb_builder *builder,
                       const gb_batch_scores *scores)
{
    (void)params;
    (void)own;
    gb_tape *tape = builder->tape;
    uint32_t count = scores->batch->queries;
    const target_inputs to = {.batch = scores->batch,
                              .labels = gb_tape_input(tape, "targets", GB_U32, count, 1),
                              .weights = gb_tape_input(tape, "query weights", GB_F32, count, 1)};
    gb_tape_fill_by(tape, fill_targets, &to, sizeof to);
    return gb_softmax_loss(tape, scores->scores, to.labels, to.weights, GB_NO_TENSOR);
}

const gb_loss loss_infonce = {.name = "infonce",
                              .label = "contrastive",
                              .help = "the positive against all passages of the batch (InfoNCE)",
                              .converged = CONVERGED,
                              .build = build};
