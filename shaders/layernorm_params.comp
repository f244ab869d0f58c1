// Partial sums of dgamma = sum_rows dy * xhat and dbeta = sum_rows dy over blocks of rows.
// Both [blocks, cols]. A lane owns a vec4 of columns.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/grid.glsl"
#include "common/push.h"

layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) readonly buffer Stats { vec4 stats[]; };
layout(set = 0, binding = 2) readonly buffer DY { vec4 dy[]; };
layout(set = 0, binding = 3) writeonly buffer DGamma { vec4 dgamma_blocks[]; };
layout(set = 0, binding = 4) writeonly buffer DBeta { vec4 dbeta_blocks[]; };
layout(push_constant) uniform Push { LAYERNORM_PARAMS_PUSH };

void main()
{
    uint block = group_index() / column_groups;
    uint c = (group_index() % column_groups) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (block >= blocks || c >= ld4)
        return;
    uint end = min(rows, (block + 1) * rows_per_block);
    vec4 dgamma = vec4(0.0), dbeta = vec4(0.0);
    for (uint row = block * rows_per_block; row < end; row++) {
        vec4 s = stats[row];
        vec4 d = dy[row * ld4 + c];
        dgamma += d * ((x[row * ld4 + c] - s.x) * s.y);
        dbeta += d;
    }
    dgamma_blocks[block * ld4 + c] = dgamma;
    dbeta_blocks[block * ld4 + c] = dbeta;
}
