// What the attention kernels of cooperative matrices share: a workgroup makes the gradients or outputs of TILE own rows of
// one (sequence, head), queries or keys, and walks the other side OTHERS rows at a time, as those of attention_tiles.glsl
// do; no score reaches memory, and all sums are made in a fixed order. Operands of products are rounded to 16 bits on
// their way into shared memory, sums are floats. A row of either side lies there along the head, which is what scores
// are summed along; where a product sums along rows, they are turned on their way, so that every load of a matrix is
// along its contiguous side. As nobody says which lane holds what of a matrix, scores pass through shared memory to the
// lanes of their rows.
//
// SM x SN subgroups: a subgroup has LM own rows, and a part in SN of the other rows (of scores) or of the head (of sums).
// LM, LN, LK: one of the sizes that the device lists. OTHERS: a multiple of SN * LN and of LK. The sizes are powers of 2.
// src/ops/attention_kernel.c knows what is shared.
#include "attention_lists.glsl"
layout(constant_id = 4) const uint LM = 16;
layout(constant_id = 5) const uint LN = 16;
layout(constant_id = 6) const uint LK = 16;
layout(constant_id = 7) const uint SM = 2;
layout(constant_id = 8) const uint SN = 2;
layout(constant_id = 9) const uint OTHERS = 32;
layout(constant_id = 10) const uint LANES = 32; // of a subgroup

const uint TILE = SM * LM;
const uint THREADS = SM * SN * LANES; // the same value as id 0
const uint UNIT = LK > SN * LN ? LK : SN * LN;
const uint WIDE = (4 * HEAD4 + UNIT - 1) / UNIT * UNIT; // the head, filled up with zeros
const uint SCORES = OTHERS / (SN * LN); // matrices of scores, of a subgroup
const uint SUMS = WIDE / (SN * LN);     // matrices of sums, of a subgroup
const uint C = THREADS / TILE;          // lanes of an own row
const uint QUADS = (OTHERS / 4 + C - 1) / C; // of four scores, of a lane

// Shared memory is counted in uvec2s: four 16-bit floats, or two floats. Two of padding keep lines on 16 bytes and
// spread them over the banks.
const uint ALONG = WIDE / 4 + 2;         // a row, along the head
const uint TURNED = OTHERS / 4 + 2;      // a number of the head, or the weights of an own row, along the other rows
const uint SCORE_LINE = OTHERS / 2 + 2;  // scores of an own row
const uint PATCH = LM * LN / 2;          // a matrix of sums
const uint PATCHES = SM * SN * PATCH;    // one of each subgroup
// Two lists of other rows along the head; in their place later the scores of two products, or patches.
const uint TWO_SCORES = 2 * TILE * SCORE_LINE;
const uint AFTER = TWO_SCORES > PATCHES ? TWO_SCORES : PATCHES;
const uint PAIR = 2 * OTHERS * ALONG > AFTER ? 2 * OTHERS * ALONG : AFTER;

#include "attention_rows.glsl"

// Matrices are to lie on 16 bytes. Drivers put shared variables one behind another as they like (NVIDIA's did not begin
// with this one), so all of a kernel are multiples of 16 bytes.
shared uvec2 staged[STAGED];
shared float of_lanes[THREADS]; // see of_row
shared float of_rows[TILE];     // a number of each own row

uint row = gl_LocalInvocationID.x / C, c = gl_LocalInvocationID.x % C; // own row of a lane; which of its lanes
uint first_row = gl_SubgroupID / SN * LM;                              // of the subgroup
uint first_score = gl_SubgroupID % SN * (OTHERS / SN), first_sum = gl_SubgroupID % SN * (WIDE / SN);
uint patch_at = gl_SubgroupID * PATCH;

// x from 0 to count - 1, shared by `lanes` lanes of which this is `lane`. All take as many turns, so that compilers know how
// many there are.
#define EACH(x, count, lane, lanes)                                                                        \
    for (uint x = lane, turn = 0; turn < ((count) + lanes - 1) / lanes; x += lanes, turn++)                \
        if (x < (count))
#define EACH_OF_ALL(x, count)      EACH(x, count, gl_LocalInvocationID.x, THREADS)
#define EACH_OF_SUBGROUP(x, count) EACH(x, count, gl_SubgroupInvocationID, LANES)

// Own rows from own0 on, along the head, to `at`. part: a function of row and vec4.
#define STAGE_OWN(at, part, own0)                                                                          \
    EACH_OF_ALL(x, TILE * (WIDE / 4)) {                                                                    \
        const uint line = x / (WIDE / 4), d = x % (WIDE / 4);                                              \
        const vec4 v = part((own0) + line, min(d, HEAD4 - 1));                                             \
        staged[(at) + line * ALONG + d] = to_16_bits(d < HEAD4 ? v : vec4(0.0));                           \
    }

