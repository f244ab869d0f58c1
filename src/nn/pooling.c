/* One vector for each text of a batch. */
#include "packed.h"

typedef struct means_record {
    gb_combination means;   /* filled */
    const gb_packed *batch; /* from */
    uint32_t first;         /* text */
} means_record;

static bool fill_means(const void *record_, gb_exec *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const means_record *record = record_;
    uint32_t texts = packed_left(record->batch, record->first, record->means.rows);
    return gb_combination_fill_means(exec, &record->means, record->batch->starts + record->first,
                                     texts, status);
}

gb_pooling_inputs gb_pooling_declare(gb_net *net, const gb_pooling_params *params,
                                     const gb_packed *batch)
{
    gb_pooling_inputs in = {.mean = params->kind == GB_POOLING_MEAN};
    if (!in.mean) {
        in.cls = gb_first_rows_declare(net, params->texts, params->rows, batch, params->first);
        return in;
    }
    in.means = gb_combination_input(net->tape, params->texts, params->rows, params->rows,
                                    params->longest, 1);
    const means_record record = {in.means, batch, params->first};
    gb_tape_fill_by(net->tape, fill_means, &record, sizeof record);
    return in;
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
