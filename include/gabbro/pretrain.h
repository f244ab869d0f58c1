/* Pre-training module: the objectives, one per file. Each is a gb_task over a collection's tokens.
 */
#ifndef GABBRO_PRETRAIN_H
#define GABBRO_PRETRAIN_H

#include <gabbro/data.h>
#include <gabbro/nn.h>

/* What a passage is paired with. */
typedef enum gb_context {
    GB_CONTEXT_NONE,
    GB_CONTEXT_SPAN,          /* another span of its document */
    GB_CONTEXT_QUERY,         /* one of its generated queries */
    GB_CONTEXT_SELF,          /* the passage itself */
    GB_CONTEXT_MIXED_STEP,    /* spans or queries, drawn anew for every step with p = .5 */
    GB_CONTEXT_MIXED_EXAMPLE, /* for every pair. The paper's text says every step, the released code
                                 draws for every example: both are named, neither is a default */
} gb_context;

/* Contrastive loss between texts and contexts. */
typedef enum gb_contrast {
    GB_CONTRAST_SYMMETRIC, /* both sides are anchors, all other texts and contexts negatives */
    GB_CONTRAST_ONE_SIDED, /* texts are anchors, contexts of other texts negatives */
} gb_contrast;

typedef enum gb_decoder { GB_DECODER_CAUSAL, GB_DECODER_MASKED } gb_decoder;

/* SimLM's two masks of a passage. Nested is the default, as released: what the encoder does not
 * see, the decoder does not see either. By the paper's text they are drawn independently. */
typedef enum gb_masks { GB_MASKS_NESTED, GB_MASKS_INDEPENDENT } gb_masks;

/* How Bag-of-Word prediction makes logits of the [CLS] vector. */
typedef enum gb_bow_head { GB_BOW_FULL, GB_BOW_PROJECTION } gb_bow_head;

/* Kinds of spans of COSTA, as bits. */
typedef enum gb_granularity {
    GB_SPAN_WORD = 1,      /* a single word that is no stop word */
    GB_SPAN_PHRASE = 2,    /* 4 to 16 words */
    GB_SPAN_SENTENCE = 4,  /* 16 to 64 words */
    GB_SPAN_PARAGRAPH = 8, /* 64 to 128 words */
    GB_SPAN_ALL = 15
} gb_granularity;

/* Settings of a pre-training; what an objective does not use stays at its default. */
typedef struct gb_pretrain_params {
    gb_context context;        /* of contextual objectives */
    uint32_t batch;            /* passages, or pairs, of a step */
    uint32_t longest;          /* tokens of a sequence, specials included */
    uint32_t queries;          /* generated queries used of each passage (C); 5 */
    uint32_t passages;         /* passages used, of those with generated queries; 0: all passages */
    double mask_ratio;         /* of the encoder's input; .15, simlm .3 */
    double decoder_mask_ratio; /* of a decoder's. CoT-MAE, masked: .45. autoencoding: .45, as its
                                  paper wants more than the encoder's without saying how much.
                                  enhanced: .5 of every row, as released. simlm: .5 */
    gb_masks decoder_masks;    /* SimLM */
    uint32_t head_layers;      /* Condenser head; 2 */
    uint32_t skip_from;        /* layer whose states the Condenser head takes; half of the layers */
    gb_contrast contrast;      /* coCondenser. Symmetric is the default: equation 8 of the LLM paper
                                  is one-sided, but by its text coCondenser's code was run, and that
                                  is symmetric */
    double lm_weight;          /* coCondenser: of the masked LMs beside the contrastive loss. 0: 1,
                                  as in the paper. The released trainer's factors add up to 2 when
                                  it caches gradients, which its published commands do */
    gb_decoder decoder;        /* CoT-MAE. Causal is the default: the published models come from the
                                  released code, which decodes causally; the paper's text says
                                  masked (deviation 5) */
    uint32_t decoder_layers;   /* 0: CoT-MAE 1 causal, 2 masked; simlm 2; seed 3; others 1 */
    uint32_t window;           /* causal decoders: tokens seen back, itself included; 0: all.
                                  CoT-MAE: 3, as released. autoregression: all, as released (SEED is
                                  cited, its window not used). bottleneck: all, as the paper gives
                                  none. seed: 2, released with three layers */
    uint64_t seed;             /* of order, masks, contexts and dropout */
    uint32_t steps;            /* of the whole training, for weights that change with it */
    gb_bow_head bow_head;    /* BoW. Full, the MLM head at [CLS], is the default: the released code
                                trains it; the paper's equations 11 and 12 multiply [CLS] with the
                                embeddings (projection) */
    double bow_weight;       /* BoW: weight of the loss at step 0; 1 */
    double bow_weight_final; /* BoW: at the end of a cosine; .1, as released; the paper's text has
                                no decay (1). The released code counts micro-steps and so decays
                                sooner when it accumulates gradients; here steps count */
    uint32_t granularities;  /* COSTA: bits of gb_granularity; all */
    uint32_t spans;     /* COSTA: of each granularity and text; 5 (paper; 3 in its ablations) */
    double temperature; /* of contrastive losses; 0: the objective's own: costa .1, simcse and
                           contriever .05, ict 1, prop and bprop the square root of the
 width. The COSTA
                           ablations say 1, but their table 7 has the base's value at .1 */
    gb_projector_kind projector; /* COSTA: on the text's [CLS] only, not on spans; nonlinear */
    double contrast_weight;      /* COSTA: of the contrastive loss beside the masked LM; .1 */
    uint32_t queue;              /* Contriever: negatives kept; 131072 in the paper */
    double momentum;             /* Contriever: of the encoder of keys; .9995 */
    bool mean_pooling;           /* Contriever: texts stand for the mean of their states, as in the
                                    paper, instead of [CLS]; off, because all encoders here are used
                                    by [CLS] */
} gb_pretrain_params;

