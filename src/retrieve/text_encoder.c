/* Vectors of texts of one's own: a model opened with its tokenizer, pooling and prompts. */
#include "private.h"

#include <gabbro/diag.h>

#include <stdlib.h>
#include <string.h>

/* Tokens of a batch: a program for a question, for a few texts, and for many. */
static const uint32_t batch_rows[] = {128, 512, 1024, 0};
#define PROGRAMS  (sizeof batch_rows / sizeof *batch_rows)
#define FEW_TEXTS 128 /* texts that any of them holds */
#define NARROW    256 /* with narrower states short batches would add up in another order */

struct gb_text_encoder {
    char *path;                     /* of the model's folder */
    gb_language_input lm;           /* a LLaMA in the place of an encoder, or nothing */
    gb_lm_encoder *lm_encoder;      /* of it, on the device */
    char *device_name;              /* as asked for, or NULL */
    gb_model_input model;           /* the folder */
    gb_params *params;              /* of its encoder */
    gb_bert bert;                   /* its encoder */
    float *values;                  /* its parameters */
    gb_sentence_settings sentence;  /* its pooling and length */
    gb_text_prompts prompts;        /* put before texts */
    uint32_t left_out[2];           /* first tokens of passages and queries that are of no mean */
    gb_tokenizer *tokenizer;        /* of its vocabulary */
    gb_device *device, *own;        /* that computes; the same if it was opened here */
    gb_state *state;                /* parameters on the device */
    gb_encoder *encoders[PROGRAMS]; /* made when they are needed first, or NULL */
    uint32_t width;                 /* floats of a vector */
    gb_ids ids;                     /* of the texts at hand, one behind the other */
    gb_text text;                   /* scratch: a prompt and a text */
    gb_text_encoder *queries;       /* of two towers that of queries; NULL: this one encodes all */
};
typedef struct gb_text_encoder text_encoder;

static bool open_encoder(text_encoder *e, const char *path, gb_status *status)
{
    return gb_model_input_open(&e->model, path, NULL, status) &&
           gb_folder_sentence(e->model.folder, &e->sentence, status) &&
           gb_folder_prompts(e->model.folder, &e->prompts, status) &&
           (e->params = gb_params_create(status)) &&
           gb_bert_declare(e->params, &e->model.config, false, &e->bert, status) &&
           gb_bert_add_projector(e->params, &e->bert, gb_folder_projector(e->model.folder),
                                 status) &&
           (e->values = gb_model_input_values(e->model.folder, e->params, status)) &&
           (e->tokenizer = gb_tokenizer_create(e->model.vocab, e->model.tokenizer, status));
}

static bool open_language(text_encoder *e, gb_status *status)
{
    bool ok = gb_language_input_open(&e->lm, e->path, NULL, status);
    e->sentence = e->lm.sentence;
    e->prompts = e->lm.prompts;
    e->lm.prompts = (gb_text_prompts){0};
    return ok;
}

static bool open_model(text_encoder *e, const gb_text_encoder_params *how, gb_status *status)
{
    char *path = gb_find_model(how->config, how->model, status);
    bool ok =
        path && (e->path = gb_find_model_folder(path, status)) &&
        (gb_folder_is_llama(e->path) ? open_language(e, status) : open_encoder(e, path, status));
    free(path);
    return ok;
}

/* The pooling that is asked for counts more than the folder. */
static bool settle_vectors(text_encoder *e, const gb_text_encoder_params *how, gb_status *status)
{
    gb_settle_pooling(e->path, e->lm.coder != NULL, how->pooling, &e->sentence);
    if (e->sentence.pooling == GB_POOLING_TERMS)
        return gb_fail(status, GB_DATA, e->path,
                       "gabbro encode writes its vectors, gabbro evaluate and mine rank by them",
                       "the model is one of sparse vectors (SparseEncoder)");
    return !how->compare || gb_settle_similarity(e->path, &e->sentence, status);
}

/* All numbers of a vector, or the first ones alone. */
static bool settle_width(text_encoder *e, uint32_t dims, gb_status *status)
{
    uint32_t all = e->lm.coder ? e->lm.config.hidden_size : e->model.config.hidden_size;
    e->width = dims ? dims : all;
    return dims <= all || gb_fail(status, GB_USAGE, e->path, "take fewer",
                                  "%u of the %u dimensions of a vector", dims, all);
}

