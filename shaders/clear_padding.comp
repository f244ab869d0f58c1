// x[row, cols..ld) = 0: what lies between the rows of a gradient takes no part in its norm.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/grid.glsl"
#include "common/push.h"

layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0) buffer X { float x[]; };
layout(push_constant) uniform Push { CLEAR_PADDING_PUSH };

void main()
{
    uint row = group_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (row >= rows)
        return;
    for (uint c = cols; c < ld; c++)
        x[row * ld + c] = 0.0;
}
