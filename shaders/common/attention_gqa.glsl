// What the kernels of attention between two lists of rows share. A lane owns a row of one side and
// walks the rows of the other, which are the same for all lanes of its workgroup.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint HEAD4 = 4; // head dimension / 4
layout(constant_id = 2) const bool CAUSAL = false;
layout(constant_id = 3) const bool BIAS = false;

#include "grid.glsl"
#include "operand.glsl"
#include "push.h"

// First row and length of the queries, then of the keys, of every sequence.
layout(set = 0, binding = 0) readonly buffer Spans { uvec4 spans[]; };
OPERAND(1, q)
OPERAND(2, kv)
OPERAND(3, bias) // [2 * reach + 1, heads]

layout(push_constant) uniform Push { ATTEND_PUSH };

// Place of the first query among the keys: with CAUSAL the queries are the last of them.
uint query_place(uvec4 span)
{
    return CAUSAL ? span.w - min(span.y, span.w) : 0;
}

float bias_at(uint row, uint head)
{
    return bias(row * (bias_ld / 4) + head / 4)[head % 4];
}

// Of query i and key j.
float bias_of(uint i, uint j, uint head)
{
    if (!BIAS)
        return 0.0;
    int row = clamp(int(j) - int(i) + int(reach), 0, int(2 * reach));
    return bias_at(uint(row), head);
}

#ifdef KEPT // what the query side left: log-sum-exps, then deltas
OPERAND(5, lse_delta)
float kept(uint row, uint i)
{
    uint at = row * lse_ld + i;
    return lse_delta(at / 4)[at % 4];
}
#endif
