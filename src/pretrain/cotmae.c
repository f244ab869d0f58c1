/* CoT-MAE (Wu et al., 2023): the encoder's masked LM of a passage, and the decoding of its context
 * from the passage's [CLS] vector and the context's own embeddings.
 * Two decoders: causal (released code: GPT-2 blocks, window 3, every next token is a target), and
 * masked (the paper's text: BERT layers, masked tokens are the targets). */
#include "decoding.h"

/* Causal is the default: the published models come from the released code, which decodes causally;
 * the paper's text says masked (deviation 5). */
enum { CAUSAL, MASKED };
static const char *const decoders[] = {[CAUSAL] = "causal", [MASKED] = "masked", NULL};

/* Its settings. The window is that of the released code. */
typedef struct cotmae_settings {
    decoding_settings decoding; /* of the family */
    uint32_t decoder;           /* CAUSAL or MASKED */
} cotmae_settings;

static const cotmae_settings defaults = {
    {.mask_ratio = .15, .decoder_mask_ratio = .45, .window = 3}, CAUSAL};
static const gb_option options[] = {
    OPTION_MASK_RATIO(decoding_settings, mask_ratio),
    {"decoder", GB_OPTION_CHOICE, GB_FIELD(cotmae_settings, decoder), 0, NULL,
     "decoder of the context, causal as in the released code", decoders},
    OPTION_DECODER_MASK_RATIO,
    {"decoder-layers", GB_OPTION_U32, GB_FIELD(decoding_settings, layers), 0, NULL,
     "layers of the decoder; 0: 1 if it is causal, 2 if it is masked"},
    OPTION_WINDOW,
    {0}};

static void *create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status)
{
    const cotmae_settings *own = params->own;
    const decoding_settings *given = &own->decoding, *plain = &defaults.decoding;
    if (own->decoder == CAUSAL && given->decoder_mask_ratio != plain->decoder_mask_ratio) {
        gb_fail(status, GB_USAGE, "--decoder-mask-ratio", "give --decoder masked, too",
                "a causal decoder masks no tokens");
        return NULL;
    }
    if (own->decoder == MASKED && given->window != plain->window) {
        gb_fail(status, GB_USAGE, "--window", "leave it out, or --decoder masked",
                "a masked decoder sees all tokens");
        return NULL;
    }
    return pretrain_decoding_create(params, data, bert, model,
                                    own->decoder == CAUSAL ? &decoder_causal : &decoder_masked,
                                    task, status);
}

const gb_objective objective_cotmae = {.name = "cotmae",
                                       .help = "masked LM, and the context decoded from [CLS]",
                                       .needs = GB_NEEDS_CONTEXT,
                                       .options = options,
                                       .defaults = &defaults,
                                       .own_bytes = sizeof defaults,
                                       .create = create,
                                       .destroy = pretrain_decoding_destroy};
