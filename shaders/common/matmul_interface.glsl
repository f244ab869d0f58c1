// What every matrix-product shader shares: buffers, push constants, forms and epilogues.
//
//   NN: C[M,N] = A[M,K] * B[K,N]     NT: C = A[M,K] * B[N,K]^T     TN: C = A[K,M]^T * B[K,N]
//
// Row-major; leading dimensions are multiples of 4 floats, so every row starts on a vec4. What lies in the
// padding columns (cols..ld) is unspecified, even NaN: it never reaches a result, and the padding of C
// may be overwritten up to the next multiple of 4 columns.
//
// Epilogue, in this order:
//   v = product; v += bias[n]; GELU: pre[m,n] = v, v = gelu(v); MUL_GELU_GRAD: v *= gelu'(pre[m,n]);
//   v += residual[m,n]; v += C[m,n] (accumulate); C[m,n] = v
// residual and pre have the leading dimension of C.

#ifndef GABBRO_MATMUL_INTERFACE_GLSL
#define GABBRO_MATMUL_INTERFACE_GLSL

#include "gelu.glsl"
#include "grid.glsl"
#include "push.h"

const uint FORM_NN = 0;
const uint FORM_NT = 1;
const uint FORM_TN = 2;

const uint ACT_NONE = 0;
const uint ACT_GELU = 1;          // stores the pre-activation in `pre`
const uint ACT_MUL_GELU_GRAD = 2; // reads it

layout(constant_id = 1) const uint FORM = FORM_NN;
layout(constant_id = 2) const uint HAS_BIAS = 0;
layout(constant_id = 3) const uint ACT = ACT_NONE;
layout(constant_id = 4) const uint HAS_RESIDUAL = 0;
layout(constant_id = 5) const uint ACCUMULATE = 0;
// 1 where K (TN: the number of rows) may not be a multiple of the K step: masks the last step.
layout(constant_id = 6) const uint K_EDGE = 1;

layout(set = 0, binding = 0) readonly buffer BufferA { vec4 a_data[]; };        // reduce: partial sums
layout(set = 0, binding = 1) readonly buffer BufferB { vec4 b_data[]; };
layout(set = 0, binding = 2) buffer BufferC { vec4 c_data[]; };                 // or partial sums
layout(set = 0, binding = 3) readonly buffer BufferBias { vec4 bias_data[]; };
layout(set = 0, binding = 4) readonly buffer BufferResidual { vec4 residual_data[]; };
layout(set = 0, binding = 5) buffer BufferPre { vec4 pre_data[]; };

layout(push_constant) uniform Push { MATMUL_PUSH };

// The lane's 4 bias values; columns beyond N give the last ones, so that this needs no guard.
vec4 load_bias(uint column4)
{
    return HAS_BIAS != 0 ? bias_data[min(column4, (N - 1) / 4)] : vec4(0.0);
}

// `at` is the vec4 index into C. The bias comes from load_bias, once for all rows of a column.
vec4 epilogue(vec4 v, uint at, vec4 bias)
{
    if (HAS_BIAS != 0)
        v += bias;
    if (ACT == ACT_GELU) {
        pre_data[at] = v;
        v = gelu(v);
    }
    if (ACT == ACT_MUL_GELU_GRAD)
        v *= gelu_grad(pre_data[at]);
    if (HAS_RESIDUAL != 0)
        v += residual_data[at];
    if (ACCUMULATE != 0)
        v += c_data[at];
    return v;
}

#endif
