// partial[lane] = sum of squares of the lane's share of x, for the global gradient norm.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/grid.glsl"
#include "common/push.h"

layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) writeonly buffer Partial { float partial[]; };
layout(push_constant) uniform Push { SQUARE_SUM_PUSH };

void main()
{
    uint lane = group_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (lane >= lanes)
        return;
    vec4 sum = vec4(0.0);
    for (uint i = lane; i < count; i += lanes)
        sum += x[i] * x[i];
    partial[lane] = (sum.x + sum.y) + (sum.z + sum.w);
}
