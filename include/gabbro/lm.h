/* Lm module: language models, T5 (v1.0, v1.1) and LLaMA, on a tape, and generation of text by them.
 * It stands on nn and folder. Both are one model here: pre-norm layers without biases, which differ
 * in how they know positions (by a bias for each distance, or by rotary angles) and whether there
 * is an encoder. */
#ifndef GABBRO_LM_H
#define GABBRO_LM_H

#include <gabbro/nn.h>
#include <gabbro/ops.h>

/* ---- the model ---- */

/* Parameters of one layer. Those of key and value, and of gate and up, are stored as one. D = heads
 * * head_dim, K = kv_heads * head_dim. */
typedef struct gb_lm_layer {
    uint32_t norm1, q, kv, o;                        /* self-attention: [1,H] [D,H] [2K,H] [H,D] */
    uint32_t cross_norm, cross_q, cross_kv, cross_o; /* attention to the encoder, same sizes */
    uint32_t norm2, up, down;                        /* feed-forward: [1,H] [F or 2F,H] [H,F] */
} gb_lm_layer;

/* A model whose parameters are declared. Free with gb_lm_free. */
typedef struct gb_lm {
    gb_lm_config config;                 /* sizes */
    gb_lm_layer *encoder;                /* [layers] */
    gb_lm_layer *decoder;                /* [decoder_layers] */
    uint32_t word, output;               /* [V,H]; the same parameter if tied */
    uint32_t encoder_bias, decoder_bias; /* T5: [buckets, heads] */
    uint32_t encoder_norm, decoder_norm; /* [1,H] */
    uint32_t slots;                      /* texts in the cache; 0: no cache */
    uint32_t encoded;                    /* texts of the encoder in the cache */
    uint32_t cached, cached_encoded;     /* most rows of a text there, in decoder and encoder */
    uint32_t *self_cache, *cross_cache;  /* [decoder_layers] parameters [texts * rows, 2K] */
    gb_quant quant;                      /* bits of its matrices, not of norms and biases */
} gb_lm;

/* The cache of keys and values that a model is declared with; all 0: none. */
typedef struct gb_lm_cache {
    uint32_t slots;         /* texts at a time */
    uint32_t max_length;    /* most rows of the decoder for each text */
    uint32_t encoded;       /* most rows of the encoder for each text (T5) */
    uint32_t encoded_texts; /* texts of the encoder, which may wait for a slot or serve several;
                               0: slots */
    gb_quant quant;         /* bits of the matrices; gradients need GB_QUANT_NONE */
} gb_lm_cache;

/* Declares the parameters of a model; the caller freezes params. Free with gb_lm_free. */
bool gb_lm_declare(gb_params *params, const gb_lm_config *config, const gb_lm_cache *cache,
                   gb_lm *lm, gb_status *status);
void gb_lm_free(gb_lm *lm);
/* Reads the tensors of a folder (safetensors, one file or shards; float32, float16, bfloat16) into
 * values [gb_params_floats]; the cache becomes zero. GB_DATA, naming a tensor, if it is missing or
 * has another shape. */
bool gb_lm_load(const char *folder, const gb_params *params, float *values, gb_status *status);
/* Reads them into a state, with the bits that were declared. It goes tensor by tensor, so that the
 * host holds one at a time. The cache stays as it is. GB_DATA also for a weight that is too large
 * for the type it is kept in. */
bool gb_lm_upload(const char *folder, const gb_lm *lm, const gb_params *params, gb_state *state,
                  gb_status *status);
/* Computes the bytes of all parameters, including caches. */
bool gb_lm_bytes(const gb_lm_config *config, const gb_lm_cache *cache, uint64_t *bytes,
                 gb_status *status);
/* Checks that they fit. If they exceed `budget` bytes, fails with GB_MEMORY and says how much is
 * needed, and, where texts are made, with which packing the model would fit. */
