/* CoT-MAE (Wu et al., 2023): the encoder's masked LM of a passage, and the decoding of its context
 * from the passage's [CLS] vector and the context's own embeddings.
 * Two decoders: causal (released code: GPT-2 blocks, window 3, every next token is a target), and
 * masked (the paper's text: BERT layers, masked tokens are the targets). */
#include "decoding.h"

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    return decoding_create(params, data, bert, model,
                           params->decoder == GB_DECODER_CAUSAL ? &decoder_causal : &decoder_masked,
                           task, status);
}

const gb_objective objective_cotmae = {"cotmae", true, create, decoding_destroy};
