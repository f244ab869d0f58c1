/* Safetensors files: header, ranges, and the values of every tensor. */
#include "tensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_tensors("model.safetensors", data, size);
    return 0;
}
