/* The words of a command as a process gets them. */
#include "plan.h"

#include <stdlib.h>
#include <string.h>

bool repro_argv_add(repro_argv *argv, gb_status *status, const char *fmt, ...)
{
    const size_t most = sizeof argv->items / sizeof *argv->items;
    char *text = NULL;
    va_list args;
    if (!argv->arena && !(argv->arena = gb_arena_create(1 << 12, status)))
        return false;
    va_start(args, fmt);
    int length = vasprintf(&text, fmt, args);
    va_end(args);
    if (length < 0 || argv->count + 1 == most)
        return gb_fail_memory(status, "putting a command together");
    const char *kept = gb_arena_strdup(argv->arena, text, (size_t)length, status);
    free(text);
    argv->items[argv->count++] = kept;
    argv->items[argv->count] = NULL;
    return kept != NULL;
}

bool repro_argv_of(const repro_node *node, repro_argv *argv, gb_status *status)
{
    bool ok = true;
    *argv = (repro_argv){0};
    for (size_t i = 0; ok && i < node->count; i++)
        ok = repro_argv_add(argv, status, "%s%s", node->words[i].text,
                            node->words[i].node ? node->words[i].node->folder : "");
    return ok;
}

void repro_argv_free(repro_argv *argv)
{
    gb_arena_destroy(argv->arena);
    *argv = (repro_argv){0};
}

const char *repro_argv_option(const repro_argv *argv, const char *option)
{
    for (size_t i = argv->count; i-- > 2;)
        if (!strcmp(argv->items[i - 1], option))
            return argv->items[i];
    return NULL;
}

bool repro_argv_add_without(repro_argv *argv, const repro_argv *from, size_t first,
                            const char *option, gb_status *status)
{
    bool ok = true;
    for (size_t i = first; ok && i < from->count; i++) {
        if (!strcmp(from->items[i], option))
            i++;
        else
            ok = repro_argv_add(argv, status, "%s", from->items[i]);
    }
    return ok;
}
