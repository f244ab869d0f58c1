#include "contrast.h"

#include <string.h>

void settle_contrast(const char *objective, gb_pretrain_params *p)
{
    static const struct {
        const char *objective;
        double temperature;
    } own[] = {{"costa", .1}, {"ict", 1}, {"simcse", .05}, {"contriever", .05}};
    for (size_t i = 0; i < sizeof own / sizeof *own; i++)
        if (!strcmp(own[i].objective, objective) && p->temperature <= 0)
            p->temperature = own[i].temperature;
    bool bow = !strcmp(objective, "bow"), costa = !strcmp(objective, "costa");
    bool contriever = !strcmp(objective, "contriever");
    if (bow && p->bow_weight == GB_OPEN_RATIO)
        p->bow_weight = 1;
    if (bow && p->bow_weight_final == GB_OPEN_RATIO)
        p->bow_weight_final = .1;
    if (costa && p->contrast_weight == GB_OPEN_RATIO)
        p->contrast_weight = .1;
    if (costa && !p->spans)
        p->spans = 5;
    if (contriever && p->momentum == GB_OPEN_RATIO)
        p->momentum = .9995;
    if (contriever && !p->queue)
        p->queue = 131072;
}

text_ids cut_text(text_ids text, uint32_t longest)
{
    if (text.length + 2 > longest)
        text.length = longest - 2;
    return text;
}

void masked_part_build(gb_net *net, const gb_bert *bert, const gb_shape *shape,
                       gb_packed_inputs *in, labelled_inputs *labels, gb_rows_inputs *first,
                       gb_tensor losses[GB_MAX_LOSSES])
{
    uint32_t texts = shape->texts, rows = shape->size[0];
    *in = texts_declare(net, bert, shape, texts);
    *labels = labelled_declare(net, shape->size[1], rows, 0);
    *first = gb_rows_declare(net, texts, rows);
    gb_tensor h = gb_bert_encode(net, bert, in, 0, NULL);
    losses[0] = losses[1] = labelled_loss(net, bert, labels, h, GB_NO_TENSOR);
    losses[2] = GB_NO_TENSOR;
    net->vectors = gb_rows_gather(net, h, first);
}

pair_inputs pair_declare(gb_net *net, uint32_t count)
{
    return (pair_inputs){.labels = gb_tape_input(net->tape, "pair labels", GB_U32, count, 1),
                         .weights = gb_tape_input(net->tape, "pair weights", GB_F32, count, 1),
                         .count = count};
}

gb_tensor pair_loss(gb_net *net, const pair_inputs *in, gb_tensor a, gb_tensor b,
                    double temperature)
{
    gb_tensor scores = gb_matmul(net->tape, GB_NT, a, b);
    if (temperature != 1)
        scores = gb_scale(net->tape, scores, (float)(1 / temperature));
    return gb_softmax_loss(net->tape, scores, in->labels, in->weights, GB_NO_TENSOR);
}

bool pair_fill(gb_exec *exec, const pair_inputs *in, gb_status *status)
{
    uint32_t *labels = gb_exec_input(exec, in->labels, status);
    float *weights = labels ? gb_exec_input(exec, in->weights, status) : NULL;
    if (!weights)
        return false;
    for (uint32_t i = 0; i < in->count; i++) {
        labels[i] = i;
        weights[(size_t)i * 4] = 1.0f / (float)in->count;
    }
    return true;
}

side_inputs side_declare(gb_net *net, uint32_t count, uint32_t rows)
{
    side_inputs in;
    in.first = gb_rows_declare(net, count, rows);
    in.second = gb_rows_declare(net, count, rows);
    in.pairs = pair_declare(net, count);
    return in;
}

gb_tensor side_loss(gb_net *net, const side_inputs *in, gb_tensor vectors, double temperature)
{
    return pair_loss(net, &in->pairs, gb_rows_gather(net, vectors, &in->first),
                     gb_rows_gather(net, vectors, &in->second), temperature);
}

bool side_fill_vectors(gb_exec *exec, const side_inputs *in, gb_status *status)
{
    return gb_rows_fill_range(exec, &in->first, 0, status) &&
           gb_rows_fill_range(exec, &in->second, in->pairs.count, status) &&
           pair_fill(exec, &in->pairs, status);
}

bool side_fill(gb_exec *exec, const side_inputs *in, const uint32_t *starts, gb_status *status)
{
    uint32_t count = in->pairs.count;
    return gb_rows_fill(exec, &in->first, starts, count, status) &&
           gb_rows_fill(exec, &in->second, starts + count, count, status) &&
           pair_fill(exec, &in->pairs, status);
}
