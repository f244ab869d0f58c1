// Gradient of the query tokens: dq[i] = sum over the passages p, in order, of dscores[query of i, p] *
// the passage token that was the best of i there; zero for rows of no query. A workgroup has one row,
// a lane a vec4 of its columns.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/grid.glsl"
#include "common/operand.glsl"
#include "common/push.h"

layout(local_size_x_id = 0) in;
OPERAND(0, load_passages)
layout(set = 0, binding = 1) readonly buffer Scores { float dscores[]; };
layout(set = 0, binding = 2) readonly buffer Where { uint where[]; };
layout(set = 0, binding = 3) readonly buffer QueryStarts { uint query_starts[]; };
layout(set = 0, binding = 4) writeonly buffer Out { vec4 dq[]; };
layout(push_constant) uniform Push { MAX_SIM_BACKWARD_PUSH };

void main()
{
    uint row = group_index() / column_groups;
    uint c = (group_index() % column_groups) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (row >= query_rows || c >= q_ld4)
        return;
    uint query = 0, above = queries; // the last that starts at or before the row
    while (above - query > 1) {
        uint middle = (query + above) / 2;
        if (query_starts[middle] <= row)
            query = middle;
        else
            above = middle;
    }
    vec4 sum = vec4(0.0);
    bool inside = queries > 0 && row >= query_starts[query] && row < query_starts[query + 1];
    for (uint p = 0; p < passages && inside; p++) {
        uint from = where[row * passages + p];
        if (from < passage_rows)
            sum += dscores[query * scores_ld + p] * load_passages(from * p_ld4 + c);
    }
    dq[row * q_ld4 + c] = sum;
}
