// y[n] = word[ids[n]] + position[positions[n]] + type[0], rows of cols floats.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/rows.glsl"
#include "common/operand.glsl"
#include "common/push.h"

layout(set = 0, binding = 0) readonly buffer Ids { uint ids[]; };
layout(set = 0, binding = 1) readonly buffer Positions { uint positions[]; };
OPERAND(2, word)
OPERAND(3, position)
OPERAND(4, type_row)
layout(set = 0, binding = 5) writeonly buffer Y { vec4 y[]; };
layout(push_constant) uniform Push { EMBED_FORWARD_PUSH };

void main()
{
    uint row = row_index();
    if (row >= rows)
        return;
    uint w = min(ids[row], vocabulary - 1) * ld4;
    uint p = min(positions[row], max_positions - 1) * ld4;
    for (uint c = row_lane(); c < ld4; c += LANES_PER_ROW)
        y[row * ld4 + c] = word(w + c) + position(p + c) + type_row(c);
}
