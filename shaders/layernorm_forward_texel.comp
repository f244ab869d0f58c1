// layernorm_forward for CPU drivers, see common/norm_cpu.glsl.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_shuffle : require
#define TEXELS
#include "common/norm_cpu.glsl"
#include "common/push.h"

OPERAND(0, x)
OPERAND(1, gamma)
OPERAND(2, beta)
layout(set = 0, binding = 3) writeonly buffer Y { vec4 y[]; };
layout(set = 0, binding = 4) writeonly buffer Stats { vec4 stats[]; };
layout(push_constant) uniform Push { LAYERNORM_FORWARD_PUSH };

void main()
{
    uint first = group_index() * rows_per_group, end = min(rows, first + rows_per_group);
    uint lane = gl_SubgroupInvocationID;
    vec4 scale[COLS4], shift[COLS4];
    [[unroll]] for (uint i = 0; i < COLS4; i++) {
        uint c = min(i * LANES + lane, ld4 - 1);
        scale[i] = gamma(c);
        shift[i] = beta(c);
    }
    for (uint row = first; row < end; row++) {
        vec4 v[COLS4], total = vec4(0.0), square = vec4(0.0);
        [[unroll]] for (uint i = 0; i < COLS4; i++) {
            uint c = i * LANES + lane;
            v[i] = inside(x(row * ld4 + min(c, ld4 - 1)), c, cols);
            total += v[i];
        }
        float mean = lanes_sum(total) / float(cols);
        [[unroll]] for (uint i = 0; i < COLS4; i++) {
            v[i] = inside(v[i] - mean, i * LANES + lane, cols);
            square += v[i] * v[i];
        }
        float rstd = 1.0 / sqrt(lanes_sum(square) / float(cols) + eps);
        [[unroll]] for (uint i = 0; i < COLS4; i++) {
            uint c = i * LANES + lane;
            if (c < ld4)
                y[row * ld4 + c] = v[i] * rstd * scale[i] + shift[i];
        }
        if (lane == 0)
            stats[row] = vec4(mean, rstd, 0.0, 0.0);
    }
}
