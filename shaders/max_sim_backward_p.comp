// Gradient of the passage tokens: dp[j] = sum over the query tokens i, in order, whose best in the
// passage of j is j, of dscores[query of i, passage] * q[i]. A workgroup has the rows of one passage
// and a lane a vec4 of their columns, so that it alone adds to what it has written. Workgroups behind
// these have CLEAR_ROWS rows each: those of no passage become zero.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/grid.glsl"
#include "common/operand.glsl"
#include "common/push.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint CLEAR_ROWS = 1;
OPERAND(0, load_queries)
layout(set = 0, binding = 1) readonly buffer Scores { float dscores[]; };
layout(set = 0, binding = 2) readonly buffer Where { uint where[]; };
layout(set = 0, binding = 3) readonly buffer QueryStarts { uint query_starts[]; };
layout(set = 0, binding = 4) readonly buffer PassageStarts { uint passage_starts[]; };
layout(set = 0, binding = 5) buffer Out { vec4 dp[]; };
layout(push_constant) uniform Push { MAX_SIM_BACKWARD_PUSH };

void clear(uint first, uint end, uint c)
{
    for (uint row = first; row < min(end, passage_rows); row++)
        dp[row * p_ld4 + c] = vec4(0.0);
}

void main()
{
    uint passage = group_index() / column_groups;
    uint c = (group_index() % column_groups) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (c >= p_ld4)
        return;
    if (passage >= passages) {
        uint first = (passage - passages) * CLEAR_ROWS, end = first + CLEAR_ROWS;
        clear(first, min(end, passage_starts[0]), c);
        clear(max(first, passage_starts[passages]), end, c);
        return;
    }
    clear(passage_starts[passage], passage_starts[passage + 1], c);
    for (uint query = 0; query < queries; query++) {
        float weight = dscores[query * scores_ld + passage];
        uint end = min(query_starts[query + 1], query_rows);
        for (uint row = query_starts[query]; row < end; row++) {
            uint to = where[row * passages + passage];
            if (to < passage_rows)
                dp[to * p_ld4 + c] += weight * load_queries(row * q_ld4 + c);
        }
    }
}
