// y = x W^T (+ residual): a weight row belongs to the lanes of a row (common/rows.glsl), which take ROWS
// rows of x at a time, so that every weight is read once for them. The order of a sum does not depend on
// how many rows there are.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/rows.glsl"
#include "common/operand.glsl"
#include "common/quant.glsl"
#include "common/push.h"

const uint ROWS = 8;
layout(constant_id = 3) const bool HAS_RESIDUAL = false;
OPERAND(0, x)
layout(set = 0, binding = 2) readonly buffer Residual { float residual[]; };
layout(set = 0, binding = 3) writeonly buffer Y { float y[]; };
layout(push_constant) uniform Push { PACKED_LINEAR_PUSH };

void main()
{
    uint blocks = (rows + ROWS - 1) / ROWS;
    bool live = row_index() < columns * blocks;
    uint own = min(row_index(), columns * blocks - 1);
    uint column = own % columns, first = own / columns * ROWS;
    uint from[ROWS];
    float sum[ROWS];
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
        from[r] = min(first + r, rows - 1) * ldx4;
        sum[r] = 0.0;
    }
    for (uint c = row_lane(); c < k4; c += LANES_PER_ROW) {
        vec4 w = widen(column * ldw, c);
        [[unroll]] for (uint r = 0; r < ROWS; r++)
            sum[r] += dot(w, x(from[r] + c));
    }
    [[unroll]] for (uint r = 0; r < ROWS; r++) {
        float total = row_sum(sum[r]);
        uint at = (first + r) * ldy + column;
        if (live && row_lane() == 0 && first + r < rows)
            y[at] = HAS_RESIDUAL ? total + residual[at] : total;
    }
}
