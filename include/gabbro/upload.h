/* Parameters written to the device piece by piece, for models that the host does not hold as a
 * whole (tape room). */
#ifndef GABBRO_UPLOAD_H
#define GABBRO_UPLOAD_H

#include <gabbro/tape.h>

/* Floats [first, first + count) of the parameters' arena; their bits are copied as they are. */
bool gb_state_write_part(gb_state *state, uint64_t first, uint64_t count, const void *values,
                         gb_status *status);

#endif
