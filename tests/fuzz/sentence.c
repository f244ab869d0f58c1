/* The files beside a BERT: sentence-transformers' modules, and the settings of its tokenizer. */
#include "fuzz.h"

#include <gabbro/folder.h>

static const char *const names[] = {"modules.json",
                                    "1_Pooling/config.json",
                                    "sentence_bert_config.json",
                                    "tokenizer_config.json",
                                    "vocab.txt",
                                    NULL};
static const char small[] =
    "{\"model_type\":\"bert\",\"vocab_size\":8,\"hidden_size\":4,\"num_hidden_layers\":1,"
    "\"num_attention_heads\":1,\"intermediate_size\":4,\"max_position_embeddings\":16,"
    "\"type_vocab_size\":2}";

/* The model, written once and linked into every input's folder. */
static void link_model(void)
{
    static bool ready;                 /* it is written */
    static const float zeros[16 * 16]; /* enough for every tensor */
    gb_bert_config config;
    gb_weight weights[64];
    gb_weight_spec specs[64];
    char to[192];
    fuzz_file("bert/config.json", (const uint8_t *)small, sizeof small - 1);
    if (!ready) {
        if (!gb_bert_config_read(fuzz_path("bert/config.json"), &config, NULL))
            abort();
        size_t count = gb_bert_weight_count(&config, false);
        for (size_t i = 0; i < count; i++) {
            specs[i] = gb_bert_weight_at(&config, i);
            weights[i] = (gb_weight){specs[i].name, specs[i].rows, specs[i].cols, zeros};
        }
        if (!gb_safetensors_write(fuzz_path("model.safetensors"), weights, count, NULL))
            abort();
        ready = true;
    }
    snprintf(to, sizeof to, "%s/bert/model.safetensors", fuzz_folder);
    if (symlink(fuzz_path("model.safetensors"), to))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    gb_status status = {0}, why = {0};
    fuzz_parts("bert", names, data, size);
    link_model();
    gb_folder *folder = gb_folder_open(fuzz_path("bert"), &status);
    if (!folder)
        abort();
    gb_sentence_settings settings;
    bool ok = gb_folder_sentence(folder, &settings, &status);
    fuzz_check(ok, &status);
    if (ok && (settings.max_length < 1 || settings.max_length > 16))
        abort();
    uint32_t length = 0;
    status = (gb_status){0};
    ok = gb_folder_pair_length(folder, &length, &status);
    fuzz_check(ok, &status);
    if (ok && (length < 3 || length > 16))
        abort();
    gb_vocab *vocab = gb_folder_vocab(folder, &why);
    fuzz_check(vocab != NULL, &why);
    if (vocab) {
        status = (gb_status){0};
        gb_tokenizer *tokenizer =
            gb_tokenizer_create(vocab, gb_vocab_get_rules(vocab)->words, &status);
        fuzz_check(tokenizer != NULL, &status);
        gb_tokenizer_destroy(tokenizer);
    }
    gb_vocab_destroy(vocab);
    gb_folder_close(folder);
    return 0;
}
