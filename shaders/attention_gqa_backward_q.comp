// dq_i = scale * sum_j ds_ij k_j, ds_ij = p_ij (dout_i . v_j - delta_i), delta_i = dout_i . out_i (kept
// for the key side and the bias).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/attention_gqa.glsl"

OPERAND(4, result)
OPERAND(5, dout)
layout(set = 0, binding = 6) buffer LseDelta { float lse_delta[]; };
layout(set = 0, binding = 7) writeonly buffer DQ { vec4 dq[]; };

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
    vec4 query[HEAD4], grad[HEAD4], acc[HEAD4];
    vec4 dots = vec4(0.0);
    [[unroll]] for (uint d = 0; d < HEAD4; d++) {
        query[d] = q(row * q_ld4 + q_col4 + head * HEAD4 + d) * scale;
        grad[d] = dout(row * out_ld4 + head * HEAD4 + d);
        dots += grad[d] * result(row * out_ld4 + head * HEAD4 + d);
        acc[d] = vec4(0.0);
    }
    float delta = (dots.x + dots.y) + (dots.z + dots.w);
    float row_lse = lse_delta[row * lse_ld + head];
    for (uint j = 0; j < end; j++) {
        uint key = (span.z + j) * kv_ld4 + head / share * HEAD4;
        vec4 dot_s = vec4(0.0), dot_p = vec4(0.0);
        [[unroll]] for (uint d = 0; d < HEAD4; d++) {
            dot_s += query[d] * kv(key + k_col4 + d);
            dot_p += grad[d] * kv(key + v_col4 + d);
        }
        float score = (dot_s.x + dot_s.y) + (dot_s.z + dot_s.w) + bias_of(place, j, head);
        float dp = (dot_p.x + dot_p.y) + (dot_p.z + dot_p.w);
        float ds = exp(score - row_lse) * (dp - delta) * scale;
        [[unroll]] for (uint d = 0; d < HEAD4; d++)
            acc[d] += ds * kv(key + k_col4 + d);
    }
    lse_delta[row * lse_ld + heads + head] = delta;
    [[unroll]] for (uint d = 0; d < HEAD4; d++)
        dq[row * q_ld4 + q_col4 + head * HEAD4 + d] = acc[d];
}
