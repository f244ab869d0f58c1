// What the attention kernels for CPU drivers share beyond attention.glsl. A workgroup is one subgroup
// of LANES lanes. The rows of the own side belong to a lane each; the rows of the other side are
// loaded LANES at a time, one a lane, and handed round with subgroupShuffle by a constant lane, which
// is one permute, where a load is dozens of instructions. Operands are read as texels.
#define LANES 8

#include "attention.glsl"
#include "operand.glsl"

float sum4(vec4 v)
{
    return (v.x + v.y) + (v.z + v.w);
}

vec4 from_lane(vec4 v, uint lane)
{
    return vec4(subgroupShuffle(v.x, lane), subgroupShuffle(v.y, lane), subgroupShuffle(v.z, lane),
                subgroupShuffle(v.w, lane));
}
