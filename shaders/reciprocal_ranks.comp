// Reciprocal ranks of the columns of each row of scores [rows, cols] among those that count: a
// column counts if it is positive or has a weight. Of equal scores the lower column is before. Ranks
// behind `cut`, and columns that do not count, have 0.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/grid.glsl"
#include "common/push.h"

layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0) readonly buffer Scores { float scores[]; };
layout(set = 0, binding = 1) readonly buffer Positives { uint positives[]; };
layout(set = 0, binding = 2) readonly buffer Weights { float weights[]; };
layout(set = 0, binding = 3) writeonly buffer Ranks { float ranks[]; };
layout(push_constant) uniform Push { RECIPROCAL_RANKS_PUSH };

bool counts(uint row, uint c)
{
    return weights[row * ld + c] != 0.0 ||
           (positives[row * bits_ld + c / 32] >> (c & 31u) & 1u) != 0;
}

void main()
{
    uint at = group_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (at >= rows * ld)
        return;
    uint row = at / ld, c = at % ld, base = row * ld, before = 0;
    bool counted = c < cols && counts(row, c);
    float score = scores[at];
    for (uint j = 0; counted && j < cols; j++) {
        float other = scores[base + j];
        if ((other > score || (other == score && j < c)) && counts(row, j))
            before++;
    }
    ranks[at] = counted && before < cut ? 1.0 / float(before + 1) : 0.0;
}
