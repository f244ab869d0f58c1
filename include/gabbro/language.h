/* Language models of the models room: T5 (v1.0, v1.1) and LLaMA on a tape, and text made with them.
 * Both are one model here: pre-norm layers without biases that differ in how they know places
 * (a bias by distance, or rotary positions) and in whether there is an encoder. */
#ifndef GABBRO_LANGUAGE_H
#define GABBRO_LANGUAGE_H

#include <gabbro/nn.h>
#include <gabbro/ops.h>

/* ---- the model
 * ----------------------------------------------------------------------------------- */

/* Parameters of one layer; key and value, and gate and up, lie together. D = heads * head_dim, K =
 * kv_heads * head_dim. */
typedef struct gb_language_layer {
    uint32_t norm1, q, kv, o;                        /* self-attention: [1,H] [D,H] [2K,H] [H,D] */
    uint32_t cross_norm, cross_q, cross_kv, cross_o; /* over the encoder's rows, the same sizes */
    uint32_t norm2, up, down;                        /* feed-forward: [1,H] [F or 2F,H] [H,F] */
} gb_language_layer;

typedef struct gb_language {
    gb_language_config config;           /* sizes */
    gb_language_layer *encoder;          /* [layers] */
    gb_language_layer *decoder;          /* [decoder_layers] */
    uint32_t word, output;               /* [V,H]; the same parameter when tied */
    uint32_t encoder_bias, decoder_bias; /* T5: [buckets, heads] */
    uint32_t encoder_norm, decoder_norm; /* [1,H] */
    uint32_t slots;                      /* texts in the cache; 0: no cache */
    uint32_t encoded;                    /* texts of the encoder in it */
    uint32_t cached, cached_encoded;     /* most rows of a text in it, and of its encoder's */
    uint32_t *self_cache, *cross_cache;  /* [decoder_layers] parameters [texts * rows, 2K] */
    gb_packing packing;                  /* of its matrices, but for norms and biases */
} gb_language;

/* What a model with a cache of keys and values is declared with; all 0: none. */
typedef struct gb_language_cache {
    uint32_t slots;         /* texts at a time */
    uint32_t longest;       /* rows of the decoder for each */
    uint32_t encoded;       /* rows of the encoder for each (T5) */
    uint32_t encoded_texts; /* texts of the encoder, which may wait for a slot or serve several;
                               0: slots */
    gb_packing packing;     /* how matrices are kept; without gradients unless GB_PACKED_NOT */
} gb_language_cache;

/* Declare the parameters; the caller freezes. gb_language_free after use. */
bool gb_language_declare(gb_params *params, const gb_language_config *config,
                         const gb_language_cache *cache, gb_language *lm, gb_status *status);
void gb_language_free(gb_language *lm);
/* Read the folder's tensors (safetensors, one file or shards; float32, float16, bfloat16) into
 * values[gb_params_floats]; the cache becomes zero. GB_DATA naming a tensor that is missing or has
 * another shape. */
bool gb_language_load(const char *folder, const gb_params *params, float *values,
                      gb_status *status);
/* The same into a state, packed as declared, one tensor after the other: the host holds one at a
 * time. The cache stays as it is. GB_DATA too when a weight is beyond the type it is kept in. */
bool gb_language_upload(const char *folder, const gb_language *lm, const gb_params *params,
                        gb_state *state, gb_status *status);
/* Bytes of all parameters, caches among them. */
bool gb_language_bytes(const gb_language_config *config, const gb_language_cache *cache,
                       uint64_t *bytes, gb_status *status);
/* GB_MEMORY with the numbers, and what packing would fit, when they exceed `budget` bytes. */
bool gb_language_fits(const char *folder, const gb_language_config *config,
                      const gb_language_cache *cache, uint64_t budget, gb_status *status);
/* Write a folder of T5 that gb_language_load and transformers read, with a WordPiece tokenizer (see
 * gb_language_folder_write). */
bool gb_language_save(const char *folder, const gb_language_config *config, const gb_params *params,
                      const float *values, const gb_vocab *vocab, uint32_t max_length,
                      gb_status *status);

/* ---- programs
 * ------------------------------------------------------------------------------------ */