/* For `window`, the mask ratios and the weights and ratios below them until
 * gb_pretrain_settle; `spans`, `temperature` and `queue` are open at 0. */
#define GB_OPEN       UINT32_MAX
#define GB_OPEN_RATIO (-1.0)
/* Give what was left open the objective's default. */
void gb_pretrain_settle(const char *objective, gb_pretrain_params *params);

/* What is trained on. Borrowed. */
typedef struct gb_pretrain_data {
    const gb_collection *collection; /* documents of the passages */
    const gb_tokens *tokens;         /* passages and generated queries as ids */
    const gb_vocab *vocab;           /* for whole words */
    const gb_folder *generator; /* SimLM: the masked LM that fills masks, stays frozen; or NULL */
} gb_pretrain_data;

/* A range of a text's ids. */
typedef struct gb_id_range {
    uint32_t start, end; /* [start, end) */
} gb_id_range;

/* First ids of the words of a text (a continuation belongs to the word before it) and behind them
 * its length: starts [length + 1]. Returns the number of words. */
uint32_t gb_word_starts(const gb_vocab *vocab, const uint32_t *ids, uint32_t length,
                        uint32_t *starts);
/* Whether the word of ids [start, end) says something: no stop word (Lucene's list), punctuation or
 * special. */
bool gb_is_content_word(const gb_vocab *vocab, const uint32_t *ids, uint32_t start, uint32_t end);
/* COSTA, section 3.1: `count` spans of a text of `words` words, of one granularity. Lengths are
 * lmin + p (lmax - lmin) words, rounded, p ~ Beta(4, 2), and no longer than the text: a short text
 * is itself its longer spans. Starts are uniform. Words are drawn from those of content (the
 * paper does not give its list of stop words); a text without any has none. Returns how many were
 * drawn: count or 0. */
uint32_t gb_sample_spans(const gb_vocab *vocab, gb_granularity granularity, const uint32_t *ids,
                         const uint32_t *starts, uint32_t words, uint32_t count, gb_rng *rng,
                         gb_id_range *spans);
/* Ranges of the sentences of a text: a sentence ends behind ".", "!" or "?" and marks of closing
 * right behind it. sentences [length]. Returns their number, 0 for no text. */
uint32_t gb_id_sentences(const gb_vocab *vocab, const uint32_t *ids, uint32_t length,
                         gb_id_range *sentences);

/* An objective: what it adds to the encoder, and its task. */
typedef struct gb_objective {
    const char *name; /* as on the command line */
    bool contextual;  /* pairs passages with contexts */
    /* Declare the parameters beyond the encoder with head; task's self is made here. */
    void *(*create)(const gb_pretrain_params *params, const gb_pretrain_data *data,
                    const gb_bert *bert, gb_params *model, gb_task *task, gb_status *status);
    void (*destroy)(void *self);
    const char *shader_set; /* shaders it uses beyond the first set, or NULL */
    /* Before the first step of a process, or NULL: what it must know of the encoder that training
     * started from, or must have on the device, which is closed after destroy. values
     * [gb_params_floats] are those before any training, also when resuming. */
    bool (*prepare)(void *self, gb_device *device, const gb_params *params, const float *values,
                    gb_status *status);
    /* Before any training, or NULL: values of its parameters that start from those of the encoder.
     * init: the model that training starts from, already in values, or NULL. */
    void (*start)(void *self, const gb_folder *init, const gb_params *params, float *values);
} gb_objective;

/* By name, or NULL. */
const gb_objective *gb_objective_find(const char *name);
/* The table of all objectives, ended by NULL. */
extern const gb_objective *const gb_objectives[];

#endif
