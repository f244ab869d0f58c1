/* Indexes of the public interface. */
#include "private.h"

#include <gabbro/artifact.h>
#include <gabbro/diag.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct gabbro_index {
    gb_config config;     /* of its own: a model may be closed before it */
    char *path;           /* folder, or "" */
    gb_index folder;      /* what is in it */
    float *values;        /* vectors that were handed over, or NULL */
    char **ids;           /* their ids, or NULL */
    gb_vectors vectors;   /* to search, of either */
    gabbro_model *model;  /* on whose device, or NULL */
    char *device_name;    /* where else, or NULL: the best */
    gb_device *device;    /* opened by the first search, or NULL */
    pthread_mutex_t lock; /* one call at a time, where there is no model */
};

static gabbro_index *create(const gb_config *config, const gabbro_index_params *params,
                            gb_status *status)
{
    gabbro_index_params how;
    library_params(&how, sizeof how, params);
    gabbro_index *x = gb_alloc(1, sizeof *x, status);
    if (!x)
        return NULL;
    pthread_mutex_init(&x->lock, NULL);
    x->config = config ? *config : gb_config_read();
    x->model = how.model;
    bool fits =
        !x->model || library_has_vectors(x->model, status); /* it has a device to search on */
    if (fits && !how.device)
        return x;
    if (fits && (x->device_name = gb_strdup(how.device, status)))
        return x;
    gabbro_index_close(x);
    return NULL;
}

/* ---- opening ---- */

static gabbro_index *end_open(gabbro_index *x, bool ok, library_call *call, gabbro_status *status)
{
    if (library_end(ok, call, status))
        return x;
    gabbro_index_close(x);
    return NULL;
}

static bool open_folder(gabbro_index *x, const char *folder, gb_status *status)
{
    if (!(x->path = gb_strdup(folder, status)))
        return false;
    const char *const folders[] = {x->path};
    if (!gb_index_open(&x->folder, folders, 1, status))
        return false;
    x->vectors = x->folder.vectors.vectors;
    return true;
}

gabbro_index *gb_library_open_index(const gb_config *config, const char *folder,
                                    const gabbro_index_params *params, gabbro_status *status)
{
    library_call call = library_begin();
    gabbro_index *x = create(config, params, &call.status);
    bool named = folder || gb_fail(&call.status, GB_USAGE, NULL, NULL, "no index is named");
    return end_open(x, x && named && open_folder(x, folder, &call.status), &call, status);
}

gabbro_index *gabbro_index_open(const char *folder, const gabbro_index_params *params,
                                gabbro_status *status)
{
    return gb_library_open_index(NULL, folder, params, status);
}

static bool make(gabbro_index *x, const gabbro_model *model, const char *collection,
                 const char *store, gb_status *status)
{
    if (!library_has_vectors(model, status))
        return false;
    gb_index_params what = {.model = model->path, .dims = model->dims};
    const gb_option_table tables[] = {{.options = gb_index_options, .base = &what}, {0}};
    gb_make_params params = gb_index_making();
    const gb_making how = {.config = &x->config,
                           .store = store,
                           .device = gb_text_encoder_device_name(model->encoder),
                           .pooling = gb_pooling_word(model->pooling)};
    char *found = gb_find_collection(&x->config, collection, status), *folder = NULL;
    what.collection = found;
    params.tables = tables;
    params.self = &what;
    bool ok =
        found && gb_make_artifact(&params, &how, &folder, status) && open_folder(x, folder, status);
    free(found);
    free(folder);
    return ok;
}

gabbro_index *gabbro_index_make(const gabbro_model *model, const char *collection,
                                const gabbro_index_params *params, gabbro_status *status)
{
    library_call call = library_begin();
    gabbro_index_params how;
    library_params(&how, sizeof how, params);
    gabbro_index *x = create(model ? model->used : NULL, params, &call.status);
    bool named = (model && collection) || gb_fail(&call.status, GB_USAGE, NULL, NULL,
                                                  "an index needs a model and a collection");
    return end_open(x, x && named && make(x, model, collection, how.store, &call.status), &call,
                    status);
}

static bool copy(gabbro_index *x, const float *vectors, const char *const *ids, gb_status *status)
{
    uint32_t rows = x->vectors.rows;
    if (rows == GABBRO_NO_ROW || !x->vectors.width)
        return gb_fail(status, GB_USAGE, NULL, NULL, "%u vectors of %u numbers", rows,
                       x->vectors.width);
    size_t floats = (size_t)rows * x->vectors.width;
    x->path = gb_strdup("", status);
    x->values = x->path ? gb_alloc(floats, sizeof *x->values, status) : NULL;
    x->ids = x->values ? gb_alloc(rows, sizeof *x->ids, status) : NULL;
    if (!x->ids)
        return false;
    memcpy(x->values, vectors, floats * sizeof *vectors);
    x->vectors.values = x->values;
    for (uint32_t i = 0; i < rows; i++)
        if ((ids && !ids[i] && !gb_fail(status, GB_USAGE, NULL, NULL, "id %u is NULL", i)) ||
            !(x->ids[i] = ids ? gb_strdup(ids[i], status) : gb_format(status, "%u", i)))
            return false;
    return true;
}

