// y = act(g) * u, where a row of x holds g, then u (GATED), or y = act(x).
// Backward: dg = dy * u * act'(g), du = dy * act(g).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/each.glsl"
#include "common/operand.glsl"
#include "common/gelu.glsl"
#include "common/push.h"

layout(constant_id = 2) const uint ACT = 0; // 0 ReLU, 1 GELU, 2 GELU by tanh, 3 SiLU
layout(constant_id = 3) const bool GATED = false;
layout(constant_id = 4) const bool BACKWARD = false;
OPERAND(0, x)
OPERAND(1, dy)
layout(set = 0, binding = 2) writeonly buffer Y { vec4 y[]; }; // y, or dx
layout(push_constant) uniform Push { GATE_PUSH };

// GELU by tanh is v * sigmoid(z): sqrt(8 / pi) (v + 0.044715 v^3).
const float TANH_SCALE = 1.595769122, TANH_CUBE = 0.044715;

vec4 sigmoid(vec4 z)
{
    return 1.0 / (1.0 + exp(-z));
}

vec4 act(vec4 v)
{
    if (ACT == 0)
        return max(v, vec4(0.0));
    if (ACT == 1)
        return gelu(v);
    if (ACT == 2)
        return v * sigmoid(TANH_SCALE * (v + TANH_CUBE * v * v * v));
    return v * sigmoid(v);
}

vec4 act_grad(vec4 v)
{
    if (ACT == 0)
        return mix(vec4(0.0), vec4(1.0), greaterThan(v, vec4(0.0)));
    if (ACT == 1)
        return gelu_grad(v);
    vec4 z = ACT == 2 ? TANH_SCALE * (v + TANH_CUBE * v * v * v) : v;
    vec4 dz = ACT == 2 ? TANH_SCALE * (1.0 + 3.0 * TANH_CUBE * v * v) : vec4(1.0);
    vec4 s = sigmoid(z);
    return s + v * s * (1.0 - s) * dz;
}

void main()
{
    for (uint i = 0; i < PER_LANE; i++) {
        uint at = each_index(i);
        if (at >= count)
            return;
        uint g = GATED ? at + at / ld4 * ld4 : at;
        vec4 up = GATED ? x(g + ld4) : vec4(1.0);
        if (!BACKWARD) {
            y[at] = act(x(g)) * up;
            continue;
        }
        y[g] = dy(at) * up * act_grad(x(g));
        if (GATED)
            y[g + ld4] = dy(at) * act(x(g));
    }
}
