// One step of AdamW (Loshchilov and Hutter, 2019) as Hugging Face and PyTorch run it:
//   g *= clip; m = b1 m + (1-b1) g; v = b2 v + (1-b2) g^2;
//   p *= 1 - lr * decay; p -= lr / (1-b1^t) * m / (sqrt(v) / sqrt(1-b2^t) + eps).
#version 450
#extension GL_GOOGLE_include_directive : require
#include "common/each.glsl"
#include "common/operand.glsl"
#include "common/push.h"

OPERAND_RW(0, load_p, store_p)
OPERAND(1, load_g)
OPERAND_RW(2, load_m, store_m)
OPERAND_RW(3, load_v, store_v)
layout(set = 0, binding = 4) readonly buffer Norm { float norm[]; };
// learning rate, 1 - beta1^t, sqrt(1 - beta2^t), largest norm (0: no clipping); SCALED: factor of the gradients
layout(set = 0, binding = 5) readonly buffer Step { float step_values[]; };
layout(push_constant) uniform Push { ADAMW_PUSH };

#ifdef SCALED
#define NORM (norm[0] * step_values[4])
#else
#define NORM norm[0]
#endif

void main()
{
    float lr = step_values[0], correction1 = step_values[1], correction2 = step_values[2];
    float largest = step_values[3];
    // torch.nn.utils.clip_grad_norm_: coefficient max / (norm + 1e-6), at most 1.
    float clip = largest > 0.0 ? min(1.0, largest / (NORM + 1.0e-6)) : 1.0;
#ifdef SCALED
    clip *= step_values[4];
    // No number: nothing is done. By its bits, because compilers may take all floats for numbers.
    if ((floatBitsToUint(norm[0]) & 0x7f800000u) == 0x7f800000u)
        return;
#endif
    for (uint i = 0; i < PER_LANE; i++) {
        uint at = each_index(i);
        if (at >= count)
            return;
        vec4 grad = load_g(at) * clip;
        vec4 m1 = beta1 * load_m(at) + (1.0 - beta1) * grad;
        vec4 v1 = beta2 * load_v(at) + (1.0 - beta2) * grad * grad;
        store_m(at, m1);
        store_v(at, v1);
        store_p(at, load_p(at) * (1.0 - lr * decay) -
                        (lr / correction1) * (m1 / (sqrt(v1) / correction2 + eps)));
    }
}
