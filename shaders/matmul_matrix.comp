// Matrix product by cooperative matrices in the form of GL_NV_cooperative_matrix, which older compilers know too. On
// devices with VK_KHR_cooperative_matrix it is rewritten to that when its pipeline is made (src/vk/spirv_matrix.c), so
// layouts must be literals and the types of A, B and C differ in their constants.
#version 450
#extension GL_GOOGLE_include_directive : require
#extension GL_NV_cooperative_matrix : require
#extension GL_KHR_memory_scope_semantics : require
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require

#define MATRIX_A fcoopmatNV<16, gl_ScopeSubgroup, LM, LK>
#define MATRIX_B fcoopmatNV<16, gl_ScopeSubgroup, LK, LN>
#define MATRIX_C fcoopmatNV<32, gl_ScopeSubgroup, LM, LN>
#define LOAD_ROWS(matrix, array, at, stride)    coopMatLoadNV(matrix, array, at, stride, false)
#define LOAD_COLUMNS(matrix, array, at, stride) coopMatLoadNV(matrix, array, at, stride, true)
#define STORE_ROWS(matrix, array, at, stride)   coopMatStoreNV(matrix, array, at, stride, false)
#define MULTIPLY_ADD(a, b, c)                   coopMatMulAddNV(a, b, c)

#include "common/matmul_matrix.glsl"
