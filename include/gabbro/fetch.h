/* Fetch module: the manifest of public collections and models, and files from the network by
 * libcurl. */
#ifndef GABBRO_FETCH_H
#define GABBRO_FETCH_H

#include <gabbro/base.h>

/* ---- the manifest (datasets/manifest; datasets/README.md describes it) ---------------------- */

/* One version of a file that somebody vouches for. */
typedef struct gb_version {
    char date[11];   /* YYYY-MM-DD: when the value was taken over from its source */
    uint64_t bytes;  /* size; 0: not known */
    char sha256[65]; /* lower-case hex, or empty */
    char md5[33];    /* lower-case hex, or empty */
} gb_version;

/* One file of an entry. */
typedef struct gb_source_file {
    char *name;           /* as it will stand in the folder */
    char **urls;          /* [url_count] addresses, tried in turn */
    size_t url_count;     /* how many */
    size_t url_space;     /* allocated */
    char *header;         /* line that the server wants to see, or NULL */
    gb_version *versions; /* [version_count] accepted ones; none: nothing to compare with */
    size_t version_count; /* how many */
    size_t version_space; /* allocated */
} gb_source_file;

/* A count that the collection should have, e.g. "passages" 8841823. */
typedef struct gb_source_count {
    char *what;     /* passages, titles, queries.SPLIT, judgements.SPLIT */
    uint64_t count; /* how many */
} gb_source_count;

/* One entry: what `gabbro data fetch NAME` brings. */
typedef struct gb_source {
    char *name;              /* as typed */
    char *about;             /* one line */
    char *terms;             /* licence and terms of use, one line */
    char *unpack;            /* what to do with the files, or NULL */
    gb_source_file *files;   /* [file_count] */
    size_t file_count;       /* how many */
    size_t file_space;       /* allocated */
    gb_source_count *counts; /* [count_count] official counts */
    size_t count_count;      /* how many */
    size_t count_space;      /* allocated */
} gb_source;

typedef struct gb_manifest {
    gb_source *sources; /* [count] in the order of the file */
    size_t count;       /* how many */
    size_t space;       /* allocated */
} gb_manifest;

/* The file: `given`, else $GABBRO_MANIFEST, else the one that belongs to this program. The caller
 * frees it. NULL and status when there is none. */
char *gb_manifest_path(const gb_config *config, const char *given, gb_status *status);
/* Read a manifest; a damaged line is an error that names file:line. Free with gb_manifest_free. */
bool gb_manifest_read(const char *path, gb_manifest *manifest, gb_status *status);
/* Read the manifest of gb_manifest_path. */
bool gb_manifest_open(const gb_config *config, const char *given, gb_manifest *manifest,
                      gb_status *status);
void gb_manifest_free(gb_manifest *manifest);
/* The entry of that name; NULL and status (with the nearest names) when there is none. */
const gb_source *gb_manifest_find(const gb_manifest *manifest, const char *name, gb_status *status);
/* The entry that has the name of a path's last part, or NULL. */
const gb_source *gb_manifest_match(const gb_manifest *manifest, const char *path);
/* The newest accepted version, the last of the manifest's lines, or NULL; its size, or 0. */
const gb_version *gb_version_newest(const gb_source_file *file);
uint64_t gb_newest_bytes(const gb_source_file *file);
/* Sum of the sizes of the newest versions; *unknown counts files without a size. */
uint64_t gb_source_bytes(const gb_source *source, uint32_t *unknown);

/* ---- files ---------------------------------------------------------------------------------- */

/* What a file turned out to be. */
typedef struct gb_seen {
    uint64_t bytes;  /* size */
    char sha256[65]; /* lower-case hex */
    char md5[33];    /* the same; empty where libcrypto gives no MD5 */
    char *from;      /* address or path it came from; owned */
    int version;     /* index into the versions, -1: nothing to compare with, or none agrees */
} gb_seen;

typedef struct gb_fetch_params {
    const char *mirror; /* base address tried first, or NULL */
    uint32_t tries;     /* in a row without a new byte, for each address */
    double wait_s;      /* before the second try; doubles up to 30 s */
    double stall_s;     /* without a byte for so long, a try is given up */
    bool any_version;   /* keep a file that no accepted sum agrees with, saying so */
} gb_fetch_params;
#define GB_FETCH_DEFAULTS ((gb_fetch_params){.tries = 5, .wait_s = 1, .stall_s = 30})

/* Hash a file and compare it with the accepted versions. */
bool gb_fetch_look(const char *path, const gb_source_file *file, gb_seen *seen, gb_status *status);
/* Fetch one file into `folder`: addresses in turn, each with tries and growing pauses; what has
 * come stays in NAME.part and is resumed, if the server still has the same file; hashed as it
 * comes; the file appears under its name only when size and sum agree. Interrupted: GB_INTERRUPTED,
 * the part stays. No address gives it: GB_DATA. */
bool gb_fetch_file(const gb_source_file *file, const char *folder, const gb_fetch_params *params,
                   gb_seen *seen, gb_status *status);
/* Copy `path` to folder/NAME if it is the file: by its sum, or by its name where no sum is known.
 * *taken says whether it was. */
bool gb_fetch_take(const gb_source_file *file, const char *folder, const char *path, gb_seen *seen,
                   bool *taken, gb_status *status);
void gb_seen_free(gb_seen *seen);

/* ---- whole entries -------------------------------------------------------------------------- */

typedef struct gb_bring_params {
    const char *to;          /* folder of the files */
    const char *from;        /* file or folder that they are taken from, recognised by their sums;
                                NULL: the network */
    gb_fetch_params network; /* how they are fetched */
} gb_bring_params;
/* Bring the files of an entry into a folder, and note size, sums and origin of each in fetched.tsv.
 * A file that is there is compared, not fetched again; one that nobody vouches for is never
 * overwritten (GB_DATA). Fails where not one file can be had. */
bool gb_source_bring(const gb_source *source, const gb_bring_params *params, gb_status *status);

#endif
