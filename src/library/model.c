/* Models of the public interface. */
#include "private.h"

#include <gabbro/artifact.h>

#include <stdlib.h>
#include <string.h>

/* Whether the folder is of a cross-encoder; else it is of an encoder or of a LLaMA. */
static bool is_cross(const gabbro_model *m, bool *cross, gb_status *status)
{
    char *path = gb_find_model_folder(m->path, status);
    bool llama = path && gb_folder_is_llama(path);
    gb_folder *folder =
        path && !llama
            ? gb_folder_open_kinds(path, GB_FOLDER_ENCODER | GB_FOLDER_CROSS_ENCODER, status)
            : NULL;
    *cross = folder && gb_folder_kind_of(folder) == GB_FOLDER_CROSS_ENCODER;
    gb_folder_close(folder);
    free(path);
    return llama || folder;
}

static bool open_kind(gabbro_model *m, const gb_text_encoder_params *params, gb_status *status)
{
    bool cross;
    if (!is_cross(m, &cross, status))
        return false;
    if (cross && params->pooling != GB_POOLING_UNSTATED)
        return gb_fail(status, GB_USAGE, m->path, "leave the pooling out",
                       "a cross-encoder makes scores, not vectors");
    if (cross && params->dims)
        return gb_fail(status, GB_USAGE, m->path, "leave the number of dimensions out",
                       "a cross-encoder makes no vectors");
    if (!cross)
        return (m->encoder = gb_text_encoder_open(params, status));
    return (m->scorer = gb_text_scorer_open(params, status));
}

static bool open_model(gabbro_model *m, const char *name, const gabbro_model_params *how,
                       gb_status *status)
{
    const char *pooling = how->pooling;
    if (!name)
        return gb_fail(status, GB_USAGE, NULL, NULL, "no model is named");
    if (pooling && strcmp(pooling, "cls") != 0 && strcmp(pooling, "mean") != 0 &&
        strcmp(pooling, "last") != 0)
        return gb_fail(status, GB_USAGE, name, "cls, mean or last", "unknown pooling \"%.40s\"",
                       pooling);
    m->pooling = gb_pooling_named(pooling);
    if (!(m->path = gb_find_model(m->used, name, status)))
        return false;
    m->dims = how->dims;
    const gb_text_encoder_params params = {.config = m->used,
                                           .model = m->path,
                                           .device = how->device,
                                           .pooling = m->pooling,
                                           .dims = m->dims,
                                           .compare = how->compare};
    return open_kind(m, &params, status);
}

gabbro_model *gb_library_open_model(const gb_config *config, const char *name,
                                    const gabbro_model_params *params, gabbro_status *status)
{
    library_call call = library_begin();
    gabbro_model_params how;
    library_params(&how, sizeof how, params);
    gabbro_model *m = gb_alloc(1, sizeof *m, &call.status);
    if (!m) {
        library_end(false, &call, status);
        return NULL;
    }
    pthread_mutex_init(&m->lock, NULL);
    m->config = gb_config_read();
    m->used = config ? config : &m->config;
    if (library_end(open_model(m, name, &how, &call.status), &call, status))
        return m;
    gabbro_model_close(m);
    return NULL;
}

gabbro_model *gabbro_model_open(const char *name, const gabbro_model_params *params,
                                gabbro_status *status)
{
    return gb_library_open_model(NULL, name, params, status);
}

void gabbro_model_close(gabbro_model *m)
{
    if (!m)
        return;
    gb_text_encoder_close(m->encoder);
    gb_text_scorer_close(m->scorer);
    pthread_mutex_destroy(&m->lock);
    free(m->path);
    free(m);
}

const char *gabbro_model_path(const gabbro_model *m)
{
    return m->path;
}

uint32_t gabbro_model_width(const gabbro_model *m)
{
    return m->encoder ? gb_text_encoder_width(m->encoder) : 0;
}

