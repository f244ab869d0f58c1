/* Models whose weights are kept in fewer bits: what they make is what a float32 model of the same,
 * rounded weights makes; and weights that do not fit. */
#include "../nn/prompts.h"
#include "../nn/tiny.h"
#include "trust.h"

#include <gabbro/lm.h>
#include <math.h>
#include <stdlib.h>
#include <unistd.h>

enum { PROMPTS = 5, MAX_LENGTH = 9, NEW = 10, VOCAB = 61 };

/* ---- a folder of rounded weights ---- */

/* Norms and the bias by distance stay as they are. */
static void round_weight(gb_quant quant, const char *name, uint32_t rows, uint32_t cols,
                         float *values)
{
    uint32_t words[256];
    cr_assert_leq(gb_quant_cols(quant, cols), 256);
    if (strstr(name, "norm") || strstr(name, "relative_attention_bias"))
        return;
    for (uint32_t r = 0; r < rows; r++) {
        cr_assert(gb_quant_pack_row(quant, values + (size_t)r * cols, cols, words));
        gb_quant_unpack_row(quant, words, cols, values + (size_t)r * cols);
    }
}

/* The golden model `name` with its matrices rounded, as a folder beside it in the scratch folder.
 */
static void write_rounded(const char *name, gb_quant quant)
{
    gb_status status = {0};
    char path[600];
    snprintf(path, sizeof path, "%s/%s", GB_GOLDEN, name);
    char *file = gb_folder_tensor_file(path, &status);
    gb_safetensors *from = file ? gb_safetensors_open(file, &status) : NULL;
    MUST(from);
    free(file);
    size_t count = gb_safetensors_count(from);
    gb_weight *weights = gb_alloc(count, sizeof *weights, &status);
    for (size_t i = 0; i < count; i++) {
        const gb_stored *s = gb_safetensors_at(from, i);
        bool vector = s->rank == 1;
        float *values = gb_alloc(s->bytes / 4, sizeof *values, &status);
        weights[i] = (gb_weight){s->name, s->shape[0], vector ? 0 : s->shape[1], values};
        MUST(gb_stored_read(s, s->shape[0], weights[i].cols, values, &status));
        if (!vector)
            round_weight(quant, s->name, (uint32_t)s->shape[0], (uint32_t)s->shape[1], values);
    }
    MUST(gb_make_dirs("rounded", &status));
    MUST(gb_safetensors_write("rounded/model.safetensors", weights, count, &status));
    size_t length;
    snprintf(path, sizeof path, "%s/%s/config.json", GB_GOLDEN, name);
    char *config = gb_read_file(path, &length, &status);
    MUST(config && gb_write_file("rounded/config.json", config, length, &status));
    free(config);
    for (size_t i = 0; i < count; i++)
        free((void *)weights[i].data);
    free(weights);
    gb_safetensors_close(from);
}

/* ---- making text ---- */

typedef struct made {
    uint32_t ids[PROMPTS][NEW]; /* tokens */
    uint32_t counts[PROMPTS];   /* how many */
} made;

static void make(gb_device *device, const char *folder, gb_quant quant, made *m)
{
    gb_status status = {0};
    uint32_t ids[PROMPTS * MAX_LENGTH], starts[PROMPTS + 1] = {0}, at[PROMPTS] = {0, 1, 2, 3, 4};
    for (uint32_t p = 0; p < PROMPTS; p++) {
        starts[p + 1] = starts[p] + 1 + p * 5 % MAX_LENGTH;
        for (uint32_t i = starts[p]; i < starts[p + 1]; i++)
            ids[i] = 2 + (p * 17 + i * 7) % (VOCAB - 3);
    }
    gb_generator *g = gb_generator_create_quant(device, folder, 3, MAX_LENGTH, NEW, quant, &status);
    MUST(g);
    gb_sampling_params how = {.sample = true, .temperature = 1, .seed = 3};
    prompts texts = {ids, starts, at, at, PROMPTS};
    *m = (made){0};
    MUST(generate_texts(g, &texts, &how, NEW, m->ids[0], m->counts, &status));
    gb_generator_destroy(g);
}

static void packed_is_rounded(const char *name)
{
    char folder[512];
    snprintf(folder, sizeof folder, "%s/%s", GB_GOLDEN, name);
    scratch s = scratch_enter();
    gb_device *device = tiny_device(GB_USER_GENERATE);
    made plain, packed, rounded;
    make(device, folder, GB_QUANT_NONE, &plain);
    for (gb_quant quant = GB_QUANT_F16; quant <= GB_QUANT_Q8; quant++) {
        write_rounded(name, quant);
        make(device, folder, quant, &packed);
        make(device, "rounded", GB_QUANT_NONE, &rounded);
        cr_expect_arr_eq(packed.counts, rounded.counts, sizeof packed.counts, "%s, %s", name,
                         gb_packing_names[quant]);
        cr_expect_arr_eq(packed.ids, rounded.ids, sizeof packed.ids, "%s, %s", name,
                         gb_packing_names[quant]);
    }
    cr_expect(memcmp(plain.ids, packed.ids, sizeof plain.ids), "q8 draws what float32 draws");
    tiny_device_close(device);
    scratch_leave(&s);
}

