// dx = rstd * (g - mean(g) - xhat * mean(g * xhat)) (+ residual), g = dy * gamma,
// xhat = (x - mean) * rstd, over each row [rows, cols].
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/rows.glsl"
#include "common/push.h"

layout(constant_id = 2) const bool HAS_RESIDUAL = false; // another gradient of x to add
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) readonly buffer Gamma { vec4 gamma[]; };
layout(set = 0, binding = 2) readonly buffer Stats { vec4 stats[]; };
layout(set = 0, binding = 3) readonly buffer DY { vec4 dy[]; };
layout(set = 0, binding = 4) writeonly buffer DX { vec4 dx[]; };
layout(set = 0, binding = 5) readonly buffer Residual { vec4 residual[]; };
layout(push_constant) uniform Push { LAYERNORM_BACKWARD_PUSH };

float tail_sum(vec4 v, uint c)
{
    uint left = cols - c * 4;
    if (left >= 4)
        return (v.x + v.y) + (v.z + v.w);
    return v.x + (left > 1 ? v.y : 0.0) + (left > 2 ? v.z : 0.0);
}

void main()
{
    uint row = row_index();
    bool live = row < rows;
    row = min(row, rows - 1);
    uint base = row * ld4;
    float mean = stats[row].x, rstd = stats[row].y;
    float sum_g = 0.0, sum_gx = 0.0;
    for (uint c = row_lane(); c < ld4; c += LANES_PER_ROW) {
        vec4 g = dy[base + c] * gamma[c];
        sum_g += tail_sum(g, c);
        sum_gx += tail_sum(g * ((x[base + c] - mean) * rstd), c);
    }
    float mean_g = row_sum(sum_g) / float(cols);
    float mean_gx = row_sum(sum_gx) / float(cols);
    if (!live)
        return;
    for (uint c = row_lane(); c < ld4; c += LANES_PER_ROW) {
        vec4 xhat = (x[base + c] - mean) * rstd;
        vec4 d = rstd * (dy[base + c] * gamma[c] - mean_g - xhat * mean_gx);
        if (HAS_RESIDUAL)
            d += residual[base + c];
        dx[base + c] = d;
    }
}
