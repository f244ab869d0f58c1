/* One vector for each text of a batch. */
#include "fill_batch.h"

typedef struct means_record {
    gb_sparse means;       /* filled */
    const gb_batch *batch; /* from */
    uint32_t first;        /* text */
    const uint32_t *skip;  /* see gb_pooling_params, or NULL */
} means_record;

static bool fill_means(const void *record_, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const means_record *record = record_;
    uint32_t texts = nn_packed_left(record->batch, record->first, record->means.rows);
    return gb_sparse_fill_means(exec, &record->means, record->batch->starts + record->first, texts,
                                record->skip ? *record->skip : 0, status);
}

gb_pooling_inputs gb_pooling_declare(gb_builder *builder, const gb_pooling_params *params,
                                     const gb_batch *batch)
{
    gb_pooling_inputs in = {.mean = params->kind == GB_POOLING_MEAN};
    if (!in.mean) {
        in.one =
            params->kind == GB_POOLING_LAST
                ? gb_last_rows_declare(builder, params->texts, params->rows, batch, params->first)
                : gb_first_rows_declare(builder, params->texts, params->rows, batch, params->first);
        return in;
    }
    in.means = gb_sparse_input(builder->tape, params->texts, params->rows, params->rows,
                               params->max_length, 1);
    const means_record record = {in.means, batch, params->first, params->skip};
    gb_tape_fill_by(builder->tape, fill_means, &record, sizeof record);
    return in;
}

gb_tensor gb_pooling_apply(gb_builder *builder, gb_tensor h, const gb_pooling_inputs *in)
{
    return in->mean ? gb_sparse_matmul(builder->tape, h, &in->means)
                    : gb_selection_gather(builder, h, &in->one);
}

gb_tensor gb_sentence_vectors(gb_builder *builder, const gb_bert *bert, bool normalize,
                              gb_tensor pooled)
{
    gb_tensor v = gb_projector_apply(builder, &bert->projector, pooled);
    return normalize ? gb_normalize_rows(builder->tape, v) : v;
}
