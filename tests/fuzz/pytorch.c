/* Files of torch.save: the zip archive, the pickle, and the values of every tensor. */
#include "tensors.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    fuzz_tensors("pytorch_model.bin", data, size);
    return 0;
}