static bool count_left_out(text_encoder *e, gb_status *status)
{
    if (e->lm.coder)
        return true;
    const gb_sentence_settings *how = &e->sentence;
    return gb_prompt_tokens(&e->model, how, e->prompts.passage, &e->left_out[0], status) &&
           gb_prompt_tokens(&e->model, how, e->prompts.query, &e->left_out[1], status);
}

/* Of two towers the other one, on the same device. */
static bool open_queries(text_encoder *e, const gb_text_encoder_params *params, gb_status *status)
{
    char *path = gb_find_model(params->config, params->model, status), *tower = NULL;
    bool ok = path && gb_find_query_tower(path, &tower, status);
    gb_text_encoder_params how = *params;
    how.model = tower;
    how.open = e->device;
    ok = ok && (!tower || (e->queries = gb_text_encoder_open(&how, status)));
    if (ok && tower && gb_text_encoder_width(e->queries) != gb_text_encoder_width(e))
        ok = gb_fail(status, GB_DATA, path, "name its folder query or document",
                     "the two towers make vectors of different widths");
    free(tower);
    free(path);
    return ok;
}

/* The encoder of such texts; NULL and status where it is not said which of two towers is meant. */
static text_encoder *tower_of(text_encoder *e, gb_text_kind kind, gb_status *status)
{
    if (!e->queries || kind == GB_TEXT_PASSAGE)
        return e;
    if (kind == GB_TEXT_QUERY)
        return e->queries;
    gb_fail(status, GB_USAGE, e->path,
            "say which the texts are, or name its folder query or document",
            "queries and passages have encoders of their own (two towers)");
    return NULL;
}

/* Brings the parameters to the device. */
static bool load(text_encoder *e, gb_status *status)
{
    if (e->lm.coder)
        return (e->lm_encoder = retrieve_language_encoder(&e->lm, e->device, &e->sentence, e->width,
                                                          false, status)) != NULL;
    return (e->state = gb_state_create(e->device, e->params, false, status)) &&
           gb_state_write(e->state, GB_ARENA_PARAMS, e->values, status);
}

gb_text_encoder *gb_text_encoder_open(const gb_text_encoder_params *params, gb_status *status)
{
    text_encoder *e = gb_alloc(1, sizeof *e, status);
    gb_device_params device = gb_ops_device(params->config, params->device);
    device.users = GB_USER_ENCODE | GB_USER_SEARCH | GB_USER_GENERATE | GB_USER_FP16 | GB_USER_BF16;
    device.quiet = true;
    bool ok = e && open_model(e, params, status) && settle_vectors(e, params, status) &&
              settle_width(e, params->dims, status) && count_left_out(e, status) &&
              (!params->device || (e->device_name = gb_strdup(params->device, status)));
    if (ok && !params->open)
        ok = gb_device_ready(params->config, params->device, status) &&
             (e->own = gb_device_open(&device, status));
    if (ok)
        e->device = params->open ? params->open : e->own;
    ok = ok && load(e, status) && open_queries(e, params, status);
    if (ok)
        return e;
    gb_text_encoder_close(e);
    return NULL;
}

void gb_text_encoder_close(gb_text_encoder *e)
{
    if (!e)
        return;
    gb_text_encoder_close(e->queries);
    for (size_t i = 0; i < PROGRAMS; i++)
        gb_encoder_destroy(e->encoders[i]);
    gb_lm_encoder_destroy(e->lm_encoder);
    gb_language_input_close(&e->lm);
    gb_state_destroy(e->state);
    gb_device_close(e->own);
    gb_tokenizer_destroy(e->tokenizer);
    gb_text_prompts_free(&e->prompts);
    if (e->params)
        gb_bert_free(&e->bert);
    gb_params_destroy(e->params);
    if (e->model.folder)
        gb_model_input_close(&e->model);
    free(e->path);
    free(e->device_name);
    free(e->values);
    free(e->ids.data);
    gb_text_free(&e->text);
    free(e);
}

uint32_t gb_text_encoder_width(const gb_text_encoder *e)
{
    return e->width;
}

gb_device *gb_text_encoder_device(const gb_text_encoder *e)
{
    return e->device;
}

static bool add_text(text_encoder *e, const char *text, size_t length, gb_status *status)
{
    return e->lm.coder ? gb_coder_encode_bare(e->lm.coder, text, length, &e->ids, status)
                       : gb_tokenize(e->tokenizer, text, length, &e->ids, status);
}

static bool add_ids(text_encoder *e, const char *prompt, const char *text, gb_status *status)
{
    if (!prompt)
        return add_text(e, text, strlen(text), status);
    e->text.length = 0;
    gb_text_printf(&e->text, "%s%s", prompt, text);
    return (!e->text.failed || gb_fail_memory(status, "a prompt")) &&
           add_text(e, e->text.data, e->text.length, status);
}