/* The inputs of one list of rows, the encoder's or the decoder's. */
typedef struct gb_language_rows {
    gb_tensor ids;      /* u32 [1, rows] */
    gb_order by_id;     /* rows of each token, when gradients are wanted */
    gb_tensor spans;    /* u32 [sequences, 4], of the self-attention (gb_attend) */
    gb_tensor turns;    /* LLaMA: f32 [rows, head_dim] */
    gb_tensor buckets;  /* T5: u32 [1, 2 longest - 1], bucket of each distance */
    gb_order by_bucket; /* distances of each bucket, when gradients are wanted */
    gb_tensor kept_at;  /* with a cache: u32 [1, rows], where each row goes there, or GB_NO_ROW */
    uint32_t rows;      /* of the program */
    uint32_t sequences; /* of the program */
    uint32_t longest;   /* most keys of a sequence */
    bool encoder;       /* distances to both sides */
} gb_language_rows;

gb_language_rows gb_language_rows_declare(gb_tape *tape, const gb_language *lm, bool encoder,
                                          uint32_t rows, uint32_t sequences, uint32_t longest,
                                          bool gradients);
/* Rows for the next run: ids[rows], positions[rows] (LLaMA; else NULL), spans[sequences][4],
 * kept_at[rows] (with a cache; else NULL). */
bool gb_language_rows_fill(gb_exec *exec, const gb_language_rows *in, const gb_language *lm,
                           const uint32_t *ids, const uint32_t *positions, const uint32_t *spans,
                           const uint32_t *kept_at, gb_status *status);
/* States of the encoder [rows, H], after its last norm. */
gb_tensor gb_language_encode(gb_tape *tape, const gb_language *lm, const gb_language_rows *in);
/* Keys and values of the encoder's rows for every layer of the decoder, into the cache: kept_at
 * u32 [1, rows], or GB_NO_ROW. */
void gb_language_keep(gb_tape *tape, const gb_language *lm, gb_tensor encoded, gb_tensor kept_at);
/* States of the decoder [rows, H], after its last norm. T5: cross_spans u32 [sequences, 4] over
 * rows of `encoded`, or of the cache when that is GB_NO_TENSOR, at most longest_encoded keys each.
 * With a cache in the model, in->spans count its rows. */
gb_tensor gb_language_decode(gb_tape *tape, const gb_language *lm, const gb_language_rows *in,
                             gb_tensor encoded, gb_tensor cross_spans, uint32_t longest_encoded);
/* Logits [rows, V] of decoder states. */
gb_tensor gb_language_logits(gb_tape *tape, const gb_language *lm, gb_tensor states);

/* ---- teaching
 * ------------------------------------------------------------------------------------ */

/* Texts given, and what is to be written for them, one behind the other. Zero-initialise. */
typedef struct gb_language_pairs {
    gb_packed given;   /* T5: rows of the encoder; LLaMA: nothing */
    gb_packed written; /* rows of the decoder; labels: the token that comes next, or GB_IGNORE */
} gb_language_pairs;
void gb_language_pairs_reset(gb_language_pairs *pairs);
void gb_language_pairs_free(gb_language_pairs *pairs);
/* Append a pair: the prompt as for gb_prompts, at least one token, and the text without specials;
 * it begins with the start token (T5) or behind the prompt (LLaMA), and ends with the end token.
 * Labels are all of its tokens and the end token. */
bool gb_language_pairs_add(gb_language_pairs *pairs, const gb_language_config *config,
                           const uint32_t *prompt, size_t prompt_length, const uint32_t *text,
                           size_t length, gb_status *status);

/* The inputs of such a batch. The rows that fill it up belong to texts of their own, which have no
 * labels and take no gradient. */
typedef struct gb_language_teaching {
    gb_language_rows given, written; /* rows; given: of T5 */
    gb_tensor cross_spans;           /* T5: u32 [sequences, 4] */
    gb_tensor labels, weights;       /* of the written rows [rows, 1] */
    uint32_t texts;                  /* without those that fill up */
} gb_language_teaching;
/* Most of a batch. */
typedef struct gb_language_sizes {
    uint32_t texts;                          /* pairs */
    uint32_t given_rows, written_rows;       /* rows; given: of T5 */
    uint32_t longest_given, longest_written; /* tokens of one text */
} gb_language_sizes;
gb_language_teaching gb_language_teaching_declare(gb_tape *tape, const gb_language *lm,
                                                  const gb_language_sizes *sizes, bool gradients);
/* Every label weighs `weight`. */
bool gb_language_teaching_fill(gb_exec *exec, const gb_language_teaching *in, const gb_language *lm,
                               const gb_language_pairs *pairs, float weight, gb_status *status);
/* Weighted sum of the cross entropies of all labels [1,1], each token given the true ones before
 * it. */
gb_tensor gb_language_loss(gb_tape *tape, const gb_language *lm, const gb_language_teaching *in);

/* ---- making text
 * --------------------------------------------------------------------------------- */

