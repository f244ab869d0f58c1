// y = a * x + y, for tests of the runtime: constants, push constants and two bindings.
#version 450
layout(local_size_x_id = 0) in;
layout(constant_id = 1) const uint OFFSET = 0; // added to every result

layout(push_constant) uniform Push
{
    uint n;
    float a;
};
layout(std430, binding = 0) readonly buffer X
{
    float x[];
};
layout(std430, binding = 1) buffer Y
{
    float y[];
};

void main()
{
    uint i = gl_GlobalInvocationID.x;
    if (i < n)
        y[i] = a * x[i] + y[i] + float(OFFSET);
}
