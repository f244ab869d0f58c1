/* Reading model folders: other spellings are understood, and a folder that is not exactly the model
 * of its config.json is refused. */
#include "small_model.h"

#include <gabbro/json.h>

#include <math.h>

TestSuite(folder, .init = make_root, .fini = drop_root);

/* Write the folder, then its tensors again as they now are in m, unchecked. */
static void write_model(model *m, const char *path)
{
    gb_status status = {0};
    char file[300];
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    if (!gb_dir_exists(path))
        cr_assert(gb_folder_write(path, &m->params, &status), "%s", status.what);
    cr_assert(gb_safetensors_write(file, m->weights, m->count, &status), "%s", status.what);
}

static void expect_refused(const char *path, const char *part)
{
    gb_status status = {0};
    gb_folder *folder = gb_folder_open(path, &status);
    cr_expect_null(folder, "accepted, but: %s", part);
    gb_folder_close(folder);
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_not_null(strstr(status.what, part), "\"%s\" does not say \"%s\"", status.what, part);
    cr_expect_not_null(strstr(status.where, path), "\"%s\" does not name the file", status.where);
    cr_expect_str_not_empty(status.hint);
}

/* ---- other spellings ---- */

Test(folder, names_with_and_without_prefix_in_old_and_new_spelling)
{
    model written, m;
    make_model(&written, false);
    make_model(&m, false);
    char names[64][GB_WEIGHT_NAME];
    for (size_t i = 0; i < m.count; i++) {
        snprintf(names[i], sizeof names[i], "%s", m.weights[i].name + strlen("bert."));
        char *norm = strstr(names[i], "LayerNorm.");
        if (norm)
            strcpy(norm, strstr(norm, "weight") ? "LayerNorm.gamma" : "LayerNorm.beta");
        written.weights[i].name = names[i];
    }
    add_weight(&written, "pooler.dense.weight", 4, 4);
    add_weight(&written, "pooler.dense.bias", 4, 0);
    add_weight(&written, "embeddings.position_ids", 1, 10);
    add_weight(&written, "cls.seq_relationship.bias", 2, 0);
    cr_assert(gb_folder_write(at("m"), &m.params, NULL));
    write_model(&written, at("m"));
    expect_model(at("m"), &m, m.count);
    drop_model(&m);
    drop_model(&written);
}

static void set_in_config(const char *key, json_t *value)
{
    json_t *json = gb_json_load_in(at("m"), "config.json", GB_JSON_REALS, NULL);
    json_object_set_new(json, key, value);
    cr_assert(gb_json_save_in(json, GB_JSON_FILE, at("m"), "config.json", NULL));
    json_decref(json);
}

Test(folder, towers_of_dpr)
{
    static const char *const prefixes[] = {"ctx_encoder.bert_model.",
                                           "question_encoder.bert_model."};
    for (int p = 0; p < 2; p++) {
        model written, m;
        make_model(&written, false);
        make_model(&m, false);
        char names[64][GB_WEIGHT_NAME];
        for (size_t i = 0; i < m.count; i++) {
            snprintf(names[i], sizeof names[i], "%s%s", prefixes[p],
                     m.weights[i].name + strlen("bert."));
            written.weights[i].name = names[i];
        }
        snprintf(names[m.count], sizeof names[0], "%sembeddings.position_ids", prefixes[p]);
        add_weight(&written, names[m.count], 1, 10);
        gb_remove_tree(at("m"), NULL);
        cr_assert(gb_folder_write(at("m"), &m.params, NULL));
        write_model(&written, at("m"));
        set_in_config("model_type", json_string("dpr"));
        set_in_config("projection_dim", json_integer(0));
        expect_model(at("m"), &m, m.count);
        set_in_config("projection_dim", json_integer(7));
        expect_refused(at("m"), "\"projection_dim\" is 7");
        drop_model(&m);
        drop_model(&written);
    }
}

