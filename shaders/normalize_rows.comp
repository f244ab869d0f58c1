// y = x / max(|x|, eps) over each row of x [rows, cols]; backward, with y = x / n:
// dx = (dy - y (y . dy)) / n, or dy / eps where eps took the place of |x|.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/rows.glsl"
#include "common/push.h"

layout(constant_id = 2) const bool BACKWARD = false;
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) readonly buffer DY { vec4 dy[]; };
layout(set = 0, binding = 2) writeonly buffer Y { vec4 y[]; }; // y, or dx
layout(push_constant) uniform Push { NORMALIZE_ROWS_PUSH };

// Columns beyond `cols` are padding.
float tail_dot(vec4 a, vec4 b, uint c)
{
    vec4 v = mix(vec4(0.0), a * b, lessThan(c * 4 + uvec4(0, 1, 2, 3), uvec4(cols)));
    return (v.x + v.y) + (v.z + v.w);
}

void main()
{
    uint row = row_index();
    bool live = row < rows;
    uint base = min(row, rows - 1) * ld4;
    float square = 0.0, dot = 0.0;
    for (uint c = row_lane(); c < ld4; c += LANES_PER_ROW) {
        square += tail_dot(x[base + c], x[base + c], c);
        if (BACKWARD)
            dot += tail_dot(x[base + c], dy[base + c], c);
    }
    float norm = sqrt(row_sum(square)), scale = 1.0 / max(norm, eps);
    float along = 0.0; // (y . dy) / n of x
    if (BACKWARD) {
        dot = row_sum(dot);
        along = norm > eps ? dot * scale * scale : 0.0;
    }
    if (!live)
        return;
    for (uint c = row_lane(); c < ld4; c += LANES_PER_ROW)
        y[base + c] = scale * (BACKWARD ? dy[base + c] - along * x[base + c] : x[base + c]);
}
