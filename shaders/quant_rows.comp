// y[r] = row index[r] of a packed table, widened; zero where there is no such row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/rows.glsl"
#include "common/quant.glsl"
#include "common/push.h"

layout(set = 0, binding = 0) readonly buffer Index { uint index[]; };
layout(set = 0, binding = 2) writeonly buffer Y { vec4 y[]; };
layout(push_constant) uniform Push { PACKED_ROWS_PUSH };

void main()
{
    uint row = row_index();
    if (row >= rows)
        return;
    uint entry = index[row];
    for (uint c = row_lane(); c < k4; c += LANES_PER_ROW)
        y[row * k4 + c] = entry < entries ? widen(entry * ldw, c) : vec4(0.0);
}
