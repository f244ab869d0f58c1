// y[to4 + i] = x[from4 + i] (+ y[to4 + i]) for i < count: a part of a tensor as a tensor of its own, or back.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/each.glsl"
#include "common/push.h"

layout(constant_id = 2) const bool ACCUMULATE = false;
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) buffer Y { vec4 y[]; };
layout(push_constant) uniform Push { COPY_PART_PUSH };

void main()
{
    for (uint i = 0; i < PER_LANE; i++) {
        uint at = each_index(i);
        if (at >= count)
            return;
        vec4 v = x[from4 + at];
        if (ACCUMULATE)
            v += y[to4 + at];
        y[to4 + at] = v;
    }
}