Test(folder, tied_copies_must_agree)
{
    model m;
    make_model(&m, true);
    size_t count = m.count;
    write_model(&m, at("m"));
    const gb_weight *words = weight(&m, "bert.embeddings.word_embeddings.weight");
    gb_weight *bias = weight(&m, "cls.predictions.bias");
    add_weight(&m, "cls.predictions.decoder.weight", words->rows, words->cols);
    m.weights[count].data = words->data;
    bias->name = "cls.predictions.decoder.bias";
    write_model(&m, at("m"));
    expect_model(at("m"), &m, count);

    m.weights[count].data = m.weights[1].data; /* the position embeddings are shorter */
    m.weights[count].rows = 10;
    write_model(&m, at("m"));
    expect_refused(at("m"), "cls.predictions.decoder.weight differs from");
    m.count = count;
    add_weight(&m, "cls.predictions.bias", 12, 0);
    write_model(&m, at("m"));
    expect_refused(at("m"), "cls.predictions.decoder.bias differs from cls.predictions.bias");
    m.count = count;
    drop_model(&m);
}

/* ---- what is refused ---- */

Test(folder, not_the_model_of_its_config)
{
    model m;
    make_model(&m, true);
    size_t count = m.count;
    gb_weight last = m.weights[count - 1];
    write_model(&m, at("m"));

    m.count--;
    write_model(&m, at("m"));
    expect_refused(at("m"), "tensor cls.predictions.bias is missing");
    m.weights[count - 1] = m.weights[7];
    m.weights[7] = last;
    write_model(&m, at("m"));
    expect_refused(at("m"), "tensor bert.encoder.layer.0.attention.self.key.weight is missing");
    m.weights[7] = m.weights[count - 1];
    m.weights[count - 1] = last;
    m.count = count;

    static const char *const strays[] = {
        "bert.encoder.layer.2.attention.self.key.weight", "classifier.weight",
        "bert.embeddings.LayerNorm.weight.copy", "encoder.layer.00.output.dense.bias"};
    for (size_t i = 0; i < sizeof strays / sizeof strays[0]; i++) {
        add_weight(&m, strays[i], 8, 0);
        write_model(&m, at("m"));
        char part[100];
        snprintf(part, sizeof part, "tensor %s has no place in a BERT of 2 layers", strays[i]);
        expect_refused(at("m"), part);
        m.count--;
    }
    add_weight(&m, "embeddings.LayerNorm.gamma", 8, 0);
    write_model(&m, at("m"));
    expect_refused(at("m"), "both stand for bert.embeddings.LayerNorm.weight");
    m.count--;

    gb_weight *dense = weight(&m, "bert.encoder.layer.1.intermediate.dense.weight");
    dense->rows = 8;
    dense->cols = 16;
    write_model(&m, at("m"));
    expect_refused(at("m"), "tensor bert.encoder.layer.1.intermediate.dense.weight is [8, 16], but "
                            "config.json asks for [16, 8]");
    drop_model(&m);
}

Test(folder, missing_files_and_stray_side_tensors)
{
    model m;
    make_model(&m, false);
    expect_refused(at("none"), "no such model folder");
    write_model(&m, at("m"));
    cr_assert(gb_safetensors_write(at("m/gabbro.safetensors"),
                                   (gb_weight[]){{"bert.x", 1, 0, m.extra}}, 1, NULL));
    expect_refused(at("m"), "tensor bert.x has no place in the side file");
    cr_assert(gb_remove_tree(at("m/gabbro.safetensors"), NULL));
    cr_assert_eq(rename(at("m/model.safetensors"), at("m/pytorch_model.bin")), 0);
    expect_refused(at("m"), "not a zip");
    cr_assert(gb_remove_tree(at("m/pytorch_model.bin"), NULL));
    expect_refused(at("m"), "no model.safetensors");
    cr_assert(gb_remove_tree(at("m/config.json"), NULL));
    expect_refused(at("m"), "it has no config.json");
    drop_model(&m);
}

