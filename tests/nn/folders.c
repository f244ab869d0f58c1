/* Models as Hugging Face folders: what is saved is what is loaded. */
#include "tiny.h"

#include <math.h>

static bool save(const tiny *t, const model *m, const char *path, gb_status *status)
{
    gb_model_card card = {.title = "tiny", .what = "A test."};
    return gb_model_save(path, &m->config, m->params, m->values, t->vocab, GB_TOKENIZER_DEFAULTS,
                         TINY_SENTENCE, &card, status);
}

/* Values of the folder in a model's parameters, NaN where it has none. */
static float *load(const model *m, const char *path, gb_status *status)
{
    gb_folder *folder = gb_folder_open(path, status);
    if (!folder)
        return NULL;
    uint64_t floats = gb_params_floats(m->params);
    float *values = gb_alloc(floats, sizeof *values, status);
    for (uint64_t i = 0; i < floats; i++)
        values[i] = NAN;
    if (!gb_model_load(folder, m->params, values, status)) {
        free(values);
        values = NULL;
    }
    gb_folder_close(folder);
    return values;
}

static void round_trip(const tiny *t, const gb_bert_config *config, const char *objective,
                       const char *path)
{
    gb_status status = {0};
    tiny_params settings = tiny_settings();
    model m;
    model_make(&m, t, config, objective, &settings);
    MUST(save(t, &m, path, &status));
    float *values = load(&m, path, &status);
    MUST(values);
    expect_same_values(m.params, m.values, values);
    free(values);
    model_free(&m);
}

Test(folders, round_trip)
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    gb_bert_config config = tiny_config(&t, 24, 38, .1);
    round_trip(&t, &config, NULL, "encoder");
    cr_expect_not(gb_file_exists("encoder/gabbro.safetensors"));
    round_trip(&t, &config, "cocondenser", "cocondenser");
    round_trip(&t, &config, "cotmae", "cotmae");
    round_trip(&t, &config, "enhanced", "enhanced");
    round_trip(&t, &config, "seed", "seed");
    round_trip(&t, &config, "mlm", "cotmae"); /* in place of the older one */
    config.type_vocab_size = 1;
    round_trip(&t, &config, NULL, "one type");
    tiny_free(&t);
    scratch_leave(&s);
}

/* Heads lie in the side file under their own names, query, key and value apart as everywhere. */
Test(folders, heads_are_beside_the_model)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    gb_bert_config config = tiny_config(&t, 16, 32, 0);
    tiny_params settings = tiny_settings();
    model m;
    model_make(&m, &t, &config, "cocondenser", &settings);
    MUST(save(&t, &m, "model", &status));
    gb_safetensors *main = gb_safetensors_open("model/model.safetensors", &status);
    MUST(main);
    gb_safetensors *side = gb_safetensors_open("model/gabbro.safetensors", &status);
    MUST(side);
    const char *name = "condenser.layer.1.attention.self.key.weight";
    cr_expect_null(gb_safetensors_find(main, name));
    const gb_stored *key = gb_safetensors_find(side, name);
    cr_assert_not_null(key);
    float values[16 * 16];
    MUST(gb_stored_read(key, 16, 16, values, &status));
    const float *wanted = model_values(&m, NULL, "condenser.layer.1.attention.self.qkv.weight");
    cr_expect_eq(memcmp(values, wanted + 16 * 16, sizeof values), 0, "not the key's rows");
    const gb_stored *bias =
        gb_safetensors_find(main, "bert.encoder.layer.0.attention.self.value.bias");
    cr_assert_not_null(bias);
    MUST(gb_stored_read(bias, 16, 0, values, &status));
    wanted = model_values(&m, NULL, "bert.encoder.layer.0.attention.self.qkv.bias");
    cr_expect_eq(memcmp(values, wanted + 32, 16 * sizeof *values), 0, "not the value's bias");
    gb_safetensors_close(main);
    gb_safetensors_close(side);
    model_free(&m);
    tiny_free(&t);
    scratch_leave(&s);
}

