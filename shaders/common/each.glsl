// Kernels that work element by element, in vec4s. Each lane takes PER_LANE of them.
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint PER_LANE = 4;

#include "grid.glsl"

uint each_index(uint i)
{
    return (group_index() * PER_LANE + i) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
}
