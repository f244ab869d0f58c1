// Operands of a kernel as vec4s. OPERAND(i, load) declares the read-only one at binding i and a
// function load(at) for its vec4 at `at`; OPERAND_RW(i, load, store) one that is written too, with
// store(at, v). With TEXELS loads go through a texel view of the same range (binding 8 + i), which
// CPU drivers fetch several times faster than they load from a storage buffer. What a kernel updates
// in place, each lane reads before it writes.
#ifndef GABBRO_OPERAND_GLSL
#define GABBRO_OPERAND_GLSL

#ifdef TEXELS
#define OPERAND(i, load) \
    layout(set = 0, binding = 8 + i) uniform samplerBuffer load##_texels; \
    vec4 load(uint at) { return texelFetch(load##_texels, int(at)); }
#define OPERAND_RW(i, load, store) \
    OPERAND(i, load) \
    layout(set = 0, binding = i) writeonly buffer store##_buffer { vec4 store##_data[]; }; \
    void store(uint at, vec4 v) { store##_data[at] = v; }
#else
#define OPERAND(i, load) \
    layout(set = 0, binding = i) readonly buffer load##_buffer { vec4 load##_data[]; }; \
    vec4 load(uint at) { return load##_data[at]; }
#define OPERAND_RW(i, load, store) \
    layout(set = 0, binding = i) buffer load##_buffer { vec4 load##_data[]; }; \
    vec4 load(uint at) { return load##_data[at]; } \
    void store(uint at, vec4 v) { load##_data[at] = v; }
#endif

#endif
