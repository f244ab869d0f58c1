/* What a device is made ready with before its first use. */
#ifndef GABBRO_CLI_TUNE_H
#define GABBRO_CLI_TUNE_H

#include <gabbro/vk.h>

/* The self-test and, where products use a kept choice of tiles, the choice, of the device that
 * `select` names (may be NULL); nothing where its driver was seen before. False if the device could
 * not be opened or the user stopped it. */
bool device_ensure(const char *select, gb_status *status);

#endif
