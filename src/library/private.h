/* What the files of libgabbro share. Private to the module. */
#ifndef LIBRARY_PRIVATE_H
#define LIBRARY_PRIVATE_H

#include <gabbro/library.h>

#include <gabbro/retrieve.h>

#include <pthread.h>

/* Ends a public function: hands a failure out; returns ok. */
bool library_end(bool ok, const gb_status *own, gabbro_status *status);
/* Copies what the caller has of a structure that may grow; the rest is zero. */
void library_params(void *params, size_t size, const void *given);

/* Fails for a cross-encoder. */
bool library_has_vectors(const gabbro_model *model, gb_status *status);

struct gabbro_model {
    gb_config config;         /* of the environment, where no other was given */
    const gb_config *used;    /* that or another */
    char *path;               /* folder */
    gb_pooling pooling;       /* as asked for */
    uint32_t dims;            /* as asked for */
    gb_text_encoder *encoder; /* does it, or NULL: it is a cross-encoder */
    gb_text_scorer *scorer;   /* does it then */
    pthread_mutex_t lock;     /* one call at a time */
};

#endif
