// Matrix product for CPU Vulkan drivers (lavapipe): C[M,N] = op(A) * op(B), all forms, see matmul_interface.glsl.
//
// One workgroup = one subgroup of LANES lanes (8 with AVX2) = one C tile of ROWS x (LANES * COLS4 * 4). A lane
// keeps ROWS x COLS4 vec4 sums in registers: no shared memory, no barriers, which cost microseconds there.
// On lavapipe a buffer load costs the same whether its address is uniform or not: a loop over the lanes with a
// bounds check per component, as much as some 30 vector multiply-adds. So the fewest loads win: the A values
// of a K step (KSTEP x ROWS floats, which all lanes need) are loaded once, spread over the lanes, and passed round
// with subgroupShuffle by a constant lane, which becomes one AVX2 permute (subgroupBroadcast becomes a loop).
// The B values of a step differ per lane, and a strided row costs no more than a contiguous one: NT needs no transpose.
//
// TEXELS: A and B are read through uniform texel buffers (bindings 8, 9, R32G32B32A32_SFLOAT views of the same
// ranges). lavapipe's texel fetch is one call that moves whole vec4s, several times cheaper than a buffer load.
//
// Needs: subgroup shuffle in compute, subgroup size >= LANES. ROWS * KSTEP / 4 a multiple of LANES; ROWS, KSTEP of 4;
// for SUMS, LANES a multiple of ROWS / 4.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_shuffle : require

layout(local_size_x_id = 0) in;
layout(constant_id = 7) const uint LANES = 8; // the same value as id 0
layout(constant_id = 8) const uint ROWS = 16;
layout(constant_id = 9) const uint COLS4 = 2;
layout(constant_id = 10) const uint KSTEP = 8;

// TN: also make the column sums of A, 1: sums = , 2: sums += (the gradient of a bias beside its weight's).
layout(constant_id = 11) const uint SUMS = 0;

#include "common/matmul_interface.glsl"

layout(set = 0, binding = 6) buffer BufferSums { vec4 sums_data[]; };

#ifdef TEXELS
layout(set = 0, binding = 8) uniform samplerBuffer a_texels;
layout(set = 0, binding = 9) uniform samplerBuffer b_texels;
vec4 load_a(uint at)
{
    return texelFetch(a_texels, int(at));
}

vec4 load_b(uint at)
{
    return texelFetch(b_texels, int(at));
}

#else
vec4 load_a(uint at)
{
    return a_data[at];
}

vec4 load_b(uint at)
{
    return b_data[at];
}

#endif

const uint KV = KSTEP / 4;                // vec4s of a K step along K
const uint QROWS = ROWS / 4;              // vec4s of a tile's rows (TN: A is contiguous along them)
const uint LOADS = ROWS * KSTEP / 4 / LANES; // A loads of one lane in a K step

// Zero where k (and the three after it) reach beyond K: padding may be NaN, so a factor 0 would not do.
vec4 mask_k(vec4 v, uint k)
{
    return mix(vec4(0.0), v, lessThan(uvec4(k, k + 1, k + 2, k + 3), uvec4(K)));
}

