// Matrix product by cooperative matrices: C[M,N] = op(A) * op(B), all forms and epilogues of matmul_interface.glsl.
// Included by one file for each extension, which defines
//   MATRIX_A, MATRIX_B, MATRIX_C                  types of LM x LK and LK x LN 16-bit floats, LM x LN floats
//   LOAD_ROWS(matrix, array, at, stride)          rows of the matrix lie one after the other in memory
//   LOAD_COLUMNS(matrix, array, at, stride)       its columns do
//   STORE_ROWS(matrix, array, at, stride), MULTIPLY_ADD(a, b, c)
//
// One workgroup = SM x SN subgroups = one C tile of BM x BN; a subgroup keeps FM x FN matrices of sums. Each step of
// BK is rounded to 16 bits on its way into shared memory, in the order it has in memory: whether rows or
// columns of a matrix are contiguous there is told when it is loaded, so no form needs a transpose. The next
// step's values are fetched before the arithmetic of this one. Sums are floats; they pass through shared memory
// one matrix at a time, so that edges and epilogues are those of any other kernel.
//
// LM, LN, LK: one of the sizes that the device lists, multiples of 4. BK a multiple of LK, BM, BN, BK of 4.
// Needs whole subgroups of LANES lanes. Half floats end at 65504: larger operands become infinite. With -DBFLOAT16
// operands are bfloat16, which have the range of floats; older compilers do not know that type, so the matrices are
// of half floats here and get their type when the pipeline is made (src/vk/spirv_matrix.c).

#extension GL_EXT_control_flow_attributes : require

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

#include "matmul_interface.glsl"

const uint BM = SM * FM * LM;
const uint BN = SN * FN * LN;
const uint THREADS = SM * SN * LANES; // the same value as id 0
const uint A_COUNT = BM * BK / 4;     // vec4s of a step
const uint B_COUNT = BN * BK / 4;
const uint A_LOADS = (A_COUNT + THREADS - 1) / THREADS;
const uint B_LOADS = (B_COUNT + THREADS - 1) / THREADS;

// Tiles in shared memory: lines as in memory (along K, or along M or N), uvec2s of four 16-bit floats. Two of
// padding keep lines on 16 bytes and spread them over the banks.
const uint K_LINE = BK / 4 + 2;
const uint A_LINE = FORM == FORM_TN ? BM / 4 + 2 : K_LINE;
const uint B_LINE = FORM == FORM_NT ? K_LINE : BN / 4 + 2;
const uint A_LINES = FORM == FORM_TN ? BK : BM;
const uint B_LINES = FORM == FORM_NT ? BN : BK;
const uint A_WORDS = A_LINES * A_LINE;
const uint B_WORDS = B_LINES * B_LINE;

shared uvec2 a_tile[A_WORDS];
shared uvec2 b_tile[B_WORDS];
shared float c_patch[SM * SN * LM * LN]; // a matrix of each subgroup

#ifdef BFLOAT16
#include "bfloat16.glsl"
#define TO_16_BITS(v) to_bfloat16(v)
#else
#define TO_16_BITS(v) uvec2(packHalf2x16(v.xy), packHalf2x16(v.zw))
#endif

// Zero where k (and the three after it) reach beyond K: padding may be NaN, so a factor 0 would not do.
vec4 mask_k(vec4 v, uint k)
{
    return mix(vec4(0.0), v, lessThan(uvec4(k, k + 1, k + 2, k + 3), uvec4(K)));
}

// A vec4 of memory that runs along K: line `line` of `last` + 1.
#define FETCH_ALONG_K(data, line, last, stride, k)                                    \
    (K_EDGE == 0 ? data[min(line, last) * (stride / 4) + (k) / 4]                     \
                 : mask_k(data[min(line, last) * (stride / 4) + min(k, K - 1) / 4], k))
// A vec4 of row k of memory that runs along M or N: columns 4 * column4.., of `last` + 1.
#define FETCH_ROW(data, column4, last, stride, k)                                     \
    (K_EDGE == 0 ? data[(k) * (stride / 4) + min(column4, (last) / 4)]                \
                 : mix(vec4(0.0), data[min(k, K - 1) * (stride / 4) + min(column4, (last) / 4)], bvec4((k) < K)))

