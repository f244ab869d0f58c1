#version 450
#extension GL_KHR_shader_subgroup_arithmetic : require
layout(local_size_x = 32) in;
layout(binding = 0) buffer B
{
    float b[];
};
void main()
{
    b[0] = subgroupAdd(b[gl_LocalInvocationID.x]);
}
