// Matrix product for any GPU, without matrix cores: C[M,N] = op(A) * op(B), all forms, see matmul_interface.glsl.
//
// One workgroup = one C tile of BM x BN; it walks K in steps of BK. Each step is staged in shared memory with both
// operands K-major (a_tile[k][m], b_tile[k][n]), transposed on the way in where memory runs along K (A of NN and NT,
// B of NT), so that the inner loop is the same for every form: two vec4 reads and TM x TN multiply-adds a thread.
// The next step's values are fetched into registers before the arithmetic of this one, to hide memory latency.
//
// Workgroup size = BM / TM * BN / TN. Shared memory = BK * (BM + BN + 8) * 4 bytes: 8.5 KiB for 64 x 64 x 16.
// BM, BN, BK, TM, TN multiples of 4; BM * BK / 4 and BN * BK / 4 multiples of the workgroup size.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require

layout(local_size_x_id = 0) in;
layout(constant_id = 7) const uint BM = 64;
layout(constant_id = 8) const uint BN = 64;
layout(constant_id = 9) const uint BK = 16;
layout(constant_id = 10) const uint TM = 8;
layout(constant_id = 11) const uint TN = 4;

#include "common/matmul_interface.glsl"

const uint THREADS_N = BN / TN;                    // threads along a row of the tile
const uint THREADS = BM / TM * THREADS_N;          // the same value as id 0
const uint A_LOADS = BM * BK / 4 / THREADS;        // vec4s of A a thread stages in one step
const uint B_LOADS = BN * BK / 4 / THREADS;
// One vec4 of padding a row spreads the transposing stores over the banks.
const uint A_STRIDE = BM / 4 + 1;
const uint B_STRIDE = BN / 4 + 1;

shared vec4 a_tile[BK * A_STRIDE];
shared vec4 b_tile[BK * B_STRIDE];

// Zero where k (and the three after it) reach beyond K: padding may be NaN, so a factor 0 would not do.
vec4 mask_k(vec4 v, uint k)
{
    return mix(vec4(0.0), v, lessThan(uvec4(k, k + 1, k + 2, k + 3), uvec4(K)));
}

// Where vec4 `i` of a staged step lies when memory runs along K: (row, k).
uvec2 place_along_k(uint i)
{
    return uvec2(i / (BK / 4), i % (BK / 4) * 4);
}

vec4 fetch_a(uint i, uint row0, uint k0)
{
    if (FORM == FORM_TN) {
        const uint k = k0 + i / (BM / 4);
        const uint at = min(row0 / 4 + i % (BM / 4), (M - 1) / 4);
        if (K_EDGE == 0)
            return a_data[k * (lda / 4) + at];
        return mix(vec4(0.0), a_data[min(k, K - 1) * (lda / 4) + at], bvec4(k < K));
    }
    const uvec2 p = place_along_k(i);
    const uint at = min(row0 + p.x, M - 1) * (lda / 4);
    const uint k = k0 + p.y;
    if (K_EDGE == 0)
        return a_data[at + k / 4];
    return mask_k(a_data[at + min(k, K - 1) / 4], k);
}

vec4 fetch_b(uint i, uint column0, uint k0)
{
    if (FORM == FORM_NT) {
        const uvec2 p = place_along_k(i);
        const uint at = min(column0 + p.x, N - 1) * (ldb / 4);
        const uint k = k0 + p.y;
        if (K_EDGE == 0)
            return b_data[at + k / 4];
        return mask_k(b_data[at + min(k, K - 1) / 4], k);
    }
    const uint k = k0 + i / (BN / 4);
    const uint at = min(column0 / 4 + i % (BN / 4), (N - 1) / 4);
    if (K_EDGE == 0)
        return b_data[k * (ldb / 4) + at];
    return mix(vec4(0.0), b_data[min(k, K - 1) * (ldb / 4) + at], bvec4(k < K));
}

