// dv_j = sum_i p_ij dout_i, dk_j = scale * sum_i ds_ij q_i: a lane owns a key, the queries are the
// same for all lanes. delta comes from the query side.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/attention.glsl"

layout(set = 0, binding = 1) readonly buffer Q { vec4 q[]; };
layout(set = 0, binding = 2) readonly buffer KV { vec4 kv[]; };
layout(set = 0, binding = 4) readonly buffer DOut { vec4 dout[]; };
layout(set = 0, binding = 5) readonly buffer LseDelta { float lse_delta[]; };
layout(set = 0, binding = 6) writeonly buffer DKV { vec4 dkv[]; };

void main()
{
    uint group = group_index();
    uint strip0 = group % strips, head = (group / strips) % heads, s = group / strips / heads;
    if (s >= sequences)
        return;
    uint start = key_start(s), length = key_start(s + 1) - start;
    uint queries = query_start(s), count = query_start(s + 1) - queries;
    for (uint first = strip0 * gl_WorkGroupSize.x; first < length;
         first += strips * gl_WorkGroupSize.x) {
        uint j = first + gl_LocalInvocationID.x;
        bool live = j < length;
        uint key_row = start + min(j, length - 1);
        vec4 key[HEAD4], value[HEAD4], acc_k[HEAD4], acc_v[HEAD4];
        [[unroll]] for (uint d = 0; d < HEAD4; d++) {
            key[d] = kv[key_row * kv_ld4 + k_col4 + head * HEAD4 + d] * scale;
            value[d] = kv[key_row * kv_ld4 + v_col4 + head * HEAD4 + d];
            acc_k[d] = acc_v[d] = vec4(0.0);
        }
        for (uint i = 0; i < count; i++) {
            uint place = queries + i, row = query_row(place);
            uint at_q = place * q_ld4 + q_col4 + head * HEAD4;
            uint at_o = place * out_ld4 + head * HEAD4;
            vec4 dot_s = vec4(0.0), dot_p = vec4(0.0);
            [[unroll]] for (uint d = 0; d < HEAD4; d++) {
                dot_s += key[d] * q[at_q + d];
                dot_p += value[d] * dout[at_o + d];
            }
            bool seen = visible(row - start, j);
            if (MASK == 3)
                seen = ((bits[place * mask_ld + j / 32] >> (j & 31)) & 1u) != 0u;
            float row_lse = lse_delta[place * lse_ld + head];
            float delta = lse_delta[place * lse_ld + heads + head];
            float p = seen ? exp((dot_s.x + dot_s.y) + (dot_s.z + dot_s.w) - row_lse) : 0.0;
            float dp = (dot_p.x + dot_p.y) + (dot_p.z + dot_p.w);
            float kept = DROPOUT ? keep(row, j, head) : 1.0;
            float ds = p * (dp * kept - delta) * scale;
            [[unroll]] for (uint d = 0; d < HEAD4; d++) {
                acc_v[d] += p * kept * dout[at_o + d];
                acc_k[d] += ds * q[at_q + d];
            }
        }
        if (live) {
            [[unroll]] for (uint d = 0; d < HEAD4; d++) {
                dkv[key_row * dkv_ld4 + dk_col4 + head * HEAD4 + d] = acc_k[d];
                dkv[key_row * dkv_ld4 + dv_col4 + head * HEAD4 + d] = acc_v[d];
            }
        }
    }
}
