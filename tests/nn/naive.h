/* BERT and its relatives once more, in plain float64 C straight from the papers, one sequence at a
 * time and sharing no line with the tape: what wiring is checked against. */
#ifndef TESTS_NN_NAIVE_H
#define TESTS_NN_NAIVE_H

#include "tiny.h"

/* States of one sequence, [length][hidden]; free(x). */
typedef struct naive {
    double *x;       /* states */
    uint32_t length; /* tokens */
    uint32_t hidden; /* width */
} naive;

/* LN(word + position + type 0). */
naive naive_embed(const model *m, const uint32_t *ids, uint32_t length);
/* One more post-norm layer of BERT in place. */
void naive_layer(const model *m, const char *prefix, naive *n);
/* One more pre-norm layer of GPT-2 in place; a token sees itself, the window-1 before it, and
 * token 0; window 0: all before it. */
void naive_causal_layer(const model *m, const char *prefix, naive *n, uint32_t window);
/* The layer of enhanced decoding on queries n: bit j of row i of bits (rows of `words` words) lets
 * query i see state j. */
void naive_query_layer(const model *m, const char *prefix, naive *n, const naive *states,
                       const uint32_t *bits, uint32_t words);
/* One more layer of SEED's decoder in place, causal with a window as above. */
void naive_memory_layer(const model *m, const char *prefix, naive *n, const double *memory,
                        uint32_t window);
/* Layer norm of every token in place. */
void naive_norm(const model *m, const char *name, naive *n);
/* The encoder's last states; middle (may be NULL) gets those behind `middle_layer` layers. */
naive naive_encode(const model *m, const uint32_t *ids, uint32_t length, uint32_t middle_layer,
                   naive *middle);
/* Logits [vocabulary] of the masked-LM head at a state. */
void naive_head(const model *m, const double *state, double *logits);
/* Cross entropy of the masked-LM head at a state for the token `label`. */
double naive_token_loss(const model *m, const double *state, uint32_t label);

#endif
