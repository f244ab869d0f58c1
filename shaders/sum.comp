// out[0] = alpha * (sum of x [rows, cols], in order) (+ out[0]), or its square root. One lane: for
// short lists only (losses of rows, partial sums).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/push.h"
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const bool SQUARE_ROOT = false;
layout(set = 0, binding = 0) readonly buffer X { float x[]; };
layout(set = 0, binding = 1) writeonly buffer Out { vec4 result[]; };
layout(push_constant) uniform Push { SUM_PUSH };

void main()
{
    if (gl_GlobalInvocationID.x != 0)
        return;
    // Four independent sums keep the rounding error of long lists low.
    vec4 sums = vec4(0.0);
    for (uint r = 0; r < rows; r++)
        for (uint c = 0; c < cols; c++)
            sums[(r * cols + c) & 3u] += x[r * ld + c];
    float sum = alpha * ((sums.x + sums.y) + (sums.z + sums.w));
    result[0] = vec4(SQUARE_ROOT ? sqrt(sum) : sum, 0.0, 0.0, 0.0);
}
