/* What several losses share: inputs that say which columns of the scores are compared. */
#include "private.h"

#include <math.h>

/* ---- the contrastive loss ---- */

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

gb_tensor finetune_infonce(gb_builder *builder, const gb_batch_scores *scores)
{
    gb_tape *tape = builder->tape;
    uint32_t count = scores->batch->queries;
    const target_inputs to = {.batch = scores->batch,
                              .labels = gb_tape_input(tape, "targets", GB_U32, count, 1),
                              .weights = gb_tape_input(tape, "query weights", GB_F32, count, 1)};
    gb_tape_fill_by(tape, fill_targets, &to, sizeof to);
    return gb_softmax_loss(tape, scores->scores, to.labels, to.weights,
                           finetune_exclude(builder, scores));
}

gb_tensor finetune_with_contrast(gb_builder *builder, const gb_batch_scores *scores, double weight,
                                 gb_tensor (*build)(gb_builder *builder,
                                                    const gb_batch_scores *scores, const void *own),
                                 const void *own)
{
    if (weight == 0)
        return build(builder, scores, own);
    gb_batch_scores copy = *scores; /* a loss may make its gradient of the scores in place */
    copy.scores = gb_scale(builder->tape, scores->scores, 1);
    gb_tensor contrast = finetune_infonce(builder, &copy);
    return gb_add(builder->tape, build(builder, scores, own),
                  gb_scale(builder->tape, contrast, (float)weight));
}

/* ---- columns that are left out ---- */

typedef struct exclude_input {
    const gb_training_batch *batch; /* its bits */
    gb_tensor bits;                 /* u32 [Q, words] */
    uint32_t words;                 /* of a row */
} exclude_input;

static bool fill_exclude(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const exclude_input *in = record;
    uint32_t *bits = gb_executable_input(exec, in->bits, status);
    for (size_t i = 0; bits && i < (size_t)in->batch->queries * in->words; i++)
        bits[i] = in->batch->exclude[i];
    return bits != NULL;
}

gb_tensor finetune_exclude(gb_builder *builder, const gb_batch_scores *scores)
{
    if (!scores->batch->exclude)
        return GB_NO_TENSOR;
    exclude_input in = {.batch = scores->batch, .words = (scores->columns + 31) / 32};
    in.bits = gb_tape_input(builder->tape, "exclude", GB_U32, in.batch->queries, in.words);
    gb_tape_fill_by(builder->tape, fill_exclude, &in, sizeof in);
    return in.bits;
}

bool finetune_excluded(const gb_training_batch *batch, uint32_t query, uint32_t column)
{
    size_t words = (gb_training_batch_columns(batch) + 31) / 32;
    return batch->exclude && batch->exclude[query * words + column / 32] >> (column & 31) & 1;
}

/* ---- pairs ---- */

typedef struct pair_inputs {
    const gb_training_batch *batch; /* what they are filled from */
    finetune_pair_weights how;      /* of which pairs */
    gb_pairs pairs;                 /* inputs */
    uint32_t ld;                    /* floats from row to row of weights and teacher */
} pair_inputs;

static float taught(const pair_inputs *in, uint32_t q, uint32_t c)
{
    uint32_t columns = gb_training_batch_columns(in->batch);
    return in->how.taught ? in->batch->teacher[(size_t)q * columns + c] : 0;
}

/* The weight of a column before it is divided by how many there are. */
static float weight_of(const pair_inputs *in, uint32_t q, uint32_t c, bool *own)
{
    uint32_t positive = gb_positive_column(in->batch, q);
    *own = c - positive < in->batch->per_query;
    if (c == positive || finetune_excluded(in->batch, q, c) || isnan(taught(in, q, c)) ||
        isnan(taught(in, q, positive)))
        return 0;
    return *own ? in->how.own : in->how.others;
}

static void fill_row(const pair_inputs *in, uint32_t q, float *weights, float *teacher)
{
    uint32_t columns = gb_training_batch_columns(in->batch), counts[2] = {0, 0};
    bool own;
    for (uint32_t c = 0; c < columns; c++)
        counts[0] += weight_of(in, q, c, &own) > 0 && own,
            counts[1] += weight_of(in, q, c, &own) > 0 && !own;
    for (uint32_t c = 0; c < columns; c++) {
        float weight = weight_of(in, q, c, &own), score = taught(in, q, c);
        uint32_t count = in->how.together ? counts[0] + counts[1] : counts[!own];
        weights[c] = weight > 0 ? weight / (float)count / (float)in->batch->queries : 0;
        if (teacher)
            teacher[c] = isnan(score) ? 0 : score;
    }
}

static bool fill_pairs(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const pair_inputs *in = record;
    uint32_t words = (gb_training_batch_columns(in->batch) + 31) / 32;
    uint32_t *positives = gb_executable_input(exec, in->pairs.positives, status);
    float *weights = positives ? gb_executable_input(exec, in->pairs.weights, status) : NULL;
    bool ok = weights;
    float *teacher =
        ok && in->how.taught ? gb_executable_input(exec, in->pairs.teacher, status) : NULL;
    ok = ok && (teacher || !in->how.taught);
    for (uint32_t q = 0; ok && q < in->batch->queries; q++) {
        uint32_t positive = gb_positive_column(in->batch, q);
        positives[(size_t)q * words + positive / 32] = 1u << positive % 32;
        fill_row(in, q, weights + (size_t)q * in->ld,
                 teacher ? teacher + (size_t)q * in->ld : NULL);
    }
    return ok;
}

gb_pairs finetune_pairs(gb_builder *builder, const gb_batch_scores *scores,
                        const finetune_pair_weights *how)
{
    gb_tape *tape = builder->tape;
    uint32_t rows = scores->batch->queries, columns = scores->columns;
    pair_inputs in = {
        .batch = scores->batch,
        .how = *how,
        .pairs = {.positives = gb_tape_input(tape, "positives", GB_U32, rows, (columns + 31) / 32),
                  .weights = gb_tape_input(tape, "pair weights", GB_F32, rows, columns),
                  .teacher = how->taught ? gb_tape_input(tape, "teacher", GB_F32, rows, columns)
                                         : GB_NO_TENSOR,
                  .ranks = GB_NO_TENSOR}};
    if (in.pairs.weights != GB_NO_TENSOR)
        in.ld = gb_tape_tensor(tape, in.pairs.weights)->ld;
    gb_tape_fill_by(tape, fill_pairs, &in, sizeof in);
    return in.pairs;
}
