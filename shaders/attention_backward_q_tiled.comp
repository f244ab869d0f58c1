// dq_i = scale * sum_j ds_ij k_j, ds_ij = p_ij (dp_ij - delta_i), dp_ij = dout_i . v_j,
// delta_i = dout_i . out_i (kept for the key side, and for the bias), tile by tile.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/attention_tiles.glsl"

OPERAND(4, result)
OPERAND(5, dout)
layout(set = 0, binding = 6) buffer LseDelta { float lse_delta[]; }; // lse, then delta [rows, heads]
layout(set = 0, binding = 7) writeonly buffer DQ { vec4 dq[]; };

vec4 dout_part(uint i, uint d)
{
    return dout(query_at(i) * out_ld4 + head * HEAD4 + d);
}

void main()
{
    uint own0;
    if (!find_tile(heads, own0) || own0 >= query_count)
        return;
    uint end = key_count;
#ifdef GQA
    kv_head = head / share;
    place = query_place(uvec4(queries, query_count, keys, key_count));
    if (CAUSAL)
        end = min(end, place + own0 + TILE);
#endif
    vec4 acc[4 * UNITS], sums[COLUMNS], slopes[COLUMNS];
    vec4 delta = vec4(0.0), row_lse;
    [[unroll]] for (uint i = 0; i < 4; i++) {
        const uint row = query_at(own0 + own_row(i));
        row_lse[i] = lse_delta[row * lse_ld + head];
        [[unroll]] for (uint u = 0; u < UNITS; u++) {
            acc[4 * u + i] = vec4(0.0);
            const uint d = c + C * u;
            if (d < HEAD4)
                delta[i] += dot(dout_part(own0 + own_row(i), d), result(row * out_ld4 + head * HEAD4 + d));
        }
    }
    delta = of_rows(delta, false);
    for (uint key0 = 0; key0 < end; key0 += TILE) {
        PRODUCTS(sums, query_part, own0, key_part, key0)
        PRODUCTS(slopes, dout_part, own0, value_part, key0)
        [[unroll]] for (uint i = 0; i < 4; i++) {
            const uint own = own0 + own_row(i);
            const vec4 kept = kept_of(own, (key0 + other_row(0)) / 4);
            [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
                const uint j = key0 + other_row(t);
                const float p = sees(own, j) ? exp(score_of(sums[t][i], own, j) - row_lse[i]) : 0.0;
                sums[t][i] = p * (slopes[t][i] * kept[other_row(t) % 4] - delta[i]) * scale;
            }
        }
        [[unroll]] for (uint t = 0; t < COLUMNS; t++)
            staged[other_row(t) * 8 + r] = sums[t];
        barrier();
        ACCUMULATE(acc, key_part, key0, min(TILE, end - key0))
    }
    [[unroll]] for (uint i = 0; i < 4; i++) {
        const uint own = own0 + own_row(i), row = query_at(own);
        if (own >= query_count)
            continue;
        [[unroll]] for (uint u = 0; u < UNITS; u++)
            if (c + C * u < HEAD4)
                dq[row * q_ld4 + q_col4 + head * HEAD4 + c + C * u] = acc[4 * u + i];
        if (c == 0)
            lse_delta[row * lse_ld + heads + head] = delta[i];
    }
}
