/* Folders of cross-encoders: written and read back, and told from those of encoders. */
#include "small_model.h"

#include <jansson.h>

TestSuite(folder_pairs, .init = make_root, .fini = drop_root);

/* A small cross-encoder: pooler and classifier behind the encoder. */
static void make_pairs(model *m, uint32_t labels)
{
    make_model(m, false);
    add_weight(m, "bert.pooler.dense.weight", 8, 8);
    m->weights[m->count - 1].data = m->weights[0].data;
    add_weight(m, "bert.pooler.dense.bias", 8, 0);
    add_weight(m, "classifier.weight", labels, 8);
    add_weight(m, "classifier.bias", labels, 0);
    for (size_t i = 0; i < sizeof m->extra / sizeof *m->extra; i++)
        m->extra[i] = (float)i;
    m->params.weight_count = m->count;
}

static void drop_pairs(model *m)
{
    m->count -= 4;
    drop_model(m);
}

static const char *string_of(const char *path, const char *member, char text[100])
{
    json_t *json = json_load_file(at(path), 0, NULL);
    const char *value = json_string_value(json_object_get(json, member));
    snprintf(text, 100, "%s", value ? value : "");
    json_decref(json);
    return text;
}

Test(folder_pairs, what_is_written_is_read)
{
    model m;
    gb_status status = {0};
    char text[100];
    make_pairs(&m, 1);
    m.params.sentence.max_length = 7;
    const gb_model_card card = {.title = "pairs", .what = "A test."};
    m.params.card = &card;
    cr_assert(gb_folder_write(at("m"), &m.params, &status), "%s", status.what);
    cr_expect_not(gb_file_exists(at("m/modules.json")), "it would be taken for a retriever");
    cr_expect(gb_file_exists(at("m/README.md")));
    cr_expect_str_eq(string_of("m/config.json", "sbert_ce_default_activation_function", text),
                     "torch.nn.modules.linear.Identity");
    gb_folder *folder = gb_folder_open_kinds(at("m"), GB_FOLDER_CROSS_ENCODER, &status);
    cr_assert_not_null(folder, "%s", status.what);
    cr_expect_eq(gb_folder_kind_of(folder), GB_FOLDER_CROSS_ENCODER);
    cr_expect_eq(memcmp(gb_folder_config(folder), &small, sizeof small), 0);
    float out[8];
    cr_assert(gb_folder_read(folder, "classifier.weight", 1, 8, out, &status), "%s", status.what);
    cr_expect_eq(memcmp(out, m.extra, sizeof out), 0);
    uint32_t length;
    cr_assert(gb_folder_pair_length(folder, &length, &status), "%s", status.what);
    cr_expect_eq(length, 7);
    gb_folder_close(folder);
    m.params.sentence.probability = m.params.replace = true;
    cr_assert(gb_folder_write(at("m"), &m.params, &status), "%s", status.what);
    cr_expect_str_eq(string_of("m/config.json", "sbert_ce_default_activation_function", text),
                     "torch.nn.modules.activation.Sigmoid");
    drop_pairs(&m);
}

static void expect_refused(const char *path, uint32_t kinds, const char *part, const char *hint)
{
    gb_status status = {0};
    gb_folder *folder = gb_folder_open_kinds(path, kinds, &status);
    cr_expect_null(folder, "accepted, but: %s", part);
    gb_folder_close(folder);
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_not_null(strstr(status.what, part), "\"%s\" does not say \"%s\"", status.what, part);
    cr_expect_not_null(strstr(status.hint, hint), "\"%s\" does not say \"%s\"", status.hint, hint);
}

Test(folder_pairs, kinds_are_told_apart)
{
    model pairs, encoder;
    make_pairs(&pairs, 1);
    make_model(&encoder, true);
    cr_assert(gb_folder_write(at("pairs"), &pairs.params, NULL));
    cr_assert(gb_folder_write(at("encoder"), &encoder.params, NULL));
    expect_refused(at("pairs"), GB_FOLDER_ENCODER, "is a cross-encoder", "gabbro rerank");
    expect_refused(at("encoder"), GB_FOLDER_CROSS_ENCODER, "BertForMaskedLM", "finetune-cross");
    gb_status status = {0};
    gb_folder *folder =
        gb_folder_open_kinds(at("encoder"), GB_FOLDER_ENCODER | GB_FOLDER_CROSS_ENCODER, &status);
    cr_assert_not_null(folder, "%s", status.what);
    cr_expect_eq(gb_folder_kind_of(folder), GB_FOLDER_ENCODER);
    gb_folder_close(folder);
    /* Without "architectures" the tensors decide. */
    size_t length;
    char *text = gb_read_file(at("pairs/config.json"), &length, &status);
    strstr(text, "architectures")[0] = 'A';
    spill(at("pairs/config.json"), text);
    free(text);
    expect_refused(at("pairs"), GB_FOLDER_ENCODER, "is a cross-encoder", "gabbro rerank");
    drop_model(&encoder);
    drop_pairs(&pairs);
}

/* Written as they are, without the checks of gb_folder_write. */
static void spill_tensors(const model *m, const char *path)
{
    char file[300];
    snprintf(file, sizeof file, "%s/model.safetensors", path);
    cr_assert(gb_safetensors_write(file, m->weights, m->count, NULL));
}

Test(folder_pairs, other_heads_are_refused)
{
    model pairs, three;
    make_pairs(&pairs, 1);
    make_pairs(&three, 3);
    cr_assert(gb_folder_write(at("m"), &pairs.params, NULL));
    spill_tensors(&three, at("m"));
    expect_refused(at("m"), GB_FOLDER_CROSS_ENCODER, "a classifier of 3 labels", "single label");
    gb_weight pooler = pairs.weights[pairs.count - 4];
    pairs.weights[pairs.count - 4] = pairs.weights[pairs.count - 1];
    pairs.count--;
    spill_tensors(&pairs, at("m"));
    expect_refused(at("m"), GB_FOLDER_CROSS_ENCODER, "bert.pooler.dense.weight is missing",
                   "model");
    pairs.count++;
    pairs.weights[pairs.count - 4] = pooler;
    gb_status status = {0};
    cr_expect_not(gb_folder_write(at("new"), &three.params, &status));
    cr_expect_not_null(strstr(status.what, "classifier.weight is [3, 8]"), "%s", status.what);
    drop_pairs(&pairs);
    drop_pairs(&three);
}
