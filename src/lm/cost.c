/* What generation of text takes, from the sizes of a model alone: nothing runs. */
#include <gabbro/lm.h>

double gb_generate_flops(const gb_lm_config *c, double prompt, double made)
{
    double h = c->hidden_size, wide = (double)c->heads * c->head_dim;
    double keys = 2. * c->kv_heads * c->head_dim; /* and values */
    double row = 2 * h * (2 * wide + keys + (c->gated ? 3. : 2.) * c->intermediate_size);
    double word = 2 * h * c->vocab_size; /* logits */
    if (!c->layers)                      /* LLaMA: a token sees all before it */
        return c->decoder_layers *
                   ((prompt + made) * row + 2 * wide * (prompt + made) * (prompt + made)) +
               made * word;
    return c->layers * prompt * (row + 4 * wide * prompt) +
           c->decoder_layers * (prompt * 2 * h * keys +
                                made * (row + 4 * h * wide + 4 * wide * (prompt + made / 2))) +
           made * word;
}
