// Rows of x by an index, in three modes:
//   CHOOSE  y[r] = index[r] is a row of x ? x[index[r]] : other[r] (zero without `other`)
//   ADD     y[r] = (index[r] is a row of x ? x[index[r]] : 0) + other[r]
//   MASK    y[r] = index[r] is a row of x ? 0 : other[r]
// With the inverse index, choosing is its own gradient.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/rows.glsl"
#include "common/push.h"

const uint CHOOSE = 0, ADD = 1, MASK = 2;
layout(constant_id = 2) const bool HAS_OTHER = false;
layout(constant_id = 3) const uint MODE = CHOOSE;
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) readonly buffer Index { uint index[]; };
layout(set = 0, binding = 2) readonly buffer Other { vec4 other[]; };
layout(set = 0, binding = 3) writeonly buffer Y { vec4 y[]; };
layout(push_constant) uniform Push { GATHER_ROWS_PUSH };

void main()
{
    uint row = row_index();
    if (row >= rows)
        return;
    uint source = index[row];
    bool found = source < source_rows;
    uint from = min(source, source_rows - 1) * ld4;
    for (uint c = row_lane(); c < ld4; c += LANES_PER_ROW) {
        vec4 o = HAS_OTHER ? other[row * ld4 + c] : vec4(0.0);
        vec4 v = vec4(0.0);
        if (MODE != MASK && found)
            v = x[from + c];
        if (MODE == ADD || !found)
            v += o;
        y[row * ld4 + c] = v;
    }
}
