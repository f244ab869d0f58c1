// y = tanh(x); backward, with the older result y: dx = dy * (1 - y^2).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/each.glsl"
#include "common/push.h"

layout(constant_id = 2) const bool BACKWARD = false;
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; }; // x, or y
layout(set = 0, binding = 1) readonly buffer DY { vec4 dy[]; };
layout(set = 0, binding = 2) writeonly buffer Y { vec4 y[]; }; // y, or dx
layout(push_constant) uniform Push { TANH_PUSH };

void main()
{
    for (uint i = 0; i < PER_LANE; i++) {
        uint at = each_index(i);
        if (at >= count)
            return;
        vec4 v = x[at];
        // By the smaller exponential, which cannot overflow.
        vec4 e = exp(-2.0 * abs(v));
        y[at] = BACKWARD ? dy[at] * (1.0 - v * v) : sign(v) * (1.0 - e) / (1.0 + e);
    }
}
