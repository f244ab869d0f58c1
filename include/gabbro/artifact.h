/* Artifact module: opens what the folders of steps hold, models, collections, tokens and
 * vocabularies, and checks that they belong together. */
#ifndef GABBRO_ARTIFACT_H
#define GABBRO_ARTIFACT_H

#include <gabbro/data.h>
#include <gabbro/folder.h>
#include <gabbro/nn.h>

/* A setting of the step in `dir` as a number, 0 if it has none. */
uint32_t gb_step_setting_u32(const char *dir, const char *name);

/* A model from a step's folder (its model/) or a Hugging Face folder. */
typedef struct gb_model_input {
    gb_folder *folder;             /* open */
    gb_vocab *vocab;               /* of the folder */
    gb_tokenizer_params tokenizer; /* of the folder */
    gb_bert_config config;         /* of the folder */
} gb_model_input;
/* tokens_step: what it will read; refused when that was made with another vocabulary or casing.
 * NULL: text of one's own. */
bool gb_model_input_open(gb_model_input *model, const char *path, const char *tokens_step,
                         gb_status *status);
/* The model's folder in a step, or a model folder itself; caller frees. */
char *gb_find_model_folder(const char *path, gb_status *status);
/* Freezes the declared parameters and reads the folder's values of them; free(). */
float *gb_model_input_values(const gb_folder *folder, gb_params *params, gb_status *status);
/* What is in the folders of steps. Close with gb_collection_close, gb_tokens_close and
 * gb_vocab_destroy. */
gb_collection *gb_open_collection(const char *step, gb_status *status);
bool gb_open_tokens(const char *step, gb_tokens *tokens, gb_status *status);
gb_vocab *gb_open_vocabulary(const char *step, gb_status *status);
/* Hash of the list of tokens: what a tokens step notes as fact "vocabulary". */
bool gb_vocab_hash(const gb_vocab *vocab, char hash[GB_HASH_SIZE], gb_status *status);
/* Whether tokens were made with this vocabulary; those of steps that do not say are. */
bool gb_tokens_match(const gb_vocab *vocab, const char *tokens_step, bool *same, gb_status *status);
void gb_model_input_close(gb_model_input *model);
/* How the encoder in `folder` makes vectors of the texts of a step of tokens: as its folder says,
 * but for `pooling` (cls or mean; NULL: the folder decides). A folder that says nothing of pooling
 * is named in the log. `before` gets the prompts that the tokens were made with
 * (gb_text_prompts_free); GB_DATA where the folder wants a prompt and the tokens' step says nothing
 * of one. */
bool gb_model_sentence(const gb_folder *folder, const char *tokens_step, const char *pooling,
                       gb_sentence_settings *how, gb_text_prompts *before, gb_status *status);

#endif