bool gb_lm_fits(const char *folder, const gb_lm_config *config, const gb_lm_cache *cache,
                uint64_t budget, gb_status *status);
/* Writes a T5 folder that gb_lm_load and transformers can read, with a WordPiece tokenizer
 * (see gb_lm_folder_write). */
bool gb_lm_save(const char *folder, const gb_lm_config *config, const gb_params *params,
                const float *values, const gb_vocab *vocab, uint32_t max_length, gb_status *status);

/* ---- programs ---- */

/* The inputs of a list of rows, of the encoder or of the decoder. */
typedef struct gb_lm_rows {
    gb_tensor ids;          /* u32 [1, rows] */
    gb_row_index by_id;     /* rows of each token, if gradients are wanted */
    gb_tensor spans;        /* u32 [sequences, 4], spans of the self-attention (gb_attention_gqa) */
    gb_tensor rotary;       /* LLaMA: f32 [rows, head_dim], rotary angles */
    gb_tensor buckets;      /* T5: u32 [1, 2 longest - 1], bucket of each distance */
    gb_row_index by_bucket; /* distances of each bucket, if gradients are wanted */
    gb_tensor cache_row;    /* with a cache: u32 [1, rows], row of the cache, or GB_NO_ROW */
    uint32_t rows;          /* rows of the program */
    uint32_t sequences;     /* sequences of the program */
    uint32_t max_length;    /* most keys of a sequence */
    bool encoder;           /* distances go to both sides */
} gb_lm_rows;

/* Declares the inputs for `rows` rows of at most `sequences` sequences. */
gb_lm_rows gb_lm_rows_declare(gb_tape *tape, const gb_lm *lm, bool encoder, uint32_t rows,
                              uint32_t sequences, uint32_t max_length, bool gradients);
/* Fills them for the next execution: ids [rows], positions [rows] (LLaMA; otherwise NULL), spans
 * [sequences][4], cache_row [rows] (with a cache; otherwise NULL). */
bool gb_lm_rows_fill(gb_executable *exec, const gb_lm_rows *in, const gb_lm *lm,
                     const uint32_t *ids, const uint32_t *positions, const uint32_t *spans,
                     const uint32_t *cache_row, gb_status *status);
/* Adds the encoder to the tape. Returns its states [rows, H], after the last norm. */
gb_tensor gb_lm_encode(gb_tape *tape, const gb_lm *lm, const gb_lm_rows *in);
/* Adds the storing of the encoder's keys and values for every layer of the decoder in the cache.
 * cache_row u32 [1, rows] has the row of the cache for each, or GB_NO_ROW. */
void gb_lm_cache_write(gb_tape *tape, const gb_lm *lm, gb_tensor encoded, gb_tensor cache_row);
/* Adds the decoder to the tape. Returns its states [rows, H], after the last norm. For T5,
 * cross_spans u32 [sequences, 4] are spans over the rows of `encoded`, or of the cache if that is
 * GB_NO_TENSOR, with at most max_encoded_length keys each. If the model has a cache, in->spans
 * count rows of it. */
gb_tensor gb_lm_decode(gb_tape *tape, const gb_lm *lm, const gb_lm_rows *in, gb_tensor encoded,
                       gb_tensor cross_spans, uint32_t max_encoded_length);
/* Adds the output layer. Returns the logits [rows, V] of decoder states. */
gb_tensor gb_lm_logits(gb_tape *tape, const gb_lm *lm, gb_tensor states);

/* ---- training ---- */

/* A batch of prompts and of the texts to be written for them, back to back. Zero-initialise it. */
typedef struct gb_lm_pairs {
    gb_batch source; /* T5: rows of the encoder; LLaMA: empty */
    gb_batch target; /* rows of the decoder, with the next token as label, or GB_IGNORE */
} gb_lm_pairs;
void gb_lm_pairs_reset(gb_lm_pairs *pairs);
void gb_lm_pairs_free(gb_lm_pairs *pairs);
/* Appends a pair: a prompt as in gb_prompts, of at least one token, and a text without special
 * tokens. The rows of the text begin with the start token (T5) or behind the prompt (LLaMA). Labels
 * are the tokens of the text and the end token. */
