/* Batches as the device got them, and float64 losses over them. */
#ifndef TESTS_NN_SEEN_H
#define TESTS_NN_SEEN_H

#include "naive.h"

/* A batch as the device got it. */
typedef struct seen_batch {
    const uint32_t *ids;    /* of the rows */
    const uint32_t *starts; /* first row of each sequence */
    uint32_t count;         /* sequences without the padding */
} seen_batch;
/* The n-th batch of a pass. */
seen_batch batch_of(const pass *p, uint32_t n, uint32_t count);
const uint32_t *ids_of(const seen_batch *b, uint32_t s, uint32_t *length);

#define MOST 10 /* sequences of a batch */
/* States of every sequence; middle as in naive_encode, one a sequence. */
void encode_batch(const model *m, const seen_batch *b, naive *states, uint32_t middle_layer,
                  naive *middle);
void free_batch(naive *states, uint32_t count);
/* Mean loss of the rows selected by the n-th list of rows, whose states lie in `streams`, one a
 * sequence. */
double mean_token_loss(const model *m, const pass *p, const seen_batch *b, const naive *streams,
                       uint32_t n);
/* Of the device, within float32. */
void expect_loss(double got, double wanted, const char *name);

#endif
