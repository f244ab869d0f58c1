// Row softmax cross-entropy against a uniform target over a set of columns, in one pass over logits
// [rows, cols], in place: with n targets in the row,
//   loss[row] = weight[row] * (log sum_j exp(l_j) - (sum of target logits) / n),
//   logits := weight * (softmax - [target] / n).
// Bit j of targets[row] makes column j a target. Rows without targets have loss and gradient 0.
// Columns excluded by bit j of exclude[row] take no part and must not be targets.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/rows.glsl"
#include "common/operand.glsl"
#include "common/push.h"

layout(constant_id = 2) const bool HAS_EXCLUDE = false;
OPERAND_RW(0, load_logits, store_logits)
layout(set = 0, binding = 1) readonly buffer Targets { uint targets[]; };
layout(set = 0, binding = 2) readonly buffer Weights { float weights[]; };
layout(set = 0, binding = 3) readonly buffer Exclude { uint exclude[]; };
layout(set = 0, binding = 4) writeonly buffer Loss { float loss[]; };
layout(push_constant) uniform Push { SOFTMAX_PUSH };

// Which of the columns 4 * c.. have their bit set in a word of bits.
bvec4 bits_of(uint word, uint c)
{
    return notEqual((uvec4(word) >> ((c * 4 + uvec4(0, 1, 2, 3)) & 31u)) & 1u, uvec4(0));
}

// Which of them take part: not those excluded, nor padding.
bvec4 counts(uint row, uint c)
{
    bvec4 inside = lessThan(c * 4 + uvec4(0, 1, 2, 3), uvec4(cols));
    if (!HAS_EXCLUDE)
        return inside;
    bvec4 out_of_it = bits_of(exclude[row * bits_ld + c / 8], c);
    return notEqual(mix(uvec4(0), uvec4(1), inside) & mix(uvec4(1), uvec4(0), out_of_it), uvec4(0));
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
    vec4 sums = vec4(0.0), wanted = vec4(0.0), numbers = vec4(0.0);
    for (uint c = row_lane(); c < cols4; c += LANES_PER_ROW) {
        vec4 v = load_logits(base + c) - top; // small numbers, so that sums of them stay exact
        bvec4 target = bits_of(targets[row * bits_ld + c / 8], c);
        sums += mix(vec4(0.0), exp(v), counts(row, c));
        wanted += mix(vec4(0.0), v, target);
        numbers += mix(vec4(0.0), vec4(1.0), target);
    }
    float sum = row_sum((sums.x + sums.y) + (sums.z + sums.w));
    float target_sum = row_sum((wanted.x + wanted.y) + (wanted.z + wanted.w));
    float number = row_sum((numbers.x + numbers.y) + (numbers.z + numbers.w));
    if (!live)
        return;
    bool counted = number > 0.0;
    float weight = counted ? weights[row * weights_ld] : 0.0;
    if (row_lane() == 0)
        loss[row * loss_ld] = counted ? weight * (log(sum) - target_sum / number) : 0.0;
    float scale = weight / sum, share = counted ? weight / number : 0.0;
    // Padding becomes zero, as in softmax_cross_entropy.
    for (uint c = row_lane(); c < cols4; c += LANES_PER_ROW) {
        vec4 g = vec4(0.0);
        if (counted) {
            bvec4 target = bits_of(targets[row * bits_ld + c / 8], c);
            g = scale * exp(load_logits(base + c) - top) - mix(vec4(0.0), vec4(share), target);
            g = mix(vec4(0.0), g, counts(row, c));
        }
        store_logits(base + c, g);
    }
}
