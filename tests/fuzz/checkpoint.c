/* Checkpoints of training. Half of the inputs get the hash that makes them look whole. */
#include "fuzz.h"

#include "../../src/trainer/checkpoint.c"

#define FLOATS 8 /* of an arena */
#define STEPS  3 /* of the run */

/* Stand-ins for the device: what is read has to be there. */
uint64_t gb_params_floats(const gb_params *params)
{
    (void)params;
    return FLOATS;
}

uint64_t gb_params_arena_floats(const gb_params *params, gb_arena_id arena)
{
    (void)arena;
    return gb_params_floats(params);
}

bool gb_state_write(gb_state *state, gb_arena_id arena, const float *values, gb_status *status)
{
    volatile unsigned char sum = 0; /* every byte is looked at */
    (void)state;
    (void)arena;
    (void)status;
    for (size_t i = 0; i < FLOATS * sizeof *values; i++)
        sum = sum + ((const unsigned char *)values)[i];
    return true;
}

bool gb_state_read(gb_state *state, gb_arena_id arena, float *values, gb_status *status)
{
    (void)state;
    (void)arena;
    (void)status;
    memset(values, 0, FLOATS * sizeof *values);
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0};
    double log[STEPS][GB_MAX_LOSSES];
    uint32_t next_step = 0;
    loss_scale scale = {.factor = size % 2 ? 2 : 0};
    char *bytes = malloc(size + GB_HASH_SIZE);
    if (!bytes)
        abort();
    size_t length = size;
    if (size)
        memcpy(bytes, data, size);
    if (size && data[size - 1] % 2) {
        gb_hash_bytes(bytes, size, bytes + size);
        length += GB_HASH_SIZE;
    }
    gb_log_set_level(GB_LOG_ERROR);
    fuzz_file("checkpoint", (const uint8_t *)bytes, length);
    bool ok =
        trainer_checkpoint_read(fuzz_folder, NULL, NULL, STEPS, &next_step, log, &scale, &status);
    fuzz_check(ok, &status);
    if (next_step > STEPS)
        abort();
    free(bytes);
    return 0;
}
