/* Parts of a computation at the same time. */
#include "gabbro/base.h"

#include <pthread.h>
#include <stdlib.h>

typedef struct helper {
    pthread_t thread;
    bool started;
} helper;

void gb_run_parts(void *(*work)(void *part), void *parts, size_t size, uint32_t count)
{
    helper *helpers = gb_alloc(count, sizeof *helpers, NULL); /* none: all is done here */
    char *part = parts;
    for (uint32_t i = 1; helpers && i < count; i++)
        helpers[i].started = !pthread_create(&helpers[i].thread, NULL, work, part + i * size);
    for (uint32_t i = 0; i < count; i++)
        if (helpers && helpers[i].started)
            pthread_join(helpers[i].thread, NULL);
        else
            work(part + i * size);
    free(helpers);
}
