/* The same table on two devices, side by side. */
#ifndef GABBRO_REPRODUCE_COMPARE_H
#define GABBRO_REPRODUCE_COMPARE_H

#include "run.h"

/* Makes the table on each device by a process of its own, which is an ordinary one: it resumes, and
 * both use the store. Then the cells are compared, and the table's first training is run a few
 * steps on both at once. */
bool repro_compare_devices(const repro_session *session, gb_status *status);

/* One of the two devices. */
typedef struct repro_side {
    char device[256];      /* index, name or uuid */
    char settings[8][128]; /* NAME=VALUE variables */
    size_t count;          /* of them */
    char name[512];        /* of the device, as it calls itself */
    const char *store;     /* root of its store, NULL: the one of the session */
} repro_side;
/* The sides of "A,B": a word with "=" is a setting of the device before. */
bool repro_compare_parse(const char *list, repro_side sides[2], gb_status *status);

#endif
