// dq_i = scale * sum_j ds_ij k_j, ds_ij = p_ij (dp_ij - delta_i), dp_ij = dout_i . v_j,
// delta_i = dout_i . out_i (kept for the key side).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/attention.glsl"

layout(set = 0, binding = 1) readonly buffer Q { vec4 q[]; };
layout(set = 0, binding = 2) readonly buffer KV { vec4 kv[]; };
layout(set = 0, binding = 4) readonly buffer Out { vec4 result[]; };
layout(set = 0, binding = 5) readonly buffer DOut { vec4 dout[]; };
layout(set = 0, binding = 6) buffer LseDelta { float lse_delta[]; }; // lse, then delta [rows, heads]
layout(set = 0, binding = 7) writeonly buffer DQ { vec4 dq[]; };

void main()
{
    uint group = group_index();
    uint strip0 = group % strips, head = (group / strips) % heads, s = group / strips / heads;
    if (s >= sequences)
        return;
    uint start = key_start(s), length = key_start(s + 1) - start;
    uint queries = query_start(s), count = query_start(s + 1) - queries;
    for (uint first = strip0 * gl_WorkGroupSize.x; first < count;
         first += strips * gl_WorkGroupSize.x) {
        uint i = first + gl_LocalInvocationID.x;
        bool live = i < count;
        uint place = queries + min(i, count - 1), row = query_row(place);
        vec4 query[HEAD4], grad[HEAD4], acc[HEAD4];
        vec4 dots = vec4(0.0);
        [[unroll]] for (uint d = 0; d < HEAD4; d++) {
            query[d] = q[place * q_ld4 + q_col4 + head * HEAD4 + d] * scale;
            grad[d] = dout[place * out_ld4 + head * HEAD4 + d];
            dots += grad[d] * result[place * out_ld4 + head * HEAD4 + d];
            acc[d] = vec4(0.0);
        }
        float delta = (dots.x + dots.y) + (dots.z + dots.w);
        float row_lse = lse_delta[place * lse_ld + head];
        for (uint j = 0; j < length; j++) {
            uint key = (start + j) * kv_ld4 + head * HEAD4;
            vec4 dot_s = vec4(0.0), dot_p = vec4(0.0);
            [[unroll]] for (uint d = 0; d < HEAD4; d++) {
                dot_s += query[d] * kv[key + k_col4 + d];
                dot_p += grad[d] * kv[key + v_col4 + d];
            }
            bool seen = visible(row - start, j);
            if (MASK == 3)
                seen = ((bits[place * mask_ld + j / 32] >> (j & 31)) & 1u) != 0u;
            float p = seen ? exp((dot_s.x + dot_s.y) + (dot_s.z + dot_s.w) - row_lse) : 0.0;
            float dp = (dot_p.x + dot_p.y) + (dot_p.z + dot_p.w);
            if (DROPOUT)
                dp *= keep(row, j, head);
            float ds = p * (dp - delta) * scale;
            [[unroll]] for (uint d = 0; d < HEAD4; d++)
                acc[d] += ds * kv[key + k_col4 + d];
        }
        if (live) {
            lse_delta[place * lse_ld + heads + head] = delta;
            [[unroll]] for (uint d = 0; d < HEAD4; d++)
                dq[place * dq_ld4 + dq_col4 + head * HEAD4 + d] = acc[d];
        }
    }
}
