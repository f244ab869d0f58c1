// attention_backward_q for CPU drivers, see common/attention_cpu.glsl: a lane owns a query.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_shuffle : require
#define TEXELS
#include "common/attention_cpu.glsl"

OPERAND(1, q)
OPERAND(2, kv)
OPERAND(4, result)
OPERAND(5, dout)
layout(set = 0, binding = 6) buffer LseDelta { float lse_delta[]; }; // lse, then delta [rows, heads]
layout(set = 0, binding = 7) writeonly buffer Out { vec4 dq[]; };

void main()
{
    uint group = group_index(), lane = gl_SubgroupInvocationID;
    uint head = group % heads, s = group / heads;
    if (s >= sequences)
        return;
    uint start = key_start(s), length = key_start(s + 1) - start;
    uint queries = query_start(s), count = query_start(s + 1) - queries;
    for (uint first = 0; first < count; first += LANES) {
        uint i = first + lane;
        uint place = queries + min(i, count - 1), row = query_row(place);
        vec4 query[HEAD4], grad[HEAD4], acc[HEAD4];
        vec4 dots = vec4(0.0);
        [[unroll]] for (uint d = 0; d < HEAD4; d++) {
            query[d] = q(place * q_ld4 + q_col4 + head * HEAD4 + d) * scale;
            grad[d] = dout(place * out_ld4 + head * HEAD4 + d);
            dots += grad[d] * result(place * out_ld4 + head * HEAD4 + d);
            acc[d] = vec4(0.0);
        }
        float delta = sum4(dots);
        float row_lse = lse_delta[place * lse_ld + head];
        for (uint block = 0; block < length; block += LANES) {
            uint key = (start + min(block + lane, length - 1)) * kv_ld4 + head * HEAD4;
            vec4 k[HEAD4], v[HEAD4];
            [[unroll]] for (uint d = 0; d < HEAD4; d++) {
                k[d] = kv(key + k_col4 + d);
                v[d] = kv(key + v_col4 + d);
            }
            uint word = MASK == 3 ? bits[place * mask_ld + block / 32] >> (block & 31u) : 0u;
            [[unroll]] for (uint t = 0; t < LANES; t++) {
                vec4 dot_s = vec4(0.0), dot_p = vec4(0.0), kt[HEAD4];
                [[unroll]] for (uint d = 0; d < HEAD4; d++) {
                    kt[d] = from_lane(k[d], t);
                    dot_s += query[d] * kt[d];
                    dot_p += grad[d] * from_lane(v[d], t);
                }
                bool seen = block + t < length && visible(row - start, block + t);
                if (MASK == 3)
                    seen = seen && ((word >> t) & 1u) != 0u;
                float p = seen ? exp(sum4(dot_s) - row_lse) : 0.0;
                float dp = sum4(dot_p);
                if (DROPOUT)
                    dp *= keep(row, block + t, head);
                float ds = p * (dp - delta) * scale;
                [[unroll]] for (uint d = 0; d < HEAD4; d++)
                    acc[d] += ds * kt[d];
            }
        }
        if (i < count) {
            lse_delta[place * lse_ld + heads + head] = delta;
            [[unroll]] for (uint d = 0; d < HEAD4; d++)
                dq[place * dq_ld4 + dq_col4 + head * HEAD4 + d] = acc[d];
        }
    }
}
