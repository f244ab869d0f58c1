/* Fetch module: the manifest of public collections and models, and files from the network by
 * libcurl. */
#ifndef GABBRO_FETCH_H
#define GABBRO_FETCH_H

#include <gabbro/base.h>

/* ---- the manifest (datasets/manifest; datasets/README.md describes it) ---- */

/* One version of a file that is accepted. */
typedef struct gb_version {
    char date[11];   /* YYYY-MM-DD: when the value was copied from its source */
    uint64_t bytes;  /* size; 0: not known */
    char sha256[65]; /* lower-case hex, or empty */
    char md5[33];    /* lower-case hex, or empty */
} gb_version;

/* One file of an entry. */
typedef struct gb_source_file {
    char *name;           /* name of the file in the folder */
    char **urls;          /* [url_count] addresses, tried in turn */
    size_t url_count;     /* how many */
    size_t url_space;     /* allocated */
    char *header;         /* header line that the server requires, or NULL */
    gb_version *versions; /* [version_count] accepted ones; none: nothing to compare with */
    size_t version_count; /* how many */
    size_t version_space; /* allocated */
} gb_source_file;

/* A count that the collection should have, e.g. "passages" 8841823. */
typedef struct gb_source_count {
    char *what;     /* passages, titles, queries.SPLIT, judgements.SPLIT */
    uint64_t count; /* how many */
} gb_source_count;

/* One entry: what `gabbro data fetch NAME` downloads. */
typedef struct gb_source {
    char *name;              /* as typed */
    char *about;             /* one line */
    char *terms;             /* licence and terms of use, one line */
    char *unpack;            /* what to do with the files, or NULL */
    bool drop_identical;     /* queries are passages, too, and do not count as their own answers */
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

/* Finds the manifest: `given`, or $GABBRO_MANIFEST, or the one that came with the program. The
 * caller frees the path. NULL and status if there is none. */
char *gb_manifest_path(const gb_config *config, const char *given, gb_status *status);
/* Reads a manifest, to be freed with gb_manifest_free. An error names file and line. */
bool gb_manifest_read(const char *path, gb_manifest *manifest, gb_status *status);
/* Reads the manifest of gb_manifest_path. */
bool gb_manifest_open(const gb_config *config, const char *given, gb_manifest *manifest,
                      gb_status *status);
void gb_manifest_free(gb_manifest *manifest);
/* Finds an entry by name; NULL and status, with the nearest names, if there is none. */
const gb_source *gb_manifest_find(const gb_manifest *manifest, const char *name, gb_status *status);
/* The entry that has the name of a path's last part, or NULL. */
const gb_source *gb_manifest_match(const gb_manifest *manifest, const char *path);
/* The newest accepted version, which is the last in the manifest, or NULL; and its size, or 0. */
const gb_version *gb_version_newest(const gb_source_file *file);
uint64_t gb_newest_bytes(const gb_source_file *file);
/* Adds up the sizes of the newest versions; *unknown counts the files without a size. */
uint64_t gb_source_bytes(const gb_source *source, uint32_t *unknown);

/* ---- files ---- */

/* What was found out about a file. */
typedef struct gb_seen {
    uint64_t bytes;  /* size */
    char sha256[65]; /* lower-case hex */
    char md5[33];    /* the same; empty where libcrypto gives no MD5 */
    char *from;      /* address or path it came from; owned */
    int version;     /* index into the versions, -1: nothing to compare with, or none agrees */
} gb_seen;

typedef struct gb_fetch_params {
    const char *mirror; /* base address tried first, or NULL */
    uint32_t tries;     /* tries in a row without a new byte, per address */
    double wait_s;      /* before the second try; doubles up to 30 s */
    double stall_s;     /* a try is given up after so long without a byte */
    bool any_version;   /* keep a file whose sum is not accepted, with a warning */
} gb_fetch_params;
#define GB_FETCH_DEFAULTS ((gb_fetch_params){.tries = 5, .wait_s = 1, .stall_s = 30})

/* Hashes a file and compares it with the accepted versions. */
bool gb_fetch_check(const char *path, const gb_source_file *file, gb_seen *seen, gb_status *status);
/* Downloads one file into `folder`. Addresses are tried in turn, each several times with growing
 * pauses. What has arrived is kept in NAME.part, and the download continues there if the server
 * still has the same file. The file gets its name only if size and sum agree. Fails with
 * GB_INTERRUPTED on a signal, and with GB_DATA if no address has the file. */
bool gb_fetch_file(const gb_source_file *file, const char *folder, const gb_fetch_params *params,
                   gb_seen *seen, gb_status *status);
/* Copies the local file `path` to folder/NAME if it is the wanted file, by its sum, or by its name
 * if no sum is known or any version will do. *taken says whether it was. */
bool gb_fetch_import(const gb_source_file *file, const char *folder, const char *path,
                     bool any_version, gb_seen *seen, bool *taken, gb_status *status);
void gb_seen_free(gb_seen *seen);

/* ---- whole entries ---- */

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
