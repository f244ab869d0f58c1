// Second half of a split-K product: C = epilogue(sum over s, in order, of partial[s]), partial [splits, M, ldp],
// ldp = lda (push constant), N rounded up to 4. The fixed order makes the result the same in every run.
// One lane = one vec4 of C; a workgroup = LANES vec4s of one row (tiles_n workgroups a row, `tiles` = M * tiles_n).
#version 450
#extension GL_GOOGLE_include_directive : require

layout(local_size_x_id = 0) in;

#include "common/matmul_interface.glsl"

void main()
{
    const uint group = group_index();
    const uint row = group / tiles_n;
    const uint column = group % tiles_n * gl_WorkGroupSize.x + gl_LocalInvocationID.x; // in vec4s
    if (group >= tiles || column * 4 >= N)
        return;
    uint from = row * (lda / 4) + column;
    vec4 v = a_data[from];
    for (uint s = 1; s < splits; s++) {
        from += M * (lda / 4);
        v += a_data[from];
    }
    const uint at = row * (ldc / 4) + column;
    c_data[at] = epilogue(v, at, load_bias(column));
}
