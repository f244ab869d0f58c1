#version 450
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
layout(local_size_x = 32) in;
layout(constant_id = 0) const float ONE = 1.0;
layout(binding = 0) buffer B
{
    float b[];
};
void main()
{
    b[0] = float(float16_t(ONE) + float16_t(b[1]));
}
