// partial[p] = sum of squares of the p-th share of x, for the global gradient norm. A share belongs to one lane where
// barriers are dear, else to a workgroup, whose lanes keep four loads each on their way: x is large, and all that is
// done with it is reading it.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/push.h"
#include "common/rows.glsl"

layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) writeonly buffer Partial { float partial[]; };
layout(push_constant) uniform Push { SQUARE_SUM_PUSH };

const uint TURNS = 4;

void main()
{
    uint share = row_index();
    if (share >= shares)
        return;
    uint lane = share * LANES_PER_ROW + row_lane(), lanes = shares * LANES_PER_ROW;
    vec4 sum = vec4(0.0);
    if (LANES_PER_ROW == 1) {
        for (uint i = lane; i < count; i += lanes)
            sum += x[i] * x[i];
    } else {
        for (uint i = lane; i < count; i += TURNS * lanes) {
            vec4 v[TURNS];
            [[unroll]] for (uint t = 0; t < TURNS; t++)
                v[t] = x[min(i + t * lanes, count - 1)];
            [[unroll]] for (uint t = 0; t < TURNS; t++)
                sum += i + t * lanes < count ? v[t] * v[t] : vec4(0.0);
        }
    }
    float all = row_sum((sum.x + sum.y) + (sum.z + sum.w));
    if (row_lane() == 0)
        partial[share] = all;
}
