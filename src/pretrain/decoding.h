/* What objectives share that train an encoder by decoding a second text from its [CLS] vector:
 *   L = L_mlm of the encoder's text + L_dec of the second text, both by the tied masked-LM head.
 * An objective chooses the pairs of texts (params->context) and a decoder. */
#ifndef PRETRAIN_DECODING_H
#define PRETRAIN_DECODING_H

#include "common.h"

/* Settings of the family, and their options where `own` has them first. An objective whose decoder
 * has no masks or no window gives those no option. */
typedef struct decoding_settings {
    double mask_ratio;         /* of the encoder's tokens */
    double decoder_mask_ratio; /* of the decoder's */
    uint32_t layers;           /* of the decoder; 0: as many as its kind has */
    uint32_t window;           /* tokens that a causal decoder sees back, itself included; 0: all */
} decoding_settings;
#define OPTION_DECODER_MASK_RATIO                                                                  \
    {                                                                                              \
        "decoder-mask-ratio", GB_OPTION_RATIO, GB_FIELD(decoding_settings, decoder_mask_ratio), 0, \
            NULL, "share of the decoder's tokens that are masked"                                  \
    }
#define OPTION_DECODER_LAYERS                                                                      \
    {                                                                                              \
        "decoder-layers", GB_OPTION_U32, GB_FIELD(decoding_settings, layers), 0, NULL,             \
            "layers of the decoder", .min = 1                                                      \
    }
#define OPTION_WINDOW                                                                              \
    {                                                                                              \
        "window", GB_OPTION_U32, GB_FIELD(decoding_settings, window), 0, NULL,                     \
            "tokens that the decoder sees back; 0: all"                                            \
    }

typedef struct decoding decoding;

/* The second texts as a decoder meets them. */
typedef struct decoder_net {
    gb_builder *builder;   /* program being built */
    gb_batch_inputs texts; /* the second texts */
    gb_selection slot;     /* their first rows */
} decoder_net;

/* A decoder. */
typedef struct decoder_kind {
    uint32_t layers; /* unless params say otherwise */
    /* Declare the parameters; what is returned is its `own`. */
    void *(*create)(const decoding *d, gb_params *model, gb_status *status);
    void (*destroy)(void *own);
    /* Append the second text of pair i to d->contexts.all. */
    bool (*add_text)(decoding *d, text_ids text, uint32_t step, uint32_t i, gb_status *status);
    /* Which rows have a loss, with what label: into d->contexts.labelled. */
    bool (*find_targets)(decoding *d, gb_status *status);
    /* States of the decoder's rows from the [CLS] vectors [batch, H]. */
    gb_tensor (*apply)(const decoding *d, const decoder_net *dn, gb_tensor cls);
} decoder_kind;
/* Post-norm layers over [CLS vector, embeddings of the masked text]; masked tokens are targets. */
extern const decoder_kind decoder_masked;
/* Pre-norm layers, causal, over [CLS vector, embeddings of the text]; every next token is a target.
 */
extern const decoder_kind decoder_causal;

struct decoding {
    gb_pretrain_params params;   /* settings */
    decoding_settings how;       /* and those of the family, which begin the own ones */
    gb_pretrain_data data;       /* texts */
    const gb_bert *bert;         /* encoder */
    const decoder_kind *decoder; /* how the second text is decoded */
    void *own;                   /* the decoder's own */
    pair_source source;          /* pairs of texts */
    masker masker;               /* scratch */
    batch_texts passages;        /* the encoder's texts; labelled: masked rows */
    batch_texts contexts;        /* the decoder's; labelled: its targets */
};
/* Create and destroy of an objective (see gb_objective). */
void *pretrain_decoding_create(const gb_pretrain_params *params, const gb_pretrain_data *data,
                               const gb_bert *bert, gb_params *model, const decoder_kind *kind,
                               gb_task *task, gb_status *status);
void pretrain_decoding_destroy(void *self);
/* At the end of sample: the whole batch runs, as long as no part is taken. */
bool pretrain_decoding_take_all(decoding *d, gb_bucket *bucket, gb_status *status);

/* ---- for decoders ---- */

/* "decoder.layer.<l>" */
#define DECODER_PREFIX 64
void pretrain_decoder_prefix(uint32_t l, char prefix[DECODER_PREFIX]);
/* Layer `l` of the masked or the causal decoder. */
const gb_block *pretrain_decoder_block(const decoding *d, uint32_t l);
/* The second text as it is. */
bool pretrain_decoder_add_plain(decoding *d, text_ids text, uint32_t step, uint32_t i,
                                gb_status *status);
/* Every row but a sequence's last predicts the next token. */
bool pretrain_decoder_next_tokens(decoding *d, gb_status *status);
/* Embeddings of the second texts with the [CLS] vectors in slot 0. */
gb_tensor pretrain_decoder_inputs(const decoding *d, const decoder_net *dn, gb_tensor cls);

#endif
