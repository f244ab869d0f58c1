// y = keep ? x / (1 - p) : 0 (+ other), keep drawn by Philox from (seed, purpose, step, site, vec4):
// recomputed in the backward pass, never stored. Rows that are a part or a selection
// of a batch have the draws that they have in the whole batch.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/each.glsl"
#include "common/philox.glsl"
#include "common/purpose.h"
#include "common/push.h"

layout(constant_id = 2) const bool HAS_OTHER = false;
layout(set = 0, binding = 0) readonly buffer X { vec4 x[]; };
layout(set = 0, binding = 1) readonly buffer Step { uint step_words[]; }; // seed low, seed high, step, first row
layout(set = 0, binding = 2) readonly buffer Other { vec4 other[]; };
layout(set = 0, binding = 3) writeonly buffer Y { vec4 y[]; };
layout(push_constant) uniform Push { DROPOUT_PUSH };

void main()
{
    for (uint i = 0; i < PER_LANE; i++) {
        uint at = each_index(i);
        if (at >= count)
            return;
        uint drawn = rows_at == 0 ? at : step_words[rows_at + at / ld4] * ld4 + at % ld4;
        uvec4 bits = philox(uvec4(step_words[3] * ld4 + drawn, step_words[2], dropout_index, PURPOSE_DROPOUT),
                            uvec2(step_words[0], step_words[1]));
        vec4 v = mix(vec4(0.0), x[at] * scale, greaterThanEqual(bits, uvec4(threshold)));
        if (HAS_OTHER)
            v += other[at];
        y[at] = v;
    }
}