/* The ids of all texts, and where each begins [count + 1], which the caller frees. */
static size_t *add_all(text_encoder *e, gb_text_kind kind, const char *const *texts, uint32_t count,
                       gb_status *status)
{
    const char *prompt = kind == GB_TEXT_QUERY     ? e->prompts.query
                         : kind == GB_TEXT_PASSAGE ? e->prompts.passage
                                                   : NULL;
    size_t *starts = gb_alloc((size_t)count + 1, sizeof *starts, status);
    bool ok = starts != NULL;
    e->ids.count = 0;
    for (uint32_t i = 0; ok && i < count; i++) {
        ok = add_ids(e, prompt, texts[i], status);
        starts[i + 1] = e->ids.count;
    }
    if (ok)
        return starts;
    free(starts);
    return NULL;
}

/* Tokens that are put around every text. */
static uint32_t specials_of(const text_encoder *e)
{
    return e->lm.coder ? gb_coder_around(e->lm.coder) : 2;
}

static uint32_t tokens_of(const text_encoder *e, const size_t *starts, uint32_t text)
{
    size_t tokens = starts[text + 1] - starts[text] + 2;
    return tokens < e->sentence.max_length ? (uint32_t)tokens : e->sentence.max_length;
}

/* The smallest program whose batch holds all texts. */
static gb_encoder *encoder_for(text_encoder *e, const size_t *starts, uint32_t count,
                               gb_status *status)
{
    uint64_t rows = 0;
    size_t which = 0;
    for (uint32_t i = 0; i < count; i++)
        rows += tokens_of(e, starts, i);
    bool many = count > FEW_TEXTS || e->model.config.hidden_size < NARROW;
    while (which + 1 < PROGRAMS && (many || rows > batch_rows[which]))
        which++;
    if (!e->encoders[which]) {
        const gb_encoder_params how = {.device = e->device,
                                       .bert = &e->bert,
                                       .params = e->params,
                                       .sentence = e->sentence,
                                       .specials = gb_vocab_specials(e->model.vocab),
                                       .max_length = e->sentence.max_length,
                                       .batch_rows = batch_rows[which],
                                       .dims = e->width,
                                       .state = e->state};
        e->encoders[which] = gb_encoder_create(&how, status);
    }
    return e->encoders[which];
}

static bool run(text_encoder *e, gb_text_kind kind, const size_t *starts, uint32_t count,
                const char *label, float *vectors, gb_status *status)
{
    static const uint32_t none[1];
    const gb_encode_rows rows = {
        .ids = e->ids.data ? e->ids.data : none, .starts = starts, .count = count, .label = label};
    bool prompted = kind == GB_TEXT_QUERY || kind == GB_TEXT_PASSAGE;
    if (e->lm_encoder)
        return gb_lm_encoder_run(e->lm_encoder, &rows, vectors, status);
    gb_encoder *encoder = encoder_for(e, starts, count, status);
    if (!encoder)
        return false;
    gb_encoder_leave_out(encoder, prompted ? e->left_out[kind == GB_TEXT_QUERY] : 0);
    return gb_encoder_run(encoder, &rows, vectors, status);
}

bool gb_text_encoder_run(gb_text_encoder *e, gb_text_kind kind, const char *const *texts,
                         uint32_t count, const char *label, float *vectors, gb_status *status)
{
    if (!(e = tower_of(e, kind, status)))
        return false;
    size_t *starts = add_all(e, kind, texts, count, status);
    bool ok = starts && run(e, kind, starts, count, label, vectors, status);
    free(starts);
    return ok;
}

const char *gb_text_encoder_device_name(const gb_text_encoder *e)
{
    return e->device_name;
}

const gb_sentence_settings *gb_text_encoder_sentence(const gb_text_encoder *e)
{
    return &e->sentence;
}

bool gb_text_encoder_count(gb_text_encoder *e, gb_text_kind kind, const char *const *texts,
                           uint32_t count, uint32_t *tokens, gb_status *status)
{
    if (!(e = tower_of(e, kind, status)))
        return false;
    size_t *starts = add_all(e, kind, texts, count, status);
    for (uint32_t i = 0; starts && i < count; i++)
        tokens[i] = (uint32_t)(starts[i + 1] - starts[i]) + specials_of(e);
    free(starts);
    return starts != NULL;
}
