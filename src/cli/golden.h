/* Numbers that another program computed with a model, and the texts they are of. */
#ifndef CLI_GOLDEN_H
#define CLI_GOLDEN_H

#include "forward.h"

/* Where measured differences go. */
typedef struct verify_report {
    bool trust; /* as lines to be collected */
} verify_report;
/* Print one; whether it is within its bound. */
bool verify_measured(const verify_report *r, const char *what, const char *against, double worst,
                     double bound);

/* The tokenizer of a folder. */
typedef struct tokenizing {
    gb_vocab *vocab;            /* vocab.txt */
    gb_tokenizer_params params; /* tokenizer_config.json */
    gb_tokenizer *tokenizer;    /* of both */
} tokenizing;
bool tokenizing_open(tokenizing *t, const gb_folder *folder, gb_status *status);
void tokenizing_close(tokenizing *t);
/* Append a text to a batch, cut at `longest` tokens with [CLS] and [SEP]. */
bool tokenizing_add(const tokenizing *t, gb_packed *packed, const char *text, size_t length,
                    uint32_t longest, gb_status *status);

/* Compare what the model computes with the numbers of a file:
 *   text            u8 [bytes]             the texts, each ended by a newline
 *   ids             i32 [texts, longest]   tokens of every text with [CLS] and [SEP], -1 behind
 * them hidden.0 ...    [tokens, H]            states of every layer, texts one behind the other
 *   cls, mean       [texts, H]             pooled states of the last layer
 *   sentence        [texts, H]             vectors as the folder pools them
 *   logits          [tokens, V]            of the masked-LM head
 * Text or ids must be there; all else may be absent; other tensors are left aside. Where both are,
 * our tokens of the text must be these. *held becomes false where a difference is above `bound`,
 * relative to the largest of the numbers. GB_DATA where the file is not of this form and model. */
bool golden_compare(const char *path, const verify_report *r, const forward_model *model,
                    const tokenizing *t, gb_state *state, double bound, bool *held,
                    gb_status *status);

#endif
