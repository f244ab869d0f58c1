/* Two towers: an encoder of queries beside that of passages, trained together. Its parameters are
 * "query." and the name of the passages' encoder's. */
#include "private.h"

#include <gabbro/artifact.h>

#include <stdlib.h>
#include <string.h>

/* An encoder alone, as a model folder has it. */
typedef struct alone {
    gb_params *params; /* of the encoder, from 0 on in the order of declaration */
    gb_bert bert;      /* it */
    float *values;     /* of the parameters */
} alone;

static void close_alone(alone *a)
{
    gb_bert_free(&a->bert);
    gb_params_destroy(a->params);
    free(a->values);
}

/* Copies the parameters of an encoder: `from` and `to` are the first of them. */
static void copy(const gb_params *source, uint32_t from, const float *values,
                 const gb_params *target, uint32_t to, float *copies, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++) {
        const gb_param *s = gb_params_at(source, from + i), *t = gb_params_at(target, to + i);
        memcpy(copies + t->offset, values + s->offset, sizeof *values * (size_t)s->rows * s->ld);
    }
}

/* Both are one set of parameters twice, so they can be trained if they are of one shape. */
static bool same_shape(const gb_bert_config *a, const gb_bert_config *b)
{
    return a->kind == b->kind && a->layers == b->layers && a->heads == b->heads &&
           a->hidden_size == b->hidden_size && a->intermediate_size == b->intermediate_size &&
           a->vocab_size == b->vocab_size && a->max_positions == b->max_positions &&
           a->position_offset == b->position_offset && a->type_vocab_size == b->type_vocab_size &&
           a->layer_norm_eps == b->layer_norm_eps && a->buckets == b->buckets &&
           a->window == b->window && a->global_every == b->global_every && a->theta == b->theta &&
           a->local_theta == b->local_theta;
}

bool train_tower_start(const char *init, const gb_bert *tower, const gb_params *params,
                       float *values, gb_status *status)
{
    char *path;
    alone a = {0};
    gb_model_input model = {0};
    bool ok = gb_find_query_tower(init, &path, status);
    ok = ok && gb_model_input_open(&model, path ? path : init, NULL, status) &&
         (same_shape(&model.config, &tower->config) ||
          gb_fail(status, GB_DATA, init, "train the encoder of passages alone, or that of queries",
                  "its encoder of queries has another shape (%u layers) than that of passages "
                  "(%u layers), and such a pair is not trained",
                  model.config.layers, tower->config.layers)) &&
         (a.params = gb_params_create(status)) &&
         gb_bert_declare(a.params, &tower->config, false, &a.bert, status) &&
         (a.values = gb_model_input_values(model.folder, a.params, status));
    if (ok)
        copy(a.params, a.bert.word, a.values, params, tower->word, values,
             gb_params_count(a.params));
    gb_model_input_close(&model);
    close_alone(&a);
    free(path);
    return ok;
}

bool train_tower_left_out(const char *init, gb_status *status)
{
    char *path;
    if (!gb_find_query_tower(init, &path, status))
        return false;
    if (path)
        gb_log(GB_LOG_WARN, "%s has an encoder of queries, too; that of passages alone is trained",
               init);
    free(path);
    return true;
}

static bool save_tower(const gb_retriever_folder *folder, const char *name, const gb_bert *tower,
                       gb_status *status)
{
    alone a = {0};
    char *path = gb_path_join(status, folder->path, name);
    bool ok = path && (a.params = gb_params_create(status)) &&
              gb_bert_declare(a.params, folder->config, false, &a.bert, status);
    if (ok) {
        gb_params_freeze(a.params);
        a.values = gb_alloc(gb_params_floats(a.params), sizeof *a.values, status);
    }
    ok = ok && a.values;
    if (ok) {
        copy(folder->params, tower->word, folder->values, a.params, a.bert.word, a.values,
             gb_params_count(a.params));
        ok = gb_model_save(path, folder->config, a.params, a.values, folder->vocab,
                           folder->tokenizer, folder->how, folder->card, status);
    }
    close_alone(&a);
    free(path);
    return ok;
}

/* The encoder of a folder as it is. */
static bool save_untrained(const gb_retriever_folder *folder, const char *name,
                           const gb_bert_config *config, const gb_folder *init, gb_status *status)
{
    alone a = {0};
    char *path = gb_path_join(status, folder->path, name);
    bool ok = path && (a.params = gb_params_create(status)) &&
              gb_bert_declare(a.params, config, false, &a.bert, status) &&
              (a.values = gb_model_input_values(init, a.params, status)) &&
              gb_model_save(path, folder->config, a.params, a.values, folder->vocab,
                            folder->tokenizer, folder->how, folder->card, status);
    close_alone(&a);
    free(path);
    return ok;
}

bool train_towers_save(const gb_retriever_folder *folder, const gb_bert *passages,
                       const gb_bert *queries, const gb_folder *init, gb_status *status)
{
    return gb_make_dirs(folder->path, status) && save_tower(folder, "query", queries, status) &&
           (passages ? save_tower(folder, "document", passages, status)
                     : save_untrained(folder, "document", &queries->config, init, status)) &&
           gb_towers_write(folder->path, folder->how, status);
}
