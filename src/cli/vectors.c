/* gabbro vectors: puts folders of vectors together as one. */
#include "vector_set.h"

#include <stdlib.h>

enum { AT_ONCE = 8192 }; /* vectors in memory */

static bool write_vectors(const gb_maker *maker, const vector_set *set, gb_status *status)
{
    char header[GB_NPY_HEADER];
    char *path = gb_maker_file(maker, "vectors.npy", status);
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    bool ok = out != NULL;
    const gb_vectors *v = &set->vectors;
    gb_npy_header(v->rows, v->width, header);
    if (ok)
        fwrite(header, 1, sizeof header, gb_out_stream(out));
    for (uint32_t first = 0; ok && first < v->rows; first += AT_ONCE) {
        uint32_t count = v->rows - first < AT_ONCE ? v->rows - first : AT_ONCE;
        const float *rows = v->read(v->context, first, count, status);
        ok = rows != NULL;
        if (ok)
            fwrite(rows, sizeof *rows, (size_t)count * v->width, gb_out_stream(out));
    }
    if (ok)
        ok = gb_out_commit(out, status);
    else
        gb_out_abandon(out);
    free(path);
    return ok;
}

static bool write_ids(const gb_maker *maker, const vector_set *set, gb_status *status)
{
    char *path = gb_maker_file(maker, "ids.txt", status);
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    for (uint32_t i = 0; out && i < set->vectors.rows; i++) {
        size_t length;
        const char *id = vector_set_id(set, i, &length);
        fwrite(id, 1, length, gb_out_stream(out));
        fputc('\n', gb_out_stream(out));
    }
    free(path);
    return out && gb_out_commit(out, status);
}

static bool make(gb_maker *maker, void *self, gb_status *status)
{
    vector_set set = {0};
    bool ok = vector_set_open(&set, self, status) && write_vectors(maker, &set, status) &&
              write_ids(maker, &set, status);
    vector_set_close(&set);
    return ok;
}

static int run(int argc, char **argv)
{
    gb_words from = {0};
    const gb_option options[] = {{"from", GB_OPTION_LIST, &from,
                                  GB_OPTION_REQUIRED | GB_OPTION_INPUT, "DIR",
                                  "folder of vectors; may be repeated"},
                                 {0}};
    const gb_make_params params = {
        .command = &gb_cli_vectors, .version = 1, .options = options, .self = &from, .make = make};
    return gb_make(&params, argc, argv);
}

const gb_command gb_cli_vectors = {
    .name = "vectors",
    .summary = "put shards of vectors together",
    .description =
        "Put shards of gabbro encode, or other folders of vectors.npy and ids.txt, together as one "
        "vectors.npy (float32) and one ids.txt for other programs. Prints the artifact's folder.",
    .run = run};
