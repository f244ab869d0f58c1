// Cooperative matrices: of GL_KHR_cooperative_matrix with -DKHR, for compilers that know it, else in the form of
// GL_NV_cooperative_matrix, which older ones know too. On devices with VK_KHR_cooperative_matrix that is rewritten when
// a pipeline is made (src/vk/spirv_matrix.c), so layouts must be literals and the types of A, B and C differ in their
// constants. Whoever includes this has constants LM, LN and LK.
//   MATRIX_A, MATRIX_B, MATRIX_C                  types of LM x LK and LK x LN 16-bit floats, LM x LN floats
//   LOAD_ROWS(matrix, array, at, stride)          rows of the matrix lie one after the other in memory
//   LOAD_COLUMNS(matrix, array, at, stride)       its columns do
//   STORE_ROWS(matrix, array, at, stride), MULTIPLY_ADD(a, b, c)
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_control_flow_attributes : require

#ifdef KHR
#extension GL_KHR_cooperative_matrix : require
#define MATRIX_A coopmat<float16_t, gl_ScopeSubgroup, LM, LK, gl_MatrixUseA>
#define MATRIX_B coopmat<float16_t, gl_ScopeSubgroup, LK, LN, gl_MatrixUseB>
#define MATRIX_C coopmat<float, gl_ScopeSubgroup, LM, LN, gl_MatrixUseAccumulator>
#define LOAD_ROWS(matrix, array, at, stride)    coopMatLoad(matrix, array, at, stride, gl_CooperativeMatrixLayoutRowMajor)
#define LOAD_COLUMNS(matrix, array, at, stride) coopMatLoad(matrix, array, at, stride, gl_CooperativeMatrixLayoutColumnMajor)
#define STORE_ROWS(matrix, array, at, stride)   coopMatStore(matrix, array, at, stride, gl_CooperativeMatrixLayoutRowMajor)
#define MULTIPLY_ADD(a, b, c)                   coopMatMulAdd(a, b, c)
#else
#extension GL_NV_cooperative_matrix : require
#define MATRIX_A fcoopmatNV<16, gl_ScopeSubgroup, LM, LK>
#define MATRIX_B fcoopmatNV<16, gl_ScopeSubgroup, LK, LN>
#define MATRIX_C fcoopmatNV<32, gl_ScopeSubgroup, LM, LN>
#define LOAD_ROWS(matrix, array, at, stride)    coopMatLoadNV(matrix, array, at, stride, false)
#define LOAD_COLUMNS(matrix, array, at, stride) coopMatLoadNV(matrix, array, at, stride, true)
#define STORE_ROWS(matrix, array, at, stride)   coopMatStoreNV(matrix, array, at, stride, false)
#define MULTIPLY_ADD(a, b, c)                   coopMatMulAddNV(a, b, c)
#endif

// Rounded to the nearest. By the device's conversion to half floats, since packHalf2x16 may cut off; bfloat16, which the
// half floats of -DBFLOAT16 become when the pipeline is made, bit by bit, since an H200's conversion to it cuts off.
#ifdef BFLOAT16
#include "bfloat16.glsl"
uvec2 to_16_bits(vec4 v)
{
    return to_bfloat16(v);
}

uint two_to_16_bits(vec2 v)
{
    return to_bfloat16(vec4(v, 0.0, 0.0)).x;
}
#else
uint two_to_16_bits(vec2 v)
{
    return packFloat2x16(f16vec2(v));
}

uvec2 to_16_bits(vec4 v)
{
    return uvec2(two_to_16_bits(v.xy), two_to_16_bits(v.zw));
}
#endif
