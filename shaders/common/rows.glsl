// Kernels that work on rows. A row belongs to LANES_PER_ROW lanes: 1 where barriers are dear (CPU
// drivers: every lane walks a row of its own), the whole workgroup on GPUs.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint LANES_PER_ROW = 1;

#include "grid.glsl"

shared float row_scratch[256];

uint row_index()
{
    return group_index() * (gl_WorkGroupSize.x / LANES_PER_ROW) +
           gl_LocalInvocationID.x / LANES_PER_ROW;
}

uint row_lane()
{
    return gl_LocalInvocationID.x % LANES_PER_ROW;
}

// Sum over the lanes of a row, in a fixed order; every lane gets it. With more than one lane a row,
// all lanes of the workgroup must call it.
float row_sum(float value)
{
    if (LANES_PER_ROW == 1)
        return value;
    uint lane = gl_LocalInvocationID.x;
    barrier();
    row_scratch[lane] = value;
    for (uint half_width = LANES_PER_ROW / 2; half_width > 0; half_width /= 2) {
        barrier();
        if (lane < half_width)
            row_scratch[lane] += row_scratch[lane + half_width];
    }
    barrier();
    return row_scratch[0];
}

float row_max(float value)
{
    if (LANES_PER_ROW == 1)
        return value;
    uint lane = gl_LocalInvocationID.x;
    barrier();
    row_scratch[lane] = value;
    for (uint half_width = LANES_PER_ROW / 2; half_width > 0; half_width /= 2) {
        barrier();
        if (lane < half_width)
            row_scratch[lane] = max(row_scratch[lane], row_scratch[lane + half_width]);
    }
    barrier();
    return row_scratch[0];
}