vec4 fetch_a(uint i, uint row0, uint k0)
{
    if (FORM == FORM_TN)
        return FETCH_ROW(a_data, row0 / 4 + i % (BM / 4), M - 1, lda, k0 + i / (BM / 4));
    return FETCH_ALONG_K(a_data, row0 + i / (BK / 4), M - 1, lda, k0 + i % (BK / 4) * 4);
}

vec4 fetch_b(uint i, uint column0, uint k0)
{
    if (FORM == FORM_NT)
        return FETCH_ALONG_K(b_data, column0 + i / (BK / 4), N - 1, ldb, k0 + i % (BK / 4) * 4);
    return FETCH_ROW(b_data, column0 / 4 + i % (BN / 4), N - 1, ldb, k0 + i / (BN / 4));
}

// Place of vec4 i of a step in a tile whose lines have `width` vec4s.
uint place(uint i, uint width)
{
    return i / width * (width + 2) + i % width;
}

void main()
{
    const uint thread = gl_LocalInvocationID.x;
    const uint group = group_index();
    // A workgroup beyond the last tile repeats that tile and stores nothing, so that all reach the barriers.
    const uint tile = min(group, tiles - 1);
    const uint row0 = tile / tiles_n * BM, column0 = tile % tiles_n * BN;
    const uint k_begin = gl_WorkGroupID.z * k_per_split;
    const uint k_end = min(K, k_begin + k_per_split);
    const uint own_row = gl_SubgroupID / SN * (FM * LM), own_column = gl_SubgroupID % SN * (FN * LN);

    MATRIX_C sum[FM * FN];
    [[unroll]] for (uint i = 0; i < FM * FN; i++)
        sum[i] = MATRIX_C(0.0);

    vec4 a_next[A_LOADS], b_next[B_LOADS];
    [[unroll]] for (uint g = 0; g < A_LOADS; g++)
        a_next[g] = fetch_a(min(g * THREADS + thread, A_COUNT - 1), row0, k_begin);
    [[unroll]] for (uint g = 0; g < B_LOADS; g++)
        b_next[g] = fetch_b(min(g * THREADS + thread, B_COUNT - 1), column0, k_begin);

    for (uint k = k_begin; k < k_end; k += BK) {
        [[unroll]] for (uint g = 0; g < A_LOADS; g++) {
            const uint i = g * THREADS + thread;
            if (i < A_COUNT)
                a_tile[place(i, FORM == FORM_TN ? BM / 4 : BK / 4)] = TO_16_BITS(a_next[g]);
        }
        [[unroll]] for (uint g = 0; g < B_LOADS; g++) {
            const uint i = g * THREADS + thread;
            if (i < B_COUNT)
                b_tile[place(i, FORM == FORM_NT ? BK / 4 : BN / 4)] = TO_16_BITS(b_next[g]);
        }
        barrier();

        if (k + BK < k_end) {
            [[unroll]] for (uint g = 0; g < A_LOADS; g++)
                a_next[g] = fetch_a(min(g * THREADS + thread, A_COUNT - 1), row0, k + BK);
            [[unroll]] for (uint g = 0; g < B_LOADS; g++)
                b_next[g] = fetch_b(min(g * THREADS + thread, B_COUNT - 1), column0, k + BK);
        }

        [[unroll]] for (uint kk = 0; kk < BK; kk += LK) {
            MATRIX_A a[FM];
            [[unroll]] for (uint f = 0; f < FM; f++) {
                const uint row = own_row + f * LM;
                if (FORM == FORM_TN) {
                    LOAD_COLUMNS(a[f], a_tile, kk * A_LINE + row / 4, A_LINE);
                } else {
                    LOAD_ROWS(a[f], a_tile, row * A_LINE + kk / 4, A_LINE);
                }
            }
            [[unroll]] for (uint f = 0; f < FN; f++) {
                const uint column = own_column + f * LN;
                MATRIX_B b;
                if (FORM == FORM_NT) {
                    LOAD_COLUMNS(b, b_tile, column * B_LINE + kk / 4, B_LINE);
                } else {
                    LOAD_ROWS(b, b_tile, kk * B_LINE + column / 4, B_LINE);
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
