/* What the files of libgabbro share. Private to the module. */
#ifndef LIBRARY_PRIVATE_H
#define LIBRARY_PRIVATE_H

#include <gabbro/library.h>

#include <gabbro/retrieve.h>

#include <pthread.h>

/* A call of a public function. */
typedef struct library_call {
    gb_status status; /* what went wrong */
    void *locale;     /* of the caller's thread, which has "C" while it is in here */
} library_call;
/* Begins a public function: files have decimal points, whatever the locale of the caller. */
library_call library_begin(void);
/* Ends it: hands a failure out; returns ok. */
bool library_end(bool ok, library_call *call, gabbro_status *status);
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
