/* Weights of the vocabulary's terms in the texts of a batch. */
#include "layers.h"
#include "fill_batch.h"

#include <string.h>

typedef struct texts_record {
    gb_tensor texts;       /* filled */
    const gb_batch *batch; /* from */
    uint32_t count;        /* texts */
} texts_record;

static bool fill_texts(const void *record_, gb_executable *exec, uint32_t step, gb_status *status)
{
    const texts_record *record = record_;
    const gb_batch *batch = record->batch;
    uint32_t *sequences = gb_executable_input(exec, record->texts, status);
    if (!sequences)
        return false;
    uint32_t texts = nn_packed_left(batch, 0, record->count);
    uint32_t *starts = sequences + GB_SEQUENCES_HEADER;
    memset(sequences, 0, GB_SEQUENCES_HEADER * sizeof *sequences);
    sequences[2] = step;
    memcpy(starts, batch->starts, sizeof *starts * texts);
    for (uint32_t t = texts; t <= record->count; t++)
        starts[t] = batch->starts[texts];
    return true;
}

gb_tensor gb_texts_declare(gb_builder *builder, uint32_t texts, const gb_batch *batch)
{
    const texts_record record = {gb_sequences_input(builder->tape, "texts", texts), batch, texts};
    gb_tape_fill_by(builder->tape, fill_texts, &record, sizeof record);
    return record.texts;
}

gb_tensor gb_bert_term_weights(gb_builder *builder, const gb_bert *bert, gb_tensor h,
                               gb_tensor texts)
{
    gb_tape *tape = builder->tape;
    return gb_term_weights(tape, gb_bert_head_states(builder, bert, h),
                           gb_tape_param(tape, bert->word), gb_tape_param(tape, bert->head_bias),
                           texts, gb_chunk_rows(bert->config.vocab_size));
}
