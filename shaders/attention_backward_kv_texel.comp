// attention_backward_kv for CPU drivers, see common/attention_cpu.glsl: a lane owns a key.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_shuffle : require
#define TEXELS
#include "common/attention_cpu.glsl"

OPERAND(1, q)
OPERAND(2, kv)
OPERAND(4, dout)
layout(set = 0, binding = 5) readonly buffer LseDelta { float lse_delta[]; };
layout(set = 0, binding = 6) writeonly buffer Out { vec4 dkv[]; };

void main()
{
    uint group = group_index(), lane = gl_SubgroupInvocationID;
    uint head = group % heads, s = group / heads;
    if (s >= sequences)
        return;
    uint start = key_start(s), length = key_start(s + 1) - start;
    uint queries = query_start(s), count = query_start(s + 1) - queries;
    for (uint first = 0; first < length; first += LANES) {
        uint j = first + lane;
        uint key_row = start + min(j, length - 1);
        vec4 key[HEAD4], value[HEAD4], acc_k[HEAD4], acc_v[HEAD4];
        [[unroll]] for (uint d = 0; d < HEAD4; d++) {
            key[d] = kv(key_row * kv_ld4 + k_col4 + head * HEAD4 + d) * scale;
            value[d] = kv(key_row * kv_ld4 + v_col4 + head * HEAD4 + d);
            acc_k[d] = acc_v[d] = vec4(0.0);
        }
        for (uint block = 0; block < count; block += LANES) {
            uint place = queries + min(block + lane, count - 1), row = query_row(place);
            vec4 query[HEAD4], grad[HEAD4];
            [[unroll]] for (uint d = 0; d < HEAD4; d++) {
                query[d] = q(place * q_ld4 + q_col4 + head * HEAD4 + d);
                grad[d] = dout(place * out_ld4 + head * HEAD4 + d);
            }
            float lse = lse_delta[place * lse_ld + head];
            float delta = lse_delta[place * lse_ld + heads + head];
            [[unroll]] for (uint t = 0; t < LANES; t++) {
                uint i = block + t;
                vec4 dot_s = vec4(0.0), dot_p = vec4(0.0), qt[HEAD4], gt[HEAD4];
                [[unroll]] for (uint d = 0; d < HEAD4; d++) {
                    qt[d] = from_lane(query[d], t);
                    gt[d] = from_lane(grad[d], t);
                    dot_s += key[d] * qt[d];
                    dot_p += value[d] * gt[d];
                }
                bool seen = i < count && visible(subgroupShuffle(row, t) - start, j);
                if (MASK == 3) {
                    uint word = bits[(queries + min(i, count - 1)) * mask_ld + min(j, length - 1) / 32];
                    seen = seen && ((word >> (j & 31u)) & 1u) != 0u;
                }
                float p = seen ? exp(sum4(dot_s) - subgroupShuffle(lse, t)) : 0.0;
                float kept = DROPOUT ? keep(subgroupShuffle(row, t), j, head) : 1.0;
                float ds = p * (sum4(dot_p) * kept - subgroupShuffle(delta, t)) * scale;
                [[unroll]] for (uint d = 0; d < HEAD4; d++) {
                    acc_v[d] += p * kept * gt[d];
                    acc_k[d] += ds * qt[d];
                }
            }
        }
        if (j < length) {
            [[unroll]] for (uint d = 0; d < HEAD4; d++) {
                dkv[key_row * dkv_ld4 + dk_col4 + head * HEAD4 + d] = acc_k[d];
                dkv[key_row * dkv_ld4 + dv_col4 + head * HEAD4 + d] = acc_v[d];
            }
        }
    }
}
