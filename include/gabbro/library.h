/* Library module: libgabbro, the public C interface. include/gabbro.h is what others see; this
 * header is for the commands of the program, which stand on the same functions. */
#ifndef GABBRO_LIBRARY_H
#define GABBRO_LIBRARY_H

#include <gabbro.h>

#include <gabbro/base.h>
#include <gabbro/json.h>

/* Puts what a public function said into a status of the program, and returns false. */
bool gb_library_failed(const gabbro_status *from, gb_status *status);

/* gabbro_model_open and gabbro_index_open with a configuration of the caller's, which must outlive
 * what is opened. */
gabbro_model *gb_library_open_model(const gb_config *config, const char *name,
                                    const gabbro_model_params *params, gabbro_status *status);
gabbro_index *gb_library_open_index(const gb_config *config, const char *folder,
                                    const gabbro_index_params *params, gabbro_status *status);

/* A passage as JSON: "_id", "score", and "title" and "text" where they are known. */
json_t *gb_library_passage(const gabbro_index *index, gabbro_hit hit);

#endif
