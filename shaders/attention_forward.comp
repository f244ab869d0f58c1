// out_i = sum_j softmax_j(scale * q_i . k_j) v_j with a streaming softmax; saves the log-sum-exp.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/attention.glsl"

layout(set = 0, binding = 1) readonly buffer Q { vec4 q[]; };
layout(set = 0, binding = 2) readonly buffer KV { vec4 kv[]; };
layout(set = 0, binding = 4) writeonly buffer Out { vec4 result[]; };
layout(set = 0, binding = 5) writeonly buffer Lse { float lse[]; };

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
        vec4 query[HEAD4], acc[HEAD4];
        [[unroll]] for (uint d = 0; d < HEAD4; d++) {
            query[d] = q[place * q_ld4 + q_col4 + head * HEAD4 + d] * scale;
            acc[d] = vec4(0.0);
        }
        float top = -3.0e38, sum = 0.0;
        for (uint j = 0; j < length; j++) {
            uint key = (start + j) * kv_ld4 + head * HEAD4;
            vec4 dots = vec4(0.0);
            [[unroll]] for (uint d = 0; d < HEAD4; d++)
                dots += query[d] * kv[key + k_col4 + d];
            float score = (dots.x + dots.y) + (dots.z + dots.w);
            bool seen = visible(row - start, j);
            if (MASK == 3)
                seen = ((bits[place * mask_ld + j / 32] >> (j & 31)) & 1u) != 0u;
            score = seen ? score : -3.0e38;
            float higher = max(top, score);
            float shrink = exp(top - higher);
            float p = seen ? exp(score - higher) : 0.0;
            sum = sum * shrink + p;
            if (DROPOUT)
                p *= keep(row, j, head);
            [[unroll]] for (uint d = 0; d < HEAD4; d++)
                acc[d] = acc[d] * shrink + p * kv[key + v_col4 + d];
            top = higher;
        }
        if (live) {
            // A row that sees nothing gives zero.
            float inverse = sum > 0.0 ? 1.0 / sum : 0.0;
            [[unroll]] for (uint d = 0; d < HEAD4; d++)
                result[place * out_ld4 + head * HEAD4 + d] = acc[d] * inverse;
            lse[place * lse_ld + head] = sum > 0.0 ? top + log(sum) : 3.0e38;
        }
    }
}
