/* The parts of fetching a file. */
#ifndef GABBRO_FETCH_PRIVATE_H
#define GABBRO_FETCH_PRIVATE_H

#include "gabbro/fetch.h"

/* ---- sums while bytes stream by (sums.c) ---- */

typedef struct gb_sums gb_sums;
gb_sums *fetch_sums_create(gb_status *status);
void fetch_sums_destroy(gb_sums *sums);
void fetch_sums_add(gb_sums *sums, const void *bytes, size_t length);
bool fetch_sums_reset(gb_sums *sums, gb_status *status);
/* Begins to show how much of a file that is open has been read, in KB. */
void fetch_progress_begin(gb_progress *progress, const char *label, FILE *file);
/* Add what a file holds; *bytes grows by its size. A missing file has none. */
bool fetch_sums_add_file(gb_sums *sums, const char *path, uint64_t *bytes, gb_status *status);
void fetch_sums_end(gb_sums *sums, char sha256[65], char md5[33]); /* md5 empty: not available */

/* The accepted version that the file is, or -1. */
int fetch_version_of(const gb_source_file *file, const gb_seen *seen);
/* Whether a size can be that of an accepted version; true where none is known. */
bool fetch_size_fits(const gb_source_file *file, uint64_t bytes);

/* ---- what a server says of its file (state.c) ---- */

/* Kept beside NAME.part as NAME.part.state, so that a later run resumes only the same file. */
typedef struct gb_remote {
    char url[1000];    /* address asked */
    char etag[300];    /* strong validator, or empty */
    char modified[80]; /* Last-Modified, or empty */
    uint64_t total;    /* bytes of the whole file; 0: not said */
} gb_remote;
bool fetch_remote_load(const char *path, gb_remote *remote); /* false: none, or damaged */
bool fetch_remote_save(const char *path, const gb_remote *remote, gb_status *status);
/* Whether both can be the same file: nothing that both say differs. */
bool fetch_remote_same(const gb_remote *a, const gb_remote *b);

/* ---- one try (transfer.c) ---- */

typedef enum gb_outcome {
    GB_GOT_ALL,    /* the whole file has come */
    GB_TRY_AGAIN,  /* broken off, busy or down: may go on later */
    GB_START_OVER, /* the server has another file than the part; the part is gone */
    GB_GIVE_UP,    /* this address will not give it: 404, refused, another size */
    GB_STOP,       /* interrupted, disk full: status is set */
} gb_outcome;

typedef struct gb_part {
    const gb_source_file *file; /* wanted */
    char *path;                 /* NAME.part */
    char *state;                /* NAME.part.state */
    FILE *stream;               /* the part, appended to; locked, so that one process fills it */
    gb_sums *sums;              /* of the bytes of the part */
    uint64_t bytes;             /* in the part */
    uint64_t highest;           /* most bytes the part ever had, in this run */
    gb_remote remote;           /* where the part's bytes came from; url empty: nowhere yet */
    bool any_version;           /* another size than the accepted ones is fine */
    double stall_s;             /* patience with a silent server */
    gb_progress progress;       /* in KB */
} gb_part;

/* One request for what is missing. `why` gets a sentence for anything but GB_GOT_ALL; *retry_s what
 * the server asks to wait (0: nothing). */
gb_outcome fetch_transfer(gb_part *part, const char *url, char why[300], double *retry_s,
                          gb_status *status);
/* Throw the part away and begin anew. */
bool fetch_part_empty(gb_part *part, gb_status *status);

#endif
