/* The softmax of a query's scores should be the teacher's: Kullback-Leibler divergence over its own
 * passages, or over all of the batch (TCT-ColBERT, Lin et al., 2020). */
#include "private.h"

#include <math.h>

typedef struct settings {
    double temperature; /* divisor of the teacher's scores */
    double contrast;    /* weight of the contrastive loss beside it */
    bool all;           /* over all passages of the batch */
} settings;

static const settings defaults = {.temperature = 1, .contrast = 0, .all = false};

#define FIELD(member) GB_FIELD(settings, member)
static const gb_option options[] = {
    {"teacher-temperature", GB_OPTION_REAL, FIELD(temperature), 0, NULL,
     "divisor of the teacher's scores; that of the model's is --temperature", .min = 1e-6,
     .max = 1e6},
    {"contrast-weight", GB_OPTION_REAL, FIELD(contrast), 0, NULL,
     "weight of the contrastive loss (infonce) that is added"},
    {"all-passages", GB_OPTION_FLAG, FIELD(all), 0, NULL,
     "over all passages of the batch that the teacher scores, not a query's own alone"},
    {0}};
#undef FIELD

typedef struct inputs {
    const gb_training_batch *batch;   /* its teacher */
    settings how;                     /* of the divergence */
    gb_tensor targets, weights, bits; /* [Q, C]; [Q, 1]; columns left out */
    uint32_t ld, columns;             /* of targets */
} inputs;

static bool counts(const inputs *in, uint32_t q, uint32_t c)
{
    bool own = c - gb_positive_column(in->batch, q) < in->batch->per_query;
    return (own || in->how.all) && !finetune_excluded(in->batch, q, c) &&
           !isnan(in->batch->teacher[(size_t)q * in->columns + c]);
}

/* The teacher's probabilities, and bits of the columns that have none. */
static void fill_row(const inputs *in, uint32_t q, float *targets, uint32_t *bits)
{
    const float *teacher = in->batch->teacher + (size_t)q * in->columns;
    double top = -INFINITY, sum = 0;
    for (uint32_t c = 0; c < in->columns; c++) {
        bool counted = counts(in, q, c);
        bits[c / 32] = (c % 32 ? bits[c / 32] : 0) | (uint32_t)!counted << c % 32;
        top = counted ? fmax(top, teacher[c]) : top;
    }
    for (uint32_t c = 0; c < in->columns; c++)
        sum += counts(in, q, c) ? exp((teacher[c] - top) / in->how.temperature) : 0;
    for (uint32_t c = 0; c < in->columns; c++)
        targets[c] =
            counts(in, q, c) ? (float)(exp((teacher[c] - top) / in->how.temperature) / sum) : 0;
}

static bool fill(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const inputs *in = record;
    size_t words = (in->columns + 31) / 32;
    float *targets = gb_executable_input(exec, in->targets, status);
    float *weights = targets ? gb_executable_input(exec, in->weights, status) : NULL;
    uint32_t *bits = weights ? gb_executable_input(exec, in->bits, status) : NULL;
    for (uint32_t q = 0; bits && q < in->batch->queries; q++) {
        fill_row(in, q, targets + (size_t)q * in->ld, bits + q * words);
        weights[(size_t)q * 4] = 1.0f / (float)in->batch->queries;
    }
    return bits;
}

static gb_tensor divergence(gb_builder *builder, const gb_batch_scores *scores, const void *own)
{
    gb_tape *tape = builder->tape;
    uint32_t rows = scores->batch->queries, columns = scores->columns;
    inputs in = {.batch = scores->batch,
                 .how = *(const settings *)own,
                 .targets = gb_tape_input(tape, "teacher", GB_F32, rows, columns),
                 .weights = gb_tape_input(tape, "query weights", GB_F32, rows, 1),
                 .bits = gb_tape_input(tape, "exclude", GB_U32, rows, (columns + 31) / 32),
                 .columns = columns};
    if (in.targets != GB_NO_TENSOR)
        in.ld = gb_tape_tensor(tape, in.targets)->ld;
    gb_tape_fill_by(tape, fill, &in, sizeof in);
    return gb_target_loss(tape, scores->scores, in.targets, in.weights, in.bits);
}

static gb_tensor build(const gb_finetune_params *params, const void *own, gb_builder *builder,
                       const gb_batch_scores *scores)
{
    (void)params;
    const settings *o = own;
    return finetune_with_contrast(builder, scores, o->contrast, divergence, own);
}

const gb_loss loss_kl = {.name = "kl",
                         .label = "divergence",
                         .help = "the teacher's softmax over the passages (KL divergence)",
                         .needs = GB_LOSS_TEACHER,
                         .users = GB_USER_RANK,
                         .options = options,
                         .defaults = &defaults,
                         .own_bytes = sizeof defaults,
                         .build = build};
