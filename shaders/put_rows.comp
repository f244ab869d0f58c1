// table[place[r]] = x[r] for every row r of x whose place is a row of the table; no two have the same.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/rows.glsl"
#include "common/operand.glsl"
#include "common/push.h"

OPERAND(0, x)
layout(set = 0, binding = 1) readonly buffer Place { uint place[]; };
layout(set = 0, binding = 2) writeonly buffer Table { vec4 table[]; };
layout(push_constant) uniform Push { PUT_ROWS_PUSH };

void main()
{
    uint row = row_index();
    if (row >= rows || place[row] >= table_rows)
        return;
    uint to = place[row] * ld4;
    for (uint c = row_lane(); c < ld4; c += LANES_PER_ROW)
        table[to + c] = x(row * ld4 + c);
}
