/* Options module: what a command line means. */
#ifndef GABBRO_OPTIONS_H
#define GABBRO_OPTIONS_H

#include <gabbro/base.h>

/* The value of an option, as it is typed ("--steps"). Fails with GB_USAGE, naming both, where the
 * text is more or less than a number between the two, which are included. */
bool gb_parse_u64(const char *option, const char *text, uint64_t least, uint64_t most,
                  uint64_t *value, gb_status *status);
bool gb_parse_u32(const char *option, const char *text, uint32_t least, uint32_t most,
                  uint32_t *value, gb_status *status);
bool gb_parse_real(const char *option, const char *text, double least, double most, double *value,
                   gb_status *status);

#endif
