// Both halves of the gradient of a layer norm in one pass, for CPU drivers, see common/norm_cpu.glsl:
// dx as layernorm_backward, and of each workgroup's block of rows the partial sums of
// layernorm_params.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_EXT_control_flow_attributes : require
#extension GL_KHR_shader_subgroup_shuffle : require
#define TEXELS
#include "common/norm_cpu.glsl"
#include "common/push.h"

layout(constant_id = 2) const bool HAS_RESIDUAL = false; // another gradient of x to add
OPERAND(0, x)
OPERAND(1, gamma)
OPERAND(2, stats)
OPERAND(3, dy)
layout(set = 0, binding = 4) writeonly buffer DX { vec4 dx[]; };
OPERAND(5, residual)
layout(set = 0, binding = 6) writeonly buffer DGamma { vec4 dgamma_blocks[]; };
layout(set = 0, binding = 7) writeonly buffer DBeta { vec4 dbeta_blocks[]; };
layout(push_constant) uniform Push { LAYERNORM_BACKWARD_PUSH };

void main()
{
    uint block = group_index();
    if (block >= blocks)
        return;
    uint lane = gl_SubgroupInvocationID, end = min(rows, (block + 1) * rows_per_block);
    vec4 scale[COLS4], dgamma[COLS4], dbeta[COLS4];
    [[unroll]] for (uint i = 0; i < COLS4; i++) {
        scale[i] = gamma(min(i * LANES + lane, ld4 - 1));
        dgamma[i] = dbeta[i] = vec4(0.0);
    }
    for (uint row = block * rows_per_block; row < end; row++) {
        vec4 s = stats(row); // mean, 1 / standard deviation
        vec4 xhat[COLS4], g[COLS4], sum_g = vec4(0.0), sum_gx = vec4(0.0);
        [[unroll]] for (uint i = 0; i < COLS4; i++) {
            uint c = i * LANES + lane, at = row * ld4 + min(c, ld4 - 1);
            xhat[i] = inside((x(at) - s.x) * s.y, c, cols);
            vec4 d = inside(dy(at), c, cols);
            dgamma[i] += d * xhat[i];
            dbeta[i] += d;
            g[i] = inside(d * scale[i], c, cols);
            sum_g += g[i];
            sum_gx += g[i] * xhat[i];
        }
        float mean_g = lanes_sum(sum_g) / float(cols), mean_gx = lanes_sum(sum_gx) / float(cols);
        [[unroll]] for (uint i = 0; i < COLS4; i++) {
            uint c = i * LANES + lane, at = row * ld4 + c;
            vec4 d = s.y * (g[i] - mean_g - xhat[i] * mean_gx);
            if (HAS_RESIDUAL)
                d += residual(min(at, rows * ld4 - 1));
            if (c < ld4)
                dx[at] = d;
        }
    }
    [[unroll]] for (uint i = 0; i < COLS4; i++) {
        uint c = i * LANES + lane;
        if (c < ld4) {
            dgamma_blocks[block * ld4 + c] = dgamma[i];
            dbeta_blocks[block * ld4 + c] = dbeta[i];
        }
    }
}
