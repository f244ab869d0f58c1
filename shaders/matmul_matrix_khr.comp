// Matrix product by cooperative matrices in the form of GL_KHR_cooperative_matrix, for compilers that know it.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_KHR_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

#define MATRIX_A coopmat<float16_t, gl_ScopeSubgroup, LM, LK, gl_MatrixUseA>
#define MATRIX_B coopmat<float16_t, gl_ScopeSubgroup, LK, LN, gl_MatrixUseB>
#define MATRIX_C coopmat<float, gl_ScopeSubgroup, LM, LN, gl_MatrixUseAccumulator>
#define LOAD_ROWS(matrix, array, at, stride)    coopMatLoad(matrix, array, at, stride, gl_CooperativeMatrixLayoutRowMajor)
#define LOAD_COLUMNS(matrix, array, at, stride) coopMatLoad(matrix, array, at, stride, gl_CooperativeMatrixLayoutColumnMajor)
#define STORE_ROWS(matrix, array, at, stride)   coopMatStore(matrix, array, at, stride, gl_CooperativeMatrixLayoutRowMajor)
#define MULTIPLY_ADD(a, b, c)                   coopMatMulAdd(a, b, c)

#include "common/matmul_matrix.glsl"
