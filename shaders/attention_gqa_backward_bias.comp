// dbias[r][head] = sum of ds_ij over all pairs of a query and a key with j - i = r - reach: a lane owns
// an element and walks all queries in order. delta comes from the query side.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#define KEPT
#include "common/attention_gqa.glsl"

OPERAND(4, dout)
layout(set = 0, binding = 6) writeonly buffer DBias { float dbias[]; };

void main()
{
    uint lane = group_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    uint head = lane % bias_ld, r = lane / bias_ld;
    if (r > 2 * reach)
        return;
    if (head >= heads) {
        dbias[lane] = 0.0; // padding, so that the table's gradient has none
        return;
    }
    int distance = int(r) - int(reach);
    float sum = 0.0;
    for (uint s = 0; s < sequences; s++) {
        uvec4 span = spans[s];
        int place = int(query_place(span)) + distance;
        uint end = uint(clamp(int(span.w) - place, 0, int(span.y)));
        for (uint i = uint(max(-place, 0)); i < end; i++) {
            uint row = span.x + i, j = uint(int(i) + place);
            if (CAUSAL && distance > 0)
                break;
            uint at_q = row * q_ld4 + q_col4 + head * HEAD4, at_o = row * out_ld4 + head * HEAD4;
            uint key = (span.z + j) * kv_ld4 + head / share * HEAD4;
            vec4 dot_s = vec4(0.0), dot_p = vec4(0.0);
            [[unroll]] for (uint d = 0; d < HEAD4; d++) {
                dot_s += q(at_q + d) * scale * kv(key + k_col4 + d);
                dot_p += dout(at_o + d) * kv(key + v_col4 + d);
            }
            float score = (dot_s.x + dot_s.y) + (dot_s.z + dot_s.w) + bias_at(r, head);
            float dp = (dot_p.x + dot_p.y) + (dot_p.z + dot_p.w);
            sum += exp(score - kept(row, head)) * (dp - kept(row, heads + head));
        }
    }
    dbias[lane] = sum;
}