void stage_a(uint i, vec4 v)
{
    if (FORM == FORM_TN) {
        a_tile[i / (BM / 4) * A_STRIDE + i % (BM / 4)] = v;
    } else {
        const uvec2 p = place_along_k(i);
        [[unroll]] for (uint t = 0; t < 4; t++)
            a_tile[(p.y + t) * A_STRIDE + p.x / 4][p.x % 4] = v[t];
    }
}

void stage_b(uint i, vec4 v)
{
    if (FORM == FORM_NT) {
        const uvec2 p = place_along_k(i);
        [[unroll]] for (uint t = 0; t < 4; t++)
            b_tile[(p.y + t) * B_STRIDE + p.x / 4][p.x % 4] = v[t];
    } else {
        b_tile[i / (BN / 4) * B_STRIDE + i % (BN / 4)] = v;
    }
}

void main()
{
    const uint thread = gl_LocalInvocationID.x;
    const uint thread_n = thread % THREADS_N, thread_m = thread / THREADS_N;
    const uint group = group_index();
    // A workgroup beyond the last tile repeats that tile and stores nothing, so that all reach the barriers.
    const uint tile = min(group, tiles - 1);
    const uint row0 = tile / tiles_n * BM, column0 = tile % tiles_n * BN;
    const uint k_begin = gl_WorkGroupID.z * k_per_split;
    const uint k_end = min(K, k_begin + k_per_split);

    vec4 sum[TM * TN / 4];
    [[unroll]] for (uint i = 0; i < TM * TN / 4; i++)
        sum[i] = vec4(0.0);

    vec4 a_next[A_LOADS], b_next[B_LOADS];
    [[unroll]] for (uint g = 0; g < A_LOADS; g++)
        a_next[g] = fetch_a(g * THREADS + thread, row0, k_begin);
    [[unroll]] for (uint g = 0; g < B_LOADS; g++)
        b_next[g] = fetch_b(g * THREADS + thread, column0, k_begin);

    for (uint k = k_begin; k < k_end; k += BK) {
        [[unroll]] for (uint g = 0; g < A_LOADS; g++)
            stage_a(g * THREADS + thread, a_next[g]);
        [[unroll]] for (uint g = 0; g < B_LOADS; g++)
            stage_b(g * THREADS + thread, b_next[g]);
        barrier();

        if (k + BK < k_end) {
            [[unroll]] for (uint g = 0; g < A_LOADS; g++)
                a_next[g] = fetch_a(g * THREADS + thread, row0, k + BK);
            [[unroll]] for (uint g = 0; g < B_LOADS; g++)
                b_next[g] = fetch_b(g * THREADS + thread, column0, k + BK);
        }

        for (uint kk = 0; kk < BK; kk++) {
            vec4 a[TM / 4], b[TN / 4];
            [[unroll]] for (uint r = 0; r < TM / 4; r++)
                a[r] = a_tile[kk * A_STRIDE + thread_m * (TM / 4) + r];
            [[unroll]] for (uint j = 0; j < TN / 4; j++)
                b[j] = b_tile[kk * B_STRIDE + j * THREADS_N + thread_n];
            [[unroll]] for (uint r = 0; r < TM; r++)
                [[unroll]] for (uint j = 0; j < TN / 4; j++)
                    sum[r * (TN / 4) + j] += a[r / 4][r % 4] * b[j];
        }
        barrier();
    }

    if (group >= tiles)
        return;
    const uint split_at = gl_WorkGroupID.z * M * (ldc / 4); // partial sums: [splits, M, ldc]
    vec4 bias[TN / 4];
    [[unroll]] for (uint j = 0; j < TN / 4; j++)
        bias[j] = load_bias(column0 / 4 + j * THREADS_N + thread_n);
    [[unroll]] for (uint r = 0; r < TM; r++) {
        const uint row = row0 + thread_m * TM + r;
        [[unroll]] for (uint j = 0; j < TN / 4; j++) {
            const uint column4 = column0 / 4 + j * THREADS_N + thread_n;
            if (row < M && column4 * 4 < N) {
                const uint at = split_at + row * (ldc / 4) + column4;
                c_data[at] = epilogue(sum[r * (TN / 4) + j], at, bias[j]);
            }
        }
    }
}
