// out_i = sum_j softmax_j(scale * q_i . k_j) v_j with a streaming softmax, tile by tile, its products by cooperative
// matrices; saves the log-sum-exp. Probabilities are taken relative to a score that follows the row's largest only when
// that is larger by SLACK, so that sums are rarely scaled.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/matrices.glsl"

// Shared memory: queries; keys, and in their place sums; scores, and in their place weights; turned values.
#define KEYS    (TILE * ALONG)
#define WEIGHTS (KEYS + (OTHERS * ALONG > PATCHES ? OTHERS * ALONG : PATCHES))
#define VALUES  (WEIGHTS + TILE * SCORE_LINE)
#define STAGED  (VALUES + WIDE * TURNED)
#include "common/attention_matrix.glsl"

layout(set = 0, binding = 4) writeonly buffer Out { vec4 result[]; };
layout(set = 0, binding = 5) writeonly buffer Lse { float lse[]; };

const float LEAST = -3.0e38;
const float SLACK = 5.0; // weights stay below exp(5)

shared uint grown[4]; // [0]: 1 + first key of the last tile that had a row whose sums are to be scaled, by of_rows

// The scores of the lane's row for tile key0, and the largest of all its lanes.
float scores_of(uint own, uint key0, out vec4 scores[QUADS])
{
    float highest = LEAST;
    [[unroll]] for (uint u = 0; u < QUADS; u++) {
        const uint quad = c + C * u;
        scores[u] = vec4(LEAST);
        if (quad < OTHERS / 4) {
            const vec4 products = floats_at(WEIGHTS + row * SCORE_LINE + 2 * quad);
            [[unroll]] for (uint i = 0; i < 4; i++) {
                const uint j = key0 + 4 * quad + i;
                if (sees(own, j))
                    scores[u][i] = score_of(products[i], own, j);
                highest = max(highest, scores[u][i]);
            }
        }
    }
    return of_row(highest, true);
}

// Scores become weights, in their place: probabilities relative to `base`, 0 where dropout falls. Returns the sum of the
// lane's, without dropout.
float weigh(uint own, uint key0, float base, vec4 scores[QUADS])
{
    float sum = 0.0;
    [[unroll]] for (uint u = 0; u < QUADS; u++) {
        const uint quad = c + C * u;
        if (quad < OTHERS / 4) {
            vec4 weights = mix(vec4(0.0), exp(scores[u] - base), greaterThan(scores[u], vec4(LEAST)));
            sum += (weights.x + weights.y) + (weights.z + weights.w);
            if (!KEEPS_ALL)
                weights = mix(vec4(0.0), weights, greaterThan(kept_of(own, key0 / 4 + quad), vec4(0.0)));
            staged[WEIGHTS + row * TURNED + quad] = to_16_bits(weights);
        }
    }
    return sum;
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
    if (gl_LocalInvocationID.x == 0)
        grown[0] = 0;
    const uint own = own0 + row;
    float base = LEAST, sum = 0.0;
    for (uint key0 = 0; key0 < end; key0 += OTHERS) {
        STAGE_OTHERS(key_part, key0, true, KEYS, false, 0)
        STAGE_OTHERS(value_part, key0, false, 0, true, VALUES)
        barrier();
        MATRIX_C products[SCORES];
        PRODUCTS(products, 0, KEYS)
        STORE_SCORES(products, WEIGHTS)
        barrier();
        vec4 scores[QUADS];
        const float highest = scores_of(own, key0, scores);
        const float next = base == LEAST || highest > base + SLACK ? max(base, highest) : base;
        const float shrink = exp(base - next);
        if (c == 0) {
            of_rows[row] = shrink;
            if (base > LEAST && next > base)
                atomicMax(grown[0], key0 + 1);
        }
        base = next;
        sum = sum * shrink + weigh(own, key0, base, scores);
        barrier();
        if (grown[0] == key0 + 1) {
            [[unroll]] for (uint f = 0; f < SUMS; f++) {
                STORE_ROWS(sums[f], staged, KEYS + patch_at, LN / 2);
                barrier();
                EACH_OF_SUBGROUP(x, PATCH) {
                    const vec2 part = uintBitsToFloat(staged[KEYS + patch_at + x]);
                    staged[KEYS + patch_at + x] = floatBitsToUint(part * of_rows[first_row + x / (LN / 2)]);
                }
                barrier();
                LOAD_ROWS(sums[f], staged, KEYS + patch_at, LN / 2);
                barrier();
            }
        }
        ACCUMULATE(sums, WEIGHTS, VALUES)
        barrier();
    }
    sum = of_row(sum, false);
    if (c == 0) {
        // A row that sees nothing gives zero.
        of_rows[row] = sum > 0.0 ? kept_scale() / sum : 0.0;
        if (own < query_count)
            lse[query_at(own) * lse_ld + head] = sum > 0.0 ? base + log(sum) : 3.0e38;
    }
    EACH_SUM(sums, KEYS, {
        if (own0 + line < query_count && d < HEAD4)
            result[query_at(own0 + line) * out_ld4 + head * HEAD4 + d] = sum4 * of_rows[line];
    })
}