Test(folder, values_that_are_not_finite_are_not_read)
{
    model m;
    make_model(&m, false);
    write_model(&m, at("m"));
    gb_weight *bias = weight(&m, "bert.encoder.layer.1.output.dense.bias");
    ((float *)bias->data)[3] = NAN;
    write_model(&m, at("m"));
    gb_status status = {0};
    gb_folder *folder = gb_folder_open(at("m"), &status);
    cr_assert_not_null(folder, "%s", status.what);
    float out[8];
    cr_expect_not(gb_folder_read(folder, bias->name, 8, 0, out, &status));
    cr_expect_str_eq(status.what, "tensor bert.encoder.layer.1.output.dense.bias is not finite at "
                                  "value 3");
    cr_expect_str_eq(status.where, at("m/model.safetensors"));
    cr_expect_not(gb_folder_read(folder, "bert.pooler.dense.bias", 8, 0, out, &status));
    cr_expect_str_eq(status.what, "tensor bert.pooler.dense.bias is missing");
    cr_expect_not(gb_folder_read(folder, "bert.embeddings.LayerNorm.bias", 7, 0, out, &status));
    cr_expect_str_eq(status.what,
                     "tensor bert.embeddings.LayerNorm.bias is [8], but [7] is wanted");
    gb_folder_close(folder);
    drop_model(&m);
}

/* ---- tokenizer and sentence files ---- */

/* As sentence-transformers' encode_query and encode_document choose them. */
Test(folder, prompts)
{
    static const struct {
        const char *file;            /* config_sentence_transformers.json */
        const char *query, *passage; /* prompts, NULL: none */
    } cases[] = {
        {"{}", NULL, NULL},
        {"{\"prompts\": {}, \"default_prompt_name\": null}", NULL, NULL},
        {"{\"prompts\": {\"query\": \"\", \"document\": \"\"}}", NULL, NULL},
        {"{\"prompts\": {\"query\": \"query: \", \"passage\": \"passage: \"}}",
         "query: ", "passage: "},
        {"{\"prompts\": {\"query\": \"find: \"}}", "find: ", NULL},
        {"{\"prompts\": {\"sts\": \"compare: \"}}", NULL, NULL},
        {"{\"prompts\": {\"any\": \"a: \"}, \"default_prompt_name\": \"any\"}", "a: ", "a: "},
        {"{\"prompts\": {\"document\": \"\", \"query\": \"q: \"}, \"default_prompt_name\": "
         "\"query\"}",
         "q: ", NULL},
    };
    static const char *const damaged[][2] = {
        {"{\"prompts\": []}", "no JSON object"},
        {"{\"prompts\": {\"query\": 1}}", "is not a string"},
        {"{\"default_prompt_name\": \"x\"}", "not among the prompts"},
    };
    model m;
    make_model(&m, false);
    gb_status status = {0};
    cr_assert(gb_folder_write(at("m"), &m.params, NULL));
    gb_folder *folder = gb_folder_open(at("m"), &status);
    gb_text_prompts prompts;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        spill(at("m/config_sentence_transformers.json"), cases[i].file);
        cr_assert(gb_folder_prompts(folder, &prompts, &status), "%s", status.what);
        const char *const wanted[] = {cases[i].query, cases[i].passage}, *const got[] = {
                                                                             prompts.query,
                                                                             prompts.passage};
        for (int k = 0; k < 2; k++)
            cr_expect(wanted[k] ? got[k] && !strcmp(wanted[k], got[k]) : !got[k], "case %zu: %s", i,
                      got[k] ? got[k] : "none");
        gb_text_prompts_free(&prompts);
    }
    for (size_t i = 0; i < sizeof damaged / sizeof *damaged; i++) {
        spill(at("m/config_sentence_transformers.json"), damaged[i][0]);
        cr_expect_not(gb_folder_prompts(folder, &prompts, &status));
        cr_expect_not_null(strstr(status.what, damaged[i][1]), "%s", status.what);
    }
    gb_folder_close(folder);
    drop_model(&m);
}

