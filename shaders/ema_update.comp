// target = m * target + (1 - m) * source, in place; m is a number on the device.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/each.glsl"
#include "common/push.h"

layout(set = 0, binding = 0) readonly buffer Source { vec4 source[]; };
layout(set = 0, binding = 1) readonly buffer Momentum { float momentum[]; };
layout(set = 0, binding = 2) buffer Target { vec4 target[]; };
layout(push_constant) uniform Push { MOMENTUM_PUSH };

void main()
{
    float m = momentum[0];
    for (uint i = 0; i < PER_LANE; i++) {
        uint at = each_index(i);
        if (at >= count)
            return;
        target[at] = m * target[at] + (1.0 - m) * source[at];
    }
}
