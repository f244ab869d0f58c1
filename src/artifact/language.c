/* A LLaMA that makes vectors of texts: its settings and its tokenizer. */
#include "private.h"

#include <stdlib.h>

bool gb_model_is_language(const char *path)
{
    char *folder = gb_find_model_folder(path, NULL);
    bool language = folder && gb_folder_is_llama(folder);
    free(folder);
    return language;
}

static bool check_tokens(const gb_language_input *m, const char *path, const gb_tokens *tokens,
                         gb_status *status)
{
    return artifact_check_tokens(gb_coder_hash(m->coder), m->config.max_positions, path, tokens,
                                 status) &&
           artifact_check_prompts(m->folder, &m->prompts, tokens, status);
}

bool gb_language_input_open(gb_language_input *model, const char *path, const gb_tokens *tokens,
                            gb_status *status)
{
    gb_language_input m = {.folder = gb_find_model_folder(path, status)};
    char *config = m.folder ? gb_path_join(status, m.folder, "config.json") : NULL;
    bool ok = config && gb_lm_config_read(config, &m.config, status) &&
              (m.coder = gb_coder_open(m.folder, status)) &&
              gb_lm_folder_sentence(m.folder, &m.config, &m.sentence, &m.prompts, status) &&
              (!tokens || check_tokens(&m, path, tokens, status));
    free(config);
    *model = m;
    if (!ok)
        gb_language_input_close(model);
    return ok;
}

void gb_language_input_close(gb_language_input *model)
{
    gb_coder_close(model->coder);
    gb_text_prompts_free(&model->prompts);
    free(model->folder);
    *model = (gb_language_input){0};
}

gb_coder *gb_open_coder(const char *step, gb_status *status)
{
    char *folder = gb_find_model_folder(step, status);
    gb_coder *coder = folder ? gb_coder_open(folder, status) : NULL;
    free(folder);
    return coder;
}
