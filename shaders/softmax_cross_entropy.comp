// Row softmax cross-entropy in one pass over logits [rows, cols], in place:
// loss[row] = weight[row] * (log sum_j exp(l_j) - l_label), logits := weight * (softmax - onehot).
// Rows whose label is not a column have loss and gradient 0. Columns excluded by bit j of
// exclude[row] take no part.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/rows.glsl"
#include "common/operand.glsl"
#include "common/push.h"

layout(constant_id = 2) const bool HAS_EXCLUDE = false;
OPERAND_RW(0, load_logits, store_logits)
layout(set = 0, binding = 1) readonly buffer Labels { uint labels[]; };
layout(set = 0, binding = 2) readonly buffer Weights { float weights[]; };
layout(set = 0, binding = 3) readonly buffer Exclude { uint exclude[]; };
layout(set = 0, binding = 4) writeonly buffer Loss { float loss[]; };
layout(push_constant) uniform Push { SOFTMAX_PUSH };

// Which of the columns 4 * c.. take part: not those excluded, nor padding.
bvec4 counts(uint row, uint c)
{
    uvec4 column = c * 4 + uvec4(0, 1, 2, 3);
    bvec4 inside = lessThan(column, uvec4(cols));
    if (!HAS_EXCLUDE)
        return inside;
    uvec4 bits = uvec4(exclude[row * bits_ld + c / 8]) >> (column & 31u);
    uvec4 taken = mix(uvec4(0), uvec4(1), inside) & ~bits;
    return notEqual(taken, uvec4(0));
}

void main()
{
    uint row = row_index();
    bool live = row < rows;
    row = min(row, rows - 1);
    uint base = row * (ld / 4), cols4 = (cols + 3) / 4;
    vec4 tops = vec4(-3.0e38);
    for (uint c = row_lane(); c < cols4; c += LANES_PER_ROW)
        tops = mix(tops, max(tops, load_logits(base + c)), counts(row, c));
    float top = row_max(max(max(tops.x, tops.y), max(tops.z, tops.w)));
    uint label = labels[row];
    bool counted = label < cols;
    vec4 sums = vec4(0.0), targets = vec4(0.0);
    for (uint c = row_lane(); c < cols4; c += LANES_PER_ROW) {
        vec4 v = load_logits(base + c);
        sums += mix(vec4(0.0), exp(v - top), counts(row, c));
        targets = mix(targets, v, equal(c * 4 + uvec4(0, 1, 2, 3), uvec4(label)));
    }
    float sum = row_sum((sums.x + sums.y) + (sums.z + sums.w));
    float target = row_sum((targets.x + targets.y) + (targets.z + targets.w));
    if (!live)
        return;
    float weight = counted ? weights[row * weights_ld] : 0.0;
    if (row_lane() == 0)
        loss[row * loss_ld] = counted ? weight * (top + log(sum) - target) : 0.0;
    float scale = weight / sum;
    // Padding becomes zero: sums over whole arenas (the gradient norm) take it in.
    for (uint c = row_lane(); c < cols4; c += LANES_PER_ROW) {
        vec4 g = vec4(0.0);
        if (counted) {
            g = scale * exp(load_logits(base + c) - top);
            g -= mix(vec4(0.0), vec4(weight), equal(c * 4 + uvec4(0, 1, 2, 3), uvec4(label)));
            g = mix(vec4(0.0), g, counts(row, c));
        }
        store_logits(base + c, g);
    }
}
