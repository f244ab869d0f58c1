// Gradient of an embedding table by the rows of each entry, listed by the host in order: no atomics.
// table[v] (+)= sum over r in starts[v]..starts[v+1] of dy[order[r]].
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/rows.glsl"
#include "common/push.h"

layout(constant_id = 2) const bool ACCUMULATE = false;
layout(set = 0, binding = 0) readonly buffer Starts { uint starts[]; };
layout(set = 0, binding = 1) readonly buffer Order { uint order[]; };
layout(set = 0, binding = 2) readonly buffer DY { vec4 dy[]; };
layout(set = 0, binding = 3) buffer Table { vec4 table[]; };
layout(push_constant) uniform Push { EMBED_BACKWARD_PUSH };

void main()
{
    uint entry = row_index();
    if (entry >= entries)
        return;
    uint first = starts[entry], end = min(starts[entry + 1], rows);
    if (ACCUMULATE && first >= end)
        return;
    for (uint c = row_lane(); c < ld4; c += LANES_PER_ROW) {
        vec4 sum = ACCUMULATE ? table[entry * ld4 + c] : vec4(0.0);
        for (uint r = first; r < end; r++)
            sum += dy[min(order[r], rows - 1) * ld4 + c];
        table[entry * ld4 + c] = sum;
    }
}
