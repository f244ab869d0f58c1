/* The table of compiled shaders that is part of the binary. */
#include "vk/private.h"
#include <stdlib.h>
#include <string.h>

/* Kernels from source in the place of the built-in ones (gb_shaders_use). Of the process, like the
 * verbosity: which kernels there are is asked for where no device is open. */
static gb_shader_binary *in_place;

void vk_shader_table_free(gb_shader_binary *table)
{
    for (size_t i = 0; table && i < gb_shader_binary_count; i++)
        if (table[i].words != gb_shader_binaries[i].words)
            free((uint32_t *)table[i].words);
    free(table);
}

void vk_shader_table_set(gb_shader_binary *table)
{
    vk_shader_table_free(in_place);
    in_place = table;
}

const gb_shader_binary *vk_shader_at(size_t index)
{
    return in_place ? &in_place[index] : &gb_shader_binaries[index];
}

const gb_shader_binary *gb_shader_find(const char *name)
{
    size_t low = 0, high = gb_shader_binary_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        int order = strcmp(name, gb_shader_binaries[middle].name);
        if (order == 0)
            return vk_shader_at(middle);
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return NULL;
}

void gb_shaders_hash(uint32_t users, char hex[GB_HASH_SIZE])
{
    gb_text list = {0};
    for (size_t i = 0; i < gb_shader_binary_count; i++) {
        const gb_shader_binary *shader = vk_shader_at(i);
        char words[GB_HASH_SIZE];
        if (!(shader->users & users))
            continue;
        gb_hash_bytes(shader->words, shader->word_count * sizeof *shader->words, words);
        gb_text_append(&list, shader->name, strlen(shader->name) + 1);
        gb_text_append(&list, words, GB_HASH_SIZE);
    }
    gb_hash_bytes(list.data ? list.data : "", list.length, hex);
    gb_text_free(&list);
}
