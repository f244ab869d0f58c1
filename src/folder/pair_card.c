/* The model card of a cross-encoder. */
#include "folder/internal.h"

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
