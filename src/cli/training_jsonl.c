/* What gabbro mine, bm25-run and negatives write for other kits beside their run. */
#include "training_jsonl.h"

#include <gabbro/artifact.h>
#include <gabbro/eval.h>

#include <stdlib.h>

bool cli_write_training(const cli_training *how, const char *folder, gb_status *status)
{
    if (!how->path)
        return true;
    gb_collection *collection = gb_open_collection(how->collection, status);
    gb_run_names names = {0};
    gb_run run = {0};
    const gb_training_file file = {
        .collection = collection, .split = how->split, .skip = how->skip, .depth = how->depth};
    bool ok = collection && gb_run_names_of(collection, &names, status) &&
              gb_run_read_artifact(folder, &names, &run, status) &&
              gb_run_write_training(&run, &file, how->path, status);
    gb_run_free(&run);
    gb_run_names_free(&names);
    gb_collection_close(collection);
    return ok;
}
