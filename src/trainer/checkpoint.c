#include "checkpoint.h"

#include <stdlib.h>
#include <string.h>

#define MAGIC  "GABBROCK"
#define ARENAS 3 /* gradients are not kept: they are made anew */

static const gb_arena_id kept[ARENAS] = {GB_ARENA_PARAMS, GB_ARENA_MOMENT1, GB_ARENA_MOMENT2};

typedef struct header {
    char magic[8];      /* MAGIC */
    uint32_t version;   /* 1; 2: with the scale of the loss */
    uint32_t next_step; /* first step not done */
    uint64_t floats;    /* of the parameters */
} header;

static size_t log_bytes(uint32_t steps)
{
    return sizeof(double) * GB_MAX_LOSSES * steps;
}

static uint32_t version_of(const loss_scale *scale)
{
    return scale->factor > 0 ? 2 : 1;
}

static size_t arena_bytes(const gb_params *params, int a)
{
    return gb_params_arena_floats(params, kept[a]) * sizeof(float);
}

static size_t arenas_bytes(const gb_params *params)
{
    size_t bytes = 0;
    for (int a = 0; a < ARENAS; a++)
        bytes += arena_bytes(params, a);
    return bytes;
}

/* Of all but the hash. */
static size_t whole_bytes(const header *head, const gb_params *params)
{
    return sizeof *head + arenas_bytes(params) + log_bytes(head->next_step) +
           (head->version == 2 ? sizeof(loss_scale) : 0);
}

bool trainer_checkpoint_write(const char *dir, gb_state *state, const gb_params *params,
                              uint32_t next_step, double (*log)[GB_MAX_LOSSES],
                              const loss_scale *scale, gb_status *status)
{
    header head = {
        .version = version_of(scale), .next_step = next_step, .floats = gb_params_floats(params)};
    memcpy(head.magic, MAGIC, sizeof head.magic);
    size_t bytes = whole_bytes(&head, params);
    char *all = gb_alloc(bytes + GB_HASH_SIZE, 1, status);
    char *path = all ? gb_path_join(status, dir, "checkpoint") : NULL;
    bool ok = path && gb_make_dirs(dir, status);
    if (ok) {
        char *at = all + sizeof head;
        memcpy(all, &head, sizeof head);
        for (int a = 0; ok && a < ARENAS; at += arena_bytes(params, a++))
            ok = gb_state_read(state, kept[a], (float *)at, status);
        memcpy(all + sizeof head + arenas_bytes(params), log, log_bytes(next_step));
        if (head.version == 2)
            memcpy(all + bytes - sizeof *scale, scale, sizeof *scale);
        gb_hash_bytes(all, bytes, all + bytes);
    }
    ok = ok && gb_write_file(path, all, bytes + GB_HASH_SIZE, status);
    free(path);
    free(all);
    return ok;
}

/* NULL when the bytes are a whole checkpoint of this run, else what is wrong. */
static const char *damage(const char *all, size_t length, const gb_params *params, uint32_t steps,
                          const loss_scale *scale)
{
    const header *head = (const header *)all;
    if (length < sizeof *head + GB_HASH_SIZE || memcmp(head->magic, MAGIC, 8) ||
        head->version < 1 || head->version > 2)
        return "not a checkpoint";
    if (head->floats != gb_params_floats(params) || head->next_step > steps)
        return "of another model";
    if (head->version != version_of(scale))
        return "of a training in other numbers";
    size_t bytes = whole_bytes(head, params);
    char hash[GB_HASH_SIZE];
    if (length != bytes + GB_HASH_SIZE)
        return "cut short";
    gb_hash_bytes(all, bytes, hash);
    return memcmp(hash, all + bytes, GB_HASH_SIZE) ? "damaged" : NULL;
}

bool trainer_checkpoint_read(const char *dir, gb_state *state, const gb_params *params,
                             uint32_t steps, uint32_t *next_step, double (*log)[GB_MAX_LOSSES],
                             loss_scale *scale, gb_status *status)
{
    char *path = gb_path_join(status, dir, "checkpoint");
    if (!path)
        return false;
    if (!gb_file_exists(path)) {
        free(path);
        return true;
    }
    size_t length;
    char *all = gb_read_file(path, &length, status);
    bool ok = all != NULL;
    const char *wrong = ok ? damage(all, length, params, steps, scale) : NULL;
    if (wrong) {
        gb_log(GB_LOG_WARN, "%s: checkpoint is %s; starting again", path, wrong);
    } else if (ok) {
        const header *head = (const header *)all;
        const char *at = all + sizeof *head;
        for (int a = 0; ok && a < ARENAS; at += arena_bytes(params, a++))
            ok = gb_state_write(state, kept[a], (const float *)at, status);
        memcpy(log, all + sizeof *head + arenas_bytes(params), log_bytes(head->next_step));
        if (head->version == 2)
            memcpy(scale, all + length - GB_HASH_SIZE - sizeof *scale, sizeof *scale);
        *next_step = head->next_step;
    }
    free(all);
    free(path);
    return ok;
}
