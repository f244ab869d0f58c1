// Matrix product by cooperative matrices: C[M,N] = op(A) * op(B), all forms and epilogues of matmul_interface.glsl.
//
// One workgroup = SM x SN subgroups = one C tile of BM x BN; a subgroup keeps FM x FN matrices of sums. Each step of
// BK is rounded to 16 bits on its way into shared memory. A thread stages blocks of four lines, of A's rows and B's
// columns, by four of K. Where memory runs across K (A of TN, B of NN and TN) it turns them, so that lines lie along K
// there too and every load of a matrix is along its contiguous side; or, with AS_STORED, it leaves them as they are for
// loads across lines, which cost nothing with NVIDIA's driver, while neighbouring threads fetch neighbouring memory. The next
// step's values are fetched before the arithmetic of this one. Sums are floats; they pass through shared memory one
// matrix at a time, so that edges and epilogues are those of any other kernel.
//
// LM, LN, LK: one of the sizes that the device lists, multiples of 4. BK a multiple of LK, BM, BN, BK of 4.
// Needs whole subgroups of LANES lanes. Half floats end at 65504: larger operands become infinite.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/matrices.glsl"

layout(local_size_x_id = 0) in;
layout(constant_id = 7) const uint LM = 16;
layout(constant_id = 8) const uint LN = 16;
layout(constant_id = 9) const uint LK = 16;
layout(constant_id = 10) const uint FM = 2;
layout(constant_id = 11) const uint FN = 2;
layout(constant_id = 12) const uint SM = 2;
layout(constant_id = 13) const uint SN = 2;
layout(constant_id = 14) const uint BK = 32;
layout(constant_id = 15) const uint LANES = 32;
layout(constant_id = 16) const bool AS_STORED = false;

#include "common/matmul_interface.glsl"

const uint BM = SM * FM * LM;
const uint BN = SN * FN * LN;
const uint THREADS = SM * SN * LANES; // the same value as id 0
const uint A_BLOCKS = BM / 4 * (BK / 4), BLOCKS = A_BLOCKS + BN / 4 * (BK / 4); // of a step
const uint TURNS = (BLOCKS + THREADS - 1) / THREADS;
const bool A_ACROSS = AS_STORED && FORM == FORM_TN, B_ACROSS = AS_STORED && FORM != FORM_NT;

// A step in shared memory: A, then B, in uvec2s of four 16-bit floats, in lines of BK, or across them in BK lines. Two of
// padding keep lines on 16 bytes and spread them over the banks.
const uint LINE = BK / 4 + 2;
const uint A_LINE = A_ACROSS ? BM / 4 + 2 : LINE, B_LINE = B_ACROSS ? BN / 4 + 2 : LINE;
const uint B_AT = (A_ACROSS ? BK : BM) * A_LINE;
shared uvec2 tile[B_AT + (B_ACROSS ? BK : BN) * B_LINE];
shared float c_patch[SM * SN * LM * LN]; // a matrix of each subgroup

// Zero where k (and the three after it) reach beyond K: padding may be NaN, so a factor 0 would not do.
vec4 mask_k(vec4 v, uint k)
{
    return mix(vec4(0.0), v, lessThan(uvec4(k, k + 1, k + 2, k + 3), uvec4(K)));
}

// Four lines from `line` on of `lines`, four of K each, where memory runs along K.
#define FETCH_ALONG(data, line, lines, stride)                                                   \
    [[unroll]] for (uint t = 0; t < 4; t++) {                                                    \
        const uint at = min((line) + t, (lines) - 1) * (stride / 4);                             \
        block[t] = K_EDGE == 0 ? data[at + k / 4] : mask_k(data[at + min(k, K - 1) / 4], k);     \
    }
// The same where it runs across K: a vec4 has four lines.
#define FETCH_ACROSS(data, line, lines, stride)                                                  \
    [[unroll]] for (uint t = 0; t < 4; t++) {                                                    \
        const uint at = min((line) / 4, ((lines) - 1) / 4);                                      \
        block[t] = K_EDGE == 0 ? data[(k + t) * (stride / 4) + at]                               \
                               : mix(vec4(0.0), data[min(k + t, K - 1) * (stride / 4) + at], bvec4(k + t < K)); \
    }

// Of a block of A or B: its first line, and where on K it is, in fours.
uvec2 place_of(uint block, uint lines, bool across)
{
    return across ? uvec2(block % (lines / 4) * 4, block / (lines / 4)) : uvec2(block / (BK / 4) * 4, block % (BK / 4));
}

