// dq_i = scale * sum_j ds_ij k_j, ds_ij = p_ij (dp_ij - delta_i), dp_ij = dout_i . v_j,
// delta_i = dout_i . out_i (kept for the key side, and for the bias), tile by tile, its products by cooperative matrices.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/matrices.glsl"

// Shared memory: queries; their outputs' gradients; keys and values, and in their place scores and slopes, or sums;
// turned keys; weights.
#define SLOPES_OUT (TILE * ALONG)
#define KEYS       (2 * TILE * ALONG)
#define VALUES     (KEYS + OTHERS * ALONG)
#define SLOPES     (KEYS + TILE * SCORE_LINE)
#define TURNED_KEYS (KEYS + PAIR)
#define WEIGHTS    (TURNED_KEYS + WIDE * TURNED)
#define STAGED     (WEIGHTS + TILE * TURNED)
#include "common/attention_matrix.glsl"

OPERAND(4, result)
OPERAND(5, dout)
layout(set = 0, binding = 6) buffer LseDelta { float lse_delta[]; }; // lse, then delta [rows, heads]
layout(set = 0, binding = 7) writeonly buffer DQ { vec4 dq[]; };

vec4 dout_part(uint i, uint d)
{
    return dout(query_at(i) * out_ld4 + head * HEAD4 + d);
}

// The slopes of the scores of the lane's row for tile key0, as weights.
void weigh(uint own, uint key0, float row_lse, float delta)
{
    [[unroll]] for (uint u = 0; u < QUADS; u++) {
        const uint quad = c + C * u;
        if (quad < OTHERS / 4) {
            const vec4 products = floats_at(KEYS + row * SCORE_LINE + 2 * quad);
            const vec4 slopes = floats_at(SLOPES + row * SCORE_LINE + 2 * quad);
            const vec4 kept = kept_of(own, key0 / 4 + quad);
            vec4 weights;
            [[unroll]] for (uint i = 0; i < 4; i++) {
                const uint j = key0 + 4 * quad + i;
                const float p = sees(own, j) ? exp(score_of(products[i], own, j) - row_lse) : 0.0;
                weights[i] = p * (slopes[i] * kept[i] - delta);
            }
            staged[WEIGHTS + row * TURNED + quad] = to_16_bits(weights);
        }
    }
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
    MATRIX_C sums[SUMS];
    CLEAR(sums)
    STAGE_OWN(0, query_part, own0)
    STAGE_OWN(SLOPES_OUT, dout_part, own0)
    const uint own = own0 + row, at = query_at(own);
    const float row_lse = lse_delta[at * lse_ld + head];
    float delta = 0.0;
    for (uint d = c; d < HEAD4; d += C)
        delta += dot(dout_part(own, d), result(at * out_ld4 + head * HEAD4 + d));
    delta = of_row(delta, false);
    for (uint key0 = 0; key0 < end; key0 += OTHERS) {
        STAGE_OTHERS(key_part, key0, true, KEYS, true, TURNED_KEYS)
        STAGE_OTHERS(value_part, key0, true, VALUES, false, 0)
        barrier();
        MATRIX_C products[SCORES], slopes[SCORES];
        PRODUCTS(products, 0, KEYS)
        PRODUCTS(slopes, SLOPES_OUT, VALUES)
        barrier();
        STORE_SCORES(products, KEYS)
        STORE_SCORES(slopes, SLOPES)
        barrier();
        weigh(own, key0, row_lse, delta);
        barrier();
        ACCUMULATE(sums, WEIGHTS, TURNED_KEYS)
        barrier();
    }
    if (c == 0 && own < query_count)
        lse_delta[at * lse_ld + heads + head] = delta;
    EACH_SUM(sums, KEYS, {
        if (own0 + line < query_count && d < HEAD4)
            dq[query_at(own0 + line) * q_ld4 + q_col4 + head * HEAD4 + d] = sum4 * scale;
    })
}
