/* Writing a model folder of T5 for Hugging Face transformers. */
#include "folder/internal.h"

#include <stdlib.h>

/* T5Config. Its names of activations: a gated one is said to be so. */
static json_t *t5_config(const gb_lm_config *c, uint32_t pad)
{
    static const char *const acts[] = {[GB_LM_RELU] = "relu",
                                       [GB_LM_GELU] = "gelu",
                                       [GB_LM_GELU_TANH] = "gelu_new",
                                       [GB_LM_SILU] = "silu"};
    static const char *const gated_acts[] = {[GB_LM_RELU] = "gated-relu",
                                             /* transformers takes gelu_new for gated-gelu */
                                             [GB_LM_GELU] = NULL,
                                             [GB_LM_GELU_TANH] = "gated-gelu",
                                             [GB_LM_SILU] = "gated-silu"};
    json_t *json = json_pack(
        "{s:[s], s:s, s:b, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "architectures",
        "T5ForConditionalGeneration", "model_type", "t5", "is_encoder_decoder", 1, "vocab_size",
        (json_int_t)c->vocab_size, "d_model", (json_int_t)c->hidden_size, "d_kv",
        (json_int_t)c->head_dim, "d_ff", (json_int_t)c->intermediate_size, "num_heads",
        (json_int_t)c->heads, "num_layers", (json_int_t)c->layers, "num_decoder_layers",
        (json_int_t)c->decoder_layers, "relative_attention_num_buckets", (json_int_t)c->buckets,
        "relative_attention_max_distance", (json_int_t)c->farthest);
    json_t *rest =
        json_pack("{s:f, s:s?, s:b, s:f, s:I, s:I, s:I, s:s}", "layer_norm_epsilon", c->eps,
                  "feed_forward_proj", c->gated ? gated_acts[c->act] : acts[c->act],
                  "tie_word_embeddings", c->tied, "dropout_rate", 0.0, "pad_token_id",
                  (json_int_t)pad, "eos_token_id", (json_int_t)c->end_id, "decoder_start_token_id",
                  (json_int_t)c->start_id, "torch_dtype", "float32");
    if (!json || !rest || json_object_update(json, rest) != 0) {
        json_decref(json);
        json = NULL;
    }
    json_decref(rest);
    return json;
}

static bool check(const char *path, const gb_lm_config *config, const gb_weight *weights,
                  size_t count, const gb_vocab *vocab, gb_status *status)
{
    if (config->kind != GB_LM_T5 || (config->gated && config->act == GB_LM_GELU))
        return gb_fail(status, GB_USAGE, path, "give a T5 model of an activation that it has",
                       "such a model has no folder");
    if (gb_vocab_size(vocab) > config->vocab_size)
        return gb_fail(status, GB_DATA, path, "vocabulary and model are not of one kind",
                       "%u tokens, but the model has %u word embeddings", gb_vocab_size(vocab),
                       config->vocab_size);
    bool ok = true;
    for (size_t i = 0; ok && i < count; i++)
        ok = folder_check_finite(&weights[i], path, status);
    return ok;
}

bool gb_lm_folder_write(const char *path, const gb_lm_config *config, const gb_weight *weights,
                        size_t weight_count, const gb_vocab *vocab, uint32_t max_length,
                        gb_status *status)
{
    const gb_tokenizer_params *tokenizer = &gb_vocab_get_rules(vocab)->words;
    char *file = gb_path_join(status, path, "config.json");
    char *model = gb_path_join(status, path, "model.safetensors");
    bool ok = file && model && check(path, config, weights, weight_count, vocab, status) &&
              gb_make_dirs(path, status) &&
              gb_safetensors_write(model, weights, weight_count, status) &&
              folder_write_tokenizer(path, vocab, tokenizer, max_length, FOLDER_OF_LANGUAGE, NULL,
                                     status);
    json_t *json = ok ? t5_config(config, gb_vocab_specials(vocab).pad) : NULL;
    ok = ok && gb_json_save(json, FOLDER_JSON, file, status);
    json_decref(json);
    free(file);
    free(model);
    return ok;
}