void main()
{
    const uint lane = gl_SubgroupInvocationID;
    const uint group = group_index();
    // A workgroup beyond the last tile repeats that tile and stores nothing: an early return would cost a lane mask everywhere.
    const uint tile = min(group, tiles - 1);
    const uint row0 = tile / tiles_n * ROWS;
    const uint column0 = (tile % tiles_n * LANES + lane) * COLS4; // in vec4s
    const uint lda4 = lda / 4, ldb4 = ldb / 4, ldc4 = ldc / 4;
    const uint k_begin = gl_WorkGroupID.z * k_per_split;
    const uint k_end = min(K, k_begin + k_per_split);

    // Addresses beyond the edge of M or N fall on the last row or column, so that loads need no branch.
    uint a_at[LOADS], a_k[LOADS];
    [[unroll]] for (uint g = 0; g < LOADS; g++) {
        const uint i = g * LANES + lane;
        if (FORM == FORM_TN) { // vec4 i of the step: row i / QROWS of A, columns row0 + 4 * (i % QROWS)..
            a_k[g] = i / QROWS;
            a_at[g] = min(row0 / 4 + i % QROWS, (M - 1) / 4);
        } else {               // row i % ROWS, k = 4 * (i / ROWS)..
            a_k[g] = i / ROWS * 4;
            a_at[g] = min(row0 + i % ROWS, M - 1) * lda4;
        }
    }
    uint b_at[COLS4 * 4];
    [[unroll]] for (uint j = 0; j < COLS4 * 4; j++) {
        if (FORM == FORM_NT)
            b_at[j] = min(column0 * 4 + j, N - 1) * ldb4;
        else if (j < COLS4)
            b_at[j] = min(column0 + j, (N - 1) / 4);
    }

    vec4 sum[ROWS * COLS4];
    [[unroll]] for (uint i = 0; i < ROWS * COLS4; i++)
        sum[i] = vec4(0.0);

    vec4 a_sum = vec4(0.0); // SUMS: of the columns row0 + 4 * (lane % QROWS)..
    for (uint k = k_begin; k < k_end; k += KSTEP) {
        vec4 a[LOADS];
        [[unroll]] for (uint g = 0; g < LOADS; g++) {
            const uint ka = k + a_k[g];
            if (FORM == FORM_TN) {
                a[g] = load_a(a_at[g] + (K_EDGE != 0 ? min(ka, K - 1) : ka) * lda4);
                if (K_EDGE != 0)
                    a[g] = mix(vec4(0.0), a[g], bvec4(ka < K));
                if (SUMS != 0)
                    a_sum += a[g];
            } else {
                a[g] = load_a(a_at[g] + (K_EDGE != 0 ? min(ka, K - 1) : ka) / 4);
                if (K_EDGE != 0)
                    a[g] = mask_k(a[g], ka);
            }
        }

        // b[kk * COLS4 + j] = B[k + kk][columns of the lane's vec4 j]
        vec4 b[KSTEP * COLS4];
        if (FORM == FORM_NT) {
            [[unroll]] for (uint kv = 0; kv < KV; kv++) {
                const uint kb = k + 4 * kv;
                [[unroll]] for (uint j = 0; j < COLS4 * 4; j++) {
                    vec4 v = load_b(b_at[j] + (K_EDGE != 0 ? min(kb, K - 1) : kb) / 4);
                    if (K_EDGE != 0)
                        v = mask_k(v, kb);
                    [[unroll]] for (uint t = 0; t < 4; t++)
                        b[(kv * 4 + t) * COLS4 + j / 4][j % 4] = v[t];
                }
            }
        } else {
            [[unroll]] for (uint kk = 0; kk < KSTEP; kk++) {
                const uint kb = K_EDGE != 0 ? min(k + kk, K - 1) : k + kk;
                [[unroll]] for (uint j = 0; j < COLS4; j++) {
                    vec4 v = load_b(kb * ldb4 + b_at[j]);
                    if (K_EDGE != 0)
                        v = mix(vec4(0.0), v, bvec4(k + kk < K));
                    b[kk * COLS4 + j] = v;
                }
            }
        }

        [[unroll]] for (uint r = 0; r < ROWS; r++) {
            [[unroll]] for (uint kk = 0; kk < KSTEP; kk++) {
                // Where the load above put A[row0 + r][k + kk]: vec4 i of the step, component c.
                const uint i = FORM == FORM_TN ? kk * QROWS + r / 4 : kk / 4 * ROWS + r;
                const uint c = FORM == FORM_TN ? r % 4 : kk % 4;
                const float v = subgroupShuffle(a[i / LANES][c], i % LANES);
                [[unroll]] for (uint j = 0; j < COLS4; j++)
                    sum[r * COLS4 + j] += v * b[kk * COLS4 + j];
            }
        }
    }

    const bool inside = group < tiles;
    if (SUMS != 0) {
        [[unroll]] for (uint step = QROWS; step < LANES; step *= 2)
            a_sum += vec4(subgroupShuffle(a_sum.x, lane ^ step), subgroupShuffle(a_sum.y, lane ^ step),
                          subgroupShuffle(a_sum.z, lane ^ step), subgroupShuffle(a_sum.w, lane ^ step));
        const uint at = row0 / 4 + lane;
        if (inside && tile % tiles_n == 0 && lane < QROWS && at * 4 < M)
            sums_data[at] = SUMS == 2 ? sums_data[at] + a_sum : a_sum;
    }
    const uint split_at = gl_WorkGroupID.z * M * ldc4; // partial sums: [splits, M, ldc]
    vec4 bias[COLS4];
    [[unroll]] for (uint j = 0; j < COLS4; j++)
        bias[j] = load_bias(column0 + j);
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
        [[unroll]] for (uint j = 0; j < COLS4; j++) {
            if (inside && row0 + r < M && (column0 + j) * 4 < N) {
                const uint at = split_at + (row0 + r) * ldc4 + column0 + j;
                c_data[at] = epilogue(sum[r * COLS4 + j], at, bias[j]);
            }
        }
    }
}
