#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_int64 : require
layout(local_size_x = 32) in;
layout(binding = 0) buffer B
{
    uint64_t b[];
};
void main()
{
    b[0] = b[1] * 3ul;
}
