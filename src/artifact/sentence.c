/* How an encoder makes vectors: pooling, and the prompts that its texts were tokenised with. */
#include <gabbro/artifact.h>
#include <gabbro/store.h>

#include <stdlib.h>
#include <string.h>

/* A text of the settings of a step; *said: it has one, which may be "". */
static bool setting_text(const json_t *run, const char *name, char **text, bool *said,
                         gb_status *status)
{
    const char *found = json_string_value(json_object_get(json_object_get(run, "settings"), name));
    *said = found != NULL;
    return !found || !*found || (*text = gb_strdup(found, status)) != NULL;
}

/* One of the two kinds of text: what the model wants before it, and what the tokens have. */
static bool check_prompt(const char *folder, const char *kind, const char *wanted, const char *made,
                         bool said, gb_status *status)
{
    char hint[400];
    const char *text = made ? made : "";
    if (wanted && !said) {
        snprintf(hint, sizeof hint,
                 "gabbro tokenize --%s-prompt '%s', or --%s-prompt '' to do without", kind, wanted,
                 kind);
        return gb_fail(status, GB_DATA, folder, hint,
                       "the model wants \"%.100s\" before a %s, and the tokens were made without "
                       "--%s-prompt",
                       wanted, kind, kind);
    }
    if (wanted && strcmp(wanted, text) != 0)
        gb_log(GB_LOG_WARN, "%s: the model wants \"%s\" before a %s; the tokens have \"%s\"",
               folder, wanted, kind, text);
    return true;
}

static bool check_prompts(const gb_folder *folder, const char *tokens_step, gb_text_prompts *before,
                          gb_status *status)
{
    gb_text_prompts wanted = {0};
    const char *path = gb_folder_path(folder);
    json_t *run = gb_step_read(tokens_step, NULL);
    bool query, passage;
    bool ok = gb_folder_prompts(folder, &wanted, status) &&
              setting_text(run, "query-prompt", &before->query, &query, status) &&
              setting_text(run, "passage-prompt", &before->passage, &passage, status) &&
              check_prompt(path, "query", wanted.query, before->query, query, status) &&
              check_prompt(path, "passage", wanted.passage, before->passage, passage, status);
    json_decref(run);
    gb_text_prompts_free(&wanted);
    return ok;
}

bool gb_model_sentence(const gb_folder *folder, const char *tokens_step, const char *pooling,
                       gb_sentence_settings *how, gb_text_prompts *before, gb_status *status)
{
    *before = (gb_text_prompts){0};
    bool ok = gb_folder_sentence(folder, how, status) &&
              check_prompts(folder, tokens_step, before, status);
    if (ok && pooling) {
        how->pooling = strcmp(pooling, "mean") ? GB_POOLING_CLS : GB_POOLING_MEAN;
        how->prompt_left_out = false;
    }
    if (ok && how->prompt_left_out && (before->query || before->passage))
        ok = gb_fail(status, GB_DATA, gb_folder_path(folder), "--pooling decides otherwise",
                     "the model leaves its prompts out of the mean (\"include_prompt\": false), "
                     "which is not computed here");
    if (ok && how->pooling == GB_POOLING_UNSTATED)
        gb_log(GB_LOG_WARN,
               "%s: no modules.json says how a vector is made of a text; the state of [CLS] is "
               "taken, --pooling decides",
               gb_folder_path(folder));
    if (!ok)
        gb_text_prompts_free(before);
    return ok;
}