/* How the next token is chosen. */
typedef struct gb_pick_params {
    bool sample;       /* draw it; otherwise the most probable */
    float temperature; /* logits are divided by it first; above 0 */
    uint32_t top_k;    /* then only the k largest stay, with all that equal the last; 0: all */
    float top_p;       /* then the fewest whose probabilities reach p; 0 or 1: all */
    uint64_t seed;     /* of the draws */
} gb_pick_params;
/* The largest of logits[count], the first of equals. */
uint32_t gb_pick_greedy(const float *logits, uint32_t count);
/* A draw; takes one number of rng. */
bool gb_pick_token(const float *logits, uint32_t count, const gb_pick_params *params, gb_rng *rng,
                   uint32_t *token, gb_status *status);

/* A model folder on a device, with room for `slots` texts at a time of `longest` tokens of prompt
 * and most_new new ones each. */
typedef struct gb_generator gb_generator;
gb_generator *gb_generator_create(gb_device *device, const char *folder, uint32_t slots,
                                  uint32_t longest, uint32_t most_new, gb_status *status);
/* The same with its matrices kept in fewer bits. GB_MEMORY before anything is read if the weights
 * exceed the device's memory. */
gb_generator *gb_generator_create_packed(gb_device *device, const char *folder, uint32_t slots,
                                         uint32_t longest, uint32_t most_new, gb_packing packing,
                                         gb_status *status);
/* The same with random weights, to see how fast it is. */
gb_generator *gb_generator_create_random(gb_device *device, const gb_language_config *config,
                                         uint32_t slots, uint32_t longest, uint32_t most_new,
                                         gb_status *status);
void gb_generator_destroy(gb_generator *generator);
const gb_language_config *gb_generator_config(const gb_generator *generator);

/* The cache that it declares. */
gb_language_cache gb_generator_cache(const gb_language_config *config, uint32_t slots,
                                     uint32_t longest, uint32_t most_new);

/* What a generator has run since it was created. */
typedef struct gb_generator_counts {
    uint64_t steps;         /* of the decoder, one token of every text in a slot */
    uint64_t tokens;        /* made */
    uint64_t prompt_runs;   /* of the encoder, or of a prompt in the decoder */
    uint64_t prompt_tokens; /* in them */
} gb_generator_counts;
gb_generator_counts gb_generator_done(const gb_generator *generator);

/* A prompt, and the texts wanted for it. */
typedef struct gb_prompt {
    const uint32_t *ids; /* tokens; T5: with the end token, LLaMA: with the first one */
    uint32_t count;      /* of tokens, at most the generator's longest; 0: there is no prompt */
    uint32_t passage;    /* number of the passage, for the draws */
    uint32_t query;      /* number of its first query, for the draws */
    uint32_t times;      /* texts: queries query, query + 1 ...; T5 encodes the prompt once */
} gb_prompt;
/* Where prompts come from and texts go to. Both functions return false to stop, with a status. */
typedef struct gb_generation {
    void *self; /* given to both */
    /* The next prompt, count 0 behind the last; its ids are valid until the next call. */
    bool (*next)(void *self, gb_prompt *prompt, gb_status *status);
    /* A text at its end, with the end token where there is one; in the order in which they end. */
    bool (*made)(void *self, uint32_t passage, uint32_t query, const uint32_t *ids, uint32_t count,
                 gb_status *status);
    bool in_batches; /* slots wait until all are free, to see what refilling them at once saves */
} gb_generation;
/* Make the tokens of all prompts; a slot whose text ends takes the next one. The draws of a text
 * depend on seed, passage and query number alone: not on the slot, nor on what runs beside it.
 * GB_INTERRUPTED when a signal asks to stop. */
bool gb_generate_all(gb_generator *generator, const gb_generation *generation,
                     const gb_pick_params *params, gb_status *status);

/* Arithmetic of a prompt and a text of so many tokens. */
double gb_generate_flops(const gb_language_config *config, double prompt, double made);

/* Prompts in memory, one behind the other, one text each. */
typedef struct gb_prompts {
    const uint32_t *ids;     /* tokens, as in gb_prompt */
    const uint32_t *starts;  /* [count + 1] first token of each */
    const uint32_t *passage; /* [count] number of the passage, for the draws */
    const uint32_t *query;   /* [count] number of its query, for the draws */
    uint32_t count;          /* any number */
} gb_prompts;
/* Make the tokens of every prompt: made [count][most_new], counts [count]. */
bool gb_generate(gb_generator *generator, const gb_prompts *prompts, const gb_pick_params *params,
                 uint32_t *made, uint32_t *counts, gb_status *status);

#endif
