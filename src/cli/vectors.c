/* gabbro vectors: puts folders of vectors together as one. */
#include "cli.h"

#include <gabbro/experiment.h>
#include <gabbro/retrieve.h>

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    const gb_words *from = self;
    gb_vector_set set = {0};
    bool ok = gb_vector_set_open(&set, from->items, from->count, status) &&
              gb_vector_set_write(&set, gb_maker_folder(maker), status);
    gb_vector_set_close(&set);
    return ok;
}

static int run(const gb_call *call)
{
    gb_words from = {0};
    const gb_option options[] = {{"from", GB_OPTION_LIST, &from,
                                  GB_OPTION_REQUIRED | GB_OPTION_INPUT, "DIR",
                                  "folder of vectors; may be repeated"},
                                 {0}};
    const gb_make_params params = {
        .command = &gb_cli_vectors, .version = 1, .options = options, .self = &from, .make = make};
    return gb_make(&params, call);
}

const gb_command gb_cli_vectors = {
    .name = "vectors",
    .summary = "put shards of vectors together",
    .description =
        "Put shards of gabbro encode, or other folders of vectors.npy and ids.txt, together as one "
        "vectors.npy (float32) and one ids.txt for other programs. Prints the artifact's folder.",
    .run = run};