const char *gabbro_model_pooling(const gabbro_model *m)
{
    return m->encoder ? gb_pooling_word(gb_text_encoder_sentence(m->encoder)->pooling) : NULL;
}

uint32_t gabbro_model_max_tokens(const gabbro_model *m)
{
    return m->encoder ? gb_text_encoder_sentence(m->encoder)->max_length
                      : gb_text_scorer_max_tokens(m->scorer);
}

bool library_has_vectors(const gabbro_model *m, gb_status *status)
{
    return m->encoder ||
           gb_fail(status, GB_USAGE, m->path, "it scores pairs: gabbro rerank reads it",
                   "a cross-encoder makes no vectors");
}

/* ---- texts ---- */

static bool check_texts(const char *const *texts, size_t count, gb_status *status)
{
    if (count > UINT32_MAX - 1)
        return gb_fail(status, GB_USAGE, NULL, NULL, "more than 2^32 texts at once");
    for (size_t i = 0; i < count; i++)
        if (!texts[i] || !gb_utf8_valid(texts[i], strlen(texts[i])))
            return gb_fail(status, GB_USAGE, NULL, NULL, "text %zu is %s", i,
                           texts[i] ? "no valid UTF-8" : "NULL");
    return true;
}

static bool find_kind(gabbro_kind kind, gb_text_kind *own, gb_status *status)
{
    static const gb_text_kind kinds[] = {[GABBRO_PASSAGE] = GB_TEXT_PASSAGE,
                                         [GABBRO_QUERY] = GB_TEXT_QUERY,
                                         [GABBRO_PLAIN] = GB_TEXT_MIXED};
    if ((unsigned)kind > GABBRO_PLAIN)
        return gb_fail(status, GB_USAGE, NULL, NULL, "no kind of text has the number %d",
                       (int)kind);
    *own = kinds[kind];
    return true;
}

static bool encode(gabbro_model *m, gabbro_kind kind, const char *const *texts, size_t count,
                   float *vectors, gb_status *status)
{
    gb_text_kind own = GB_TEXT_MIXED;
    if (!library_has_vectors(m, status) || !check_texts(texts, count, status) ||
        !find_kind(kind, &own, status))
        return false;
    pthread_mutex_lock(&m->lock);
    bool ok = gb_text_encoder_run(m->encoder, own, texts, (uint32_t)count, NULL, vectors, status);
    pthread_mutex_unlock(&m->lock);
    return ok;
}

bool gabbro_encode(gabbro_model *m, gabbro_kind kind, const char *const *texts, size_t count,
                   float *vectors, gabbro_status *status)
{
    library_call call = library_begin();
    return library_end(encode(m, kind, texts, count, vectors, &call.status), &call, status);
}

bool gabbro_count_tokens(gabbro_model *m, gabbro_kind kind, const char *const *texts, size_t count,
                         uint32_t *tokens, gabbro_status *status)
{
    library_call call = library_begin();
    gb_text_kind of = GB_TEXT_MIXED;
    bool ok = library_has_vectors(m, &call.status) && check_texts(texts, count, &call.status) &&
              find_kind(kind, &of, &call.status);
    if (ok) {
        pthread_mutex_lock(&m->lock);
        ok = gb_text_encoder_count(m->encoder, of, texts, (uint32_t)count, tokens, &call.status);
        pthread_mutex_unlock(&m->lock);
    }
    return library_end(ok, &call, status);
}

/* ---- pairs ---- */

/* The first text of each run of equal ones: distinct [*kept], and for each text which of them. */
static void join_equal(const char *const *texts, size_t count, const char **distinct, size_t *which,
                       size_t *kept)
{
    *kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (!i || strcmp(texts[i], texts[i - 1]) != 0)
            distinct[(*kept)++] = texts[i];
        which[i] = *kept - 1;
    }
}

