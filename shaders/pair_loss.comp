// Losses of pairs of columns of scores [rows, cols], and their gradient: in each row every positive
// column i against every other column j,
//   losses[row][j] = weight[row][j] * sum_i lambda * f(d),   d = s_i - s_j - (t_i - t_j),
// with f(d) = log(1 + exp(-d)), or d * d (SQUARE), the teacher's scores t (TEACHER), and lambda the
// difference of the reciprocal ranks of i and j (RANKS), else 1. A lane has one column: of a
// positive it sums over the others, of another over the positives.
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/grid.glsl"
#include "common/push.h"

layout(local_size_x_id = 0) in;
layout(constant_id = 1) const bool SQUARE = false;
layout(constant_id = 2) const bool TEACHER = false;
layout(constant_id = 3) const bool RANKS = false;
layout(set = 0, binding = 0) readonly buffer Scores { float scores[]; };
layout(set = 0, binding = 1) readonly buffer Positives { uint positives[]; };
layout(set = 0, binding = 2) readonly buffer Weights { float weights[]; };
layout(set = 0, binding = 3) readonly buffer Teacher { float teacher[]; };
layout(set = 0, binding = 4) readonly buffer Ranks { float ranks[]; };
layout(set = 0, binding = 5) writeonly buffer Losses { float losses[]; };
layout(set = 0, binding = 6) writeonly buffer Gradient { float gradient[]; };
layout(push_constant) uniform Push { PAIR_LOSS_PUSH };

bool is_positive(uint row, uint c)
{
    return (positives[row * bits_ld + c / 32] >> (c & 31u) & 1u) != 0;
}

// Loss of the pair (i, j) of elements, and its slope in d, without the weight.
vec2 pair(uint i, uint j)
{
    float d = scores[i] - scores[j];
    if (TEACHER)
        d -= teacher[i] - teacher[j];
    float lambda = RANKS ? abs(ranks[i] - ranks[j]) : 1.0;
    if (SQUARE)
        return lambda * vec2(d * d, 2.0 * d);
    float e = exp(-abs(d));
    return lambda * vec2(max(-d, 0.0) + log(1.0 + e), (d < 0.0 ? -1.0 : -e) / (1.0 + e));
}

void main()
{
    uint at = group_index() * gl_WorkGroupSize.x + gl_LocalInvocationID.x;
    if (at >= rows * ld)
        return;
    uint row = at / ld, c = at % ld, base = row * ld;
    float loss = 0.0, slope = 0.0;
    if (c < cols && is_positive(row, c)) {
        for (uint j = 0; j < cols; j++)
            if (weights[base + j] != 0.0 && !is_positive(row, j))
                slope += weights[base + j] * pair(at, base + j).y;
    } else if (c < cols && weights[at] != 0.0) {
        for (uint word = 0; word < bits_ld; word++) {
            uint bits = positives[row * bits_ld + word];
            while (bits != 0) {
                uint i = word * 32 + findLSB(bits);
                bits &= bits - 1;
                if (i < cols) {
                    vec2 p = pair(base + i, at);
                    loss += p.x;
                    slope -= p.y;
                }
            }
        }
        loss *= weights[at];
        slope *= weights[at];
    }
    losses[at] = loss;
    gradient[at] = slope;
}
