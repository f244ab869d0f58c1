/* Store module: keeps artifacts, so that no result is computed twice. An artifact is the result of
 * one command (tokens, an encoder, an evaluation ...) in a folder that is named by the hash of
 * everything that decides the result. A finished artifact is used again by whoever asks for the
 * same; an unfinished one is resumed. */
#ifndef GABBRO_STORE_H
#define GABBRO_STORE_H

#include <gabbro/json.h>

/* Layout of a store:
 *   <kind>-<key>/           a finished artifact: its files and its record, run.json
 *   work/<kind>-<key>/      an unfinished one, kept so that it can be resumed
 *   work/<kind>-<key>.lock  locked (flock) by the process that works on it
 * A folder gets its final name by one rename, after everything in it is on the disk. */
typedef struct gb_store gb_store;

/* Where the store is: the given folder or, if it is NULL, what config says, else gabbro/store in
 * the user's folder of data. Caller frees. */
char *gb_store_root_find(const gb_config *config, const char *given, gb_status *status);
/* Opens (and makes, when absent) the store at root. */
gb_store *gb_store_open(const char *root, gb_status *status);
void gb_store_close(gb_store *store);
const char *gb_store_root(const gb_store *store); /* absolute path */

/* Everything that decides the result of an artifact. Borrowed during gb_artifact_begin only.
 * Numbers are compared as written: 1 and 1.0 are different settings. */
typedef struct gb_artifact_desc {
    const char *kind;       /* kind of artifact, e.g. "finetune"; 1..40 of a-z, 0-9, '-' */
    uint32_t version;       /* version of its code; to be raised when results change */
    const json_t *settings; /* object of resolved settings, seed included; NULL: none */
    const json_t *defaults; /* array of the names of those that have their default values, which are
                               recorded but not part of the key, so that a new option changes no
                               key; NULL: none */
    const json_t *inputs; /* object: role -> identity, or array of them (gb_identity); NULL: none */
    const char *kernels;  /* hash of the kernels; NULL: no device is used */
    const char *device;   /* device identity; NULL: no device is used */
    bool no_wait; /* fail with GB_BUSY while another process makes it; not part of the key */
} gb_artifact_desc;

/* Size of a key: the first 24 hex digits of the SHA-256 of the canonical JSON of the description
 * without the settings at their defaults (sorted keys, no white space, reals with 17 digits), and a
 * NUL. */
#define GB_ARTIFACT_KEY  25
#define GB_ARTIFACT_NAME 66 /* "<kind>-<key>" and a NUL */
/* The name of what is described, without a store. */
bool gb_artifact_name_of(const gb_artifact_desc *desc, char name[GB_ARTIFACT_NAME],
                         gb_status *status);

typedef struct gb_artifact gb_artifact;
/* Finds the finished artifact, or opens its work folder and takes its lock. If another process
 * holds the lock, waits until that is done (see no_wait; GB_INTERRUPTED on a signal). A damaged
 * artifact is reported, removed and made again; one that cannot be read is an error. */
gb_artifact *gb_artifact_begin(gb_store *store, const gb_artifact_desc *desc, gb_status *status);
bool gb_artifact_done(const gb_artifact *step); /* it is finished, and its folder can be used */
const char *gb_artifact_name(const gb_artifact *step); /* "<kind>-<key>" */
/* The finished folder if done, otherwise the work folder. Files for resuming go into its sub-folder
 * "resume", which gb_artifact_finish removes. */
const char *gb_artifact_path(const gb_artifact *step);
/* Finishes an artifact: writes run.json (description, outputs with sizes and SHA-256, facts,
 * times), syncs all files, and renames the folder into place. facts (borrowed, may be NULL) is an
 * object of whatever else is worth recording, such as driver, losses and seeds. Its member "times"
 * becomes run.json's "times", the only part that may differ when the same program makes the
 * artifact again. The work folder may contain only plain files and folders; it stays on failure.
 * Does nothing if the artifact is done. */
bool gb_artifact_finish(gb_artifact *step, const json_t *facts, gb_status *status);
/* Frees. The work folder of an artifact that is not done stays for the next attempt, unless it is
 * empty. NULL ok. */
void gb_artifact_close(gb_artifact *step);

/* Whether so many bytes more fit on the disk that a file or folder lies on; also true where the
 * system does not say. `what` they are, such as "vectors", is said where they do not: GB_DATA. */
bool gb_store_room(const char *path, uint64_t bytes, const char *what, gb_status *status);

/* ---- files that several processes change ---- */

/* Keeps others, who ask for it, too, from a file while it is read and written anew. */
typedef struct gb_file_lock {
    char *path; /* FILE.lock, which is there as long as it is held */
    int fd;     /* of it; -1: not held */
} gb_file_lock;
/* Waits for whoever holds it (GB_INTERRUPTED on a signal). The folder must be there. */
bool gb_file_lock_take(gb_file_lock *lock, const char *file, gb_status *status);
void gb_file_lock_drop(gb_file_lock *lock); /* also of one that was not taken */

/* ---- looking at artifacts ---- */

#define GB_IDENTITY 76
/* Identifies a path as an input: the name of a finished artifact if it is one's folder, otherwise
 * "sha256:<hash>" of the file or folder. A damaged artifact is an error (GB_DATA). */
bool gb_identity(const char *path, char identity[GB_IDENTITY], gb_status *status);
/* Reads the record of a finished artifact, run.json. NULL and GB_DATA if there is none, or if it
 * does not fit the folder (outputs are missing or differ in size). The caller calls json_decref. */
json_t *gb_artifact_read(const char *path, gb_status *status);
/* The settings of such a record that are not at their defaults. The caller calls json_decref; NULL
 * for lack of memory. */
json_t *gb_artifact_given(const json_t *run);
/* Reads all outputs again and compares their hashes. */
bool gb_artifact_verify(const char *path, gb_status *status);

/* Calls each(ctx, name, path, run) for all finished artifacts in the order of their names; run is
 * NULL for one that is damaged or cannot be read. Stops when it returns false. */
typedef bool gb_store_each_fn(void *ctx, const char *name, const char *path, const json_t *run,
                              gb_status *status);
bool gb_store_each(gb_store *store, gb_store_each_fn *each, void *ctx, gb_status *status);
/* Finds the one finished artifact whose name or key starts with `text`. Caller frees its path. */
char *gb_store_find(gb_store *store, const char *text, gb_status *status);
/* The same, but that there is none is no failure: then *path is NULL. */
bool gb_store_look(gb_store *store, const char *text, char **path, gb_status *status);

/* Prints what an artifact, whose name or key starts with `text`, was made from: its settings and
 * device, and below them its inputs, each in the same way, but once: then its name is enough. */
bool gb_store_why(gb_store *store, const char *text, FILE *out, gb_status *status);

typedef struct gb_store_freed {
    uint32_t work;    /* work folders that nobody works on */
    uint32_t damaged; /* damaged artifacts */
    uint64_t bytes;   /* size of both */
} gb_store_freed;
/* Removes work folders that nobody works on, damaged artifacts, and stale locks. What cannot be
 * read is not taken for damaged. dry_run only counts. */
bool gb_store_gc(gb_store *store, bool dry_run, gb_store_freed *freed, gb_status *status);

#endif
