/* Floating-point numbers and their bits. */
#include "gabbro/base.h"

#include <math.h>
#include <string.h>

uint32_t gb_float_bits(float value)
{
    uint32_t bits;
    memcpy(&bits, &value, sizeof bits);
    return bits;
}

float gb_bits_float(uint32_t bits)
{
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

uint16_t gb_half_of(float value)
{
    uint32_t bits = gb_float_bits(value), sign = bits >> 16 & 0x8000, magnitude = bits & 0x7fffffff;
    if (magnitude >= 0x47800000) /* 2^16 */
        return (uint16_t)(sign | 0x7c00);
    if (magnitude < 0x38800000) /* 2^-14: multiples of 2^-24 */
        return (uint16_t)(sign | (uint32_t)nearbyintf(fabsf(value) * 16777216.0f));
    return (uint16_t)(sign | (magnitude + 0xfff + (magnitude >> 13 & 1) - (112u << 23)) >> 13);
}

float gb_half_value(uint16_t half)
{
    uint32_t sign = (uint32_t)(half & 0x8000) << 16;
    uint32_t exponent = (half >> 10) & 31, fraction = half & 0x3ff;
    if (exponent == 0) { /* zero and subnormals: fraction * 2^-24 */
        float value = ldexpf((float)fraction, -24);
        return sign ? -value : value;
    }
    exponent = exponent == 31 ? 255 : exponent + 127 - 15;
    return gb_bits_float(sign | exponent << 23 | fraction << 13);
}
