// Row softmax cross-entropy in one pass over logits [rows, cols], in place:
// loss[row] = weight[row] * (log sum_j exp(l_j) - l_label), logits := weight * (softmax - onehot).
// Rows whose label is not a column have loss and gradient 0. Columns excluded by bit j of
// exclude[row] take no part.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/rows.glsl"

layout(constant_id = 2) const bool HAS_EXCLUDE = false;
layout(set = 0, binding = 0) buffer Logits { float logits[]; };
layout(set = 0, binding = 1) readonly buffer Labels { uint labels[]; };
layout(set = 0, binding = 2) readonly buffer Weights { float weights[]; };
layout(set = 0, binding = 3) readonly buffer Exclude { uint exclude[]; };
layout(set = 0, binding = 4) writeonly buffer Loss { float loss[]; };
layout(push_constant) uniform Push { uint rows, cols, ld, exclude_ld, weights_ld, loss_ld; };

bool excluded(uint row, uint c)
{
    return HAS_EXCLUDE && ((exclude[row * exclude_ld + c / 32] >> (c & 31)) & 1u) != 0u;
}

void main()
{
    uint row = row_index();
    bool live = row < rows;
    row = min(row, rows - 1);
    uint base = row * ld;
    float top = -3.0e38;
    for (uint c = row_lane(); c < cols; c += LANES_PER_ROW)
        if (!excluded(row, c))
            top = max(top, logits[base + c]);
    top = row_max(top);
    float sum = 0.0;
    for (uint c = row_lane(); c < cols; c += LANES_PER_ROW)
        if (!excluded(row, c))
            sum += exp(logits[base + c] - top);
    sum = row_sum(sum);
    uint label = labels[row];
    bool counted = label < cols;
    float weight = counted ? weights[row * weights_ld] : 0.0;
    float target = counted ? logits[base + min(label, cols - 1)] : 0.0;
    if (LANES_PER_ROW > 1)
        barrier(); // every lane has read the target before one overwrites it
    if (!live)
        return;
    if (row_lane() == 0)
        loss[row * loss_ld] = counted ? weight * (top + log(sum) - target) : 0.0;
    float scale = weight / sum;
    for (uint c = row_lane(); c < cols; c += LANES_PER_ROW) {
        float g = 0.0;
        if (counted && !excluded(row, c))
            g = scale * exp(logits[base + c] - top) - (c == label ? weight : 0.0);
        logits[base + c] = g;
    }
}
