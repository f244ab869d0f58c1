// dv_j = sum_i p_ij dout_i, dk_j = scale * sum_i ds_ij q_i, tile by tile, its products by cooperative matrices, over the
// queries of all heads that share the head of keys. delta comes from the query side.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/matrices.glsl"

// Shared memory: keys; values; queries and their outputs' gradients, and in their place scores and slopes, or sums; both
// turned; the weights of both.
#define VALUES       (TILE * ALONG)
#define QUERIES      (2 * TILE * ALONG)
#define SLOPES_OUT   (QUERIES + OTHERS * ALONG)
#define SLOPES       (QUERIES + TILE * SCORE_LINE)
#define TURNED_QUERIES (QUERIES + PAIR)
#define TURNED_OUT   (TURNED_QUERIES + WIDE * TURNED)
#define WEIGHTS      (TURNED_OUT + WIDE * TURNED)
#define SLOPE_WEIGHTS (WEIGHTS + TILE * TURNED)
#define STAGED       (SLOPE_WEIGHTS + TILE * TURNED)
#include "common/attention_matrix.glsl"

OPERAND(4, dout)
layout(set = 0, binding = 5) readonly buffer LseDelta { float lse_delta[]; };
layout(set = 0, binding = 6) writeonly buffer DKV { vec4 dkv[]; };

vec4 dout_part(uint i, uint d)
{
    return dout(query_at(i) * out_ld4 + head * HEAD4 + d);
}

// The weights of tile query0, in blocks of four keys, which are drawn together, and two queries.
void weigh(uint own0, uint query0)
{
    EACH_OF_ALL(x, TILE / 4 * (OTHERS / 2)) {
        const uint key4 = x % (TILE / 4), query2 = x / (TILE / 4);
        vec2 products[4], slopes[4];
        [[unroll]] for (uint k = 0; k < 4; k++) {
            products[k] = uintBitsToFloat(staged[QUERIES + (4 * key4 + k) * SCORE_LINE + query2]);
            slopes[k] = uintBitsToFloat(staged[SLOPES + (4 * key4 + k) * SCORE_LINE + query2]);
        }
        [[unroll]] for (uint i = 0; i < 2; i++) {
            const uint query = query0 + 2 * query2 + i, at = query_at(query) * lse_ld + head;
            const float row_lse = lse_delta[at], delta = lse_delta[at + heads];
            const vec4 kept = kept_of(query, own0 / 4 + key4);
            [[unroll]] for (uint k = 0; k < 4; k++) {
                const uint own = own0 + 4 * key4 + k;
                const float p = sees(query, own) ? exp(score_of(products[k][i], query, own) - row_lse) : 0.0;
                products[k][i] = kept[k] > 0.0 ? p : 0.0;
                slopes[k][i] = p * (slopes[k][i] * kept[k] - delta);
            }
        }
        [[unroll]] for (uint k = 0; k < 4; k++) {
            const uint at = (4 * key4 + k) * TURNED + query2 / 2;
            staged[WEIGHTS + at][query2 % 2] = two_to_16_bits(products[k]);
            staged[SLOPE_WEIGHTS + at][query2 % 2] = two_to_16_bits(slopes[k]);
        }
    }
}

void main()
{
    uint own0, begin = 0;
#ifdef GQA
    if (!find_tile(heads / share, own0) || own0 >= key_count)
        return;
    place = query_place(uvec4(queries, query_count, keys, key_count));
    if (CAUSAL && own0 > place)
        begin = (own0 - place) / OTHERS * OTHERS;
    const uint head_end = (kv_head + 1) * share;
    head = kv_head * share;
#else
    if (!find_tile(heads, own0) || own0 >= key_count)
        return;
    const uint head_end = head + 1;
#endif
    MATRIX_C sums_k[SUMS], sums_v[SUMS];
    CLEAR(sums_k)
    CLEAR(sums_v)
    STAGE_OWN(0, key_part, own0)
    STAGE_OWN(VALUES, value_part, own0)
    for (; head < head_end; head++)
        for (uint query0 = begin; query0 < query_count; query0 += OTHERS) {
            STAGE_OTHERS(query_part, query0, true, QUERIES, true, TURNED_QUERIES)
            STAGE_OTHERS(dout_part, query0, true, SLOPES_OUT, true, TURNED_OUT)
            barrier();
            MATRIX_C products[SCORES], slopes[SCORES];
            PRODUCTS(products, 0, QUERIES)
            PRODUCTS(slopes, VALUES, SLOPES_OUT)
            barrier();
            STORE_SCORES(products, QUERIES)
            STORE_SCORES(slopes, SLOPES)
            barrier();
            weigh(own0, query0);
            barrier();
            ACCUMULATE(sums_v, WEIGHTS, TURNED_OUT)
            ACCUMULATE(sums_k, SLOPE_WEIGHTS, TURNED_QUERIES)
            barrier();
        }
    EACH_SUM(sums_k, QUERIES, {
        if (own0 + line < key_count && d < HEAD4)
            dkv[key_at(own0 + line) * kv_ld4 + k_col4 + kv_head * HEAD4 + d] = sum4 * scale;
    })
    EACH_SUM(sums_v, QUERIES, {
        if (own0 + line < key_count && d < HEAD4)
            dkv[key_at(own0 + line) * kv_ld4 + v_col4 + kv_head * HEAD4 + d] = sum4 * kept_scale();
    })
}
