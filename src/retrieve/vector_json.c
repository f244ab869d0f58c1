/* Vectors as lines of JSON, as Anserini's JsonDenseVectorCollection has them. */
#include <gabbro/json.h>
#include <gabbro/retrieve.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const char hint[] = "lines are {\"docid\": \"d1\", \"vector\": [0.1, 0.2]}";

/* A file being read. */
typedef struct reading {
    gb_out *vectors, *ids; /* where it goes */
    float *row;            /* [width] */
    size_t width;          /* of the first vector; 0: none was met */
    uint32_t rows;         /* so far */
} reading;

static const char *id_of(const json_t *object, char number[GB_JSON_NUMBER])
{
    static const char *const names[] = {"docid", "id", "_id"};
    const char *id = NULL;
    for (int i = 0; i < 3 && !id; i++)
        id = gb_json_id(json_object_get(object, names[i]), number);
    return id;
}

static bool take(void *ctx, const gb_lines *lines, const json_t *object, gb_status *status)
{
    reading *r = ctx;
    char written[GB_JSON_NUMBER];
    const char *id = id_of(object, written);
    const json_t *vector = json_object_get(object, "vector");
    size_t width = json_array_size(vector);
    if (!id || !*id || strpbrk(id, "\t\r\n"))
        return gb_lines_fail(lines, status, hint, "no id, or one that no line can hold");
    if (!width || width > 1u << 20)
        return gb_lines_fail(lines, status, hint, "no list \"vector\" of numbers");
    if (!r->width && !(r->row = gb_alloc(r->width = width, sizeof *r->row, status)))
        return false;
    if (width != r->width)
        return gb_lines_fail(lines, status, "all vectors have one width",
                             "a vector of %zu numbers behind others of %zu", width, r->width);
    for (size_t i = 0; i < width; i++) {
        const json_t *number = json_array_get(vector, i);
        r->row[i] = (float)json_number_value(number);
        if (!json_is_number(number) || !isfinite(r->row[i]))
            return gb_lines_fail(lines, status, hint, "number %zu of the vector is none", i + 1);
    }
    if (++r->rows == UINT32_MAX)
        return gb_lines_fail(lines, status, NULL, "more vectors than 32 bits can number");
    fwrite(r->row, sizeof *r->row, width, gb_out_stream(r->vectors));
    fprintf(gb_out_stream(r->ids), "%s\n", id);
    return true;
}

bool gb_vectors_read_json(const char *path, const char *folder, gb_status *status)
{
    reading r = {0};
    char header[GB_NPY_HEADER] = {0};
    char *vectors = gb_path_join(status, folder, "vectors.npy");
    char *ids = vectors ? gb_path_join(status, folder, "ids.txt") : NULL;
    bool ok = ids && gb_make_dirs(folder, status) && (r.vectors = gb_out_open(vectors, status)) &&
              (r.ids = gb_out_open(ids, status));
    if (ok)
        fwrite(header, 1, sizeof header, gb_out_stream(r.vectors)); /* until the rows are known */
    gb_lines *lines = ok ? gb_lines_open(path, status) : NULL;
    ok = lines && gb_jsonl_each(lines, take, &r, status) &&
         (r.rows || gb_fail(status, GB_DATA, path, hint, "no vectors in the file"));
    if (ok && (ok = gb_out_rewind(r.vectors, status))) {
        gb_npy_header(r.rows, (uint32_t)r.width, header);
        fwrite(header, 1, sizeof header, gb_out_stream(r.vectors));
        ok = gb_out_commit(r.vectors, status);
        r.vectors = NULL;
    }
    if (ok)
        ok = gb_out_commit(r.ids, status);
    else
        gb_out_abandon(r.ids);
    gb_out_abandon(r.vectors);
    free(r.row);
    free(vectors);
    free(ids);
    return ok;
}
