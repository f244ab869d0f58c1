// Rows of scores [rows, cols] in which one column should beat another, in place: with p the softmax
// over these two,
//   loss[row] = weight[row] * max(0, 1 - p(better) + p(worse)) = weight[row] * 2 p(worse),
//   scores := its gradient, zero in all other columns.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/rows.glsl"
#include "common/push.h"

layout(set = 0, binding = 0) buffer Scores { float scores[]; };
layout(set = 0, binding = 1) readonly buffer Pairs { uvec2 pairs[]; }; // better, worse
layout(set = 0, binding = 2) readonly buffer Weights { float weights[]; };
layout(set = 0, binding = 3) writeonly buffer Loss { float loss[]; };
layout(push_constant) uniform Push { PREFERENCE_PUSH };

void main()
{
    uint row = row_index();
    bool live = row < rows;
    row = min(row, rows - 1);
    uvec2 pair = pairs[row];
    bool counted = pair.x < cols && pair.y < cols;
    float p = 0.0;
    if (counted)
        p = 1.0 / (1.0 + exp(scores[row * ld + pair.x] - scores[row * ld + pair.y]));
    row_sum(0.0); // every lane of the row has read before one writes
    if (!live)
        return;
    float weight = counted ? weights[row * weights_ld] : 0.0;
    if (row_lane() == 0)
        loss[row * loss_ld] = weight * 2.0 * p;
    float slope = weight * 2.0 * p * (1.0 - p);
    for (uint c = row_lane(); c < ld; c += LANES_PER_ROW)
        scores[row * ld + c] = c == pair.y ? slope : c == pair.x ? -slope : 0.0;
}
