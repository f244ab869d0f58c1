/* Packed weights of the operations room: matrices that stay in fewer bits on the device and are
 * widened in the kernels that use them; sums are float32. For programs without gradients. */
#ifndef GABBRO_PACKED_H
#define GABBRO_PACKED_H

#include <gabbro/tape.h>

typedef enum gb_packing {
    GB_PACKED_NOT,  /* float32 */
    GB_PACKED_F16,  /* two halves a word */
    GB_PACKED_BF16, /* two bfloat16 a word */
    GB_PACKED_Q8,   /* blocks of 32 columns: a word of float32 scale, then 32 signed bytes q; the
                       values are q * scale, scale the block's largest magnitude / 127 */
} gb_packing;
#define GB_PACKED_BLOCK 32 /* columns of a block of GB_PACKED_Q8 */

const char *gb_packing_name(gb_packing packing); /* "fp32", "fp16", "bf16", "q8" */
bool gb_packing_find(const char *name, gb_packing *packing, gb_status *status); /* GB_USAGE */
/* 32-bit words that a row of `cols` columns takes. */
uint32_t gb_packed_cols(gb_packing packing, uint32_t cols);
/* A row into words [gb_packed_cols], rounded to nearest; false when a value is beyond the type. */
bool gb_pack_row(gb_packing packing, const float *values, uint32_t cols, uint32_t *words);
/* What the kernels make of the words: values [cols]. */
void gb_unpack_row(gb_packing packing, const uint32_t *words, uint32_t cols, float *values);

/* y = x W^T (+ residual): x [N,K], K a multiple of 4; W a parameter [M, gb_packed_cols(K)] whose
 * floats are words, or u32 of that shape; residual [N,M] or GB_NO_TENSOR. Every y is summed in the
 * same order whatever N is. */
gb_tensor gb_packed_linear(gb_tape *tape, gb_tensor x, gb_tensor weight, gb_packing packing,
                           gb_tensor residual);
/* y[r] = table[index[r]], widened to [R, cols]; zero where index[r] is no row. index u32 [1,R]. */
gb_tensor gb_packed_look_up(gb_tape *tape, gb_tensor table, gb_packing packing, uint32_t cols,
                            gb_tensor index);

#endif
