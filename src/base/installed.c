/* Files that belong to the program: beside its sources, or where they were installed. */
#include "gabbro/base.h"
#include "gabbro/os.h"

#include <stdlib.h>
#include <string.h>

#ifndef GABBRO_SHARE_DIR
#define GABBRO_SHARE_DIR "/usr/local/share/gabbro"
#endif

enum { FOLDERS_UP = 5 }; /* from build/src/cli to the sources, from bin to the prefix */

static char *if_there(char *path)
{
    if (path && gb_file_exists(path))
        return path;
    free(path);
    return NULL;
}

char *gb_installed_file(const char *name)
{
    char binary[4096];
    char *found = NULL;
    bool known = gb_os_program(binary, sizeof binary);
    for (int up = 0; known && !found && up < FOLDERS_UP; up++) {
        char *slash = strrchr(binary, '/');
        if (!slash)
            break;
        *slash = '\0';
        found = if_there(gb_format(NULL, "%s/%s", binary, name));
        if (!found)
            found = if_there(gb_format(NULL, "%s/share/gabbro/%s", binary, name));
    }
    return found ? found : if_there(gb_format(NULL, GABBRO_SHARE_DIR "/%s", name));
}