Test(packed, t5)
{
    packed_is_rounded("t5");
}

Test(packed, t5_gated)
{
    packed_is_rounded("t5v11");
}

Test(packed, llama)
{
    packed_is_rounded("llama");
}

/* ---- memory ---- */

Test(packed, says_what_would_fit)
{
    gb_status status = {0};
    gb_lm_config config;
    gb_lm_cache cache = {.slots = 4, .max_length = 20};
    uint64_t bytes[4];
    MUST(gb_lm_config_read(GB_GOLDEN "/llama/config.json", &config, &status));
    for (gb_quant p = GB_QUANT_NONE; p <= GB_QUANT_Q8; p++) {
        cache.quant = p;
        MUST(gb_lm_bytes(&config, &cache, &bytes[p], &status));
    }
    cr_assert(bytes[0] > bytes[1] && bytes[1] == bytes[2] && bytes[2] > bytes[3]);
    cache.quant = GB_QUANT_NONE;
    cr_expect(gb_lm_fits("m", &config, &cache, bytes[0], &status));
    cr_expect_not(gb_lm_fits("m", &config, &cache, bytes[0] - 1, &status));
    cr_expect_eq(status.code, GB_MEMORY);
    cr_expect(strstr(status.hint, "--weights bf16"), "%s", status.hint);
    cr_expect_not(gb_lm_fits("m", &config, &cache, bytes[2] - 1, &status));
    cr_expect(strstr(status.hint, "--weights q8"), "%s", status.hint);
    cr_expect_not(gb_lm_fits("m", &config, &cache, bytes[3] - 1, &status));
    cr_expect_not(strstr(status.hint, "--weights"), "%s", status.hint);
    cache.quant = GB_QUANT_Q8;
    cr_expect(gb_lm_fits("m", &config, &cache, bytes[3], &status));
    /* Who makes vectors has no choice of bits. */
    cache = (gb_lm_cache){0};
    cr_expect_not(gb_lm_fits("m", &config, &cache, bytes[3], &status));
    cr_expect_not(strstr(status.hint, "--weights"), "%s", status.hint);
}

/* Before anything but config.json is read. */
Test(packed, refuses_a_model_larger_than_the_device)
{
    gb_status status = {0};
    scratch s = scratch_enter();
    scratch_write("config.json",
                  "{\"model_type\": \"llama\", \"vocab_size\": 61, \"hidden_size\": 65536, "
                  "\"intermediate_size\": 1048576, \"num_attention_heads\": 64, "
                  "\"num_hidden_layers\": 1000}");
    gb_device *device = tiny_device(GB_USER_GENERATE);
    cr_expect_null(gb_generator_create_quant(device, ".", 2, 8, 4, GB_QUANT_Q8, &status));
    cr_expect_eq(status.code, GB_MEMORY);
    cr_expect(strstr(status.what, "as q8 take") && strstr(status.what, "GiB, and the device has"),
              "%s", status.what);
    tiny_device_close(device);
    scratch_leave(&s);
}

/* A weight beyond half precision is told, not made infinite. */
Test(packed, refuses_what_half_precision_cannot_hold)
{
    gb_status status = {0};
    scratch s = scratch_enter();
    write_rounded("llama", GB_QUANT_BF16);
    gb_safetensors *from = gb_safetensors_open("rounded/model.safetensors", &status);
    MUST(from);
    const gb_stored *head = gb_safetensors_find(from, "lm_head.weight");
    long at = (long)((const char *)head->data - (const char *)gb_safetensors_at(from, 0)->data);
    cr_assert(head && at >= 0);
    gb_safetensors_close(from);
    size_t length;
    char *bytes = gb_read_file("rounded/model.safetensors", &length, &status);
    uint64_t header;
    float large = 1e6f;
    memcpy(&header, bytes, sizeof header);
    memcpy(bytes + 8 + header + (size_t)at, &large, sizeof large);
    MUST(gb_write_file("rounded/model.safetensors", bytes, length, &status));
    free(bytes);
    gb_device *device = tiny_device(GB_USER_GENERATE);
    cr_expect_null(gb_generator_create_quant(device, "rounded", 2, 8, 4, GB_QUANT_F16, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect(strstr(status.what, "lm_head.weight has a value beyond fp16"), "%s", status.what);
    tiny_device_close(device);
    scratch_leave(&s);
}