bool gb_lm_pairs_add(gb_lm_pairs *pairs, const gb_lm_config *config, const uint32_t *prompt,
                     size_t prompt_length, const uint32_t *text, size_t length, gb_status *status);

/* The inputs of such a batch. The rows that fill the bucket up belong to texts of their own, which
 * have no labels and get no gradient. */
typedef struct gb_lm_pairs_inputs {
    gb_lm_rows source, target; /* rows of prompts (T5) and of texts */
    gb_tensor cross_spans;     /* T5: u32 [sequences, 4] */
    gb_tensor labels, weights; /* [rows, 1] of the written rows */
    uint32_t texts;            /* pairs, without those that fill up */
} gb_lm_pairs_inputs;
/* The largest batch that a program takes. */
typedef struct gb_lm_pairs_sizes {
    uint32_t texts;                                /* pairs */
    uint32_t source_rows, target_rows;             /* rows of prompts (T5) and of texts */
    uint32_t max_source_length, max_target_length; /* most tokens of one prompt and of one text */
} gb_lm_pairs_sizes;
/* Declares a batch that gb_executable_fill writes from `pairs`, which must stay at its address as
 * long as the program. With `mean` a label weighs one over the number of labels, else one. */
gb_lm_pairs_inputs gb_lm_pairs_declare(gb_tape *tape, const gb_lm *lm,
                                       const gb_lm_pairs_sizes *sizes, const gb_lm_pairs *pairs,
                                       bool gradients, bool mean);
/* Adds the loss: the weighted sum [1,1] of the cross entropies of all labels, each token given the
 * true ones before it. */
gb_tensor gb_lm_loss(gb_tape *tape, const gb_lm *lm, const gb_lm_pairs_inputs *in);

/* ---- vectors of texts ---- */

/* What makes vectors of texts by a LLaMA, whose last states become one (pooling). */
typedef struct gb_lm_encoder gb_lm_encoder;
typedef struct gb_lm_encoder_params {
    gb_device *device;          /* that computes; it must outlive the encoder */
    const char *folder;         /* of the model */
    const gb_lm_config *config; /* its config.json, without an encoder (LLaMA) */
    gb_sentence_settings
        sentence;            /* pooling, stated; length of vectors; tokens of a text at most */
    uint32_t before, behind; /* tokens put around every text, within these; GB_MAP_NONE: none */
    uint32_t dims;           /* numbers of a vector that are kept (gb_vector_cut); 0: all */
    bool one_size;           /* a program of one size for all texts, however few they are */
} gb_lm_encoder_params;
/* GB_MEMORY, before anything is read, if the weights exceed the device's memory. */
gb_lm_encoder *gb_lm_encoder_create(const gb_lm_encoder_params *params, gb_status *status);
void gb_lm_encoder_destroy(gb_lm_encoder *encoder); /* NULL ok */
/* Vectors of the texts, of at least one token each with those around it, into out [count, dims]:
 * the same bits whatever else is encoded in a program of the same size. */
bool gb_lm_encoder_run(gb_lm_encoder *encoder, const gb_encode_rows *texts, float *out,
                       gb_status *status);
gb_padding gb_lm_encoder_padding(const gb_lm_encoder *encoder); /* of all runs */

/* ---- generation ---- */

