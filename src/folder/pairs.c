/* What only the folders of cross-encoders have: the length of a pair, and their model card. */
#include "folder/internal.h"

#include <stdlib.h>

/* A pair has three special tokens at least. */
#define LEAST 3

bool gb_folder_pair_length(const gb_folder *folder, uint32_t *length, gb_status *status)
{
    *length = gb_folder_config(folder)->max_positions;
    if (*length < LEAST)
        return gb_fail(status, GB_DATA, gb_folder_path(folder), "is config.json of this model?",
                       "%u positions do not hold a pair's three special tokens", *length);
    const char *path = gb_folder_path(folder);
    return folder_read_length(path, "tokenizer_config.json", "model_max_length", LEAST, length,
                              status) &&
           folder_read_length(path, folder_transformer_settings(path), "max_seq_length", LEAST,
                              length, status);
}

bool folder_write_pair_card(const char *path, const gb_folder_params *params, gb_status *status)
{
    const gb_model_card *card = params->card;
    const gb_bert_config *config = params->config;
    const gb_sentence_settings *how = &params->sentence;
    gb_text text = {0};
    gb_text_printf(&text, "---\n"
                          "library_name: sentence-transformers\n"
                          "pipeline_tag: text-ranking\n"
                          "tags:\n- sentence-transformers\n- cross-encoder\n- reranker\n- gabbro\n"
                          "---\n\n");
    folder_card_section(&text, "# ", card->title ? card->title : "Cross-encoder", "\n\n");
    folder_card_section(&text, "", card->what, "\n\n");
    gb_text_printf(&text,
                   "BERT of %u layers, hidden size %u, %u heads, vocabulary %u. A query and a "
                   "passage are one input, `[CLS] query [SEP] passage [SEP]`, of at most %u "
                   "tokens; the score is %s the linear layer on its pooled `[CLS]`.\n",
                   config->layers, config->hidden_size, config->heads, config->vocab_size,
                   how->max_length ? how->max_length : config->max_positions,
                   how->probability ? "the sigmoid of" : "the logit of");
    folder_card_facts(&text, card);
    gb_text_printf(
        &text, "\n```python\n"
               "from sentence_transformers import CrossEncoder\n"
               "scores = CrossEncoder(\"this folder\").predict([(\"a query\", \"a passage\")])\n"
               "```\n");
    bool ok = text.failed ? gb_fail_memory(status, "writing the model card")
                          : gb_write_file(path, text.data, text.length, status);
    gb_text_free(&text);
    return ok;
}
