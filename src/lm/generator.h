/* A language model on a device with its programs: what making text (generate.c) runs. */
#ifndef LM_GENERATOR_H
#define LM_GENERATOR_H

#include <gabbro/lm.h>

/* A recorded program: the encoder, a prompt of the decoder, or one token of each text. */
typedef struct generator_program {
    gb_executable *exec; /* or NULL: not yet needed */
    gb_lm_rows in;       /* rows */
    gb_tensor cross;     /* decoder of T5: u32 [slots, 4] */
    gb_tensor keep;      /* encoder: u32 [1, rows of the cross cache] */
    gb_tensor last;      /* prompt of LLaMA: u32 [1, 1], its last row */
    gb_tensor logits;    /* decoder: [slots, V], prompt [1, V] */
} generator_program;

#define GENERATOR_BUCKETS 16 /* lengths that prompts of LLaMA have programs for */

struct gb_generator {
    gb_lm lm;                                     /* the model */
    gb_params *params;                            /* its parameters */
    gb_state *state;                              /* on the device */
    uint32_t max_length;                          /* tokens of a prompt */
    uint32_t max_new_tokens;                      /* tokens made */
    uint32_t at_once;                             /* T5: prompts of a run of the encoder */
    uint32_t rows;                                /* T5: their tokens together, at most */
    generator_program encoder;                    /* T5 */
    generator_program prompts[GENERATOR_BUCKETS]; /* LLaMA: one prompt, by length; made when met */
    generator_program step;                       /* one token of each text */
    uint32_t *ids;                                /* of a program's rows */
    uint32_t *places;                             /* likewise */
    uint32_t *spans;                              /* of its sequences */
    uint32_t *cache_row;                          /* likewise: places in a cache */
    gb_generator_counts counts;                   /* done so far */
};

/* ---- batches on a tape, pairs.c ---- */

/* Texts that may fill a batch of `rows` up. */
uint32_t lm_batch_fillers(uint32_t rows, uint32_t max_length);
/* Fills the rows of at most `texts` texts; behind them stands the start token at place 0. */
bool lm_batch_fill(gb_executable *exec, const gb_lm_rows *in, const gb_lm *lm,
                   const gb_batch *batch, uint32_t texts, gb_status *status);

/* ---- runs of a generator ---- */

/* A prompt in a run of the encoder. */
typedef struct generator_prompt {
    uint32_t start, length; /* rows of g->ids */
    uint32_t place;         /* where in the cross cache its rows go */
} generator_prompt;
/* Encode prompts whose tokens lie in g->ids, one behind the other. */
bool lm_generator_encode(gb_generator *g, const generator_prompt *prompts, uint32_t count,
                         gb_status *status);
/* A prompt of LLaMA into the cache of a slot; *logits [V] of the token behind it. */
bool lm_generator_prompt_run(gb_generator *g, const uint32_t *ids, uint32_t count, uint32_t slot,
                             const float **logits, gb_status *status);

/* What the next token of a slot depends on. */
typedef struct generator_slot {
    bool live;             /* has a text */
    uint32_t token;        /* last token */
    uint32_t at;           /* tokens in the decoder's cache */
    uint32_t place;        /* T5: of its prompt in the cross cache */
    uint32_t prompt_count; /* T5: rows there */
} generator_slot;
/* One token of every live slot: *logits [slots, V rounded up to 4]. */
bool lm_generator_step(gb_generator *g, const generator_slot *slots, const float **logits,
                       gb_status *status);

#endif
