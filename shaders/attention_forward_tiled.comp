// out_i = sum_j softmax_j(scale * q_i . k_j) v_j with a streaming softmax, tile by tile; saves the log-sum-exp.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/attention_tiles.glsl"

layout(set = 0, binding = 4) writeonly buffer Out { vec4 result[]; };
layout(set = 0, binding = 5) writeonly buffer Lse { float lse[]; };

const float LEAST = -3.0e38;

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
    vec4 acc[4 * UNITS], sums[COLUMNS];
    [[unroll]] for (uint k = 0; k < 4 * UNITS; k++)
        acc[k] = vec4(0.0);
    vec4 top = vec4(LEAST), sum = vec4(0.0);
    for (uint key0 = 0; key0 < end; key0 += TILE) {
        PRODUCTS(sums, query_part, own0, key_part, key0)
        vec4 higher = top;
        [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
            const uint j = key0 + other_row(t);
            [[unroll]] for (uint i = 0; i < 4; i++)
                sums[t][i] = sees(own0 + own_row(i), j) ? score_of(sums[t][i], own0 + own_row(i), j) : LEAST;
            higher = max(higher, sums[t]);
        }
        higher = of_rows(higher, true);
        const vec4 shrink = exp(top - higher);
        top = higher;
        sum *= shrink;
        [[unroll]] for (uint t = 0; t < COLUMNS; t++) {
            sums[t] = mix(vec4(0.0), exp(sums[t] - top), greaterThan(sums[t], vec4(LEAST)));
            sum += sums[t];
        }
        if (!KEEPS_ALL)
            [[unroll]] for (uint i = 0; i < 4; i++) {
                const vec4 kept = kept_of(own0 + own_row(i), (key0 + other_row(0)) / 4);
                [[unroll]] for (uint t = 0; t < COLUMNS; t++)
                    sums[t][i] *= kept[other_row(t) % 4];
            }
        [[unroll]] for (uint t = 0; t < COLUMNS; t++)
            staged[other_row(t) * 8 + r] = sums[t];
        [[unroll]] for (uint k = 0; k < 4 * UNITS; k++)
            acc[k] *= shrink[k % 4];
        barrier();
        ACCUMULATE(acc, value_part, key0, min(TILE, end - key0))
    }
    barrier();
    sum = of_rows(sum, false);
    [[unroll]] for (uint i = 0; i < 4; i++) {
        const uint own = own0 + own_row(i), row = query_at(own);
        if (own >= query_count)
            continue;
        // A row that sees nothing gives zero.
        const float inverse = sum[i] > 0.0 ? 1.0 / sum[i] : 0.0;
        [[unroll]] for (uint u = 0; u < UNITS; u++)
            if (c + C * u < HEAD4)
                result[row * out_ld4 + head * HEAD4 + c + C * u] = acc[4 * u + i] * inverse;
        if (c == 0)
            lse[row * lse_ld + head] = sum[i] > 0.0 ? top[i] + log(sum[i]) : 3.0e38;
    }
}
