/* A set of vectors as one folder, and the run that a search of it gives. */
#include "private.h"
#include "search.h"

#include <gabbro/ops.h>
#include <gabbro/retrieve.h>

#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 8192 }; /* vectors in memory */

const char *const gb_vector_form_names[] = {"float32", "float16",  "int8",
                                            "faiss",   "anserini", NULL};

/* A set being written. */
typedef struct writing {
    const gb_vector_set *set; /* what */
    gb_vector_form form;      /* how */
    gb_out *out, *scales;     /* files; of int8 both */
    void *row;                /* [width] room for a converted one */
    gb_rounding *rounding;    /* of what was written, or NULL */
} writing;

/* Numbers of the forms that are a .npy file. */
static gb_number number_of(gb_vector_form form)
{
    return form == GB_VECTORS_FLOAT16 ? GB_NUMBER_FLOAT16
           : form == GB_VECTORS_INT8  ? GB_NUMBER_INT8
                                      : GB_NUMBER_FLOAT32;
}

static void write_header(const writing *w)
{
    const gb_vectors *v = &w->set->vectors;
    char header[GB_NPY_HEADER];
    size_t length = w->form == GB_VECTORS_FAISS ? GB_FAISS_HEADER : GB_NPY_HEADER;
    if (w->form == GB_VECTORS_ANSERINI)
        return;
    if (w->form == GB_VECTORS_FAISS)
        gb_faiss_header(v->rows, v->width, header);
    else
        gb_number_header(number_of(w->form), v->rows, v->width, header);
    fwrite(header, 1, length, gb_out_stream(w->out));
    if (w->scales) {
        gb_npy_scales_header(v->rows, header);
        fwrite(header, 1, GB_NPY_HEADER, gb_out_stream(w->scales));
    }
}

static bool put_numbers(const writing *w, uint32_t number, const float *row, gb_status *status)
{
    gb_number kind = number_of(w->form);
    float factor = 1;
    gb_status why = {0};
    if (!gb_number_pack(kind, row, w->set->vectors.width, w->row, &factor, w->set->folder, &why)) {
        size_t length;
        const char *id = gb_vector_set_id(w->set, number, &length);
        return gb_fail(status, why.code, why.where, why.hint, "the vector of \"%.*s\": %s",
                       length < 80 ? (int)length : 80, id, why.what);
    }
    if (w->rounding)
        gb_rounding_add(w->rounding, kind, row, w->set->vectors.width, w->row, factor);
    fwrite(w->row, gb_number_bytes(kind), w->set->vectors.width, gb_out_stream(w->out));
    if (w->scales)
        fwrite(&factor, sizeof factor, 1, gb_out_stream(w->scales));
    return true;
}

static bool put_json(const writing *w, uint32_t number, const float *row, gb_status *status)
{
    FILE *out = gb_out_stream(w->out);
    size_t length;
    const char *id = gb_vector_set_id(w->set, number, &length);
    json_t *name = json_stringn(id, length);
    if (!name)
        return gb_fail(status, GB_DATA, w->set->folder, NULL, "an id is no UTF-8");
    fputs("{\"docid\": ", out);
    bool ok = json_dumpf(name, out, JSON_ENCODE_ANY) == 0 || ferror(out) || /* the commit tells */
              gb_fail_memory(status, "writing ids");
    json_decref(name);
    fputs(", \"vector\": [", out);
    for (uint32_t i = 0; i < w->set->vectors.width; i++)
        fprintf(out, "%s%.9g", i ? ", " : "", (double)row[i]);
    fputs("]}\n", out);
    return ok;
}

static bool put_row(const writing *w, uint32_t number, const float *row, gb_status *status)
{
    return w->form == GB_VECTORS_ANSERINI ? put_json(w, number, row, status)
                                          : put_numbers(w, number, row, status);
}

static bool write_rows(writing *w, gb_status *status)
{
    const gb_vectors *v = &w->set->vectors;
    bool ok = (w->row = gb_alloc(v->width, sizeof(float), status)) != NULL;
    if (ok)
        write_header(w);
    for (uint32_t first = 0; ok && first < v->rows; first += AT_ONCE) {
        uint32_t count = v->rows - first < AT_ONCE ? v->rows - first : AT_ONCE;
        const float *rows = v->read(v->context, first, count, status);
        ok = rows != NULL;
        for (uint32_t r = 0; ok && r < count; r++)
            ok = put_row(w, first + r, rows + (size_t)r * v->width, status);
    }
    free(w->row);
    return ok;
}

