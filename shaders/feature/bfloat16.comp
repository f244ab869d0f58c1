#version 450
#extension GL_EXT_bfloat16 : require
layout(local_size_x = 32) in;
void main()
{
}
