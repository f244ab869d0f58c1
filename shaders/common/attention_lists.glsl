// The lists that the attention kernels for GPUs read: with -DGQA those of attention_gqa.glsl, else of attention.glsl.
#ifdef GQA
#include "attention_gqa.glsl"
#else
#include "attention.glsl"
#include "operand.glsl"
OPERAND(1, q)
OPERAND(2, kv)
#endif
