// dv_j = sum_i p_ij dout_i, dk_j = scale * sum_i ds_ij q_i, over the queries of all heads that share the
// head of keys: a lane owns a key. delta comes from the query side.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define KEPT
#include "common/attention_gqa.glsl"

OPERAND(4, dout)
layout(set = 0, binding = 6) writeonly buffer DKV { vec4 dkv[]; };

void main()
{
    uint group = group_index(), kv_heads = heads / share;
    uint strip = group % strips, kv_head = (group / strips) % kv_heads;
    uint s = group / strips / kv_heads;
    if (s >= sequences)
        return;
    uvec4 span = spans[s];
    uint j = strip * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (j >= span.w)
        return;
    uint at = (span.z + j) * kv_ld4 + kv_head * HEAD4, place = query_place(span);
    uint first = CAUSAL && j > place ? j - place : 0;
    vec4 key[HEAD4], value[HEAD4], acc_k[HEAD4], acc_v[HEAD4];
    [[unroll]] for (uint d = 0; d < HEAD4; d++) {
        key[d] = kv(at + k_col4 + d) * scale;
        value[d] = kv(at + v_col4 + d);
        acc_k[d] = acc_v[d] = vec4(0.0);
    }
    for (uint head = kv_head * share; head < (kv_head + 1) * share; head++)
        for (uint i = first; i < span.y; i++) {
            uint row = span.x + i;
            uint at_q = row * q_ld4 + q_col4 + head * HEAD4;
            uint at_o = row * out_ld4 + head * HEAD4;
            vec4 dot_s = vec4(0.0), dot_p = vec4(0.0);
            [[unroll]] for (uint d = 0; d < HEAD4; d++) {
                dot_s += key[d] * q(at_q + d);
                dot_p += value[d] * dout(at_o + d);
            }
            float score = (dot_s.x + dot_s.y) + (dot_s.z + dot_s.w) + bias_of(place + i, j, head);
            float p = exp(score - kept(row, head));
            float dp = (dot_p.x + dot_p.y) + (dot_p.z + dot_p.w);
            float ds = p * (dp - kept(row, heads + head)) * scale;
            [[unroll]] for (uint d = 0; d < HEAD4; d++) {
                acc_v[d] += p * dout(at_o + d);
                acc_k[d] += ds * q(at_q + d);
            }
        }
    [[unroll]] for (uint d = 0; d < HEAD4; d++) {
        dkv[at + k_col4 + d] = acc_k[d];
        dkv[at + v_col4 + d] = acc_v[d];
    }
}
