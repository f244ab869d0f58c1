// dv_j = sum_i p_ij dout_i, dk_j = scale * sum_i ds_ij q_i, tile by tile, over the queries of all heads that share the
// head of keys. delta comes from the query side.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/attention_tiles.glsl"

OPERAND(4, dout)
layout(set = 0, binding = 5) readonly buffer LseDelta { float lse_delta[]; };
layout(set = 0, binding = 6) writeonly buffer DKV { vec4 dkv[]; };

vec4 dout_part(uint i, uint d)
{
    return dout(query_at(i) * out_ld4 + head * HEAD4 + d);
}

void main()
{
    uint own0, begin = 0;
#ifdef GQA
    if (!find_tile(heads / share, own0) || own0 >= key_count)
        return;
    place = query_place(uvec4(queries, query_count, keys, key_count));
    if (CAUSAL && own0 > place)
        begin = (own0 - place) / TILE * TILE;
    const uint head_end = (kv_head + 1) * share;
    head = kv_head * share;
#else
    if (!find_tile(heads, own0) || own0 >= key_count)
        return;
    const uint head_end = head + 1;
#endif
    vec4 acc_k[4 * UNITS], acc_v[4 * UNITS], sums[COLUMNS], slopes[COLUMNS];
    [[unroll]] for (uint k = 0; k < 4 * UNITS; k++)
        acc_k[k] = acc_v[k] = vec4(0.0);
    for (; head < head_end; head++)
        for (uint i0 = begin; i0 < query_count; i0 += TILE) {
            PRODUCTS(sums, key_part, own0, query_part, i0)
            PRODUCTS(slopes, value_part, own0, dout_part, i0)
            [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
                const uint query = i0 + other_row(t), at = query_at(query) * lse_ld + head;
                const float row_lse = lse_delta[at], delta = lse_delta[at + heads];
                const vec4 kept = kept_of(query, own0 / 4 + r);
                vec4 weight;
                [[unroll]] for (uint i = 0; i < 4; i++) {
                    const uint own = own0 + own_row(i);
                    const float p = sees(query, own) ? exp(score_of(sums[t][i], query, own) - row_lse) : 0.0;
                    weight[i] = p * kept[i];
                    slopes[t][i] = p * (slopes[t][i] * kept[i] - delta) * scale;
                }
                staged[other_row(t) * 8 + r] = weight;
            }
            barrier();
            const uint count = min(TILE, query_count - i0);
            ACCUMULATE(acc_v, dout_part, i0, count)
            barrier();
            [[unroll]] for (uint t = 0; t < COLUMNS; t++)
                staged[other_row(t) * 8 + r] = slopes[t];
            barrier();
            ACCUMULATE(acc_k, query_part, i0, count)
        }
    [[unroll]] for (uint i = 0; i < 4; i++) {
        const uint own = own0 + own_row(i), at = key_at(own) * kv_ld4 + kv_head * HEAD4;
        if (own >= key_count)
            continue;
        [[unroll]] for (uint u = 0; u < UNITS; u++)
            if (c + C * u < HEAD4) {
                dkv[at + k_col4 + c + C * u] = acc_k[4 * u + i];
                dkv[at + v_col4 + c + C * u] = acc_v[4 * u + i];
            }
    }
}