static bool write_ids(const gb_vector_set *set, const char *path, gb_status *status)
{
    gb_out *out = gb_out_open(path, status);
    for (uint32_t i = 0; out && i < set->vectors.rows; i++) {
        size_t length;
        const char *id = gb_vector_set_id(set, i, &length);
        fwrite(id, 1, length, gb_out_stream(out));
        fputc('\n', gb_out_stream(out));
    }
    return out && gb_out_commit(out, status);
}

/* Puts a file into place, or removes it. */
static bool end_file(gb_out *out, bool ok, gb_status *status)
{
    if (ok && out)
        return gb_out_commit(out, status);
    gb_out_abandon(out);
    return ok;
}

bool gb_vector_set_write(const gb_vector_set *set, gb_vector_form form, const char *folder,
                         gb_rounding *rounding, gb_status *status)
{
    bool faiss = form == GB_VECTORS_FAISS, json = form == GB_VECTORS_ANSERINI;
    char *path = gb_path_join(status, folder,
                              faiss  ? "index"
                              : json ? "vectors.jsonl"
                                     : "vectors.npy");
    char *ids = gb_path_join(status, folder, faiss ? "docid" : "ids.txt");
    char *scales = form == GB_VECTORS_INT8 ? gb_path_join(status, folder, "scales.npy") : NULL;
    writing w = {.set = set, .form = form, .rounding = rounding};
    bool ok = path && ids && (form != GB_VECTORS_INT8 || scales) &&
              (w.out = gb_out_open(path, status)) &&
              (!scales || (w.scales = gb_out_open(scales, status))) && write_rows(&w, status);
    ok = end_file(w.scales, ok, status);
    ok = end_file(w.out, ok, status) && (json || write_ids(set, ids, status));
    free(scales);
    free(path);
    free(ids);
    return ok;
}

/* Writes what was found, k passages of each query, as a run. */
static bool write_found(const gb_found *all, uint32_t queries, uint32_t k,
                        const gb_run_names *names, const char *path, gb_status *status)
{
    gb_run run = {0};
    gb_hit *hits = gb_alloc(k, sizeof *hits, status);
    bool ok = hits != NULL;
    for (uint32_t q = 0; ok && q < queries; q++) {
        const gb_found found = retrieve_search_from(all, q, k);
        uint32_t count = 0;
        for (; count < k && found.rows[count] != GB_NO_ROW; count++)
            hits[count] = (gb_hit){found.rows[count], found.scores[count]};
        ok = gb_run_add(&run, q, hits, count, status);
    }
    ok = ok && gb_run_write(&run, names, &(gb_run_style){0}, path, status);
    gb_run_free(&run);
    free(hits);
    return ok;
}

bool gb_vector_set_search(gb_device *device, const gb_vector_set *queries,
                          const gb_vector_set *passages, const gb_search_params *params,
                          const char *path, gb_status *status)
{
    if (*queries->model && *passages->model && strcmp(queries->model, passages->model))
        return gb_fail(status, GB_DATA, queries->folder, "encode both with one retriever",
                       "queries by %s, passages by %s", queries->model, passages->model);
    gb_search_params how = *params;
    how.k = params->k < passages->vectors.rows ? params->k : passages->vectors.rows;
    size_t cells = (size_t)queries->vectors.rows * how.k;
    const gb_found found = {gb_alloc(cells, sizeof *found.rows, status),
                            gb_alloc(cells, sizeof *found.scores, status)};
    gb_run_names names = {0};
    bool ok = found.rows && found.scores && gb_run_names_create(&names, status) &&
              retrieve_name_all(names.queries, queries->folder, queries->rows,
                                queries->vectors.rows, true, status) &&
              retrieve_name_all(names.passages, passages->folder, passages->rows,
                                passages->vectors.rows, false, status) &&
              gb_search(device, &queries->vectors, &passages->vectors, &how, &found, status) &&
              (gb_ranks_rank(params->ranks) ||
               write_found(&found, queries->vectors.rows, how.k, &names, path, status));
    gb_run_names_free(&names);
    free(found.rows);
    free(found.scores);
    return ok;
}
