/* Writing model folders: what is written is read back, always the same bytes, all or nothing. */
#include "small_model.h"

#include <gabbro/json.h>

#include <dirent.h>
#include <math.h>
#include <signal.h>
#include <sys/resource.h>

TestSuite(folder_write, .init = make_root, .fini = drop_root);

/* ---- round trip ---- */

Test(folder_write, what_is_written_is_read)
{
    model m;
    make_model(&m, true);
    m.params.sentence.max_length = 0;
    m.params.tokenizer = (gb_tokenizer_params){false, true, 50};
    const gb_weight extra = {"decoder.0.weight", 2, 3, m.weights[0].data};
    m.params.extra = &extra;
    m.params.extra_count = 1;
    gb_status status = {0};
    cr_assert(gb_folder_write(at("model/"), &m.params, &status), "%s", status.what);
    gb_folder *folder = gb_folder_open(at("model"), &status);
    cr_assert_not_null(folder, "%s", status.what);
    cr_expect_eq(memcmp(gb_folder_config(folder), &small, sizeof small), 0);
    cr_expect(gb_folder_has_head(folder));
    cr_expect_str_eq(gb_folder_path(folder), at("model"));
    float out[6];
    cr_assert(gb_folder_read(folder, "decoder.0.weight", 2, 3, out, &status), "%s", status.what);
    cr_expect_eq(memcmp(out, extra.data, sizeof out), 0);
    cr_expect_not(gb_folder_has(folder, "cls.predictions.decoder.weight"));

    gb_vocab *vocab = gb_folder_vocab(folder, &status);
    cr_assert_not_null(vocab, "%s", status.what);
    cr_expect_eq(gb_vocab_size(vocab), 11);
    cr_expect_str_eq(gb_vocab_token(vocab, 10), "\xc3\xa4");
    gb_tokenizer_params tokenizer = gb_vocab_get_rules(vocab)->words;
    gb_vocab_destroy(vocab);
    cr_expect(!tokenizer.lower_case && tokenizer.split_cjk && tokenizer.max_word_chars == 50);
    gb_sentence_settings sentence;
    cr_assert(gb_folder_sentence(folder, &sentence, &status), "%s", status.what);
    cr_expect_eq(sentence.pooling, GB_POOLING_CLS);
    cr_expect(!sentence.normalize && sentence.max_length == 10);
    cr_expect_eq(sentence.similarity, GB_SIMILARITY_DOT);
    gb_folder_close(folder);
    cr_assert(gb_remove_tree(at("model/gabbro.safetensors"), NULL));
    expect_model(at("model"), &m, m.count);
    drop_model(&m);
}

Test(folder_write, pooling_and_length_are_stated)
{
    model m;
    make_model(&m, false);
    m.params.sentence = (gb_sentence_settings){
        .pooling = GB_POOLING_MEAN, .normalize = true, .max_length = 7, .query_prompt = "query: "};
    gb_status status = {0};
    cr_assert(gb_folder_write(at("model"), &m.params, &status), "%s", status.what);
    gb_folder *folder = gb_folder_open(at("model"), &status);
    cr_assert_not_null(folder, "%s", status.what);
    gb_sentence_settings sentence;
    cr_assert(gb_folder_sentence(folder, &sentence, &status), "%s", status.what);
    cr_expect_eq(sentence.pooling, GB_POOLING_MEAN);
    cr_expect(sentence.normalize && sentence.max_length == 7);
    cr_expect_eq(sentence.similarity, GB_SIMILARITY_COSINE);
    gb_text_prompts prompts;
    cr_assert(gb_folder_prompts(folder, &prompts, &status), "%s", status.what);
    cr_expect_str_eq(prompts.query, "query: ");
    cr_expect_null(prompts.passage);
    gb_text_prompts_free(&prompts);
    gb_folder_close(folder);
    drop_model(&m);
}