gabbro_index *gabbro_index_of(const float *vectors, uint32_t rows, uint32_t width,
                              const char *const *ids, const gabbro_index_params *params,
                              gabbro_status *status)
{
    library_call call = library_begin();
    gabbro_index *x = create(NULL, params, &call.status);
    if (x)
        x->vectors = (gb_vectors){.rows = rows, .width = width};
    return end_open(x, x && copy(x, vectors, ids, &call.status), &call, status);
}

void gabbro_index_close(gabbro_index *x)
{
    if (!x)
        return;
    for (uint32_t i = 0; x->ids && i < x->vectors.rows; i++)
        free(x->ids[i]);
    gb_index_close(&x->folder);
    gb_device_close(x->device);
    pthread_mutex_destroy(&x->lock);
    free(x->ids);
    free(x->values);
    free(x->device_name);
    free(x->path);
    free(x);
}

/* ---- looking at it ---- */

uint32_t gabbro_index_rows(const gabbro_index *x)
{
    return x->vectors.rows;
}

uint32_t gabbro_index_width(const gabbro_index *x)
{
    return x->vectors.width;
}

const char *gabbro_index_path(const gabbro_index *x)
{
    return x->path;
}

const char *gabbro_index_id(const gabbro_index *x, uint32_t row, size_t *length)
{
    if (!x->ids)
        return gb_vector_set_id(&x->folder.vectors, row, length);
    *length = strlen(x->ids[row]);
    return x->ids[row];
}

bool gabbro_index_passage(const gabbro_index *x, uint32_t row, const char **title,
                          size_t *title_length, const char **text, size_t *text_length)
{
    const gb_collection *collection = x->folder.collection;
    if (!collection)
        return false;
    *title = gb_row_file_row(collection->titles, row, title_length);
    *text = gb_row_file_row(collection->texts, row, text_length);
    return true;
}

json_t *gb_library_passage(const gabbro_index *x, gabbro_hit hit)
{
    size_t length, title_length;
    const char *id = gabbro_index_id(x, hit.row, &length), *title, *text;
    json_t *passage = json_object();
    json_object_set_new(passage, "_id", json_stringn(id, length));
    json_object_set_new(passage, "score", json_real((double)hit.score));
    if (!gabbro_index_passage(x, hit.row, &title, &title_length, &text, &length))
        return passage;
    json_object_set_new(passage, "title", json_stringn(title, title_length));
    json_object_set_new(passage, "text", json_stringn(text, length));
    return passage;
}

/* ---- searching ---- */

static gb_device *device_of(gabbro_index *x, gb_status *status)
{
    if (x->model)
        return gb_text_encoder_device(x->model->encoder);
    if (!x->device && gb_device_ready(&x->config, x->device_name, status)) {
        gb_device_params how = gb_ops_device(&x->config, x->device_name);
        how.users = GB_USER_SEARCH | GB_USER_FP16 | GB_USER_BF16;
        how.quiet = true;
        x->device = gb_device_open(&how, status);
    }
    return x->device;
}

static bool search(gabbro_index *x, const gb_vectors *queries, uint32_t k, const gb_found *found,
                   gb_status *status)
{
    pthread_mutex_t *lock = x->model ? &x->model->lock : &x->lock;
    const gb_search_params how = {.k = k, .quiet = true};
    pthread_mutex_lock(lock);
    gb_device *device = device_of(x, status);
    bool ok = device && gb_search(device, queries, &x->vectors, &how, found, status);
    pthread_mutex_unlock(lock);
    return ok;
}

bool gabbro_search(gabbro_index *x, const float *queries, size_t count, uint32_t width, uint32_t k,
                   gabbro_hit *hits, gabbro_status *status)
{
    library_call call = library_begin();
    if (width != x->vectors.width || count >= UINT32_MAX) {
        gb_fail(&call.status, GB_USAGE, x->path, "encode queries by the model of the passages",
                "%zu queries of %u numbers, and passages of %u", count, width, x->vectors.width);
        return library_end(false, &call, status);
    }
    const gb_vectors asked = {.rows = (uint32_t)count, .width = width, .values = queries};
    uint32_t most = k < x->vectors.rows ? k : x->vectors.rows;
    const gb_found found = {gb_alloc(count * most, sizeof *found.rows, &call.status),
                            gb_alloc(count * most, sizeof *found.scores, &call.status)};
    bool ok = found.rows && found.scores && search(x, &asked, most, &found, &call.status);
    for (size_t q = 0; ok && q < count; q++)
        for (uint32_t i = 0; i < k; i++)
            hits[q * k + i] =
                i < most ? (gabbro_hit){found.rows[q * most + i], found.scores[q * most + i]}
                         : (gabbro_hit){GABBRO_NO_ROW, -INFINITY};
    free(found.rows);
    free(found.scores);
    return library_end(ok, &call, status);
}
