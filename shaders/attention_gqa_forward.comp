// out_i = sum_j softmax_j(scale * q_i . k_j + bias(j - i)) v_j with a streaming softmax; saves the
// log-sum-exp.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/attention_gqa.glsl"

layout(set = 0, binding = 4) writeonly buffer Out { vec4 result[]; };
layout(set = 0, binding = 5) writeonly buffer Lse { float lse[]; };

void main()
{
    uint group = group_index();
    uint strip = group % strips, head = (group / strips) % heads, s = group / strips / heads;
    if (s >= sequences)
        return;
    uvec4 span = spans[s];
    uint i = strip * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (i >= span.y)
        return;
    uint row = span.x + i, place = query_place(span) + i;
    uint end = CAUSAL ? min(span.w, place + 1) : span.w;
    vec4 query[HEAD4], acc[HEAD4];
    [[unroll]] for (uint d = 0; d < HEAD4; d++) {
        query[d] = q(row * q_ld4 + q_col4 + head * HEAD4 + d) * scale;
        acc[d] = vec4(0.0);
    }
    float top = -3.0e38, sum = 0.0;
    for (uint j = 0; j < end; j++) {
        uint key = (span.z + j) * kv_ld4 + head / share * HEAD4;
        vec4 dots = vec4(0.0);
        [[unroll]] for (uint d = 0; d < HEAD4; d++)
            dots += query[d] * kv(key + k_col4 + d);
        float score = (dots.x + dots.y) + (dots.z + dots.w) + bias_of(place, j, head);
        float higher = max(top, score);
        float shrink = exp(top - higher), p = exp(score - higher);
        sum = sum * shrink + p;
        [[unroll]] for (uint d = 0; d < HEAD4; d++)
            acc[d] = acc[d] * shrink + p * kv(key + v_col4 + d);
        top = higher;
    }
    // A row that sees nothing gives zero.
    float inverse = sum > 0.0 ? 1.0 / sum : 0.0;
    [[unroll]] for (uint d = 0; d < HEAD4; d++)
        result[row * out_ld4 + head * HEAD4 + d] = acc[d] * inverse;
    lse[row * lse_ld + head] = sum > 0.0 ? top + log(sum) : 3.0e38;
}
