// y = alpha * a (+ beta * b), alpha optionally times a scalar on the device.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/each.glsl"
#include "common/push.h"

layout(constant_id = 2) const bool HAS_B = false;
layout(constant_id = 3) const bool HAS_SCALAR = false;
layout(set = 0, binding = 0) readonly buffer A { vec4 a[]; };
layout(set = 0, binding = 1) readonly buffer B { vec4 b[]; };
layout(set = 0, binding = 2) readonly buffer Scalar { float scalar[]; };
layout(set = 0, binding = 3) writeonly buffer Y { vec4 y[]; };
layout(push_constant) uniform Push { AXPBY_PUSH };

void main()
{
    float factor = HAS_SCALAR ? alpha * scalar[0] : alpha;
    for (uint i = 0; i < PER_LANE; i++) {
        uint at = each_index(i);
        if (at >= count)
            return;
        vec4 v = factor * a[at];
        if (HAS_B)
            v += beta * b[at];
        y[at] = v;
    }
}