Test(folder, sentence_settings)
{
    model m;
    make_model(&m, false);
    cr_assert(gb_folder_write(at("m"), &m.params, NULL));
    gb_status status = {0};
    gb_folder *folder = gb_folder_open(at("m"), &status);
    gb_sentence_settings settings;
    cr_assert(gb_folder_sentence(folder, &settings, &status) && settings.max_length == 9);
#define MODULES(kind)                                                                              \
    "[{\"type\":\"x.Transformer\",\"path\":\"\"},{\"type\":\"x.y." kind                            \
    "\",\"path\":\"1_Pooling\"}]"
    spill(at("m/modules.json"), "[{\"type\":\"a.Pooling\",\"path\":\"1_Pooling\"},"
                                "{\"type\":\"a.Normalize\",\"path\":\"2_Normalize\"}]");
    spill(at("m/1_Pooling/config.json"), "{\"pooling_mode_mean_tokens\":true}");
    cr_assert(gb_folder_sentence(folder, &settings, &status), "%s", status.what);
    cr_expect(settings.pooling == GB_POOLING_MEAN && settings.normalize);
    spill(at("m/modules.json"), MODULES("Pooling"));
    spill(at("m/1_Pooling/config.json"), "{\"pooling_mode\":\"cls\"}");
    cr_assert(gb_folder_sentence(folder, &settings, &status), "%s", status.what);
    cr_expect(settings.pooling == GB_POOLING_CLS && !settings.normalize);

    static const char *const poolings[][2] = {
        {"{\"pooling_mode_max_tokens\":true}", "pooling \"max_tokens\" is not known"},
        {"{\"pooling_mode_cls_token\":true,\"pooling_mode_mean_tokens\":true}", "several"},
        {"{\"pooling_mode\":[\"cls\"]}", "\"pooling_mode\" is not a string"},
        {"{}", "pooling \"none\" is not known"}};
    for (size_t i = 0; i < 4; i++) {
        spill(at("m/1_Pooling/config.json"), poolings[i][0]);
        cr_expect_not(gb_folder_sentence(folder, &settings, &status));
        cr_expect_not_null(strstr(status.what, poolings[i][1]), "%s", status.what);
    }
    spill(at("m/modules.json"), MODULES("Dense"));
    cr_expect_not(gb_folder_sentence(folder, &settings, &status));
    cr_expect_not_null(strstr(status.what, "a ColBERT model"), "%s", status.what);
    spill(at("m/modules.json"), "[{\"type\":\"a.Pooling\",\"path\":\"../x\"}]");
    cr_expect_not(gb_folder_sentence(folder, &settings, &status));
    cr_expect_not_null(strstr(status.what, "leads elsewhere"));
    cr_assert(gb_remove_tree(at("m/modules.json"), NULL));
    cr_assert(gb_folder_sentence(folder, &settings, &status));
    cr_expect_eq(settings.pooling, GB_POOLING_UNSTATED);
    gb_folder_close(folder);
    drop_model(&m);
}

