// Floats rounded to bfloat16, to the nearest and ties to even; what is no number stays none. The first is in the lower
// half of x.
uvec2 to_bfloat16(vec4 v)
{
    const uvec4 bits = floatBitsToUint(v);
    const uvec4 nearest = (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    const uvec4 quiet = (bits >> 16) | 0x40; // rounding could carry a NaN into infinity or the sign
    const uvec4 r = mix(nearest, quiet, greaterThan(bits & 0x7fffffff, uvec4(0x7f800000)));
    return uvec2(r.x | r.y << 16, r.z | r.w << 16);
}
