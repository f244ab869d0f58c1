// Weighted sums of rows: y[v] = sum over k in starts[v]..starts[v+1] of weights[k] * x[order[k]]
// (+ other[v]). With the lists transposed it is its own gradient.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/rows.glsl"
#include "common/push.h"

layout(constant_id = 2) const bool HAS_OTHER = false;
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) readonly buffer Starts { uint starts[]; };
layout(set = 0, binding = 2) readonly buffer Order { uint order[]; };
layout(set = 0, binding = 3) readonly buffer Weights { float weights[]; };
layout(set = 0, binding = 4) readonly buffer Other { vec4 other[]; };
layout(set = 0, binding = 5) writeonly buffer Y { vec4 y[]; };
layout(push_constant) uniform Push { COMBINE_ROWS_PUSH };

void main()
{
    uint row = row_index();
    if (row >= rows)
        return;
    uint first = starts[row], end = min(starts[row + 1], entries);
    for (uint c = row_lane(); c < ld4; c += LANES_PER_ROW) {
        vec4 sum = HAS_OTHER ? other[row * ld4 + c] : vec4(0.0);
        for (uint k = first; k < end; k++)
            sum += weights[k] * x[min(order[k], source_rows - 1) * ld4 + c];
        y[row * ld4 + c] = sum;
    }
}