/* A SparseEncoder: its modules, and nothing of a dense one. */
Test(folder_write, sparse_encoders_are_stated)
{
    model m;
    make_model(&m, true);
    m.params.sentence = (gb_sentence_settings){.pooling = GB_POOLING_TERMS, .max_length = 7};
    gb_status status = {0};
    cr_assert(gb_folder_write(at("model"), &m.params, &status), "%s", status.what);
    gb_folder *folder = gb_folder_open(at("model"), &status);
    cr_assert_not_null(folder, "%s", status.what);
    gb_sentence_settings sentence;
    cr_assert(gb_folder_sentence(folder, &sentence, &status), "%s", status.what);
    cr_expect_eq(sentence.pooling, GB_POOLING_TERMS);
    cr_expect(!sentence.normalize && sentence.max_length == 7);
    bool sparse;
    cr_expect(gb_folder_is_sparse(at("model"), &sparse, &status) && sparse);
    cr_expect_not(gb_file_exists(at("model/1_Pooling/config.json")));
    json_t *settings = gb_json_load(at("model/config_sentence_transformers.json"), 0, &status);
    cr_expect_str_eq(gb_json_text(settings, "model_type"), "SparseEncoder");
    cr_expect_str_eq(gb_json_text(settings, "similarity_fn_name"), "dot");
    json_decref(settings);
    gb_folder_close(folder);
    drop_model(&m);
}

/* SPLADE-doc: the model of passages in a sub-folder, weights of 1 for queries. */
Test(folder_write, routers_are_read)
{
    model m;
    make_model(&m, true);
    m.params.sentence =
        (gb_sentence_settings){.pooling = GB_POOLING_TERMS, .query_tokens = true, .max_length = 7};
    m.params.replace = true;
    gb_status status = {0};
    for (int i = 0; i < 2; i++) /* it may be replaced */
        cr_assert(gb_folder_write(at("model"), &m.params, &status), "%s", status.what);
    gb_folder *folder = gb_folder_open(at("model"), &status);
    cr_assert_not_null(folder, "%s", status.what);
    gb_sentence_settings sentence;
    bool sparse;
    float weights[100];
    cr_assert(gb_folder_sentence(folder, &sentence, &status), "%s", status.what);
    cr_expect_eq(sentence.pooling, GB_POOLING_TERMS);
    cr_expect(sentence.query_tokens && sentence.max_length == 7);
    cr_expect(gb_folder_is_sparse(at("model"), &sparse, &status) && sparse);
    cr_assert(small.vocab_size <= 100 && gb_folder_query_weights(folder, weights, &status), "%s",
              status.what);
    for (uint32_t i = 0; i < small.vocab_size; i++)
        cr_expect_eq(weights[i], 1);
    gb_folder_close(folder);
    expect_model(at("model"), &m, m.count);
    drop_model(&m);
}

Test(folder_write, same_parameters_give_the_same_bytes)
{
    model m;
    make_model(&m, false);
    const gb_card_fact facts[] = {{"data", "sha256:00"}};
    const gb_model_card card = {"mini", "A test.", "qac/table1", "reproduce table1", facts, 1};
    m.params.card = &card;
    gb_status status = {0};
    cr_assert(gb_folder_write(at("1"), &m.params, &status), "%s", status.what);
    gb_weight first = m.weights[0];
    m.weights[0] = m.weights[5];
    m.weights[5] = first;
    cr_assert(gb_folder_write(at("2"), &m.params, &status), "%s", status.what);
    char hash[2][GB_HASH_SIZE];
    cr_assert(gb_hash_tree(at("1"), hash[0], &status) && gb_hash_tree(at("2"), hash[1], &status));
    cr_expect_str_eq(hash[0], hash[1]);
    static const char *const files[] = {"config.json",
                                        "model.safetensors",
                                        "vocab.txt",
                                        "tokenizer.json",
                                        "tokenizer_config.json",
                                        "special_tokens_map.json",
                                        "modules.json",
                                        "sentence_bert_config.json",
                                        "config_sentence_transformers.json",
                                        "1_Pooling/config.json",
                                        "README.md"};
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[100];
        snprintf(path, sizeof path, "1/%s", files[i]);
        cr_expect(gb_file_exists(at(path)), "%s", files[i]);
    }
    drop_model(&m);
}

