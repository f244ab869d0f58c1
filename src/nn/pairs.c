/* Pairs of texts in one sequence, and the head that makes one score of each: cross-encoders. */
#include "layers.h"

#include <stdlib.h>
#include <string.h>

gb_token_text gb_token_text_of(const gb_row_file *tokens, uint32_t row, uint32_t max_length)
{
    gb_token_text text;
    text.ids = gb_row_file_row(tokens, row, &text.length);
    if (text.length + 2 > max_length)
        text.length = max_length < 2 ? 0 : max_length - 2;
    return text;
}

/* ---- batches ---- */

/* Cuts two texts to `room` tokens together. The shorter stays whole where it takes no more than its
 * half; else both are cut to halves, of which the longer text's is the larger. */
static void cut_pair(size_t room, size_t *a, size_t *b)
{
    size_t *shorter = *a <= *b ? a : b, *longer = *a <= *b ? b : a;
    if (*a + *b <= room)
        return;
    if (*shorter > room / 2)
        *shorter = room / 2;
    *longer = room - *shorter;
}

static uint32_t *put(uint32_t *to, gb_token_text text)
{
    for (size_t i = 0; i < text.length; i++)
        *to++ = text.ids[i];
    return to;
}

bool gb_batch_add_pair(gb_batch *batch, const gb_special_ids *specials, gb_token_text query,
                       gb_token_text passage, uint32_t max_length, gb_status *status)
{
    uint32_t first;
    cut_pair(max_length - 3, &query.length, &passage.length);
    if (!gb_batch_reserve(batch, query.length + passage.length + 3, &first, status))
        return false;
    uint32_t *to = batch->ids + first;
    *to++ = specials->cls;
    to = put(to, query);
    *to++ = specials->sep;
    batch->seconds[batch->count - 1] = (uint32_t)(to - batch->ids);
    to = put(to, passage);
    *to = specials->sep;
    return true;
}

typedef struct segments_record {
    gb_batch_inputs in;    /* whose segments are filled */
    const gb_batch *batch; /* from */
    uint32_t types;        /* of the model */
} segments_record;

/* What is behind the batch has type 0, and is in no list. */
static bool fill_segments(const void *record_, gb_executable *exec, uint32_t step,
                          gb_status *status)
{
    (void)step;
    const segments_record *record = record_;
    const gb_batch *batch = record->batch;
    uint32_t *segments = gb_executable_input(exec, record->in.segments, status);
    if (!segments)
        return false;
    for (uint32_t s = 0; s < batch->count; s++)
        for (uint32_t r = batch->starts[s]; r < batch->starts[s + 1]; r++)
            segments[r] = r >= batch->seconds[s];
    for (uint32_t r = batch->rows; r < record->in.rows; r++)
        segments[r] = 0;
    return gb_row_index_fill(exec, &record->in.by_segment, segments, batch->rows, record->types,
                             status);
}

void gb_batch_pairs_declare(gb_builder *builder, const gb_bert_config *config, gb_batch_inputs *in,
                            const gb_batch *batch)
{
    gb_tape *tape = builder->tape;
    uint32_t types = config->type_vocab_size;
    in->pairs = true;
    in->segments = gb_tape_input(tape, "segments", GB_U32, 1, in->rows);
    in->by_segment = gb_row_index_input(tape, "rows by segment", types, in->rows);
    const segments_record record = {*in, batch, types};
    gb_tape_fill_by(tape, fill_segments, &record, sizeof record);
}

/* ---- the head ---- */

bool gb_pair_head_declare(gb_params *params, const gb_bert_config *config, gb_pair_head *head,
                          gb_status *status)
{
    uint32_t h = config->hidden_size;
    const layer_scope pooler = {.params = params,
                                .prefix = "bert.pooler.dense",
                                .config = config,
                                .file = GB_FILE_OPTIONAL};
    const layer_entry of_pooler[] = {{"weight", LAYER_WEIGHT, h, h, &head->pooler_weight},
                                     {"bias", LAYER_BIAS, 1, h, &head->pooler_bias}};
    const layer_scope classifier = {
        .params = params, .prefix = "classifier", .config = config, .file = GB_FILE_OPTIONAL};
    const layer_entry of_classifier[] = {{"weight", LAYER_WEIGHT, 1, h, &head->weight},
                                         {"bias", LAYER_BIAS, 1, 1, &head->bias}};
    return nn_layer_declare(&pooler, of_pooler, 2, status) &&
           nn_layer_declare(&classifier, of_classifier, 2, status);
}

bool gb_pair_head_start(const gb_folder *folder, const gb_params *params, const gb_pair_head *head,
                        uint64_t seed, float *values, gb_status *status)
{
    const uint32_t all[] = {head->pooler_weight, head->pooler_bias, head->weight, head->bias};
    float *fresh = gb_alloc(gb_params_floats(params), sizeof *fresh, status);
    if (!fresh)
        return false;
    gb_params_init(params, seed, fresh);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const gb_param *p = gb_params_at(params, all[i]);
        if (!gb_folder_has(folder, p->name))
            memcpy(values + p->offset, fresh + p->offset, sizeof *fresh * p->rows * p->ld);
    }
    free(fresh);
    return true;
}

gb_tensor gb_pair_scores(gb_builder *builder, const gb_bert *bert, const gb_pair_head *head,
                         const gb_batch_inputs *in, bool biased)
{
    gb_tape *tape = builder->tape;
    gb_tensor cls = gb_bert_encode_rows(builder, bert, in);
    gb_tensor pooled = gb_linear(tape, cls, gb_tape_param(tape, head->pooler_weight),
                                 gb_tape_param(tape, head->pooler_bias), false, GB_NO_TENSOR);
    pooled = gb_dropout(tape, gb_tanh(tape, pooled), builder->dropout, ++builder->dropouts,
                        in->read_sequences, true);
    return gb_linear(tape, pooled, gb_tape_param(tape, head->weight),
                     biased ? gb_tape_param(tape, head->bias) : GB_NO_TENSOR, false, GB_NO_TENSOR);
}
