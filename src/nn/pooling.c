/* One vector for each text of a batch. */
#include <gabbro/nn.h>

gb_pooling_inputs gb_pooling_declare(gb_net *net, gb_pooling kind, uint32_t texts, uint32_t rows,
                                     uint32_t longest)
{
    gb_pooling_inputs in = {.mean = kind == GB_POOLING_MEAN};
    if (in.mean)
        in.means = gb_combination_input(net->tape, texts, rows, rows, longest, 1);
    else
        in.cls = gb_rows_declare(net, texts, rows);
    return in;
}

bool gb_pooling_fill(gb_exec *exec, const gb_pooling_inputs *in, const uint32_t *starts,
                     uint32_t count, gb_status *status)
{
    return in->mean ? gb_combination_fill_means(exec, &in->means, starts, count, status)
                    : gb_rows_fill(exec, &in->cls, starts, count, status);
}

gb_tensor gb_pooling_apply(gb_net *net, gb_tensor h, const gb_pooling_inputs *in)
{
    return in->mean ? gb_combine_rows(net->tape, h, &in->means) : gb_rows_gather(net, h, &in->cls);
}

gb_tensor gb_sentence_vectors(gb_net *net, const gb_bert *bert, bool normalize, gb_tensor pooled)
{
    gb_tensor v = gb_projector_apply(net, &bert->projector, pooled);
    return normalize ? gb_normalize_rows(net->tape, v) : v;
}
