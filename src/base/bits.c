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
