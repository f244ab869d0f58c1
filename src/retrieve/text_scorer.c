/* Scores of pairs of texts of one's own: a cross-encoder opened with its tokenizer. */
#include <gabbro/retrieve.h>

#include <gabbro/artifact.h>
#include <gabbro/diag.h>

#include <stdlib.h>
#include <string.h>

struct gb_text_scorer {
    gb_model_input model;    /* the folder */
    gb_params *params;       /* its parameters */
    gb_bert bert;            /* its encoder */
    gb_pair_head head;       /* what makes a score of a state */
    float *values;           /* of the parameters */
    uint32_t max_tokens;     /* of a pair */
    gb_tokenizer *tokenizer; /* of its vocabulary */
    gb_device *device;       /* that computes */
    gb_device *own;          /* the same, if it was opened here */
    gb_pair_scorer *scorer;  /* its program */
    gb_ids ids;              /* of the texts at hand, one behind the other */
};
typedef struct gb_text_scorer text_scorer;

static bool open_model(text_scorer *s, const gb_text_encoder_params *how, gb_status *status)
{
    char *path = gb_find_model(how->config, how->model, status);
    bool ok = path &&
              gb_model_input_open_kinds(&s->model, path, GB_FOLDER_CROSS_ENCODER, NULL, status) &&
              gb_folder_pair_length(s->model.folder, &s->max_tokens, status) &&
              (s->params = gb_params_create(status)) &&
              gb_bert_declare(s->params, &s->model.config, false, &s->bert, status) &&
              gb_pair_head_declare(s->params, &s->model.config, &s->head, status) &&
              (s->values = gb_model_input_values(s->model.folder, s->params, status)) &&
              (s->tokenizer = gb_tokenizer_create(s->model.vocab, s->model.tokenizer, status));
    free(path);
    return ok;
}

gb_text_scorer *gb_text_scorer_open(const gb_text_encoder_params *params, gb_status *status)
{
    text_scorer *s = gb_alloc(1, sizeof *s, status);
    gb_device_params device = gb_ops_device(params->config, params->device);
    device.users = GB_USER_ENCODE | GB_USER_FP16 | GB_USER_BF16;
    device.quiet = true;
    bool ok = s && open_model(s, params, status);
    if (ok && !params->open)
        ok = gb_device_ready(params->config, params->device, status) &&
             (s->own = gb_device_open(&device, status));
    if (ok) {
        s->device = params->open ? params->open : s->own;
        const gb_pair_scorer_params how = {.device = s->device,
                                           .bert = &s->bert,
                                           .head = &s->head,
                                           .params = s->params,
                                           .values = s->values,
                                           .specials = gb_vocab_specials(s->model.vocab),
                                           .max_length = s->max_tokens};
        s->scorer = gb_pair_scorer_create(&how, status);
    }
    if (ok && s->scorer)
        return s;
    gb_text_scorer_close(s);
    return NULL;
}

void gb_text_scorer_close(gb_text_scorer *s)
{
    if (!s)
        return;
    gb_pair_scorer_destroy(s->scorer);
    gb_device_close(s->own);
    gb_tokenizer_destroy(s->tokenizer);
    if (s->params)
        gb_bert_free(&s->bert);
    gb_params_destroy(s->params);
    if (s->model.folder)
        gb_model_input_close(&s->model);
    free(s->values);
    free(s->ids.data);
    free(s);
}

uint32_t gb_text_scorer_max_tokens(const gb_text_scorer *s)
{
    return s->max_tokens;
}

/* Pairs as ids: queries in the first half of both arrays, passages in the second. */
typedef struct pair_texts {
    gb_token_text *texts; /* [2 * count] */
    size_t *starts;       /* [2 * count] of each in the ids */
} pair_texts;

static void free_texts(pair_texts *p)
{
    free(p->texts);
    free(p->starts);
}

static bool add_texts(text_scorer *s, const char *const *texts, uint32_t count, pair_texts *p,
                      uint32_t first, gb_status *status)
{
    for (uint32_t i = 0, at = first; i < count; i++, at++) {
        if (i && !strcmp(texts[i], texts[i - 1])) { /* as the query of many passages */
            p->starts[at] = p->starts[at - 1];
            p->texts[at].length = p->texts[at - 1].length;
            continue;
        }
        p->starts[at] = s->ids.count;
        if (!gb_tokenize(s->tokenizer, texts[i], strlen(texts[i]), &s->ids, status))
            return false;
        p->texts[at].length = s->ids.count - p->starts[at];
    }
    return true;
}

static bool read_texts(text_scorer *s, const char *const *queries, const char *const *passages,
                       uint32_t count, pair_texts *p, gb_status *status)
{
    static const uint32_t none[1];
    size_t all = 2 * (size_t)count;
    *p = (pair_texts){gb_alloc(all, sizeof *p->texts, status),
                      gb_alloc(all, sizeof *p->starts, status)};
    s->ids.count = 0;
    if (!p->texts || !p->starts || !add_texts(s, queries, count, p, 0, status) ||
        !add_texts(s, passages, count, p, count, status))
        return false;
    for (size_t i = 0; i < all; i++)
        p->texts[i].ids = p->texts[i].length ? s->ids.data + p->starts[i] : none;
    return true;
}

bool gb_text_scorer_run(gb_text_scorer *s, const char *const *queries, const char *const *passages,
                        uint32_t count, float *scores, gb_status *status)
{
    pair_texts p;
    bool ok = read_texts(s, queries, passages, count, &p, status) &&
              gb_pair_scorer_texts(s->scorer, p.texts, p.texts + count, count, scores, status);
    free_texts(&p);
    return ok;
}

bool gb_text_scorer_count(gb_text_scorer *s, const char *const *queries,
                          const char *const *passages, uint32_t count, uint32_t *tokens,
                          gb_status *status)
{
    pair_texts p;
    bool ok = read_texts(s, queries, passages, count, &p, status);
    for (uint32_t i = 0; ok && i < count; i++)
        tokens[i] = (uint32_t)(p.texts[i].length + p.texts[count + i].length + 3);
    free_texts(&p);
    return ok;
}
