/* What the files for Windows share. */
#ifndef GABBRO_OS_WINDOWS_ONLY_H
#define GABBRO_OS_WINDOWS_ONLY_H

#include "gabbro/os.h"

#include <fcntl.h>
#include <io.h>
/* It comes before what builds on it. */
#include <windows.h>

enum { PATIENCE_MS = 500, LOOK_MS = 5 }; /* until what somebody holds for a moment is given free */

/* errno of the last error; returns -1. */
int windows_failed(void);
HANDLE windows_handle(int file);
void windows_use_slashes(char *path);

#endif
