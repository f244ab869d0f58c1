// Gradient of term weights with respect to a chunk of the logits: dlogits[row] = dweights * exp(
// -weights), that is dweights / (1 + logit), where the row is the place of its text's largest logit,
// and 0 elsewhere. Rows behind the last text, which is padding, are a text without places.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/grid.glsl"
#include "common/push.h"

layout(local_size_x_id = 0) in;
layout(set = 0, binding = 0) readonly buffer Sequences { uint sequences[]; };
layout(set = 0, binding = 1) readonly buffer Weights { vec4 weights[]; };
layout(set = 0, binding = 2) readonly buffer Places { uvec4 places[]; };
layout(set = 0, binding = 3) readonly buffer DWeights { vec4 dweights[]; };
layout(set = 0, binding = 4) writeonly buffer DLogits { vec4 dlogits[]; };
layout(push_constant) uniform Push { TERM_POOL_PUSH };

const uint HEADER = 4, NO_ROW = 0xffffffffu;

void main()
{
    uint text = group_index() / column_groups;
    uint c = (group_index() % column_groups) * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (text > texts || c >= ld4)
        return;
    vec4 gradient = vec4(0.0);
    uvec4 place = uvec4(NO_ROW);
    uint end = first_row + rows;
    if (text < texts) {
        uint at = text * ld4 + c;
        gradient = dweights[at] * exp(-weights[at]);
        place = places[at];
        end = min(end, sequences[HEADER + text + 1]);
    }
    for (uint row = max(sequences[HEADER + text], first_row); row < end; row++)
        dlogits[(row - first_row) * ld4 + c] = mix(vec4(0.0), gradient, equal(place, uvec4(row)));
}
