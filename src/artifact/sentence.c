/* How an encoder makes vectors: pooling, and the prompts that its texts were tokenised with. */
#include "private.h"

#include <stdlib.h>
#include <string.h>

/* One of the two kinds of text: what the model wants before it, and what the tokens have. */
static bool check_prompt(const char *folder, const char *kind, const char *wanted, const char *made,
                         gb_status *status)
{
    char hint[400];
    if (wanted && !made) {
        snprintf(hint, sizeof hint,
                 "gabbro tokenize --%s-prompt '%s', or --%s-prompt '' to do without", kind, wanted,
                 kind);
        return gb_fail(status, GB_DATA, folder, hint,
                       "the model wants \"%.100s\" before a %s, and the tokens were made without "
                       "--%s-prompt",
                       wanted, kind, kind);
    }
    if (wanted && strcmp(wanted, made) != 0)
        gb_log(GB_LOG_WARN, "%s: the model wants \"%s\" before a %s; the tokens have \"%s\"",
               folder, wanted, kind, made);
    return true;
}

bool artifact_check_prompts(const char *folder, const gb_text_prompts *wanted,
                            const gb_tokens *tokens, gb_status *status)
{
    return check_prompt(folder, "query", wanted->query, tokens->query_prompt, status) &&
           check_prompt(folder, "passage", wanted->passage, tokens->passage_prompt, status);
}

static bool check_prompts(const gb_folder *folder, const gb_tokens *tokens, gb_status *status)
{
    gb_text_prompts wanted = {0};
    bool ok = gb_folder_prompts(folder, &wanted, status) &&
              artifact_check_prompts(gb_folder_path(folder), &wanted, tokens, status);
    gb_text_prompts_free(&wanted);
    return ok;
}

bool gb_prompt_tokens(const gb_model_input *model, const gb_sentence_settings *how,
                      const char *prompt, uint32_t *tokens, gb_status *status)
{
    gb_ids ids = {0};
    *tokens = 0;
    if (!how->prompt_left_out || !prompt || !*prompt)
        return true;
    gb_tokenizer *tokenizer = gb_tokenizer_create(model->vocab, model->tokenizer, status);
    bool ok = tokenizer && gb_tokenize(tokenizer, prompt, strlen(prompt), &ids, status);
    *tokens = (uint32_t)ids.count + 1;
    gb_tokenizer_destroy(tokenizer);
    free(ids.data);
    return ok;
}

void gb_settle_pooling(const char *folder, bool language, gb_pooling asked,
                       gb_sentence_settings *how)
{
    if (asked != GB_POOLING_UNSTATED) {
        how->pooling = asked;
        how->prompt_left_out = how->query_tokens = false;
    } else if (how->pooling == GB_POOLING_UNSTATED) {
        how->pooling = language ? GB_POOLING_LAST : GB_POOLING_CLS;
        gb_log(GB_LOG_WARN,
               "%s: no modules.json says how a vector is made of a text; the state of %s is taken, "
               "--pooling decides",
               folder, language ? "the last token" : "[CLS]");
    }
}

bool gb_settle_similarity(const char *folder, gb_sentence_settings *how, gb_status *status)
{
    gb_similarity says = how->similarity;
    bool sparse = how->pooling == GB_POOLING_TERMS;
    if (says == GB_SIMILARITY_COSINE && !sparse)
        how->normalize = true;
    if (says == GB_SIMILARITY_UNSTATED && !how->normalize && !sparse)
        gb_log(GB_LOG_WARN,
               "%s: no \"similarity_fn_name\" in config_sentence_transformers.json says how "
               "vectors are compared; the dot product is taken",
               folder);
    /* Of vectors of length 1 the nearest are those of the largest dot product. */
    bool dot = says == GB_SIMILARITY_UNSTATED || says == GB_SIMILARITY_DOT ||
               (how->normalize && says != GB_SIMILARITY_MANHATTAN);
    return dot || gb_fail(status, GB_DATA, folder,
                          sparse ? "sparse vectors are compared by \"dot\""
                                 : "\"cosine\" and \"dot\" are computed; gabbro embed makes its "
                                   "vectors for other programs",
                          "\"similarity_fn_name\" of config_sentence_transformers.json is \"%s\", "
                          "by which vectors are not compared here",
                          gb_similarity_word(says));
}

bool gb_model_is_rescaled(const char *path)
{
    bool rescaled = false;
    char *folder = gb_find_model_folder(path, NULL);
    bool ok = folder && gb_folder_is_cosine_unscaled(folder, &rescaled, NULL);
    free(folder);
    return ok && rescaled;
}

bool gb_model_sentence(const gb_folder *folder, const gb_tokens *tokens, const char *pooling,
                       gb_sentence_settings *how, gb_status *status)
{
    bool ok = gb_folder_sentence(folder, how, status) && check_prompts(folder, tokens, status);
    if (!ok)
        return false;
    gb_settle_pooling(gb_folder_path(folder), false, gb_pooling_named(pooling), how);
    return gb_settle_similarity(gb_folder_path(folder), how, status);
}

gb_late_kind gb_model_late_kind(const char *path)
{
    char *folder = gb_find_model_folder(path, NULL);
    gb_late_kind kind = folder ? gb_folder_late_kind(folder) : GB_LATE_NONE;
    free(folder);
    return kind;
}

bool gb_model_late(const gb_model_input *model, const gb_tokens *tokens, gb_late_settings *late,
                   gb_status *status)
{
    if (!gb_folder_late(model->folder, model->vocab, late, status))
        return false;
    if (late->kind == GB_LATE_NONE)
        return true;
    if (late->passage_length > tokens->max_passage)
        late->passage_length = tokens->max_passage;
    return check_prompts(model->folder, tokens, status);
}
