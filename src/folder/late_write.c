/* A folder of late interaction as PyLate and ColBERT read it, or COIL's settings. */
#include "folder/internal.h"

#include <stdlib.h>
#include <string.h>

static bool save(const char *dir, const char *name, json_t *json, gb_status *status)
{
    bool ok = gb_json_save_in(json, FOLDER_JSON, dir, name, status);
    json_decref(json);
    return ok;
}

static json_t *skipped_words(const gb_folder_params *params)
{
    const gb_late_settings *late = params->sentence.late;
    json_t *words = json_array();
    for (size_t i = 0; i < late->skipped_count; i++)
        json_array_append_new(words, json_string(gb_vocab_token(params->vocab, late->skipped[i])));
    return words;
}

static json_t *modules(void)
{
    return json_pack("[{s:i, s:s, s:s, s:s}, {s:i, s:s, s:s, s:s}]", "idx", 0, "name", "0", "path",
                     "", "type", "sentence_transformers.models.Transformer", "idx", 1, "name", "1",
                     "path", "1_Dense", "type", "pylate.models.Dense.Dense");
}

static json_t *pylate_settings(const gb_folder_params *params)
{
    const gb_late_settings *late = params->sentence.late;
    return json_pack("{s:{}, s:n, s:s, s:s, s:s, s:I, s:I, s:b, s:o, s:b}", "prompts",
                     "default_prompt_name", "similarity_fn_name", "MaxSim", "query_prefix",
                     late->query.text, "document_prefix", late->passage.text, "query_length",
                     (json_int_t)late->query_length, "document_length",
                     (json_int_t)late->passage_length, "attend_to_expansion_tokens", late->attend,
                     "skiplist_words", skipped_words(params), "do_query_expansion", late->expand);
}

static json_t *colbert_settings(const gb_late_settings *late)
{
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:I, s:I, s:b, s:s, s:b, s:s}", "query_token_id",
                     late->query.text, "doc_token_id", late->passage.text, "query_token", "[Q]",
                     "doc_token", "[D]", "query_maxlen", (json_int_t)late->query_length,
                     "doc_maxlen", (json_int_t)late->passage_length, "dim", (json_int_t)late->width,
                     "mask_punctuation", late->skipped_count > 0, "similarity", "cosine",
                     "attend_to_mask_tokens", late->attend, "interaction", "colbert");
}

/* The projection once more, where PyLate looks for it. */
static bool write_dense(const char *dir, const gb_folder_params *params, gb_status *status)
{
    const gb_weight *linear = NULL;
    for (size_t i = 0; i < params->weight_count; i++)
        if (!strcmp(params->weights[i].name, "linear.weight"))
            linear = &params->weights[i];
    char *sub = gb_path_join(status, dir, "1_Dense");
    char *file = sub ? gb_path_join(status, sub, "model.safetensors") : NULL;
    bool ok = file && gb_make_dirs(sub, status) &&
              (linear || gb_fail(status, GB_DATA, dir, "give every tensor of the model",
                                 "tensor linear.weight is missing")) &&
              gb_safetensors_write(file, linear, 1, status) &&
              save(sub, "config.json",
                   json_pack("{s:I, s:I, s:b, s:s}", "in_features",
                             (json_int_t)params->config->hidden_size, "out_features",
                             (json_int_t)params->sentence.late->width, "bias", 0,
                             "activation_function", "torch.nn.modules.linear.Identity"),
                   status);
    free(sub);
    free(file);
    return ok;
}

bool folder_write_late(const char *dir, const gb_folder_params *params, gb_status *status)
{
    const gb_late_settings *late = params->sentence.late;
    if (late->kind == GB_LATE_COIL)
        return save(dir, "late_interaction.json",
                    json_pack("{s:s, s:I, s:I}", "kind", "coil", "query_length",
                              (json_int_t)late->query_length, "passage_length",
                              (json_int_t)late->passage_length),
                    status);
    return write_dense(dir, params, status) && save(dir, "modules.json", modules(), status) &&
           save(dir, "sentence_bert_config.json",
                json_pack("{s:I, s:b}", "max_seq_length", (json_int_t)late->passage_length,
                          "do_lower_case", 0),
                status) &&
           save(dir, "config_sentence_transformers.json", pylate_settings(params), status) &&
           save(dir, "artifact.metadata", colbert_settings(late), status);
}

bool folder_write_late_card(const char *path, const gb_folder_params *params, gb_status *status)
{
    const gb_late_settings *late = params->sentence.late;
    const gb_bert_config *config = params->config;
    bool colbert = late->kind == GB_LATE_COLBERT;
    gb_text text = {0};
    gb_text_printf(&text,
                   "---\n"
                   "library_name: %s\n"
                   "pipeline_tag: sentence-similarity\n"
                   "tags:\n- %s\n- late-interaction\n- gabbro\n"
                   "---\n\n",
                   colbert ? "PyLate" : "gabbro", gb_late_kind_name(late->kind));
    folder_card_section(&text, "# ",
                        params->card->title ? params->card->title : "Passage retriever", "\n\n");
    folder_card_section(&text, "", params->card->what, "\n\n");
    gb_text_printf(&text,
                   "BERT of %u layers, hidden size %u, %u heads, vocabulary %u. Every token has a "
                   "vector of %u numbers%s (queries of at most %u tokens, passages of at most %u); "
                   "relevance is the sum over the query's tokens of the best dot product with a "
                   "token of the passage%s.\n",
                   config->layers, config->hidden_size, config->heads, config->vocab_size,
                   late->width, colbert ? " of length 1" : "", late->query_length,
                   late->passage_length,
                   colbert ? "" : " of the same id, and the dot product of the states of `[CLS]`");
    folder_card_facts(&text, params->card);
    if (colbert)
        gb_text_printf(&text, "\n```python\n"
                              "from pylate import models\n"
                              "model = models.ColBERT(\"this folder\")\n"
                              "vectors = model.encode([\"a text\"], is_query=False)\n"
                              "```\n");
    bool ok = text.failed ? gb_fail_memory(status, "writing the model card")
                          : gb_write_file(path, text.data, text.length, status);
    gb_text_free(&text);
    return ok;
}
