/* A file of tensors is opened, and every tensor read. */
#ifndef GABBRO_TESTS_FUZZ_TENSORS_H
#define GABBRO_TESTS_FUZZ_TENSORS_H

#include "fuzz.h"

#include <gabbro/folder.h>

static inline void fuzz_read_all(const gb_safetensors *tensors)
{
    for (size_t i = 0; i < gb_safetensors_count(tensors); i++) {
        gb_status status = {0};
        const gb_stored *stored = gb_safetensors_at(tensors, i);
        if (gb_safetensors_find(tensors, stored->name) == NULL)
            abort();
        uint64_t rows = stored->rank > 0 ? stored->shape[0] : 0;
        uint64_t cols = stored->rank > 1 ? stored->shape[1] : 0;
        if (stored->rank > 2 || rows > 4096 || cols > 4096)
            continue;
        float *values = calloc(rows * (cols ? cols : 1) + 1, sizeof *values);
        fuzz_check(values && gb_stored_read(stored, rows, cols, values, &status), &status);
        free(values);
    }
}

static inline void fuzz_tensors(const char *name, const uint8_t *data, size_t size)
{
    gb_status status = {0};
    gb_safetensors *tensors = gb_safetensors_open(fuzz_file(name, data, size), &status);
    fuzz_check(tensors != NULL, &status);
    if (tensors)
        fuzz_read_all(tensors);
    gb_safetensors_close(tensors);
}

#endif
