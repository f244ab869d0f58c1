// Activations that are kept for the gradient, as pairs of bfloat16 in a word: rounded to the nearest, ties to even;
// or the floats again.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/each.glsl"
#include "common/push.h"

layout(constant_id = 2) const bool RESTORE = false;
layout(set = 0, binding = 0) buffer X { uvec4 x[]; }; // bits of floats
layout(set = 0, binding = 1) buffer Kept { uvec2 kept[]; };
layout(push_constant) uniform Push { KEEP_BFLOAT16_PUSH };

void main()
{
    for (uint i = 0; i < PER_LANE; i++) {
        uint at = each_index(i);
        if (at >= count)
            return;
        if (RESTORE) {
            uvec2 pair = kept[at];
            x[at] = uvec4(pair.x << 16, pair.x & 0xffff0000u, pair.y << 16, pair.y & 0xffff0000u);
        } else {
            uvec4 bits = x[at];
            bits += 0x7fffu + (bits >> 16 & 1u);
            kept[at] = bits.yw & 0xffff0000u | bits.xz >> 16;
        }
    }
}
