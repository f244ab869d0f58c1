// y = (x - mean) / sqrt(var + eps) * gamma + beta over each row of x [rows, cols].
// Saves mean and 1/sqrt(var + eps) in stats [rows, 4]. Two passes: the variance is of centred values.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/rows.glsl"
#include "common/push.h"

layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) readonly buffer Gamma { vec4 gamma[]; };
layout(set = 0, binding = 2) readonly buffer Beta { vec4 beta[]; };
layout(set = 0, binding = 3) writeonly buffer Y { vec4 y[]; };
layout(set = 0, binding = 4) writeonly buffer Stats { vec4 stats[]; };
layout(push_constant) uniform Push { LAYERNORM_FORWARD_PUSH };

float tail_sum(vec4 v, uint c)
{
    // Columns beyond `cols` are padding.
    uint left = cols - c * 4;
    if (left >= 4)
        return (v.x + v.y) + (v.z + v.w);
    return v.x + (left > 1 ? v.y : 0.0) + (left > 2 ? v.z : 0.0);
}

void main()
{
    uint row = row_index();
    bool live = row < rows;
    uint base = min(row, rows - 1) * ld4;
    float sum = 0.0;
    for (uint c = row_lane(); c < ld4; c += LANES_PER_ROW)
        sum += tail_sum(x[base + c], c);
    float mean = row_sum(sum) / float(cols);
    float square = 0.0;
    for (uint c = row_lane(); c < ld4; c += LANES_PER_ROW) {
        vec4 d = x[base + c] - mean;
        square += tail_sum(d * d, c);
    }
    float rstd = 1.0 / sqrt(row_sum(square) / float(cols) + eps);
    if (!live)
        return;
    for (uint c = row_lane(); c < ld4; c += LANES_PER_ROW)
        y[base + c] = (x[base + c] - mean) * rstd * gamma[c] + beta[c];
    if (row_lane() == 0)
        stats[row] = vec4(mean, rstd, 0.0, 0.0);
}
