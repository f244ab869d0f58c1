/* Artifact module: opens what the folders of artifacts hold, models, collections, tokens and
 * vocabularies, and checks that they belong together. */
#ifndef GABBRO_ARTIFACT_H
#define GABBRO_ARTIFACT_H

#include <gabbro/data.h>
#include <gabbro/folder.h>
#include <gabbro/nn.h>
#include <gabbro/store.h>

/* A model from a artifact's folder (its model/) or a Hugging Face folder. */
typedef struct gb_model_input {
    gb_folder *folder;             /* open */
    gb_vocab *vocab;               /* of the folder */
    gb_tokenizer_params tokenizer; /* of the folder */
    gb_bert_config config;         /* of the folder */
} gb_model_input;
/* tokens: what it will read, refused when they were made with another vocabulary, casing or are
 * longer than the model can read; NULL: texts of one's own. */
bool gb_model_input_open(gb_model_input *model, const char *path, const gb_tokens *tokens,
                         gb_status *status);
/* The same of models of some kinds, not of encoders alone (gb_folder_open_kinds). */
bool gb_model_input_open_kinds(gb_model_input *model, const char *path, uint32_t kinds,
                               const gb_tokens *tokens, gb_status *status);
/* A LLaMA in the place of an encoder, from an artifact's folder or a Hugging Face folder. */
typedef struct gb_language_input {
    char *folder;                  /* its path */
    gb_lm_config config;           /* of the folder */
    gb_coder *coder;               /* its tokenizer; NULL: it is not open */
    gb_sentence_settings sentence; /* as the folder says */
    gb_text_prompts prompts;       /* as the folder says */
} gb_language_input;
/* Whether the folder, or the artifact's, has a LLaMA. */
bool gb_model_is_language(const char *path);
/* tokens: as of gb_model_input_open; and GB_DATA where the folder wants a prompt and they do not
 * say whether they have one. */
bool gb_language_input_open(gb_language_input *model, const char *path, const gb_tokens *tokens,
                            gb_status *status);
void gb_language_input_close(gb_language_input *model); /* also of zeros */
/* Finds the model that somebody names: a folder, an artifact of the user's store (by any unique
 * beginning of its name or key), or the name of a model in Hugging Face's cache, with or without
 * its owner (without: sentence-transformers too). Returns the path of a folder; caller frees. NULL
 * and GB_DATA if there is none. */
char *gb_find_model(const gb_config *config, const char *name, gb_status *status);
/* The same of a collection: a path (of anything; it must exist), or an artifact of the store. */
char *gb_find_collection(const gb_config *config, const char *name, gb_status *status);
/* The same of any folder that is no model, such as an index. */
char *gb_find_folder(const gb_config *config, const char *name, gb_status *status);
/* The model's folder in a step, or a model folder itself, of two towers that of passages; caller
 * frees. */
char *gb_find_model_folder(const char *path, gb_status *status);
/* Where the vocabulary of a model's folder is read: its vocab.txt, if that alone says all of it, as
 * of uncased WordPiece, else the folder. The caller frees it; NULL after an error. */
char *gb_find_vocabulary(const char *folder, gb_status *status);
/* Of two towers that of queries, which the caller frees; *tower is NULL where there is one encoder.
 */
bool gb_find_query_tower(const char *path, char **tower, gb_status *status);
/* Adds to *users, GB_USER_ bits, who runs kernels of a model, an artifact or a folder, beside those
 * of BERT: attention with a bias by distance is that of language models. */
bool gb_model_users(const char *path, bool training, uint32_t *users, gb_status *status);
/* Freezes the declared parameters and reads the folder's values of them; free(). */
float *gb_model_input_values(const gb_folder *folder, gb_params *params, gb_status *status);
/* What is in the folders of artifacts. Close with gb_collection_close, gb_tokens_close and
 * gb_vocab_destroy. Where texts of a collection are found by their rows in the tokens, it is given
 * too (else NULL): GB_DATA if it has another number of passages or queries, or if the records of
 * both artifacts say that the tokens were made of other texts. */
gb_collection *gb_open_collection(const char *step, gb_status *status);
bool gb_open_tokens(const char *step, const gb_collection *collection, gb_tokens *tokens,
                    gb_status *status);
/* Takes the generated queries in an artifact's folder for those of the collection, as
 * gb_collection_use_queries does; GB_DATA also if they were made for other texts. */
bool gb_use_queries(gb_collection *collection, const char *step, gb_status *status);
/* The vocabulary of a LLaMA's tokenizer in such a folder; gb_model_is_language says whether it is
 * one. */
gb_coder *gb_open_coder(const char *step, gb_status *status);
void gb_model_input_close(gb_model_input *model); /* also of zeros */
/* How the encoder in `folder` makes vectors of texts that are compared: as its folder says, but for
 * `pooling` (cls or mean; NULL: the folder decides). A folder that says nothing of pooling or
 * similarity is named in the log. GB_DATA where the folder wants a prompt and the tokens do not say
 * whether they have one, and as for gb_settle_similarity. */
bool gb_model_sentence(const gb_folder *folder, const gb_tokens *tokens, const char *pooling,
                       gb_sentence_settings *how, gb_status *status);
/* Settles the pooling of a model's settings: what was asked for counts more than its folder, and
 * where neither says, it is the state of the last token (`language`) or that of [CLS], and the log
 * says so. */
void gb_settle_pooling(const char *folder, bool language, gb_pooling asked,
                       gb_sentence_settings *how);
/* Settles how vectors are compared, which is by their dot product everywhere: where the folder says
 * "cosine", vectors are scaled to length 1 from here on, whether it has a Normalize module or not.
 * Where it says nothing and does not scale them, the log says that it is the dot product. GB_DATA
 * for a similarity that ranks otherwise than either. Comes after gb_settle_pooling. */
bool gb_settle_similarity(const char *folder, gb_sentence_settings *how, gb_status *status);
/* Whether that changes the vectors of the model in a folder or artifact; false where there is none.
 */
bool gb_model_is_rescaled(const char *path);
/* Counts the first tokens of a text behind `prompt` (NULL or empty: none) that the model leaves out
 * of the mean, [CLS] and those of the prompt alone; 0 where it leaves none out. */
bool gb_prompt_tokens(const gb_model_input *model, const gb_sentence_settings *how,
                      const char *prompt, uint32_t *tokens, gb_status *status);
/* How the model makes vectors of tokens, with passages no longer than those of `tokens`; kind is
 * GB_LATE_NONE where vectors are of texts. GB_DATA as for gb_folder_late, and where the folder
 * wants a prompt and the tokens do not say whether they have one. Free with gb_late_settings_free.
 */
bool gb_model_late(const gb_model_input *model, const gb_tokens *tokens, gb_late_settings *late,
                   gb_status *status);
/* Kind of the model in a folder or artifact, by the names of its files: for those who must know
 * before it is opened. */
gb_late_kind gb_model_late_kind(const char *path);

#endif
