/* Kernels from source: a folder like shaders/ instead of what is in the binary. */
#ifndef GABBRO_SHADERS_H
#define GABBRO_SHADERS_H

#include "gabbro/base.h"

/* Compile the kernels of a folder as the build compiles shaders/, and use them in the whole process
 * in the place of the built-in ones: NAME.comp stands for the shader NAME and its variant for
 * texels. Shaders that the folder lacks stay as built. gb_shaders_hash follows, so that no result
 * of an edited kernel is taken for one of the built-in kernels. Before any device is opened, and on
 * one thread; NULL goes back. *count (may be NULL): shaders that now differ from the built-in ones.
 * Needs glslc (or what GLSLC names): GB_USAGE without it or without any shader in the folder,
 * GB_DATA with file:line for source that does not compile. On failure nothing changes. */
bool gb_shaders_use(const char *folder, uint32_t *count, gb_status *status);

#endif
