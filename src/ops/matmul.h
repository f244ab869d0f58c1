/* Between the matmul operation and its kernels. */
#ifndef OPS_MATMUL_H
#define OPS_MATMUL_H

#include "ops.h"

enum { MATMUL_LINEAR, MATMUL_GELU, MATMUL_GELU_GRAD }; /* ACT in matmul_interface.glsl */

/* One product: C [m,n] (+)= act(op(A) op(B) + bias) + residual. */
typedef struct matmul_call {
    gb_matmul_form form;                              /* NN, NT, TN */
    uint32_t act;                                     /* MATMUL_... */
    uint32_t splits;                                  /* parts of k, added up in order */
    uint32_t m, n, k;                                 /* sizes */
    gb_tensor a, b, bias, residual, pre, c, partials; /* operands; partials [splits * m, n] */
    bool accumulate;                                  /* C += */
    gb_tensor sums, sum_partials;                     /* TN: column sums of a, or none */
    bool accumulate_sums;                             /* sums += */
} matmul_call;

/* Emit the kernels of a product for the emitter's target. */
bool ops_matmul_emit(gb_emitter *emitter, const gb_tape *tape, const matmul_call *call,
                     gb_status *status);
/* Parts of k: fixed by the shape alone, so that the same program gives the same bits. */
uint32_t ops_matmul_splits(uint32_t m, uint32_t n, uint32_t k);

double ops_gelu(double x);
double ops_gelu_grad(double x);
gb_tensor ops_gelu_backward(gb_tape *tape, gb_tensor pre, gb_tensor dy);

#endif
