/* Two encoders that were trained together as models of their own, put into one folder of two
 * towers. */
#include "private.h"

#include <gabbro/artifact.h>

#include <stdlib.h>
#include <string.h>

/* One of the two. */
typedef struct tower {
    const char *name;         /* of its folder */
    char *path;               /* of the model that it is made from */
    gb_model_input model;     /* the same, open */
    gb_sentence_settings how; /* vectors are made of texts */
    gb_text_prompts prompts;  /* that the model wants */
} tower;

static void close_tower(tower *t)
{
    gb_text_prompts_free(&t->prompts);
    gb_model_input_close(&t->model);
    free(t->path);
}

/* The folder of a model for one kind of texts, which may be a tower itself. */
static char *folder_of(const gb_config *config, const char *name, gb_text_kind kind,
                       gb_status *status)
{
    char *found = gb_find_model(config, name, status), *path = NULL;
    if (found && kind == GB_TEXT_QUERY && !gb_find_query_tower(found, &path, status)) {
        free(found);
        return NULL;
    }
    if (found && !path)
        path = gb_find_model_folder(found, status);
    free(found);
    return path;
}

static bool open_tower(tower *t, const char *pooling, gb_status *status)
{
    if (!gb_model_input_open(&t->model, t->path, NULL, status) ||
        !gb_folder_sentence(t->model.folder, &t->how, status) ||
        !gb_folder_prompts(t->model.folder, &t->prompts, status))
        return false;
    if (t->how.pooling == GB_POOLING_TERMS || gb_model_late_kind(t->path) != GB_LATE_NONE ||
        gb_folder_projector(t->model.folder) != GB_PROJECTOR_NONE)
        return gb_fail(status, GB_DATA, t->path, "towers make one dense vector of a text each",
                       "its vectors are sparse, of tokens, or go through a projector");
    if (pooling)
        t->how.pooling = gb_pooling_named(pooling);
    if (t->how.pooling == GB_POOLING_UNSTATED)
        return gb_fail(status, GB_DATA, t->path, "--pooling cls, as of DPR, or mean",
                       "no modules.json says how a vector is made of a text");
    return gb_settle_similarity(t->path, &t->how, status);
}

/* Do their vectors belong together, and can both read the same tokens? */
static bool check_pair(const tower *q, const tower *p, gb_status *status)
{
    char hashes[2][GB_HASH_SIZE];
    if (!gb_vocab_hash(q->model.vocab, hashes[0], status) ||
        !gb_vocab_hash(p->model.vocab, hashes[1], status))
        return false;
    if (strcmp(hashes[0], hashes[1]) != 0)
        return gb_fail(status, GB_DATA, q->path, "both towers read the tokens of one tokenizer",
                       "its vocabulary or casing is not that of %s", p->path);
    if (q->model.config.hidden_size != p->model.config.hidden_size)
        return gb_fail(status, GB_DATA, q->path, "vectors of both towers are compared",
                       "its vectors have %u numbers, those of %s %u", q->model.config.hidden_size,
                       p->path, p->model.config.hidden_size);
    if (q->how.normalize != p->how.normalize || q->how.pooling != p->how.pooling)
        return gb_fail(status, GB_DATA, q->path, "both towers make vectors in one way",
                       "pooling or scaling to length 1 differs from that of %s", p->path);
    return true;
}

static bool save_tower(const tower *t, const gb_sentence_settings *how, const char *to,
                       gb_status *status)
{
    gb_bert bert = {0};
    float *values = NULL;
    gb_sentence_settings own = *how;
    own.max_length = t->how.max_length;
    gb_model_card card = {.title = "gabbro retriever, one of two towers",
                          .what = "A model that was put beside another one by gabbro join-towers."};
    char *path = gb_path_join(status, to, t->name);
    gb_params *params = path ? gb_params_create(status) : NULL;
    bool ok = params && gb_bert_declare(params, &t->model.config, false, &bert, status) &&
              (values = gb_model_input_values(t->model.folder, params, status)) &&
              gb_model_save(path, &t->model.config, params, values, t->model.vocab,
                            t->model.tokenizer, &own, &card, status);
    gb_bert_free(&bert);
    gb_params_destroy(params);
    free(values);
    free(path);
    return ok;
}

static bool write_both(const tower *q, const tower *p, const char *to, gb_status *status)
{
    gb_sentence_settings how = p->how;
    how.query_prompt = q->prompts.query;
    how.passage_prompt = p->prompts.passage;
    how.prompt_left_out = q->how.prompt_left_out || p->how.prompt_left_out;
    char *draft = gb_draft_create(to, "modules.json", status);
    bool ok = draft && save_tower(q, &how, draft, status) && save_tower(p, &how, draft, status) &&
              gb_towers_write(draft, &how, status);
    return gb_draft_end(draft, ok, to, status);
}

bool gb_towers_join(const gb_towers *towers, gb_status *status)
{
    tower q = {.name = "query"}, p = {.name = "document"};
    if (gb_dir_exists(towers->to) || gb_file_exists(towers->to))
        return gb_fail(status, GB_USAGE, towers->to, "name a folder that is not there yet",
                       "there is something already");
    bool ok = (q.path = folder_of(towers->config, towers->queries, GB_TEXT_QUERY, status)) &&
              (p.path = folder_of(towers->config, towers->passages, GB_TEXT_PASSAGE, status)) &&
              open_tower(&q, towers->pooling, status) && open_tower(&p, towers->pooling, status) &&
              check_pair(&q, &p, status) && write_both(&q, &p, towers->to, status);
    close_tower(&q);
    close_tower(&p);
    return ok;
}