/* The tokenizer's bound counts where the sentence's is not stated. */
Test(folder, sentence_length)
{
    static const struct {
        const char *sentence, *tokenizer; /* sentence_bert_config.json, tokenizer_config.json */
        uint32_t length;                  /* longest input, of 10 positions; 0: refused */
    } cases[] = {
        {"{\"max_seq_length\":9}", "{\"model_max_length\":7}", 9},
        {"{\"max_seq_length\":11}", "{}", 10},
        {"{\"max_seq_length\":0}", "{}", 0},
        {"{\"max_seq_length\":1}", "{}", 0}, /* no room for [CLS] and [SEP] */
        {"{}", "{\"model_max_length\":7}", 7},
        {"{\"max_seq_length\":null}", "{\"model_max_length\":7}", 7},
        {NULL, "{\"model_max_length\":7}", 7},
        {NULL, "{\"model_max_length\":512}", 10},
        {NULL, "{\"model_max_length\":1000000000000000019884624838656}", 10},
        {NULL, "{}", 10},
        {NULL, "{\"model_max_length\":0}", 0},
    };
    model m;
    make_model(&m, false);
    cr_assert(gb_folder_write(at("m"), &m.params, NULL));
    gb_folder *folder = gb_folder_open(at("m"), NULL);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gb_status status = {0};
        gb_sentence_settings settings = {0};
        gb_remove_tree(at("m/sentence_bert_config.json"), NULL);
        if (cases[i].sentence)
            spill(at("m/sentence_bert_config.json"), cases[i].sentence);
        spill(at("m/tokenizer_config.json"), cases[i].tokenizer);
        bool ok = gb_folder_sentence(folder, &settings, &status);
        cr_expect(ok == (cases[i].length > 0) && settings.max_length == cases[i].length,
                  "case %zu: %u %s", i, settings.max_length, status.what);
    }
    gb_folder_close(folder);
    drop_model(&m);
}

/* "similarity_fn_name", with a Normalize module or without. */
Test(folder, similarity)
{
    static const struct {
        const char *file;         /* config_sentence_transformers.json; NULL: there is none */
        gb_similarity similarity; /* that it says */
    } cases[] = {{NULL, GB_SIMILARITY_UNSTATED},
                 {"{}", GB_SIMILARITY_UNSTATED},
                 {"{\"similarity_fn_name\": null}", GB_SIMILARITY_UNSTATED},
                 {"{\"similarity_fn_name\": \"dot\"}", GB_SIMILARITY_DOT},
                 {"{\"similarity_fn_name\": \"cosine\"}", GB_SIMILARITY_COSINE},
                 {"{\"similarity_fn_name\": \"euclidean\"}", GB_SIMILARITY_EUCLIDEAN},
                 {"{\"similarity_fn_name\": \"manhattan\"}", GB_SIMILARITY_MANHATTAN}};
    static const char *const damaged[][2] = {
        {"{\"similarity_fn_name\": \"cos\"}", "the similarity \"cos\" is not known"},
        {"{\"similarity_fn_name\": 1}", "is not a string"}};
    for (int normalize = 0; normalize < 2; normalize++) {
        model m;
        make_model(&m, false);
        m.params.sentence.normalize = normalize;
        m.params.replace = true;
        gb_status status = {0};
        cr_assert(gb_folder_write(at("m"), &m.params, &status), "%s", status.what);
        gb_folder *folder = gb_folder_open(at("m"), &status);
        gb_sentence_settings settings;
        bool unscaled;
        for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
            gb_remove_tree(at("m/config_sentence_transformers.json"), NULL);
            if (cases[i].file)
                spill(at("m/config_sentence_transformers.json"), cases[i].file);
            cr_assert(gb_folder_sentence(folder, &settings, &status), "%s", status.what);
            cr_expect_eq(settings.similarity, cases[i].similarity, "case %zu", i);
            cr_expect_eq(settings.normalize, normalize, "vectors are those of encode()");
            cr_assert(gb_folder_is_cosine_unscaled(at("m"), &unscaled, &status), "%s", status.what);
            cr_expect_eq(unscaled, !normalize && settings.similarity == GB_SIMILARITY_COSINE);
        }
        for (size_t i = 0; i < 2; i++) {
            spill(at("m/config_sentence_transformers.json"), damaged[i][0]);
            cr_expect_not(gb_folder_sentence(folder, &settings, &status));
            cr_expect_not_null(strstr(status.what, damaged[i][1]), "%s", status.what);
        }
        gb_folder_close(folder);
        drop_model(&m);
    }
}