/* What a folder lacks keeps its value, unless it is part of the encoder. */
Test(folders, missing_heads_stay)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    gb_bert_config config = tiny_config(&t, 16, 32, 0);
    tiny_params settings = tiny_settings();
    round_trip(&t, &config, NULL, "encoder");
    model m;
    model_make(&m, &t, &config, "cocondenser", &settings);
    float *values = load(&m, "encoder", &status);
    MUST(values);
    for (uint32_t i = 0; i < gb_params_count(m.params); i++) {
        const gb_param *p = gb_params_at(m.params, i);
        bool encoder = !strncmp(p->name, "bert.", 5) || !strncmp(p->name, "cls.", 4);
        cr_expect_eq(isnan(values[p->offset]), !encoder, "%s", p->name);
    }
    free(values);
    config.layers = 3; /* one more than the folder has */
    model deeper;
    model_make(&deeper, &t, &config, NULL, NULL);
    cr_expect_null(load(&deeper, "encoder", &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect(strstr(status.what, "bert.encoder.layer.2"), "%s", status.what);
    model_free(&deeper);
    model_free(&m);
    tiny_free(&t);
    scratch_leave(&s);
}

/* Contriever's keys and the encoder that makes them are states of a training, no part of the model.
 */
Test(folders, states_are_not_stored)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    gb_bert_config config = tiny_config(&t, 16, 32, 0);
    tiny_params settings = tiny_settings();
    model m;
    model_make(&m, &t, &config, "contriever", &settings);
    MUST(save(&t, &m, "model", &status));
    float *values = load(&m, "model", &status);
    MUST(values);
    uint32_t states = 0;
    for (uint32_t i = 0; i < gb_params_count(m.params); i++) {
        const gb_param *param = gb_params_at(m.params, i);
        states += param->kind == GB_PARAM_STATE;
        for (uint64_t k = 0; k < (uint64_t)param->rows * param->ld; k++)
            cr_expect_eq(isnan(values[param->offset + k]),
                         param->kind == GB_PARAM_STATE || k % param->ld >= param->cols,
                         "%s, number %llu", param->name, (unsigned long long)k);
    }
    cr_expect_eq(states, 5 + 2 * 12 + 1, "the embeddings, two layers, and the queue");
    free(values);
    model_free(&m);
    tiny_free(&t);
    scratch_leave(&s);
}

Test(folders, other_sizes_are_refused)
{
    scratch s = scratch_enter();
    tiny t = tiny_make();
    gb_bert_config config = tiny_config(&t, 16, 32, 0);
    round_trip(&t, &config, NULL, "model");
    gb_bert_config others[] = {config, config, config, config};
    others[0].hidden_size = 24;
    others[1].intermediate_size = 36;
    others[2].vocab_size++;
    others[3].max_positions++;
    for (int i = 0; i < 4; i++) {
        gb_status status = {0};
        model m;
        model_make(&m, &t, &others[i], NULL, NULL);
        cr_expect_null(load(&m, "model", &status), "sizes %d", i);
        cr_expect_eq(status.code, GB_DATA);
        cr_expect(strstr(status.where, "model"), "%s", status.where);
        model_free(&m);
    }
    tiny_free(&t);
    scratch_leave(&s);
}

/* A broken model is not written, and what stood there stays. */
Test(folders, values_that_are_no_numbers_are_refused)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    gb_bert_config config = tiny_config(&t, 16, 32, 0);
    model m;
    model_make(&m, &t, &config, NULL, NULL);
    MUST(save(&t, &m, "model", &status));
    char before[GB_HASH_SIZE], after[GB_HASH_SIZE];
    MUST(gb_hash_tree("model", before, &status));
    m.values[gb_params_at(m.params, m.bert.head_bias)->offset] = INFINITY;
    cr_expect_not(save(&t, &m, "model", &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect(strstr(status.what, "cls.predictions.bias") ||
                  strstr(status.where, "cls.predictions.bias"),
              "%s: %s", status.where, status.what);
    cr_expect(gb_hash_tree("model", after, NULL));
    cr_expect_str_eq(before, after);
    model_free(&m);
    tiny_free(&t);
    scratch_leave(&s);
}
