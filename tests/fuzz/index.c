/* model.safetensors.index.json over two good shards. */
#include "tensors.h"

static const char *const shards[] = {"model-00001-of-00002.safetensors",
                                     "model-00002-of-00002.safetensors"};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const float values[] = {1, 2, 3, 4};
    static bool ready; /* the shards are written */
    const gb_weight weights[] = {{"a", 2, 2, values}, {"b", 4, 0, values}};
    for (int i = 0; i < 2 && !ready; i++)
        if (!gb_safetensors_write(fuzz_path(shards[i]), &weights[i], 1, NULL))
            abort();
    ready = true;
    fuzz_tensors("model.safetensors.index.json", data, size);
    return 0;
}
