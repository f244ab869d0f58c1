// Four floats to four bfloat16, for tests.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/bfloat16.glsl"
layout(local_size_x = 64) in;

layout(push_constant) uniform Push
{
    uint n;
};
layout(std430, binding = 0) readonly buffer From
{
    vec4 from[]; // [n]
};
layout(std430, binding = 1) writeonly buffer To
{
    uvec2 to[]; // [n]
};

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i < n)
        to[i] = to_bfloat16(from[i]);
}
