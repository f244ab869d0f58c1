// Weights in fewer bits, by rows of words; see gabbro/ops.h. widen(at, c) gives columns 4c .. 4c + 3 of the
// row that begins at word `at`. All in whole numbers and float32: no small types are asked of the device.
const uint F16 = 1, BF16 = 2, Q8 = 3;
layout(constant_id = 2) const uint PACKING = Q8;
layout(set = 0, binding = 1) readonly buffer Words { uint words[]; };

// Half precision to single, subnormal numbers too.
float widen_half(uint h)
{
    uint magnitude = h & 0x7fffu;
    float value = magnitude < 0x400u ? float(magnitude) * 5.9604644775390625e-8
                                     : uintBitsToFloat((magnitude << 13) + (112u << 23));
    return (h & 0x8000u) != 0u ? -value : value;
}

vec4 widen(uint at, uint c)
{
    if (PACKING == Q8) {
        uint block = at + c / 8 * 9;
        int q = int(words[block + 1 + c % 8]);
        vec4 v = vec4(bitfieldExtract(q, 0, 8), bitfieldExtract(q, 8, 8), bitfieldExtract(q, 16, 8),
                      bitfieldExtract(q, 24, 8));
        return v * uintBitsToFloat(words[block]);
    }
    uint low = words[at + 2 * c], high = words[at + 2 * c + 1];
    if (PACKING == BF16)
        return vec4(uintBitsToFloat(low << 16), uintBitsToFloat(low & 0xffff0000u),
                    uintBitsToFloat(high << 16), uintBitsToFloat(high & 0xffff0000u));
    return vec4(widen_half(low & 0xffffu), widen_half(low >> 16), widen_half(high & 0xffffu),
                widen_half(high >> 16));
}