/* Vectors of the distinct texts [*kept, width], of length 1 if `unit`, which the caller frees. */
static float *encode_distinct(gabbro_model *m, gabbro_kind kind, const char *const *texts,
                              size_t count, bool unit, size_t *which, gb_status *status)
{
    uint32_t width = gabbro_model_width(m);
    const char **distinct = gb_alloc(count, sizeof *distinct, status);
    float *vectors = NULL;
    size_t kept;
    if (distinct) {
        join_equal(texts, count, distinct, which, &kept);
        vectors = gb_alloc(kept * width, sizeof *vectors, status);
    }
    if (vectors && !encode(m, kind, distinct, kept, vectors, status)) {
        free(vectors);
        vectors = NULL;
    }
    for (size_t i = 0; vectors && unit && i < kept; i++)
        gb_vector_cut(vectors + i * width, width, true);
    free(distinct);
    return vectors;
}

static bool score_jointly(gabbro_model *m, const char *const *queries, const char *const *passages,
                          size_t count, float *scores, gb_status *status)
{
    pthread_mutex_lock(&m->lock);
    bool ok = gb_text_scorer_run(m->scorer, queries, passages, (uint32_t)count, scores, status);
    pthread_mutex_unlock(&m->lock);
    return ok;
}

/* Whether a score is the cosine of vectors that are not of length 1 themselves. */
static bool find_similarity(const gabbro_model *m, bool *cosine, gb_status *status)
{
    gb_sentence_settings how = *gb_text_encoder_sentence(m->encoder);
    bool scaled = how.normalize;
    bool ok = gb_settle_similarity(m->path, &how, status);
    *cosine = ok && how.normalize && !scaled;
    return ok;
}

static bool score(gabbro_model *m, const char *const *queries, const char *const *passages,
                  size_t count, float *scores, gb_status *status)
{
    size_t width = gabbro_model_width(m);
    bool cosine;
    if (!check_texts(queries, count, status) || !check_texts(passages, count, status))
        return false;
    if (m->scorer)
        return score_jointly(m, queries, passages, count, scores, status);
    if (!find_similarity(m, &cosine, status))
        return false;
    size_t *query = gb_alloc(count, sizeof *query, status);
    size_t *passage = query ? gb_alloc(count, sizeof *passage, status) : NULL;
    float *left =
        passage ? encode_distinct(m, GABBRO_QUERY, queries, count, cosine, query, status) : NULL;
    float *right =
        left ? encode_distinct(m, GABBRO_PASSAGE, passages, count, cosine, passage, status) : NULL;
    for (size_t i = 0; right && i < count; i++) {
        double sum = 0;
        for (size_t k = 0; k < width; k++)
            sum += (double)left[query[i] * width + k] * (double)right[passage[i] * width + k];
        scores[i] = (float)sum;
    }
    bool ok = right != NULL;
    free(query);
    free(passage);
    free(left);
    free(right);
    return ok;
}

bool gabbro_score(gabbro_model *m, const char *const *queries, const char *const *passages,
                  size_t count, float *scores, gabbro_status *status)
{
    library_call call = library_begin();
    return library_end(score(m, queries, passages, count, scores, &call.status), &call, status);
}

bool gabbro_count_pair_tokens(gabbro_model *m, const char *const *queries,
                              const char *const *passages, size_t count, uint32_t *tokens,
                              gabbro_status *status)
{
    library_call call = library_begin();
    bool ok = m->scorer || gb_fail(&call.status, GB_USAGE, m->path, NULL, "it is no cross-encoder");
    ok = ok && check_texts(queries, count, &call.status) &&
         check_texts(passages, count, &call.status);
    if (ok) {
        pthread_mutex_lock(&m->lock);
        ok = gb_text_scorer_count(m->scorer, queries, passages, (uint32_t)count, tokens,
                                  &call.status);
        pthread_mutex_unlock(&m->lock);
    }
    return library_end(ok, &call, status);
}
