/* What the parts of checking a model share: the model, and where differences go. */
#ifndef COMPARE_VERIFY_H
#define COMPARE_VERIFY_H

#include <gabbro/compare.h>

#include "forward.h"

/* The tokenizer of a folder. */
typedef struct tokenizing {
    gb_vocab *vocab;            /* vocab.txt */
    gb_tokenizer_params params; /* tokenizer_config.json */
    gb_tokenizer *tokenizer;    /* of both */
} tokenizing;
bool compare_tokenizing_open(tokenizing *t, const gb_folder *folder, gb_status *status);
void compare_tokenizing_close(tokenizing *t);
/* Append a text to a batch, cut at `longest` tokens with [CLS] and [SEP]. */
bool compare_tokenizing_add(const tokenizing *t, gb_batch *batch, const char *text, size_t length,
                            uint32_t max_length, gb_status *status);

/* A model being checked. */
typedef struct verification {
    const gb_verify_params *params; /* of the caller */
    forward_model model;            /* read */
    tokenizing tokens;              /* its tokenizer */
    gb_device *device;              /* open */
    gb_state *state;                /* the parameters there */
    bool held;                      /* all differences so far were within their bounds */
} verification;
/* Print a difference; one above its bound is remembered. */
void compare_verify_measured(verification *v, const char *what, const char *against, double worst,
                             double bound);

/* Compare what the model computes with the numbers of a file that another program wrote:
 *   text            u8 [bytes]             the texts, each ended by a newline
 *   ids             i32 [texts, longest]   tokens of every text with [CLS] and [SEP], then -1
 *   hidden.0 ...    [tokens, H]            states of every layer, texts one behind the other
 *   cls, mean       [texts, H]             pooled states of the last layer
 *   sentence        [texts, H]             vectors as the folder pools them
 *   logits          [tokens, V]            of the masked-LM head
 * Text or ids must be there; all else may be absent; other tensors are left aside. Where both are,
 * our tokens of the text must be these. GB_DATA where the file is not of this form and model. */
bool compare_golden_compare(verification *v, const char *path, gb_status *status);

#endif
