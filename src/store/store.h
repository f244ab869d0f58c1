/* Inside the store module. */
#ifndef GABBRO_STORE_PRIVATE_H
#define GABBRO_STORE_PRIVATE_H

#include "gabbro/store.h"

#define RUN_FILE      "run.json"
#define RESUME_FOLDER "resume"

struct gb_store {
    char *root; /* absolute path */
    char *work; /* root/work */
};

/* The description as an object; new reference. */
json_t *store_desc_to_json(const gb_artifact_desc *desc, gb_status *status);
/* Key of such an object. */
bool store_desc_key(const json_t *desc, char key[GB_ARTIFACT_KEY], gb_status *status);
/* Object "relative path" -> {"bytes", "sha256"} of the files of a work folder, each synced to the
 * disk, run.json and resume/ left out; new reference. */
json_t *store_outputs_collect(const char *folder, gb_status *status);
/* run.json of a folder, checked against the name it must have (NULL: the one it says) and the sizes
 * of the outputs; new reference, or NULL. *damaged (may be NULL) tells whether the folder is known
 * not to be whole: one that cannot be read may well be. */
json_t *store_run_read(const char *folder, const char *name, bool *damaged, gb_status *status);
/* Removes the drafts that a killed process left in a folder and below. */
bool store_remove_drafts(const char *folder, gb_status *status);
/* Brings a file, or the names in a folder, to the disk. */
bool store_sync(const char *path, gb_status *status);

/* Takes the lock file; *waited tells whether another process had it. -1 on failure. With wait false
 * an occupied lock gives -1 and GB_OK in status. */
int store_lock_take(const char *path, bool wait, bool *waited, gb_status *status);
void store_lock_drop(const char *path, int fd); /* removes the file and lets go */

#endif
