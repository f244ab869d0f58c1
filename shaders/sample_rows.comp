// A column of each row of logits [rows, cols], drawn with the probabilities of the row's softmax: the
// largest of logit - log(e), e exponential by Philox from (seed, purpose, step, row, column).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/rows.glsl"
#include "common/philox.glsl"
#include "common/purpose.h"
#include "common/push.h"

layout(set = 0, binding = 0) readonly buffer Logits { vec4 logits[]; };
layout(set = 0, binding = 1) readonly buffer Step { uint step_words[]; }; // seed low, seed high, step
layout(set = 0, binding = 2) writeonly buffer Drawn { uint drawn[]; };
layout(push_constant) uniform Push { SAMPLE_ROWS_PUSH };

const uint NO_ROW = 0xffffffffu;
const float LOWEST = -3.4028234e38;

// -log(1 - u), u uniform. Small values win, so those come from a series, for 1 - u would round them.
vec4 exponential(uvec4 bits)
{
    vec4 u = min((vec4(bits) + 0.5) * (1.0 / 4294967296.0), vec4(1.0 - 1.0 / 16777216.0));
    vec4 series =
        u * (1.0 + u * (1.0 / 2.0 + u * (1.0 / 3.0 + u * (1.0 / 4.0 + u * (1.0 / 5.0 + u / 6.0)))));
    return mix(-log(1.0 - u), series, lessThan(u, vec4(1.0 / 16.0)));
}

void main()
{
    uint row = row_index();
    bool live = row < rows;
    row = min(row, rows - 1);
    uint cols4 = (cols + 3) / 4, at = NO_ROW;
    float best = LOWEST;
    for (uint c4 = row_lane(); c4 < cols4; c4 += LANES_PER_ROW) {
        uvec4 bits = philox(uvec4(c4, step_words[2], first_row + row, PURPOSE_DRAW),
                            uvec2(step_words[0], step_words[1]));
        vec4 keys = logits[row * ld4 + c4] - log(exponential(bits));
        for (uint j = 0; j < 4; j++)
            if (c4 * 4 + j < cols && keys[j] > best) {
                best = keys[j];
                at = c4 * 4 + j;
            }
    }
    // Of equal ones the first column: columns are below 2^24.
    float top = row_max(best);
    float first = -row_max(at != NO_ROW && best == top ? -float(at) : LOWEST);
    if (live && row_lane() == 0)
        drawn[row * drawn_ld] = top > LOWEST ? uint(first) : NO_ROW;
}
