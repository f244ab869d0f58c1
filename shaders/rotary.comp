// Rotary positions: in the first turned4 * 4 columns, heads of HEAD4 * 4 columns, the pair (c, c + half
// a head) is turned by the row's angle c. angles [rows, head]: cosines, then sines. Columns behind are
// copied. The gradient is the turn back.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/rows.glsl"
#include "common/push.h"

layout(constant_id = 2) const uint HEAD4 = 4; // even
layout(constant_id = 3) const bool BACKWARD = false;
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) readonly buffer Angles { vec4 angles[]; };
layout(set = 0, binding = 2) writeonly buffer Y { vec4 y[]; };
layout(push_constant) uniform Push { ROTARY_PUSH };

void main()
{
    uint row = row_index(), half4 = HEAD4 / 2;
    if (row >= rows)
        return;
    for (uint c = row_lane(); c < ld4; c += LANES_PER_ROW) {
        vec4 own = x[row * ld4 + c];
        if (c < turned4) {
            uint at = c % HEAD4, angle = at % half4;
            bool first = at < half4;
            vec4 other = x[row * ld4 + (first ? c + half4 : c - half4)];
            vec4 sine = angles[row * HEAD4 + half4 + angle];
            own = own * angles[row * HEAD4 + angle] + (first != BACKWARD ? -other : other) * sine;
        }
        y[row * ld4 + c] = own;
    }
}
