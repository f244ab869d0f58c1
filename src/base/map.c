/* Map from byte strings to uint32: open addressing with linear probing, keys in an arena. */
#include "gabbro/base.h"

#include <stdlib.h>
#include <string.h>

typedef struct map_slot {
    const char *key; /* in the arena; NULL: empty slot */
    size_t length;   /* bytes of key */
    uint64_t hash;   /* of the key */
    uint32_t value;  /* what the key maps to */
} map_slot;

struct gb_map {
    map_slot *slots; /* `size` slots */
    size_t size;     /* a power of two */
    size_t count;    /* slots in use */
    gb_arena *keys;  /* copies of the keys */
};

enum { MAP_FIRST_SIZE = 64 };

/* FNV-1a with a final mix (the low bits index the table). */
static uint64_t map_hash(const char *key, size_t length)
{
    uint64_t hash = 0xcbf29ce484222325u;
    for (size_t i = 0; i < length; i++)
        hash = (hash ^ (unsigned char)key[i]) * 0x100000001b3u;
    hash ^= hash >> 32;
    hash *= 0x9e3779b97f4a7c15u;
    return hash ^ (hash >> 29);
}

gb_map *gb_map_create(gb_status *status)
{
    gb_map *map = gb_alloc(1, sizeof *map, status);
    if (!map)
        return NULL;
    map->size = MAP_FIRST_SIZE;
    map->slots = gb_alloc(map->size, sizeof *map->slots, status);
    map->keys = map->slots ? gb_arena_create(1 << 16, status) : NULL;
    if (!map->keys) {
        gb_map_destroy(map);
        return NULL;
    }
    return map;
}

void gb_map_destroy(gb_map *map)
{
    if (!map)
        return;
    gb_arena_destroy(map->keys);
    free(map->slots);
    free(map);
}

size_t gb_map_count(const gb_map *map)
{
    return map->count;
}

/* The slot that holds the key, or the empty one where it belongs. */
static map_slot *map_find(map_slot *slots, size_t size, const char *key, size_t length,
                          uint64_t hash)
{
    for (size_t i = (size_t)hash & (size - 1);; i = (i + 1) & (size - 1)) {
        map_slot *slot = &slots[i];
        if (!slot->key || (slot->hash == hash && slot->length == length &&
                           (length == 0 || memcmp(slot->key, key, length) == 0)))
            return slot;
    }
}

static bool map_enlarge(gb_map *map, gb_status *status)
{
    size_t size = map->size * 2;
    map_slot *slots = gb_alloc(size, sizeof *slots, status);
    if (!slots)
        return false;
    for (size_t i = 0; i < map->size; i++) {
        const map_slot *old = &map->slots[i];
        if (old->key)
            *map_find(slots, size, old->key, old->length, old->hash) = *old;
    }
    free(map->slots);
    map->slots = slots;
    map->size = size;
    return true;
}

bool gb_map_set(gb_map *map, const char *key, size_t length, uint32_t value, gb_status *status)
{
    if (map->count + map->count / 2 >= map->size && !map_enlarge(map, status))
        return false;
    uint64_t hash = map_hash(key, length);
    map_slot *slot = map_find(map->slots, map->size, key, length, hash);
    if (!slot->key) {
        const char *copy = gb_arena_strdup(map->keys, key, length, status);
        if (!copy)
            return false;
        *slot = (map_slot){.key = copy, .length = length, .hash = hash};
        map->count++;
    }
    slot->value = value;
    return true;
}

uint32_t gb_map_get(const gb_map *map, const char *key, size_t length)
{
    const map_slot *slot = map_find(map->slots, map->size, key, length, map_hash(key, length));
    return slot->key ? slot->value : GB_MAP_NONE;
}