/* How the next token is chosen. */
typedef struct gb_sampling_params {
    bool sample;       /* draw it; otherwise take the most probable */
    float temperature; /* divisor of the logits, above 0 */
    uint32_t top_k;    /* then keep the k largest, with all that equal the last; 0: all */
    float top_p;       /* then keep the fewest whose probabilities reach p; 0 or 1: all */
    uint64_t seed;     /* seed of the draws */
} gb_sampling_params;
/* Returns the index of the largest of logits [count], the first one of equals. */
uint32_t gb_sample_greedy(const float *logits, uint32_t count);
/* Draws a token; takes one number of rng. */
bool gb_sample_token(const float *logits, uint32_t count, const gb_sampling_params *params,
                     gb_rng *rng, uint32_t *token, gb_status *status);

/* A model on a device that generates texts: `slots` at a time, with prompts of at most `longest`
 * tokens and at most max_new_tokens new tokens each. */
typedef struct gb_generator gb_generator;
/* Opens a model folder. NULL and status on failure. */
gb_generator *gb_generator_create(gb_device *device, const char *folder, uint32_t slots,
                                  uint32_t max_length, uint32_t max_new_tokens, gb_status *status);
/* Opens a model folder with its matrices in fewer bits. GB_MEMORY, before anything is read, if the
 * weights exceed the device's memory. */
gb_generator *gb_generator_create_quant(gb_device *device, const char *folder, uint32_t slots,
                                        uint32_t max_length, uint32_t max_new_tokens,
                                        gb_quant quant, gb_status *status);
/* Makes a model with random weights, to measure how fast it is. */
gb_generator *gb_generator_create_random(gb_device *device, const gb_lm_config *config,
                                         uint32_t slots, uint32_t max_length,
                                         uint32_t max_new_tokens, gb_status *status);
void gb_generator_destroy(gb_generator *generator);
const gb_lm_config *gb_generator_config(const gb_generator *generator);

/* The cache that such a generator declares. */
gb_lm_cache gb_generator_cache(const gb_lm_config *config, uint32_t slots, uint32_t max_length,
                               uint32_t max_new_tokens);

/* What a generator has computed since it was created. */
typedef struct gb_generator_counts {
    uint64_t steps;         /* executions of the decoder, each of one token of every slot */
    uint64_t tokens;        /* tokens generated */
    uint64_t prompt_runs;   /* executions of the encoder, or of the decoder over a prompt */
    uint64_t prompt_tokens; /* tokens of those prompts */
} gb_generator_counts;
gb_generator_counts gb_generator_done(const gb_generator *generator);

/* A prompt, and how many texts are wanted for it. */
typedef struct gb_prompt {
    const uint32_t *ids; /* tokens; T5: with the end token, LLaMA: with the first one */
    uint32_t count;      /* tokens, at most the generator's longest; 0: there is no prompt */
    uint32_t passage;    /* number of the passage, for the draws */
    uint32_t query;      /* number of its first query, for the draws */
    uint32_t times;      /* texts: queries query, query + 1 ...; T5 encodes the prompt once */
} gb_prompt;
/* Where prompts come from and texts go to. Both functions return false and status to stop. */
typedef struct gb_generation {
    void *self; /* first argument of both */
    /* Gives the next prompt, with count 0 behind the last; ids are valid until the next call. */
    bool (*next)(void *self, gb_prompt *prompt, gb_status *status);
    /* Takes a finished text, with the end token if there is one, in the order in which they end. */
    bool (*made)(void *self, uint32_t passage, uint32_t query, const uint32_t *ids, uint32_t count,
                 gb_status *status);
    bool in_batches; /* refill slots only when all are free, to measure what refilling each saves */
} gb_generation;
/* Generates the texts of all prompts; a slot whose text ends takes the next one. The draws of a
 * text depend only on seed, passage and query number, not on its slot or on the texts in the
 * others. GB_INTERRUPTED if a signal asks to stop. */
bool gb_generate_all(gb_generator *generator, const gb_generation *generation,
                     const gb_sampling_params *params, gb_status *status);

/* Arithmetic operations for a prompt and a text of so many tokens. */
double gb_generate_flops(const gb_lm_config *config, double prompt, double made);

#endif
