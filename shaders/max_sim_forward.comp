// The best passage token of each query token, in every passage: best[i, p] = max over the tokens j of
// passage p whose tag is that of i of similarities[i, j], and where it is; among equals the first. A
// query token without such a j gets 0 and no row. A lane has one (i, p).
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#include "common/grid.glsl"
#include "common/operand.glsl"
#include "common/push.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const bool FLOOR = false; // what is not above 0 counts as 0
OPERAND(0, load_similarities)
layout(set = 0, binding = 1) readonly buffer QueryTags { uint query_tags[]; };
layout(set = 0, binding = 2) readonly buffer PassageStarts { uint passage_starts[]; };
layout(set = 0, binding = 3) readonly buffer PassageTags { uvec4 passage_tags[]; };
layout(set = 0, binding = 4) writeonly buffer Best { float best[]; };
layout(set = 0, binding = 5) writeonly buffer Where { uint where[]; };
layout(push_constant) uniform Push { MAX_SIM_FORWARD_PUSH };

const uint NO_ROW = 0xffffffffu;

void main()
{
    uint at = group_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (at >= rows * passages)
        return;
    uint row = at / passages, passage = at % passages, tag = query_tags[row];
    uint first = passage_starts[passage], end = min(passage_starts[passage + 1], columns);
    if (tag == NO_ROW)
        end = first;
    float top = FLOOR ? 0.0 : -3.4e38;
    uint found = NO_ROW;
    for (uint c4 = first / 4; c4 * 4 < end; c4++) {
        vec4 s = load_similarities(row * ld4 + c4);
        uvec4 tags = passage_tags[c4];
        [[unroll]] for (uint j = 0; j < 4; j++) {
            uint c = c4 * 4 + j;
            if (c >= first && c < end && tags[j] == tag && s[j] > top) {
                top = s[j];
                found = c;
            }
        }
    }
    best[row * best_ld + passage] = found == NO_ROW ? 0.0 : top;
    where[at] = found;
}
