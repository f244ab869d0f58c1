#include "contrast.h"

text_ids pretrain_cut_text(text_ids text, uint32_t max_length)
{
    if (text.length + 2 > max_length)
        text.length = max_length - 2;
    return text;
}

void pretrain_masked_microbatch_build(gb_builder *builder, const gb_bert *bert,
                                      const gb_bucket *bucket, const batch_texts *texts,
                                      uint64_t seed, gb_tensor losses[GB_MAX_LOSSES])
{
    uint32_t count = bucket->texts;
    gb_batch_inputs in = pretrain_batch_texts_declare(builder, bert, bucket, count, texts, seed);
    labelled_inputs labels = pretrain_labelled_declare(builder, bucket->size[BUCKET_LABELLED],
                                                       in.rows, &texts->now_labelled, 0, NULL);
    gb_selection first = gb_first_rows_declare(builder, count, in.rows, &texts->now, 0);
    gb_tensor h = gb_bert_encode(builder, bert, &in, 0, NULL);
    losses[0] = losses[1] = pretrain_labelled_loss(builder, bert, &labels, h, GB_NO_TENSOR);
    losses[2] = GB_NO_TENSOR;
    builder->vectors = gb_selection_gather(builder, h, &first);
}

/* Row i belongs to column i. */
typedef struct pair_targets {
    gb_tensor labels;  /* u32 [N, 1] */
    gb_tensor weights; /* f32 [N, 1], 1/N */
    uint32_t count;    /* N */
} pair_targets;

static bool fill_pairs(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const pair_targets *to = record;
    uint32_t *labels = gb_executable_input(exec, to->labels, status);
    float *weights = labels ? gb_executable_input(exec, to->weights, status) : NULL;
    for (uint32_t i = 0; weights && i < to->count; i++) {
        labels[i] = i;
        weights[(size_t)i * 4] = 1.0f / (float)to->count;
    }
    return weights != NULL;
}

gb_tensor pretrain_pair_loss(gb_builder *builder, uint32_t count, gb_tensor a, gb_tensor b,
                             double temperature)
{
    const pair_targets to = {gb_tape_input(builder->tape, "pair labels", GB_U32, count, 1),
                             gb_tape_input(builder->tape, "pair weights", GB_F32, count, 1), count};
    gb_tape_fill_by(builder->tape, fill_pairs, &to, sizeof to);
    gb_tensor scores = gb_matmul(builder->tape, GB_NT, a, b);
    if (temperature != 1)
        scores = gb_scale(builder->tape, scores, (float)(1 / temperature));
    return gb_softmax_loss(builder->tape, scores, to.labels, to.weights, GB_NO_TENSOR);
}

gb_tensor pretrain_side_loss(gb_builder *builder, uint32_t pairs, gb_tensor vectors,
                             double temperature)
{
    gb_selection first = gb_row_range_declare(builder, pairs, 2 * pairs, 0);
    gb_selection second = gb_row_range_declare(builder, pairs, 2 * pairs, pairs);
    gb_tensor b = gb_selection_gather(builder, vectors, &second),
              a = gb_selection_gather(builder, vectors, &first);
    return pretrain_pair_loss(builder, pairs, a, b, temperature);
}