/* The ids of tokenizer.json are those of the vocabulary, whatever its tokens look like. */
Test(folder_write, fast_tokenizer_has_the_vocabulary)
{
    model m;
    make_model(&m, false);
    cr_assert(gb_folder_write(at("m"), &m.params, NULL));
    json_t *json = json_load_file(at("m/tokenizer.json"), JSON_REJECT_DUPLICATES, NULL);
    const json_t *words = json_object_get(json_object_get(json, "model"), "vocab");
    cr_assert_eq(json_object_size(words), gb_vocab_size(m.vocab));
    for (uint32_t id = 0; id < gb_vocab_size(m.vocab); id++)
        cr_expect_eq(json_integer_value(json_object_get(words, gb_vocab_token(m.vocab, id))), id);
    const json_t *added = json_object_get(json, "added_tokens");
    cr_expect_eq(json_array_size(added), 5);
    json_decref(json);
    drop_model(&m);
}

/* ---- writing ---- */

static int files_in_root(void)
{
    int count = -2; /* "." and ".." */
    DIR *dir = opendir(root);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count;
}

static void expect_not_written(const model *m, const char *part)
{
    gb_status status = {0};
    cr_expect_not(gb_folder_write(at("m"), &m->params, &status), "written, but: %s", part);
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_not_null(strstr(status.what, part), "\"%s\" does not say \"%s\"", status.what, part);
    cr_expect_eq(files_in_root(), 1, "something is left behind"); /* but the vocabulary */
}

Test(folder_write, writer_refuses_what_the_reader_would)
{
    model m;
    make_model(&m, true);
    gb_weight *first = &m.weights[0];
    first->cols = 4;
    expect_not_written(&m, "word_embeddings.weight is [12, 4], but the configuration asks for "
                           "[12, 8]");
    first->cols = 8;
    m.params.weight_count--;
    expect_not_written(&m, "tensor cls.predictions.bias is missing");
    m.params.weight_count++;
    float value = first->data[5];
    ((float *)first->data)[5] = -INFINITY;
    expect_not_written(&m, "word_embeddings.weight is not finite at value 5");
    ((float *)first->data)[5] = value;
    add_weight(&m, "bert.pooler.dense.bias", 8, 0);
    m.params.weight_count++;
    expect_not_written(&m, "tensor bert.pooler.dense.bias has no place");
    m.weights[m.count - 1].name = "cls.predictions.bias";
    expect_not_written(&m, "two tensors are called cls.predictions.bias");
    m.count--;
    m.params.weight_count--;
    const gb_weight extra = {"cls.x", 2, 0, m.extra};
    m.params.extra = &extra;
    m.params.extra_count = 1;
    expect_not_written(&m, "extra tensor cls.x has a name of BertForMaskedLM");
    m.params.extra_count = 0;
    m.params.sentence.max_length = 11;
    expect_not_written(&m, "inputs of 11 tokens");
    m.params.sentence.max_length = 0;
    gb_bert_config other = small;
    m.params.config = &other;
    other.vocab_size = 10;
    expect_not_written(&m, "11 tokens, but the model has 10 word embeddings");
    other = small;
    other.heads = 3;
    expect_not_written(&m, "3 attention heads do not divide");
    drop_model(&m);
}

Test(folder_write, a_failed_write_leaves_nothing)
{
    model m;
    make_model(&m, true);
    signal(SIGXFSZ, SIG_IGN);
    cr_assert_eq(setrlimit(RLIMIT_FSIZE, &(struct rlimit){4000, 4000}), 0);
    expect_not_written(&m, "cannot write");
    drop_model(&m);
}

Test(folder_write, only_a_model_folder_is_replaced)
{
    model m;
    make_model(&m, false);
    gb_status status = {0};
    cr_assert(gb_folder_write(at("m"), &m.params, &status), "%s", status.what);
    spill(at("m/note"), "of the old one");
    cr_expect_not(gb_folder_write(at("m"), &m.params, &status));
    cr_expect_str_eq(status.what, "already exists");
    ((float *)m.weights[0].data)[0] = 42;
    m.params.replace = true;
    cr_assert(gb_folder_write(at("m"), &m.params, &status), "%s", status.what);
    cr_expect_not(gb_file_exists(at("m/note")));
    cr_expect_eq(files_in_root(), 2);
    expect_model(at("m"), &m, m.count);
    cr_assert(gb_make_dirs(at("precious"), NULL));
    cr_expect_not(gb_folder_write(at("precious"), &m.params, &status));
    cr_expect_str_eq(status.what, "exists and is no model folder: it is not replaced");
    cr_expect_not(gb_folder_write(at("no/such/m"), &m.params, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_eq(files_in_root(), 3);
    drop_model(&m);
}
