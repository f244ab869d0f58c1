// Divergence of the softmax of rows of scores [rows, cols] from wanted probabilities p, in place:
//   loss[row] = weight[row] * sum_c p_c (log p_c - log softmax(s)_c),
//   scores := weight * (P * softmax - p), P = sum p.
// Columns that bit c of exclude[row] excludes take no part: their p must be 0.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/rows.glsl"
#include "common/push.h"

layout(constant_id = 2) const bool HAS_EXCLUDE = false;
layout(set = 0, binding = 0) buffer Scores { float scores[]; };
layout(set = 0, binding = 1) readonly buffer Targets { float targets[]; };
layout(set = 0, binding = 2) readonly buffer Weights { float weights[]; };
layout(set = 0, binding = 3) readonly buffer Exclude { uint exclude[]; };
layout(set = 0, binding = 4) writeonly buffer Loss { float loss[]; };
layout(push_constant) uniform Push { SOFTMAX_PUSH };

bool counts(uint row, uint c)
{
    return !HAS_EXCLUDE || (exclude[row * bits_ld + c / 32] >> (c & 31u) & 1u) == 0;
}

void main()
{
    uint row = row_index();
    bool live = row < rows;
    row = min(row, rows - 1);
    uint base = row * ld;
    float top = -3.0e38;
    for (uint c = row_lane(); c < cols; c += LANES_PER_ROW)
        if (counts(row, c))
            top = max(top, scores[base + c]);
    top = row_max(top);
    float sum = 0.0, whole = 0.0, apart = 0.0;
    for (uint c = row_lane(); c < cols; c += LANES_PER_ROW) {
        if (!counts(row, c))
            continue;
        float s = scores[base + c] - top, p = targets[base + c];
        sum += exp(s);
        whole += p;
        if (p > 0.0)
            apart += p * (log(p) - s);
    }
    sum = row_sum(sum);
    whole = row_sum(whole);
    apart = row_sum(apart);
    if (!live)
        return;
    float weight = weights[row * weights_ld];
    if (row_lane() == 0)
        loss[row * loss_ld] = whole > 0.0 ? weight * (apart + whole * log(sum)) : 0.0;
    // Padding becomes zero: sums over whole arenas (the gradient norm) take it in.
    for (uint c = row_lane(); c < ld; c += LANES_PER_ROW) {
        float g = 0.0;
        if (c < cols && counts(row, c))
            g = weight * (whole / sum * exp(scores[base + c] - top) - targets[base + c]);
        scores[base + c] = g;
    }
}
