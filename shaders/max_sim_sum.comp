// scores[q, p] = sum over the tokens i of query q of best[i, p], in order; minus infinity where there
// is no passage p. A lane has one (q, p).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/grid.glsl"
#include "common/push.h"

layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0) readonly buffer Best { float best[]; };
layout(set = 0, binding = 1) readonly buffer QueryStarts { uint query_starts[]; };
layout(set = 0, binding = 2) readonly buffer PassageStarts { uint passage_starts[]; };
layout(set = 0, binding = 3) writeonly buffer Scores { float scores[]; };
layout(push_constant) uniform Push { MAX_SIM_SUM_PUSH };

const uint NO_ROW = 0xffffffffu, MINUS_INFINITY = 0xff800000u;

void main()
{
    uint at = group_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (at >= queries * passages)
        return;
    uint query = at / passages, passage = at % passages;
    float sum = 0.0;
    uint end = min(query_starts[query + 1], rows);
    for (uint row = query_starts[query]; row < end; row++)
        sum += best[row * best_ld + passage];
    if (passage_starts[passage + 1] == NO_ROW)
        sum = uintBitsToFloat(MINUS_INFINITY);
    scores[query * scores_ld + passage] = sum;
}
