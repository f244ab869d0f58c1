// y = x * r * gamma, r = 1 / sqrt(mean(x^2) + eps), over each row of x [rows, cols]; saves (0, r) in
// stats [rows, 4], as a layer norm with mean 0. Backward, with g = dy * gamma and xhat = x * r:
// dx = r * (g - xhat * mean(g * xhat)) (+ residual).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/rows.glsl"
#include "common/operand.glsl"
#include "common/push.h"

layout(constant_id = 2) const bool BACKWARD = false;
layout(constant_id = 3) const bool HAS_RESIDUAL = false; // another gradient of x to add
OPERAND(0, x)
OPERAND(1, gamma)
layout(set = 0, binding = 2) buffer Stats { vec4 stats[]; };
layout(set = 0, binding = 3) writeonly buffer Y { vec4 y[]; }; // y, or dx
OPERAND(4, dy)
OPERAND(5, residual)
layout(push_constant) uniform Push { RMS_NORM_PUSH };

// Columns beyond `cols` are padding.
float inside_sum(vec4 v, uint c)
{
    v = mix(vec4(0.0), v, lessThan(c * 4 + uvec4(0, 1, 2, 3), uvec4(cols)));
    return (v.x + v.y) + (v.z + v.w);
}

void main()
{
    uint row = row_index();
    bool live = row < rows;
    row = min(row, rows - 1);
    uint base = row * ld4;
    float sum = 0.0;
    for (uint c = row_lane(); c < ld4; c += LANES_PER_ROW)
        sum += inside_sum(x(base + c) * (BACKWARD ? dy(base + c) * gamma(c) : x(base + c)), c);
    float mean = row_sum(sum) / float(cols);
    float r = BACKWARD ? stats[row].y : 1.0 / sqrt(mean + eps);
    if (!live)
        return;
    for (uint c = row_lane(); c < ld4; c += LANES_PER_ROW) {
        if (!BACKWARD) {
            y[base + c] = x(base + c) * r * gamma(c);
            continue;
        }
        vec4 d = r * (dy(base + c) * gamma(c) - x(base + c) * (r * r * mean));
        y[base + c] = HAS_RESIDUAL ? d + residual(base + c) : d;
    }
    if (!BACKWARD && row_lane() == 0)
        stats[row] = vec4(0.0, r, 0.0, 0.0);
}
