#version 450
#extension GL_NV_cooperative_matrix : require
layout(local_size_x = 32) in;
void main()
{
}
