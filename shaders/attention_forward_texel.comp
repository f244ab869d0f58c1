// attention_forward for CPU drivers, see common/attention_cpu.glsl: a lane owns a query.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_shuffle : require
#define TEXELS
#include "common/attention_cpu.glsl"

OPERAND(1, q)
OPERAND(2, kv)
layout(set = 0, binding = 4) writeonly buffer Out { vec4 result[]; };
layout(set = 0, binding = 5) writeonly buffer Lse { float lse[]; };

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
        vec4 query[HEAD4], acc[HEAD4];
        [[unroll]] for (uint d = 0; d < HEAD4; d++) {
            query[d] = q(place * q_ld4 + q_col4 + head * HEAD4 + d) * scale;
            acc[d] = vec4(0.0);
        }
        float top = -3.0e38, sum = 0.0;
        for (uint block = 0; block < length; block += LANES) {
            uint key = (start + min(block + lane, length - 1)) * kv_ld4 + head * HEAD4;
            vec4 v[HEAD4], dots[LANES];
            [[unroll]] for (uint t = 0; t < LANES; t++)
                dots[t] = vec4(0.0);
            [[unroll]] for (uint d = 0; d < HEAD4; d++) {
                vec4 k = kv(key + k_col4 + d);
                v[d] = kv(key + v_col4 + d);
                [[unroll]] for (uint t = 0; t < LANES; t++)
                    dots[t] += query[d] * from_lane(k, t);
            }
            uint word = MASK == 3 ? bits[place * mask_ld + block / 32] >> (block & 31u) : 0u;
            float p[LANES], higher = top;
            bool seen[LANES];
            [[unroll]] for (uint t = 0; t < LANES; t++) {
                seen[t] = block + t < length && visible(row - start, block + t);
                if (MASK == 3)
                    seen[t] = seen[t] && ((word >> t) & 1u) != 0u;
                p[t] = seen[t] ? sum4(dots[t]) : -3.0e38;
                higher = max(higher, p[t]);
            }
            float shrink = exp(top - higher);
            sum *= shrink;
            [[unroll]] for (uint d = 0; d < HEAD4; d++)
                acc[d] *= shrink;
            [[unroll]] for (uint t = 0; t < LANES; t++) {
                p[t] = seen[t] ? exp(p[t] - higher) : 0.0;
                sum += p[t];
                if (DROPOUT)
                    p[t] *= keep(row, block + t, head);
                [[unroll]] for (uint d = 0; d < HEAD4; d++)
                    acc[d] += p[t] * from_lane(v[d], t);
            }
            top = higher;
        }
        if (i < count) {
            // A row that sees nothing gives zero.
            float inverse = sum > 0.0 ? 1.0 / sum : 0.0;
            [[unroll]] for (uint d = 0; d < HEAD4; d++)
                result[place * out_ld4 + head * HEAD4 + d] = acc[d] * inverse;
            lse[place * lse_ld + head] = sum > 0.0 ? top + log(sum) : 3.0e38;
        }
    }
}
