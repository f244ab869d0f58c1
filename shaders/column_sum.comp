// out[block] = sum of the rows of a block of x [rows, cols]; a lane owns a vec4 of columns. Used
// twice: blocks of rows to partial sums, then the partial sums to one row, always in order.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/grid.glsl"
#include "common/operand.glsl"
#include "common/push.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const bool ACCUMULATE = false; // out += instead of out =
OPERAND(0, x)
layout(set = 0, binding = 1) buffer Out { vec4 sums[]; };
layout(push_constant) uniform Push { COLUMN_SUM_PUSH };

void main()
{
    uint block = group_index() / column_groups;
    uint c = (group_index() % column_groups) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (block >= blocks || c >= ld4)
        return;
    uint end = min(rows, (block + 1) * rows_per_block);
    vec4 sum = vec4(0.0);
    for (uint row = block * rows_per_block; row < end; row++)
        sum += x(row * ld4 + c);
    if (ACCUMULATE)
        sum += sums[block * ld4 + c];
    sums[block * ld4 + c] = sum;
}
