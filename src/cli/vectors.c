/* gabbro vectors: the step that puts folders of vectors together as one. */
#include "vector_set.h"

#include <stdlib.h>

static const char usage[] =
    "usage: gabbro vectors --from DIR [--from DIR ...]\n\n"
    "Shards of gabbro encode, or other folders of vectors.npy and ids.txt, as one vectors.npy "
    "(float32)\n"
    "and ids.txt for other programs. Prints the step's folder.\n";

enum { AT_ONCE = 8192 }; /* vectors in memory */

static bool write_vectors(const step_run *run, const vector_set *set, gb_status *status)
{
    char header[GB_NPY_HEADER];
    char *path = step_file(run, "vectors.npy", status);
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

static bool write_ids(const step_run *run, const vector_set *set, gb_status *status)
{
    char *path = step_file(run, "ids.txt", status);
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

int gb_cli_vectors(int argc, char **argv)
{
    gb_status status = {0};
    step_list from = {0};
    const step_option options[] = {
        {"from", OPTION_LIST, &from, true, true, "folder of vectors; may be repeated"}, {0}};
    step_run run = {.kind = "vectors", .options = options};
    int code;
    if (!step_parse(&run, argc, argv, usage, NULL, &code, &status))
        return code;
    if (step_begin(&run, 1, false, NULL, &status)) {
        vector_set set = {0};
        bool ok = gb_step_done(run.step) ||
                  (vector_set_open(&set, &from, &status) && write_vectors(&run, &set, &status) &&
                   write_ids(&run, &set, &status));
        if (ok)
            step_end(&run, NULL, &status);
        vector_set_close(&set);
    }
    return step_close(&run, &status);
}
