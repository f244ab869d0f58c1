// Term weights of texts that lie packed in the rows of logits: log(1 + the largest positive logit of
// a text's rows), a vec4 of columns a lane. The logits come in chunks of rows: `tops` and `places`
// hold the largest so far and its row from chunk to chunk. Of equal logits the first row is kept;
// without a positive one the place is no row.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/grid.glsl"
#include "common/operand.glsl"
#include "common/push.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const bool FIRST = true; // chunk: nothing is kept yet
layout(constant_id = 2) const bool LAST = true;  // chunk: weights instead of tops
OPERAND(0, logits)
layout(set = 0, binding = 1) readonly buffer Sequences { uint sequences[]; };
layout(set = 0, binding = 2) buffer Tops { vec4 tops[]; };
layout(set = 0, binding = 3) buffer Places { uvec4 places[]; };
layout(set = 0, binding = 4) writeonly buffer Weights { vec4 weights[]; };
layout(push_constant) uniform Push { TERM_POOL_PUSH };

const uint HEADER = 4, NO_ROW = 0xffffffffu;

void main()
{
    uint text = group_index() / column_groups;
    uint c = (group_index() % column_groups) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (text >= texts || c >= ld4)
        return;
    uint at = text * ld4 + c;
    vec4 top = vec4(0.0);
    uvec4 place = uvec4(NO_ROW);
    if (!FIRST) {
        top = tops[at];
        place = places[at];
    }
    uint end = min(sequences[HEADER + text + 1], first_row + rows);
    for (uint row = max(sequences[HEADER + text], first_row); row < end; row++) {
        vec4 v = logits((row - first_row) * ld4 + c);
        bvec4 more = greaterThan(v, top);
        top = mix(top, v, more);
        place = mix(place, uvec4(row), more);
    }
    places[at] = place;
    if (LAST)
        weights[at] = log(1.0 + top);
    else
        tops[at] = top;
}
