/* config.json of BERT models: read, written, and what else it may say refused. */
#include "gabbro/folder.h"

#include <criterion/criterion.h>
#include <string.h>
#include <unistd.h>

static char root[64];
static char path[100]; /* of the config.json */

static void make_root(void)
{
    strcpy(root, "/tmp/gabbro-config-XXXXXX");
    cr_assert_not_null(mkdtemp(root));
    snprintf(path, sizeof path, "%s/config.json", root);
}

static void drop_root(void)
{
    cr_expect(gb_remove_tree(root, NULL));
}

TestSuite(config, .init = make_root, .fini = drop_root);

static void spill(const char *text)
{
    FILE *file = fopen(path, "wb");
    cr_assert(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static const gb_bert_config small = {12, 8, 2, 2, 16, 10, 2, 0, 1e-12, 0.1, 0, 0.02};

/* Field by field: what lies between them is anything. */
static bool same(const gb_bert_config *a, const gb_bert_config *b)
{
    return a->vocab_size == b->vocab_size && a->hidden_size == b->hidden_size &&
           a->layers == b->layers && a->heads == b->heads &&
           a->intermediate_size == b->intermediate_size && a->max_positions == b->max_positions &&
           a->type_vocab_size == b->type_vocab_size && a->pad_token_id == b->pad_token_id &&
           a->layer_norm_eps == b->layer_norm_eps && a->hidden_dropout == b->hidden_dropout &&
           a->attention_dropout == b->attention_dropout &&
           a->initializer_range == b->initializer_range && a->kind == b->kind;
}

Test(config, round_trip)
{
    const gb_bert_config configs[] = {
        GB_BERT_BASE, small, {100, 64, 4, 4, 256, 128, 1, 99, 1e-5, 0.15, 1.0 / 3, 0.0}};
    for (size_t i = 0; i < 3; i++) {
        gb_status status = {0};
        gb_bert_config back = {0};
        cr_assert(gb_bert_config_write(path, &configs[i], i == 0, &status), "%s", status.what);
        cr_assert(gb_bert_config_read(path, &back, &status), "%s", status.what);
        cr_expect(same(&back, &configs[i]), "case %zu", i);
    }
}

#define SIZES                                                                                      \
    "\"vocab_size\":12,\"hidden_size\":8,\"num_hidden_layers\":2,\"num_attention_heads\":2,"       \
    "\"intermediate_size\":16,\"max_position_embeddings\":10,\"type_vocab_size\":2"

Test(config, defaults_are_bert_config_s)
{
    gb_bert_config config;
    gb_status status = {0};
    spill("{" SIZES ",\"pad_token_id\":null,\"architectures\":[\"BertModel\"]}");
    cr_assert(gb_bert_config_read(path, &config, &status), "%s", status.what);
    cr_expect(config.pad_token_id == 0 && config.layer_norm_eps == 1e-12 &&
              config.hidden_dropout == 0.1 && config.attention_dropout == 0.1 &&
              config.initializer_range == 0.02);
    cr_expect(config.layers == 2 && config.max_positions == 10 && config.intermediate_size == 16);
}

Test(config, other_models_are_refused)
{
    static const char *const cases[][2] = {
        {"{" SIZES ",\"hidden_act\":\"relu\"}", "\"hidden_act\" is \"relu\"; it must be \"gelu\""},
        {"{" SIZES ",\"hidden_act\":\"gelu_new\"}", "\"hidden_act\" is \"gelu_new\""},
        {"{" SIZES ",\"hidden_act\":3}", "\"hidden_act\" is not a string"},
        {"{" SIZES ",\"position_embedding_type\":\"relative_key\"}",
         "\"position_embedding_type\" is \"relative_key\"; it must be \"absolute\""},
        {"{" SIZES ",\"architectures\":[\"RobertaModel\"]}",
         "\"model_type\" is missing, and the model is a \"RobertaModel\""},
        {"{" SIZES ",\"model_type\":\"deberta\"}",
         "\"model_type\" is \"deberta\"; encoders that are read are bert, distilbert"},
        {"{" SIZES ",\"is_decoder\":true}", "the model is a decoder"},
        {"{" SIZES ",\"tie_word_embeddings\":false}", "\"tie_word_embeddings\" is false"},
        {"{" SIZES ",\"pad_token_id\":12}", "\"pad_token_id\" is 12, outside a vocabulary of 12"},
        {"{" SIZES ",\"layer_norm_eps\":\"1e-12\"}", "\"layer_norm_eps\" is not a number"},
        {"{" SIZES ",\"hidden_dropout_prob\":1}", "\"hidden_dropout_prob\" is 1"},
        {"{" SIZES ",\"initializer_range\":-0.02}", "\"initializer_range\" is -0.02"},
        {"{\"vocab_size\":12}", "\"hidden_size\" is missing"},
        {"{\"vocab_size\":12.5}", "\"vocab_size\" is not a whole number from 0"},
        {"{\"vocab_size\":\"12\"}", "\"vocab_size\" is missing or no number"},
        {"{\"vocab_size\":-1}", "\"vocab_size\" is not a whole number from 0"},
        {"{" SIZES ",\"vocab_size\":13}", "not valid JSON: duplicate"},
        {"[" SIZES "]", "not valid JSON"},
        {"[]", "not a JSON object"},
        {"{\"vocab_size\":12,\"hidden_size\":8,\"num_hidden_layers\":2,\"num_attention_heads\":3,"
         "\"intermediate_size\":16,\"max_position_embeddings\":10,\"type_vocab_size\":2}",
         "3 attention heads do not divide a hidden size of 8"},
        {"{\"vocab_size\":12,\"hidden_size\":8,\"num_hidden_layers\":0,\"num_attention_heads\":2,"
         "\"intermediate_size\":16,\"max_position_embeddings\":10,\"type_vocab_size\":2}",
         "\"num_hidden_layers\" is 0; it must lie in [1, 1000]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gb_bert_config config = GB_BERT_BASE;
        gb_status status = {0};
        spill(cases[i][0]);
        cr_expect_not(gb_bert_config_read(path, &config, &status), "%s", cases[i][1]);
        cr_expect_eq(status.code, GB_DATA);
        cr_expect_not_null(strstr(status.what, cases[i][1]), "\"%s\" does not say \"%s\"",
                           status.what, cases[i][1]);
        cr_expect_not_null(strstr(status.where, "/config.json"));
        cr_expect_eq(config.vocab_size, 30522); /* untouched */
    }
}

/* ---- ModernBERT ---- */

#define MODERN_SIZES                                                                               \
    "\"model_type\":\"modernbert\",\"vocab_size\":12,\"hidden_size\":16,\"num_hidden_layers\":2,"  \
    "\"num_attention_heads\":2,\"intermediate_size\":24,\"max_position_embeddings\":10,"           \
    "\"pad_token_id\":3"

Test(config, modern_defaults_and_round_trip)
{
    gb_bert_config config, back;
    gb_status status = {0};
    spill("{" MODERN_SIZES "}");
    cr_assert(gb_bert_config_read(path, &config, &status), "%s", status.what);
    cr_expect(config.window == 128 && config.global_every == 3 && config.theta == 160000 &&
              config.local_theta == 10000 && config.layer_norm_eps == 1e-5 &&
              config.hidden_dropout == 0 && config.attention_dropout == 0 &&
              config.type_vocab_size == 0);
    config.window = 6;
    config.global_every = 2;
    config.theta = 500;
    config.local_theta = 50.5;
    config.hidden_dropout = .25;
    cr_assert(gb_bert_config_write(path, &config, true, &status), "%s", status.what);
    cr_assert(gb_bert_config_read(path, &back, &status), "%s", status.what);
    cr_expect(back.kind == GB_ENCODER_MODERNBERT && back.window == 6 && back.global_every == 2 &&
              back.theta == 500 && back.local_theta == 50.5 && back.hidden_dropout == .25 &&
              back.layer_norm_eps == 1e-5 && back.max_positions == 10 && back.pad_token_id == 3);
    spill("{" MODERN_SIZES ",\"global_rope_theta\":700,\"local_rope_theta\":null}");
    cr_assert(gb_bert_config_read(path, &back, &status), "%s", status.what);
    cr_expect(back.theta == 700 && back.local_theta == 700);
}

/* As transformers 5 writes it. */
Test(config, modern_of_transformers_5)
{
    gb_bert_config config;
    gb_status status = {0};
    spill(
        "{" MODERN_SIZES ",\"layer_types\":[\"full_attention\",\"sliding_attention\"],"
        "\"rope_parameters\":{\"full_attention\":{\"rope_theta\":700.0,\"rope_type\":\"default\"},"
        "\"sliding_attention\":{\"rope_theta\":70.0,\"rope_type\":\"default\"}}}");
    cr_assert(gb_bert_config_read(path, &config, &status), "%s", status.what);
    cr_expect(config.theta == 700 && config.local_theta == 70 && config.global_every == 3);
    spill("{" MODERN_SIZES ",\"layer_types\":[\"full_attention\",\"full_attention\"],"
          "\"global_rope_theta\":700,\"rope_parameters\":{\"sliding_attention\":{\"rope_theta\":70}"
          "}}");
    cr_assert(gb_bert_config_read(path, &config, &status), "%s", status.what);
    cr_expect(config.theta == 700 && config.local_theta == 70 && config.global_every == 1);
    spill("{" MODERN_SIZES ",\"rope_parameters\":{},\"layer_types\":null}");
    cr_assert(gb_bert_config_read(path, &config, &status), "%s", status.what);
    cr_expect(config.theta == 160000 && config.local_theta == 10000 && config.global_every == 3);
}

Test(config, what_modern_does_not_compute_is_refused)
{
    static const char *const cases[][2] = {
        {"{" MODERN_SIZES ",\"norm_bias\":true}", "\"norm_bias\" is true"},
        {"{" MODERN_SIZES ",\"attention_bias\":true}", "\"attention_bias\" is true"},
        {"{" MODERN_SIZES ",\"decoder_bias\":false}", "\"decoder_bias\" is false"},
        {"{" MODERN_SIZES ",\"hidden_activation\":\"relu\"}", "\"hidden_activation\" is \"relu\""},
        {"{" MODERN_SIZES ",\"classifier_activation\":\"relu\"}",
         "\"classifier_activation\" is \"relu\""},
        {"{" MODERN_SIZES ",\"rope_scaling\":{\"type\":\"linear\"}}", "\"rope_scaling\" is set"},
        {"{" MODERN_SIZES ",\"rope_parameters\":{\"rope_theta\":7}}",
         "\"rope_parameters\" have \"rope_theta\""},
        {"{" MODERN_SIZES ",\"rope_parameters\":[]}", "\"rope_parameters\" are no JSON object"},
        {"{" MODERN_SIZES ",\"rope_parameters\":{\"sliding_attention\":{\"rope_type\":\"yarn\"}}}",
         "\"rope_type\" is \"yarn\""},
        {"{" MODERN_SIZES ",\"rope_parameters\":{\"full_attention\":{\"rope_theta\":0.5}}}",
         "\"global_rope_theta\" is 0.5"},
        {"{" MODERN_SIZES ",\"layer_types\":[\"sliding_attention\",\"full_attention\"]}",
         "\"layer_types\" are not those"},
        {"{" MODERN_SIZES ",\"layer_types\":[\"full_attention\"]}",
         "\"layer_types\" are not those of 2"},
        {"{" MODERN_SIZES ",\"global_rope_theta\":1}", "\"global_rope_theta\" is 1"},
        {"{" MODERN_SIZES ",\"local_rope_theta\":-3}", "\"local_rope_theta\" -3"},
        {"{" MODERN_SIZES ",\"global_attn_every_n_layers\":0}",
         "\"global_attn_every_n_layers\" is 0"},
        {"{\"model_type\":\"modernbert\",\"vocab_size\":12,\"hidden_size\":8,"
         "\"num_hidden_layers\":2,\"num_attention_heads\":2,\"intermediate_size\":24,"
         "\"max_position_embeddings\":10,\"pad_token_id\":3}",
         "2 heads in 8 numbers"},
        {"{\"model_type\":\"modernbert\",\"vocab_size\":12}", "\"hidden_size\" is missing"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        gb_bert_config config = GB_BERT_BASE;
        gb_status status = {0};
        spill(cases[i][0]);
        cr_expect_not(gb_bert_config_read(path, &config, &status), "%s", cases[i][1]);
        cr_expect_eq(status.code, GB_DATA);
        cr_expect_not_null(strstr(status.what, cases[i][1]), "\"%s\" does not say \"%s\"",
                           status.what, cases[i][1]);
        cr_expect_eq(config.vocab_size, 30522); /* untouched */
    }
}

/* A weight as transformers has it. */
typedef struct known_weight {
    size_t index; /* of canonical names */
    const char *name;
    uint64_t rows, cols;
} known_weight;

static void expect_weights(const gb_bert_config *config, const known_weight *known, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        gb_weight_spec spec = gb_bert_weight_at(config, known[i].index);
        cr_expect_str_eq(spec.name, known[i].name);
        cr_expect(spec.rows == known[i].rows && spec.cols == known[i].cols, "%s", spec.name);
    }
}

/* The first layer has no norm before its attention. */
Test(config, weights_are_those_of_modernbert_for_masked_lm)
{
    static const known_weight known[] = {
        {0, "bert.embeddings.word_embeddings.weight", 12, 16},
        {1, "bert.embeddings.LayerNorm.weight", 16, 0},
        {2, "bert.encoder.final_norm.weight", 16, 0},
        {3, "bert.encoder.layer.0.attention.self.qkv.weight", 48, 16},
        {6, "bert.encoder.layer.0.intermediate.dense.weight", 48, 16},
        {7, "bert.encoder.layer.0.output.dense.weight", 16, 24},
        {8, "bert.encoder.layer.1.attention.output.LayerNorm.weight", 16, 0},
        {13, "bert.encoder.layer.1.output.dense.weight", 16, 24},
        {14, "cls.predictions.transform.dense.weight", 16, 16},
        {15, "cls.predictions.transform.LayerNorm.weight", 16, 0},
        {16, "cls.predictions.bias", 12, 0},
    };
    gb_bert_config config;
    gb_status status = {0};
    spill("{" MODERN_SIZES "}");
    cr_assert(gb_bert_config_read(path, &config, &status), "%s", status.what);
    cr_assert_eq(gb_bert_weight_count(&config, false), 14);
    cr_assert_eq(gb_bert_weight_count(&config, true), 17);
    expect_weights(&config, known, sizeof known / sizeof known[0]);
}

/* ---- names and shapes ---- */

/* As transformers' BertForMaskedLM has them (its state_dict, without the tied copies). */
Test(config, weights_are_those_of_bert_for_masked_lm)
{
    static const known_weight known[] = {
        {0, "bert.embeddings.word_embeddings.weight", 12, 8},
        {1, "bert.embeddings.position_embeddings.weight", 10, 8},
        {2, "bert.embeddings.token_type_embeddings.weight", 2, 8},
        {4, "bert.embeddings.LayerNorm.bias", 8, 0},
        {5, "bert.encoder.layer.0.attention.self.query.weight", 8, 8},
        {24, "bert.encoder.layer.1.attention.self.key.bias", 8, 0},
        {27, "bert.encoder.layer.1.attention.output.dense.weight", 8, 8},
        {29, "bert.encoder.layer.1.attention.output.LayerNorm.weight", 8, 0},
        {31, "bert.encoder.layer.1.intermediate.dense.weight", 16, 8},
        {32, "bert.encoder.layer.1.intermediate.dense.bias", 16, 0},
        {33, "bert.encoder.layer.1.output.dense.weight", 8, 16},
        {34, "bert.encoder.layer.1.output.dense.bias", 8, 0},
        {36, "bert.encoder.layer.1.output.LayerNorm.bias", 8, 0},
        {37, "cls.predictions.transform.dense.weight", 8, 8},
        {40, "cls.predictions.transform.LayerNorm.bias", 8, 0},
        {41, "cls.predictions.bias", 12, 0},
    };
    cr_assert_eq(gb_bert_weight_count(&small, false), 37);
    cr_assert_eq(gb_bert_weight_count(&small, true), 42);
    expect_weights(&small, known, sizeof known / sizeof known[0]);
}
