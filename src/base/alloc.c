/* Checked allocation and the bump arena. */
#include "gabbro/base.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

static atomic_bool short_of_memory; /* gb_checked_malloc has failed */

/* Not made to fail by gb_fault: jansson 2.14's parser ends the process by an assertion where some
 * of its allocations fail (lex_scan_string). */
void *gb_checked_malloc(size_t bytes)
{
    void *memory = malloc(bytes);
    if (!memory)
        atomic_store(&short_of_memory, true);
    return memory;
}

bool gb_memory_check(const char *what, gb_status *status)
{
    return !atomic_load(&short_of_memory) || gb_fail_memory(status, what);
}

void gb_memory_reset(void)
{
    atomic_store(&short_of_memory, false);
}

void *gb_alloc(size_t count, size_t size, gb_status *status)
{
    size_t bytes = 0;
    bool fits = !__builtin_mul_overflow(count, size, &bytes) && !gb_fault(GB_FAULT_MEMORY);
    void *memory = fits ? calloc(1, bytes ? bytes : 1) : NULL;
    if (!memory)
        gb_fail(status, GB_MEMORY, NULL, "use a smaller input or a machine with more memory",
                "out of memory: %zu items of %zu bytes", count, size);
    return memory;
}

bool gb_grow(void *array, size_t *capacity, size_t need, size_t size, gb_status *status)
{
    if (need <= *capacity)
        return true;
    size_t next = *capacity < 8 ? 8 : *capacity + *capacity / 2;
    if (next < need)
        next = need;
    size_t bytes = 0;
    void *old, *grown = NULL;
    memcpy(&old, array, sizeof old); /* array is a pointer to some pointer type */
    if (!__builtin_mul_overflow(next, size, &bytes) && !gb_fault(GB_FAULT_MEMORY))
        grown = realloc(old, bytes ? bytes : 1);
    if (!grown)
        return gb_fail(status, GB_MEMORY, NULL, "use a smaller input or a machine with more memory",
                       "out of memory: %zu items of %zu bytes", need, size);
    memcpy(array, &grown, sizeof grown);
    *capacity = next;
    return true;
}

char *gb_strdup(const char *text, gb_status *status)
{
    size_t bytes = strlen(text) + 1;
    char *copy = gb_alloc(bytes, 1, status);
    if (copy)
        memcpy(copy, text, bytes);
    return copy;
}

typedef struct arena_block {
    struct arena_block *next;                          /* the block before this one */
    size_t size;                                       /* bytes of data */
    size_t used;                                       /* bytes given out */
    __attribute__((aligned(16))) unsigned char data[]; /* zeroed */
} arena_block;

struct gb_arena {
    arena_block *blocks; /* newest first */
    size_t block_bytes;  /* usual size of a block */
};

gb_arena *gb_arena_create(size_t block_bytes, gb_status *status)
{
    gb_arena *arena = gb_alloc(1, sizeof *arena, status);
    if (arena)
        arena->block_bytes = block_bytes < 1024 ? 1024 : block_bytes;
    return arena;
}

void gb_arena_destroy(gb_arena *arena)
{
    if (!arena)
        return;
    for (arena_block *block = arena->blocks, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    free(arena);
}

void *gb_arena_alloc(gb_arena *arena, size_t bytes, gb_status *status)
{
    if (bytes > SIZE_MAX / 2) {
        gb_fail_memory(status, "arena");
        return NULL;
    }
    bytes = bytes ? (bytes + 15) & ~(size_t)15 : 16;
    arena_block *block = arena->blocks;
    if (!block || block->size - block->used < bytes) {
        bool large = bytes > arena->block_bytes / 2;
        size_t size = large ? bytes : arena->block_bytes;
        arena_block *fresh = gb_alloc(1, sizeof *fresh + size, status);
        if (!fresh)
            return NULL;
        fresh->size = size;
        if (block && large) {
            /* A large piece gets its own block behind the current one, whose rest stays in use. */
            fresh->next = block->next;
            block->next = fresh;
        } else {
            fresh->next = block;
            arena->blocks = fresh;
        }
        block = fresh;
    }
    void *piece = block->data + block->used;
    block->used += bytes;
    return piece;
}

char *gb_arena_strdup(gb_arena *arena, const char *text, size_t length, gb_status *status)
{
    char *copy = length < SIZE_MAX ? gb_arena_alloc(arena, length + 1, status) : NULL;
    if (copy && length)
        memcpy(copy, text, length);
    return copy;
}