// Block `i` of the step at k0, as it comes to lie in shared memory.
mat4 fetch(uint i, uint row0, uint column0, uint k0)
{
    mat4 block;
    if (i < A_BLOCKS) {
        const uvec2 place = place_of(i, BM, A_ACROSS);
        const uint k = k0 + 4 * place.y;
        if (FORM == FORM_TN) {
            FETCH_ACROSS(a_data, row0 + place.x, M, lda)
            block = A_ACROSS ? block : transpose(block);
        } else {
            FETCH_ALONG(a_data, row0 + place.x, M, lda)
        }
    } else {
        const uvec2 place = place_of(i - A_BLOCKS, BN, B_ACROSS);
        const uint k = k0 + 4 * place.y;
        if (FORM == FORM_NT) {
            FETCH_ALONG(b_data, column0 + place.x, N, ldb)
        } else {
            FETCH_ACROSS(b_data, column0 + place.x, N, ldb)
            block = B_ACROSS ? block : transpose(block);
        }
    }
    return block;
}

// Where block `i` begins in shared memory; its four parts are a line apart.
uint staged_at(uint i)
{
    const bool of_a = i < A_BLOCKS, across = of_a ? A_ACROSS : B_ACROSS;
    const uvec2 place = place_of(of_a ? i : i - A_BLOCKS, of_a ? BM : BN, across);
    const uint line = of_a ? A_LINE : B_LINE;
    return (of_a ? 0 : B_AT) + (across ? 4 * place.y * line + place.x / 4 : place.x * line + place.y);
}

void main()
{
    const uint thread = gl_LocalInvocationID.x;
    const uint group = group_index();
    // A workgroup beyond the last tile repeats that tile and stores nothing, so that all reach the barriers.
    const uint own = min(group, tiles - 1);
    const uint row0 = own / tiles_n * BM, column0 = own % tiles_n * BN;
    const uint k_begin = gl_WorkGroupID.z * k_per_split;
    const uint k_end = min(K, k_begin + k_per_split);
    const uint own_row = gl_SubgroupID / SN * (FM * LM), own_column = gl_SubgroupID % SN * (FN * LN);

    MATRIX_C sum[FM * FN];
    [[unroll]] for (uint i = 0; i < FM * FN; i++)
        sum[i] = MATRIX_C(0.0);

    mat4 next[TURNS];
    [[unroll]] for (uint g = 0; g < TURNS; g++)
        next[g] = fetch(min(g * THREADS + thread, BLOCKS - 1), row0, column0, k_begin);

    for (uint k = k_begin; k < k_end; k += BK) {
        [[unroll]] for (uint g = 0; g < TURNS; g++) {
            const uint i = g * THREADS + thread, at = staged_at(i), line = i < A_BLOCKS ? A_LINE : B_LINE;
            if (i < BLOCKS)
                [[unroll]] for (uint t = 0; t < 4; t++)
                    tile[at + t * line] = to_16_bits(next[g][t]);
        }
        barrier();

        if (k + BK < k_end)
            [[unroll]] for (uint g = 0; g < TURNS; g++)
                next[g] = fetch(min(g * THREADS + thread, BLOCKS - 1), row0, column0, k + BK);

        [[unroll]] for (uint kk = 0; kk < BK; kk += LK) {
            MATRIX_A a[FM];
            [[unroll]] for (uint f = 0; f < FM; f++) {
                const uint line = own_row + f * LM;
                if (A_ACROSS) {
                    LOAD_COLUMNS(a[f], tile, kk * A_LINE + line / 4, A_LINE);
                } else {
                    LOAD_ROWS(a[f], tile, line * A_LINE + kk / 4, A_LINE);
                }
            }
            [[unroll]] for (uint f = 0; f < FN; f++) {
                MATRIX_B b;
                const uint line = own_column + f * LN;
                if (B_ACROSS) {
                    LOAD_ROWS(b, tile, B_AT + kk * B_LINE + line / 4, B_LINE);
                } else {
                    LOAD_COLUMNS(b, tile, B_AT + line * B_LINE + kk / 4, B_LINE);
                }
                [[unroll]] for (uint r = 0; r < FM; r++)
                    sum[r * FN + f] = MULTIPLY_ADD(a[r], b, sum[r * FN + f]);
            }
        }
        barrier();
    }

    const uint split_at = gl_WorkGroupID.z * M * (ldc / 4); // partial sums: [splits, M, ldc]
    const uint patch_at = gl_SubgroupID * (LM * LN);
    [[unroll]] for (uint f = 0; f < FM * FN; f++) {
        STORE_ROWS(sum[f], c_patch, patch_at, LN);
        barrier();
        for (uint i = gl_SubgroupInvocationID; i < LM * LN / 4; i += LANES) {
            const uint row = row0 + own_row + f / FN * LM + i / (LN / 4);
            const uint column4 = (column0 + own_column + f % FN * LN) / 4 + i % (LN / 4);
            if (group < tiles && row < M && column4 * 4 < N) {
                const uint from = patch_at + i * 4, at = split_at + row * (ldc / 4) + column4;
                const vec4 v = vec4(c_patch[from], c_patch[from + 1], c_patch[from + 2], c_patch[from + 3]);
                c_data[at] = epilogue(v, at, load_bias(column4));
            }
        }
        barrier();
    }
}
