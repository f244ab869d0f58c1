// dx = dy * gelu'(pre), exact erf form.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/each.glsl"
#include "common/gelu.glsl"
#include "common/push.h"

layout(set = 0, binding = 0) readonly buffer Pre { vec4 pre[]; };
layout(set = 0, binding = 1) readonly buffer DY { vec4 dy[]; };
layout(set = 0, binding = 2) writeonly buffer DX { vec4 dx[]; };
layout(push_constant) uniform Push { GELU_BACKWARD_PUSH };

void main()
{
    for (uint i = 0; i < PER_LANE; i++) {
        uint at = each_index(i);
        if (at >= count)
            return;
        dx[at] = dy[at] * gelu_grad(pre[at]);
    }
}