// Other rows from other0 on, in blocks of 4 x 4: along the head to `at` if ALONG_TOO, turned to turned_at if TURNED_TOO.
#define STAGE_OTHERS(part, other0, ALONG_TOO, at, TURNED_TOO, turned_at)                                   \
    EACH_OF_ALL(x, OTHERS / 4 * (WIDE / 4)) {                                                              \
        const uint line = x / (WIDE / 4), d = x % (WIDE / 4);                                              \
        mat4 block;                                                                                        \
        [[unroll]] for (uint t = 0; t < 4; t++) {                                                          \
            const vec4 v = part((other0) + 4 * line + t, min(d, HEAD4 - 1));                               \
            block[t] = d < HEAD4 ? v : vec4(0.0);                                                          \
            if (ALONG_TOO)                                                                                 \
                staged[(at) + (4 * line + t) * ALONG + d] = to_16_bits(block[t]);                          \
        }                                                                                                  \
        if (TURNED_TOO) {                                                                                  \
            block = transpose(block);                                                                      \
            [[unroll]] for (uint t = 0; t < 4; t++)                                                        \
                staged[(turned_at) + (4 * d + t) * TURNED + line] = to_16_bits(block[t]);                  \
        }                                                                                                  \
    }

// The subgroup's matrices of scores: own rows at own_at times other rows at other_at, both along the head.
#define PRODUCTS(scores, own_at, other_at)                                                                 \
    [[unroll]] for (uint f = 0; f < SCORES; f++)                                                           \
        scores[f] = MATRIX_C(0.0);                                                                         \
    for (uint d = 0; d < WIDE; d += LK) {                                                                  \
        MATRIX_A a;                                                                                        \
        LOAD_ROWS(a, staged, (own_at) + first_row * ALONG + d / 4, ALONG);                                 \
        [[unroll]] for (uint f = 0; f < SCORES; f++) {                                                     \
            MATRIX_B b;                                                                                    \
            LOAD_COLUMNS(b, staged, (other_at) + (first_score + f * LN) * ALONG + d / 4, ALONG);           \
            scores[f] = MULTIPLY_ADD(a, b, scores[f]);                                                     \
        }                                                                                                  \
    }

#define STORE_SCORES(scores, at)                                                                           \
    [[unroll]] for (uint f = 0; f < SCORES; f++)                                                           \
        STORE_ROWS(scores[f], staged, (at) + first_row * SCORE_LINE + (first_score + f * LN) / 2, SCORE_LINE);

// The subgroup's matrices of sums: += weights of own rows at weights_at times the turned other rows at turned_at.
#define ACCUMULATE(sums, weights_at, turned_at)                                                            \
    for (uint j = 0; j < OTHERS; j += LK) {                                                                \
        MATRIX_A a;                                                                                        \
        LOAD_ROWS(a, staged, (weights_at) + first_row * TURNED + j / 4, TURNED);                           \
        [[unroll]] for (uint f = 0; f < SUMS; f++) {                                                       \
            MATRIX_B b;                                                                                    \
            LOAD_COLUMNS(b, staged, (turned_at) + (first_sum + f * LN) * TURNED + j / 4, TURNED);          \
            sums[f] = MULTIPLY_ADD(a, b, sums[f]);                                                         \
        }                                                                                                  \
    }

#define CLEAR(sums)                                                                                        \
    [[unroll]] for (uint f = 0; f < SUMS; f++)                                                             \
        sums[f] = MATRIX_C(0.0);

// Lane by lane, the numbers of a matrix of sums that lies in the subgroup's patch from `at` on: four of own row `line`
// of the workgroup from number 4 * d of the head on, as sum4 to STATEMENT.
#define EACH_SUM(sums, at, STATEMENT)                                                                      \
    [[unroll]] for (uint f = 0; f < SUMS; f++) {                                                           \
        STORE_ROWS(sums[f], staged, (at) + patch_at, LN / 2);                                              \
        barrier();                                                                                         \
        EACH_OF_SUBGROUP(x, LM * LN / 4) {                                                                 \
            const uint line = first_row + x / (LN / 4), d = (first_sum + f * LN) / 4 + x % (LN / 4);       \
            const vec4 sum4 = floats_at((at) + patch_at + 2 * x);                                           \
            STATEMENT                                                                                      \
        }                                                                                                  \
        barrier();                                                                                         \
    }

vec4 floats_at(uint at)
{
    return uintBitsToFloat(uvec4(staged[at], staged[at + 1]));
}

// What dropout multiplies the probabilities by that it leaves. Here it multiplies their sums, so that no weight of 16 bits
// grows by it.
float kept_scale()
{
#ifdef GQA
    return 1.0;
#else
    return DROPOUT ? keep_scale : 1.0;
#endif
}

// Of the own row, over its lanes, in a fixed order. There must be a barrier behind the last use of of_lanes.
float of_row(float v, bool greatest)
{
    of_lanes[gl_LocalInvocationID.x] = v;
    barrier();
    v = of_lanes[row * C];
    for (uint k = 1; k < C; k++) {
        const float next = of_lanes[row * C + k];
        v = greatest ? max(v, next) : v + next;
    }
    return v;
}