/* Sparse vectors, in the words of several versions of sentence-transformers. */
Test(folder, sparse_settings)
{
    static const char *const transformers[] = {"models.MLMTransformer",
                                               "modules.mlm_transformer.MLMTransformer",
                                               "base.modules.transformer.Transformer"};
    static const char *const poolings[][2] = {
        {"{\"pooling_strategy\":\"sum\"}", "by \"sum\" of \"relu\""},
        {"{\"activation_function\":\"log1p_relu\"}", "by \"max\" of \"log1p_relu\""},
        {"{\"pooling_strategy\":1}", "is not a string"}};
    model m;
    make_model(&m, true);
    cr_assert(gb_folder_write(at("m"), &m.params, NULL));
    gb_status status = {0};
    gb_folder *folder = gb_folder_open(at("m"), &status);
    gb_sentence_settings settings;
    bool sparse;
    cr_expect(gb_folder_is_sparse(at("m"), &sparse, &status) && !sparse);
    cr_expect(gb_folder_is_sparse(at("none"), &sparse, &status) && !sparse);
    for (size_t i = 0; i < 3; i++) {
        char modules[300];
        snprintf(modules, sizeof modules,
                 "[{\"type\":\"x.%s\",\"path\":\"\"},{\"type\":\"x.SpladePooling\",\"path\":\"1_"
                 "Pooling\"}]",
                 transformers[i]);
        spill(at("m/modules.json"), modules);
        spill(at("m/1_Pooling/config.json"), "{\"pooling_strategy\":\"max\"}");
        cr_assert(gb_folder_sentence(folder, &settings, &status), "%s", status.what);
        cr_expect_eq(settings.pooling, GB_POOLING_TERMS);
        cr_expect(gb_folder_is_sparse(at("m"), &sparse, &status) && sparse);
        spill(at("m/1_Pooling/config.json"), poolings[i][0]);
        cr_expect_not(gb_folder_sentence(folder, &settings, &status));
        cr_expect_not_null(strstr(status.what, poolings[i][1]), "%s", status.what);
    }
    gb_folder_close(folder);
    drop_model(&m);
}

/* The head makes the weights. */
Test(folder, sparse_needs_the_head)
{
    model m;
    make_model(&m, false);
    m.params.sentence.pooling = GB_POOLING_TERMS;
    cr_assert(gb_folder_write(at("m"), &m.params, NULL));
    gb_status status = {0};
    gb_folder *folder = gb_folder_open(at("m"), &status);
    gb_sentence_settings settings;
    cr_expect_not(gb_folder_sentence(folder, &settings, &status));
    cr_expect_not_null(strstr(status.what, "which the model lacks"), "%s", status.what);
    gb_folder_close(folder);
    drop_model(&m);
}

