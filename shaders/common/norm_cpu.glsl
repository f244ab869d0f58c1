// What the layer norms for CPU drivers share: a workgroup is one subgroup of LANES lanes and walks a
// block of rows; a row is spread over the lanes, COLS4 vec4s each, kept in registers between the
// passes; sums go over the lanes by shuffles. Rows are read as texels.
#define LANES 8

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint COLS4 = 2; // at least row stride / 4 / LANES

#include "grid.glsl"
#include "operand.glsl"

// vec4 number `c` of a row of `cols` columns, with zeros in place of its padding.
vec4 inside(vec4 v, uint c, uint cols)
{
    uvec4 column = c * 4 + uvec4(0, 1, 2, 3);
    return mix(vec4(0.0), v, lessThan(column, uvec4(cols)));
}

// Sum over the lanes, in a fixed order; every lane gets it.
float lanes_sum(vec4 v)
{
    float sum = (v.x + v.y) + (v.z + v.w);
    [[unroll]] for (uint step = 1; step < LANES; step *= 2)
        sum += subgroupShuffle(sum, gl_SubgroupInvocationID ^ step);
    return sum;
}
