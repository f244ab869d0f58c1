// Exact (erf) GELU and its derivative, branch-free, for float and vec4.
//
//   gelu(x)      = x * Phi(x)              Phi = normal distribution function
//   gelu_grad(x) = Phi(x) + x * phi(x)     phi = its density
//
// The trick: with a = |x| both need only the upper tail Q(a) = 1 - Phi(a) = exp(-a^2/2) * R(a).
// R (a Mills ratio over sqrt(2 pi)) is smooth and slowly varying, so one small rational fits it with
// a relative error of 2.6e-9 on [0, 10], and
//   gelu(x) = max(x, 0) - a * Q(a)
// subtracts a term never above 0.17: no cancellation, full relative precision in the negative tail,
// where x * 0.5 * (1 + erf(x / sqrt 2)) loses every digit. Absolute error of both below 3e-7.
//
// Coefficients: our own weighted least-squares (Lawson) fit in 128-bit arithmetic, degree 4 over 5.

#ifndef GABBRO_GELU_GLSL
#define GABBRO_GELU_GLSL

const float GELU_INV_SQRT_2PI = 0.398942280;
// exp(-16^2/2) is zero in float32; the clamp keeps a^5 finite for any input.
const float GELU_CLAMP = 16.0;

#define GABBRO_GELU_FUNCTIONS(T) \
T gelu_tail_ratio(T a) \
{ \
    T p = (((T(0.00368583295) * a + 0.0376825891) * a + 0.174388304) * a + 0.426182181) * a + 0.5; \
    T q = ((((T(0.00923875254) * a + 0.0944678858) * a + 0.446133822) * a + 1.16548252) * a + 1.65024912) * a + 1.0; \
    return p / q; \
} \
T gelu(T x) \
{ \
    T a = min(abs(x), T(GELU_CLAMP)); \
    T tail = exp(-0.5 * a * a) * gelu_tail_ratio(a); \
    /* 0.5 * (x + |x|) is max(x, 0), but lets a NaN through. */ \
    return 0.5 * (x + abs(x)) - a * tail; \
} \
T gelu_grad(T x) \
{ \
    T a = min(abs(x), T(GELU_CLAMP)); \
    T e = exp(-0.5 * a * a); \
    T tail = e * gelu_tail_ratio(a); \
    /* Phi(x) = tail for x < 0, 1 - tail otherwise. */ \
    T s = step(T(0.0), x); \
    return s + (T(1.0) - 2.0 * s) * tail + x * (e * GELU_INV_SQRT_2PI); \
}

GABBRO_GELU_FUNCTIONS(float)
GABBRO_GELU_FUNCTIONS(vec4)

#undef GABBRO_GELU_FUNCTIONS

#endif
