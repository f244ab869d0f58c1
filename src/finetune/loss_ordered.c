/* A query's own passages should be in the teacher's order: every pair that the teacher orders,
 * beside the contrastive loss (LED, Zhang et al., "LED: Lexicon-enlightened dense retriever for
 * large-scale retrieval", WWW 2023). Theirs is max(0, -d) of the difference d of the scores of a
 * pair; this is log(1 + exp(-d)), RankNet's, which has a gradient where d is 0. */
#include "private.h"

#include <math.h>

typedef struct settings {
    double contrast; /* weight of the contrastive loss beside it */
} settings;

static const settings defaults = {.contrast = 1};

#define FIELD(member) GB_FIELD(settings, member)
static const gb_option options[] = {{"contrast-weight", GB_OPTION_REAL, FIELD(contrast), 0, NULL,
                                     "weight of the contrastive loss (infonce) that is added"},
                                    {0}};
#undef FIELD

/* Pairs of one of a query's passages with those that the teacher puts behind it. */
typedef struct inputs {
    const gb_training_batch *batch; /* its teacher */
    uint32_t better;                /* place of that passage among the query's own */
    gb_pairs pairs;                 /* inputs */
    uint32_t ld;                    /* floats from row to row of weights */
} inputs;

/* Whether the teacher puts the query's own passage j behind its passage i. */
static bool ordered(const gb_training_batch *b, uint32_t q, uint32_t i, uint32_t j)
{
    uint32_t own = gb_positive_column(b, q);
    const float *teacher = b->teacher + (size_t)q * gb_training_batch_columns(b) + own;
    return teacher[i] > teacher[j] && !finetune_excluded(b, q, own + i) &&
           !finetune_excluded(b, q, own + j); /* false where one has no score */
}

static uint32_t count_ordered(const gb_training_batch *b, uint32_t q)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < b->per_query; i++)
        for (uint32_t j = 0; j < b->per_query; j++)
            count += ordered(b, q, i, j);
    return count;
}

static bool fill(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const inputs *in = record;
    const gb_training_batch *b = in->batch;
    uint32_t words = (gb_training_batch_columns(b) + 31) / 32;
    uint32_t *positives = gb_executable_input(exec, in->pairs.positives, status);
    float *weights = positives ? gb_executable_input(exec, in->pairs.weights, status) : NULL;
    for (uint32_t q = 0; weights && q < b->queries; q++) {
        uint32_t own = gb_positive_column(b, q), better = own + in->better;
        uint32_t count = count_ordered(b, q);
        for (uint32_t w = 0; w < words; w++)
            positives[(size_t)q * words + w] = w == better / 32 ? 1u << better % 32 : 0;
        for (uint32_t c = 0; c < gb_training_batch_columns(b); c++) {
            bool counts = c - own < b->per_query && ordered(b, q, in->better, c - own);
            weights[(size_t)q * in->ld + c] = counts ? 1.0f / (float)count / (float)b->queries : 0;
        }
    }
    return weights;
}

static gb_tensor order(gb_builder *builder, const gb_batch_scores *scores, const void *own)
{
    (void)own;
    gb_tape *tape = builder->tape;
    uint32_t rows = scores->batch->queries, columns = scores->columns;
    gb_tensor sum = GB_NO_TENSOR;
    for (uint32_t i = 0; i < scores->batch->per_query; i++) {
        inputs in = {
            .batch = scores->batch,
            .better = i,
            .pairs = {.positives = gb_tape_input(tape, "better", GB_U32, rows, (columns + 31) / 32),
                      .weights = gb_tape_input(tape, "worse", GB_F32, rows, columns),
                      .teacher = GB_NO_TENSOR,
                      .ranks = GB_NO_TENSOR}};
        if (in.pairs.weights != GB_NO_TENSOR)
            in.ld = gb_tape_tensor(tape, in.pairs.weights)->ld;
        gb_tape_fill_by(tape, fill, &in, sizeof in);
        gb_tensor loss = gb_pair_loss(tape, scores->scores, &in.pairs);
        sum = sum == GB_NO_TENSOR ? loss : gb_add(tape, sum, loss);
    }
    return sum;
}

static gb_tensor build(const gb_finetune_params *params, const void *own, gb_builder *builder,
                       const gb_batch_scores *scores)
{
    (void)params;
    const settings *o = own;
    return finetune_with_contrast(builder, scores, o->contrast, order, own);
}

const gb_loss loss_ordered = {.name = "ordered",
                              .label = "order",
                              .help = "pairs in the teacher's order, and InfoNCE (LED)",
                              .needs = GB_LOSS_TEACHER,
                              .users = GB_USER_RANK,
                              .options = options,
                              .defaults = &defaults,
                              .own_bytes = sizeof defaults,
                              .build = build};
