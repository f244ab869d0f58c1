/* Store room: content-addressed steps. A step is a piece of work (tokenise, pre-train, evaluate
 * ...) whose folder is named by the hash of everything that decides its result; a finished step is
 * reused by whoever asks for the same, an unfinished one is resumed. Stands on base only. */
#ifndef GABBRO_STORE_H
#define GABBRO_STORE_H

#include <gabbro/json.h>

/* Layout of a store:
 *   <kind>-<key>/           a finished step: its files and run.json
 *   work/<kind>-<key>/      an unfinished one, kept so that it resumes
 *   work/<kind>-<key>.lock  held (flock) by the process that works on it
 * Folders reach their final name by one rename after everything in them is on the disk. */
typedef struct gb_store gb_store;

/* Where the store is: the given folder or, if it is NULL, what config says, else gabbro/store in
 * the user's folder of data. Caller frees. */
char *gb_store_root_find(const gb_config *config, const char *given, gb_status *status);
/* Opens (and makes, when absent) the store at root. */
gb_store *gb_store_open(const char *root, gb_status *status);
void gb_store_close(gb_store *store);
const char *gb_store_root(const gb_store *store); /* absolute path */

/* All that decides the result of a step. Borrowed during gb_step_begin only. Numbers count as
 * written: 1 and 1.0 are different settings. */
typedef struct gb_step_desc {
    const char *kind;       /* what is done, e.g. "finetune"; 1..40 of a-z, 0-9, '-' */
    uint32_t version;       /* of the code of this kind; raise it when its results change */
    const json_t *settings; /* object of resolved settings, seed included; NULL: none */
    const json_t *inputs; /* object: role -> identity, or array of them (gb_identity); NULL: none */
    const char *kernels;  /* hash of the kernel set; NULL for steps without a device */
    const char *device;   /* device and driver in one line; NULL for steps without a device */
    bool no_wait; /* fail with GB_BUSY while another process makes the step; not in the key */
} gb_step_desc;

/* First 24 hex digits of the SHA-256 of the canonical JSON of the description (sorted keys, no
 * white space, reals with 17 digits), and a NUL. */
#define GB_STEP_KEY  25
#define GB_STEP_NAME 66 /* "<kind>-<key>" and a NUL */

typedef struct gb_step gb_step;
/* Finds the finished step, or opens its work folder and takes its lock; when another process holds
 * the lock, waits until it is done (GB_INTERRUPTED when a signal asks to stop; see no_wait). A
 * damaged step is reported, removed and made again. */
gb_step *gb_step_begin(gb_store *store, const gb_step_desc *desc, gb_status *status);
bool gb_step_done(const gb_step *step);        /* finished: nothing to do but to use its folder */
const char *gb_step_name(const gb_step *step); /* "<kind>-<key>" */
/* The finished folder when done, else the work folder. Files for resuming (checkpoints) go into
 * its sub-folder "resume", which gb_step_finish removes. */
const char *gb_step_path(const gb_step *step);
/* Writes run.json (description, outputs with sizes and SHA-256, facts, times), syncs all files and
 * renames the folder into place; then gb_step_done. facts (borrowed, may be NULL) is an object of
 * whatever else is worth knowing: driver, losses, seeds, deviations ...; its member "times" goes to
 * run.json's "times", the only part that differs between two runs of the same step. Only plain
 * files and folders may lie in the work folder. On failure the work folder stays. Nothing to do for
 * a done step. */
bool gb_step_finish(gb_step *step, const json_t *facts, gb_status *status);
/* Frees. A step that is not done is abandoned: its work folder stays for the next attempt, unless
 * it is empty. NULL ok.
 */
void gb_step_close(gb_step *step);

/* ---- looking at steps -------------------------------------------------------------------------
 */

#define GB_IDENTITY 76
/* What a path is as an input of a step: the name of a finished step for a step's folder, else
 * "sha256:<hash>" of the file or folder. A damaged step is an error (GB_DATA). */
bool gb_identity(const char *path, char identity[GB_IDENTITY], gb_status *status);
/* run.json of a finished step's folder; NULL and GB_DATA when there is none or it does not fit the
 * folder (outputs missing or of another size). Caller: json_decref. */
json_t *gb_step_read(const char *path, gb_status *status);
/* Reads every output again and compares its hash. */
bool gb_step_verify(const char *path, gb_status *status);

/* Calls each(ctx, name, path, run) for the finished steps in order of their names; damaged ones are
 * passed with run NULL. Stops when it returns false. */
typedef bool gb_store_each_fn(void *ctx, const char *name, const char *path, const json_t *run,
                              gb_status *status);
bool gb_store_each(gb_store *store, gb_store_each_fn *each, void *ctx, gb_status *status);
/* Path of the one finished step whose name or key starts with `text`. Caller frees. */
char *gb_store_find(gb_store *store, const char *text, gb_status *status);

/* Print what the step is made of whose name or key starts with `text`: its settings and device, and
 * below it its inputs, each in the same way. */
bool gb_store_why(gb_store *store, const char *text, FILE *out, gb_status *status);

typedef struct gb_store_freed {
    uint32_t work;    /* work folders of abandoned steps */
    uint32_t damaged; /* damaged steps */
    uint64_t bytes;   /* of both */
} gb_store_freed;
/* Removes what nobody works on: abandoned work folders, damaged steps, stale locks. dry_run only
 * counts. */
bool gb_store_gc(gb_store *store, bool dry_run, gb_store_freed *freed, gb_status *status);

#endif