/* vocab.txt and tokenizer_config.json say something else than tokenizer.json. */
static void expect_disagreement(const gb_folder *folder, const char *why)
{
    gb_status status = {0};
    cr_expect_null(gb_folder_vocab(folder, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_not_null(strstr(status.what, why), "%s", status.what);
}

Test(folder, tokenizer_settings)
{
    model m;
    make_model(&m, false);
    cr_assert(gb_folder_write(at("m"), &m.params, NULL));
    gb_status status = {0};
    gb_folder *folder = gb_folder_open(at("m"), &status);
    spill(at("m/tokenizer_config.json"), "{\"do_lower_case\":true,\"strip_accents\":false}");
    cr_expect_null(gb_folder_vocab(folder, &status));
    spill(at("m/tokenizer_config.json"), /* no limit, as transformers writes it */
          "{\"do_lower_case\":false,\"model_max_length\":1000000000000000019884624838656}");
    expect_disagreement(folder, "\"lowercase\" is true, but \"do_lower_case\" of "
                                "tokenizer_config.json, or its default, is false");
    spill(at("m/tokenizer.json"),
          "{\"model\":{\"vocab\":{\"[PAD]\":0,\"[UNK]\":2}},"
          "\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":false}}");
    expect_disagreement(folder, "token 2 is \"[CLS]\" there and \"[UNK]\" here");
    spill(at("m/tokenizer.json"),
          "{\"model\":{\"vocab\":{\"[PAD]\":0,\"[UNK]\":1}},"
          "\"normalizer\":{\"type\":\"BertNormalizer\",\"lowercase\":false}}");
    gb_vocab *vocab = gb_folder_vocab(folder, &status);
    cr_assert_not_null(vocab, "%s", status.what);
    gb_tokenizer_params tokenizer = gb_vocab_get_rules(vocab)->words;
    cr_expect(!tokenizer.lower_case && tokenizer.split_cjk && tokenizer.max_word_chars == 100);
    gb_vocab_destroy(vocab);
    spill(at("m/vocab.txt"), "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n1\n2\n3\n4\n5\n6\n7\n8\n");
    cr_expect_null(gb_folder_vocab(folder, &status));
    cr_expect_str_eq(status.what, "13 tokens, but the model has 12 word embeddings");
    gb_folder_close(folder);
    drop_model(&m);
}

/* "do_lower_case" of sentence_bert_config.json, with tokenizers that lower texts and that do not.
 */
Test(folder, lowered_texts)
{
    model m;
    make_model(&m, false);
    m.params.replace = true;
    for (int i = 0; i < 4; i++) {
        bool cased = i & 1, lowered = i & 2;
        gb_status status = {0};
        m.params.tokenizer.lower_case = !cased;
        cr_assert(gb_folder_write(at("m"), &m.params, &status), "%s", status.what);
        spill(at("m/sentence_bert_config.json"),
              lowered ? "{\"do_lower_case\":true}" : "{\"do_lower_case\":false}");
        gb_folder *folder = gb_folder_open(at("m"), &status);
        gb_vocab *vocab = gb_folder_vocab(folder, &status);
        cr_expect_eq(vocab != NULL, !cased || !lowered, "case %d: %s", i, status.what);
        cr_expect(vocab || (status.code == GB_DATA && status.hint[0] &&
                            strstr(status.where, "sentence_bert_config.json") &&
                            strstr(status.what, "\"do_lower_case\" is true, but")));
        gb_vocab_destroy(vocab);
        gb_folder_close(folder);
    }
    drop_model(&m);
}

/* ---- a real checkpoint ---- */

/* GABBRO_TEST_MODEL: folder of a BERT written by transformers, e.g. all-MiniLM-L6-v2. */
Test(folder, real_checkpoint)
{
    const char *path = getenv("GABBRO_TEST_MODEL");
    if (!path || !*path)
        cr_skip_test("skipped: GABBRO_TEST_MODEL names no model folder");
    gb_status status = {0};
    gb_folder *folder = gb_folder_open(path, &status);
    cr_assert_not_null(folder, "%s: %s", status.where, status.what);
    const gb_bert_config *config = gb_folder_config(folder);
    size_t count = gb_bert_weight_count(config, gb_folder_has_head(folder));
    cr_expect_geq(gb_folder_count(folder), count);
    for (size_t i = 0; i < count; i++) {
        gb_weight_spec spec = gb_bert_weight_at(config, i);
        size_t values = spec.rows * (spec.cols ? spec.cols : 1);
        float *out = malloc(values * sizeof *out);
        cr_assert(gb_folder_read(folder, spec.name, spec.rows, spec.cols, out, &status), "%s",
                  status.what);
        double square = 0;
        for (size_t v = 0; v < values; v++)
            square += (double)out[v] * out[v];
        double rms = sqrt(square / (double)values);
        cr_expect(rms < 20, "%s: %g", spec.name, rms); /* trained weights are small numbers */
        cr_expect(rms > 1e-6 || strstr(spec.name, "bias"), "%s: %g", spec.name, rms);
        free(out);
    }
    gb_vocab *vocab = gb_folder_vocab(folder, &status);
    cr_expect_not_null(vocab, "%s", status.what);
    gb_sentence_settings settings;
    cr_expect(gb_folder_sentence(folder, &settings, &status), "%s", status.what);
    gb_vocab_destroy(vocab);
    gb_folder_close(folder);
}
