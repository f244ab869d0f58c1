#include "contrast.h"

text_ids cut_text(text_ids text, uint32_t longest)
{
    if (text.length + 2 > longest)
        text.length = longest - 2;
    return text;
}

void masked_part_build(gb_net *net, const gb_bert *bert, const gb_shape *shape,
                       const batch_texts *texts, uint64_t seed, gb_tensor losses[GB_MAX_LOSSES])
{
    uint32_t count = shape->texts;
    gb_packed_inputs in = batch_texts_declare(net, bert, shape, count, texts, seed);
    labelled_inputs labels =
        labelled_declare(net, shape->size[SHAPE_LABELLED], in.rows, &texts->now_labelled, 0, NULL);
    gb_rows_inputs first = gb_first_rows_declare(net, count, in.rows, &texts->now, 0);
    gb_tensor h = gb_bert_encode(net, bert, &in, 0, NULL);
    losses[0] = losses[1] = labelled_loss(net, bert, &labels, h, GB_NO_TENSOR);
    losses[2] = GB_NO_TENSOR;
    net->vectors = gb_rows_gather(net, h, &first);
}

/* Row i belongs to column i. */
typedef struct pair_targets {
    gb_tensor labels;  /* u32 [N, 1] */
    gb_tensor weights; /* f32 [N, 1], 1/N */
    uint32_t count;    /* N */
} pair_targets;

static bool fill_pairs(const void *record, gb_exec *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const pair_targets *to = record;
    uint32_t *labels = gb_exec_input(exec, to->labels, status);
    float *weights = labels ? gb_exec_input(exec, to->weights, status) : NULL;
    for (uint32_t i = 0; weights && i < to->count; i++) {
        labels[i] = i;
        weights[(size_t)i * 4] = 1.0f / (float)to->count;
    }
    return weights != NULL;
}

gb_tensor pair_loss(gb_net *net, uint32_t count, gb_tensor a, gb_tensor b, double temperature)
{
    const pair_targets to = {gb_tape_input(net->tape, "pair labels", GB_U32, count, 1),
                             gb_tape_input(net->tape, "pair weights", GB_F32, count, 1), count};
    gb_tape_fill_by(net->tape, fill_pairs, &to, sizeof to);
    gb_tensor scores = gb_matmul(net->tape, GB_NT, a, b);
    if (temperature != 1)
        scores = gb_scale(net->tape, scores, (float)(1 / temperature));
    return gb_softmax_loss(net->tape, scores, to.labels, to.weights, GB_NO_TENSOR);
}

gb_tensor side_loss(gb_net *net, uint32_t pairs, gb_tensor vectors, double temperature)
{
    gb_rows_inputs first = gb_row_range_declare(net, pairs, 2 * pairs, 0);
    gb_rows_inputs second = gb_row_range_declare(net, pairs, 2 * pairs, pairs);
    gb_tensor b = gb_rows_gather(net, vectors, &second), a = gb_rows_gather(net, vectors, &first);
    return pair_loss(net, pairs, a, b, temperature);
}
