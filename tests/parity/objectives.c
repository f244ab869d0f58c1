/* Loss and gradients of the papers' objectives against formulations in float64 torch that were
 * written from the papers' equations (tests/peers/golden_objectives.py) and compute on the very
 * batch and weights that are made here.
 * With GABBRO_GOLDEN_EXPORT=FOLDER nothing is compared; the batches and weights are written there.
 */
#include "../nn/seen.h"
#include "trust.h"

#include <jansson.h>
#include <math.h>

#define PEER "torch from the paper's equations (float64)"
#define STEP 2

/* What an objective is made of, and where its batch lies in the inputs. */
typedef struct parity_case {
    const char *name;        /* in the golden files */
    const char *objective;   /* by name */
    const char *paper;       /* for the line of the check */
    gb_context context;      /* of the pairs */
    uint32_t decoder;        /* CoT-MAE */
    uint32_t layers;         /* of the Condenser head or the decoder */
    uint32_t contrast;       /* coCondenser */
    uint32_t bow_head;       /* Bag-of-Word */
    uint32_t sides;          /* texts a pair in the encoder's batch */
    uint32_t encoder_labels; /* number of the list of rows with the encoder's labels */
    uint32_t decoder_labels; /* of the decoder's, where they were drawn; 0: none */
    bool second;             /* there is a decoder's batch */
} parity_case;

static const parity_case cases[] = {
    {.name = "condenser",
     .objective = "condenser",
     .paper = "Condenser",
     .layers = 2,
     .sides = 1,
     .encoder_labels = 1},
    {.name = "cocondenser",
     .objective = "cocondenser",
     .paper = "coCondenser",
     .context = GB_CONTEXT_SPAN,
     .layers = 2,
     .sides = 2,
     .encoder_labels = 1},
    {.name = "cocondenser_one_sided",
     .objective = "cocondenser",
     .paper = "coCondenser, one-sided (LLM expansion, equation 8)",
     .context = GB_CONTEXT_QUERY,
     .layers = 1,
     .contrast = TINY_ONE_SIDED,
     .sides = 2,
     .encoder_labels = 1},
    {.name = "cotmae_masked",
     .objective = "cotmae",
     .paper = "CoT-MAE, masked decoder",
     .context = GB_CONTEXT_SPAN,
     .decoder = TINY_MASKED,
     .layers = 2,
     .sides = 1,
     .encoder_labels = 2,
     .decoder_labels = 3,
     .second = true},
    {.name = "cotmae_causal",
     .objective = "cotmae",
     .paper = "CoT-MAE, causal decoder",
     .context = GB_CONTEXT_QUERY,
     .decoder = TINY_CAUSAL,
     .layers = 1,
     .sides = 1,
     .encoder_labels = 2,
     .second = true},
    {.name = "enhanced",
     .objective = "enhanced",
     .paper = "RetroMAE, enhanced decoding",
     .layers = 1,
     .sides = 1,
     .encoder_labels = 2,
     .second = true},
    {.name = "bow", .objective = "bow", .paper = "Bag-of-Word, masked-LM head", .sides = 1},
    {.name = "bow_projection",
     .objective = "bow",
     .paper = "Bag-of-Word, equations 11 and 12",
     .bow_head = TINY_PROJECTION,
     .sides = 1},
    {.name = "costa", .objective = "costa", .paper = "COSTA", .sides = 1},
};

static tiny_params settings_of(const parity_case *c)
{
    tiny_params settings = tiny_settings();
    settings.common.context = c->context;
    settings.decoder = c->decoder;
    settings.contrast = c->contrast;
    settings.bow_head = c->bow_head;
    if (c->layers)
        settings.head_layers = settings.decoder_layers = c->layers;
    return settings;
}

/* ---- the batch as JSON ---- */

static json_t *numbers(const uint32_t *values, uint32_t count)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < count; i++)
        json_array_append_new(list, json_integer(values[i]));
    return list;
}

/* Lists of ids, one a text. */
static json_t *texts_json(const seen_batch *b)
{
    json_t *texts = json_array();
    for (uint32_t s = 0; s < b->count; s++)
        json_array_append_new(texts,
                              numbers(b->ids + b->starts[s], b->starts[s + 1] - b->starts[s]));
    return texts;
}

/* [text, place in it, label] of the rows with a label. */
static json_t *labels_json(const pass *p, const seen_batch *b, uint32_t n)
{
    gb_tensor list = pass_input(p, "selected rows", n);
    const uint32_t *rows = gb_reference_u(p->reference, list);
    const uint32_t *labels = gb_reference_u(p->reference, pass_input(p, "labels", 0));
    json_t *all = json_array();
    for (uint32_t i = 0; i < gb_tape_tensor(p->tape, list)->cols; i++) {
        if (rows[i] == GB_NO_ROW)
            continue;
        uint32_t s = 0;
        while (b->starts[s + 1] <= rows[i])
            s++;
        json_array_append_new(all, numbers((uint32_t[]){s, rows[i] - b->starts[s], labels[i]}, 3));
    }
    return all;
}

/* Enhanced decoding: of every row of every text the columns that it sees. */
static json_t *visible_json(const pass *p, const seen_batch *b)
{
    gb_tensor input = pass_input(p, "visible columns", 0);
    const uint32_t *bits = gb_reference_u(p->reference, input);
    uint32_t words = gb_tape_tensor(p->tape, input)->cols;
    json_t *texts = json_array();
    for (uint32_t s = 0; s < b->count; s++) {
        json_t *rows = json_array();
        for (uint32_t r = b->starts[s]; r < b->starts[s + 1]; r++) {
            json_t *columns = json_array();
            for (uint32_t j = 0; j < b->starts[s + 1] - b->starts[s]; j++)
                if (bits[(size_t)r * words + j / 32] >> (j % 32) & 1)
                    json_array_append_new(columns, json_integer(j));
            json_array_append_new(rows, columns);
        }
        json_array_append_new(texts, rows);
    }
    return texts;
}

/* COSTA: [text, first place, length] of the spans that are there. */
static json_t *spans_json(const pass *p, const seen_batch *b)
{
    gb_tensor list = pass_input(p, "lists of rows", 0);
    const uint32_t *starts = gb_reference_u(p->reference, list);
    const uint32_t *order = gb_reference_u(p->reference, pass_input(p, "combined rows", 0));
    uint32_t count = gb_tape_tensor(p->tape, list)->cols - 1, per_text = count / b->count - 1;
    json_t *spans = json_array();
    for (uint32_t v = b->count; v < count; v++) {
        uint32_t s = (v - b->count) / per_text, length = starts[v + 1] - starts[v];
        if (length)
            json_array_append_new(
                spans, numbers((uint32_t[]){s, order[starts[v]] - b->starts[s], length}, 3));
    }
    return spans;
}

/* Padding left out: what torch knows as the weights. free() each data, then free(). */
static gb_weight *dense_weights(const model *m)
{
    gb_weight *all = calloc(gb_params_count(m->params), sizeof *all);
    for (uint32_t i = 0; i < gb_params_count(m->params); i++) {
        const gb_param *param = gb_params_at(m->params, i);
        float *values = calloc((size_t)param->rows * param->cols, sizeof *values);
        for (uint32_t r = 0; r < param->rows; r++)
            memcpy(values + (size_t)r * param->cols, m->values + param->offset + r * param->ld,
                   param->cols * sizeof *values);
        all[i] = (gb_weight){param->name, param->rows, param->cols, values};
    }
    return all;
}

static json_t *settings_json(const parity_case *c, const tiny_params *s, const model *m,
                             const tiny *t)
{
    gb_special_ids ids = gb_vocab_specials(t->vocab);
    return json_pack(
        "{s:s, s:i, s:i, s:f, s:i, s:i, s:i, s:b, s:b, s:b, s:f, s:f, s:f, s:f, s:i, s:i, s:o}",
        "objective", c->objective, "heads", m->config.heads, "layers", m->config.layers, "eps",
        m->config.layer_norm_eps, "own_layers", c->layers, "skip_from", s->skip_from, "window",
        s->window, "masked_decoder", c->decoder == TINY_MASKED, "one_sided",
        c->contrast == TINY_ONE_SIDED, "projection", c->bow_head == TINY_PROJECTION, "temperature",
        s->temperature, "contrast_weight", s->contrast_weight, "bow_weight", s->bow_weight,
        "bow_weight_final", s->bow_weight_final, "step", STEP, "steps", (int)s->common.steps,
        "special_ids", numbers((uint32_t[]){ids.pad, ids.unk, ids.cls, ids.sep, ids.mask}, 5));
}

/* The case as text; the same batch and weights give the same text. free(). */
static char *describe(const parity_case *c, const tiny_params *settings, const model *m,
                      const tiny *t, const pass *p, const gb_weight *weights)
{
    seen_batch b = batch_of(p, 0, c->sides * settings->common.batch);
    json_t *json = settings_json(c, settings, m, t);
    json_object_set_new(json, "texts", texts_json(&b));
    json_object_set_new(json, "labels", labels_json(p, &b, c->encoder_labels));
    if (c->second) {
        seen_batch second = batch_of(p, 1, settings->common.batch);
        json_object_set_new(json, "decoder_texts", texts_json(&second));
        if (c->decoder_labels)
            json_object_set_new(json, "decoder_labels", labels_json(p, &second, c->decoder_labels));
        if (!strcmp(c->objective, "enhanced"))
            json_object_set_new(json, "visible", visible_json(p, &second));
    }
    if (!strcmp(c->objective, "costa"))
        json_object_set_new(json, "spans", spans_json(p, &b));
    gb_text hashes = {0};
    for (uint32_t i = 0; i < gb_params_count(m->params); i++) {
        char hash[GB_HASH_SIZE];
        gb_hash_bytes(weights[i].data, sizeof(float) * weights[i].rows * weights[i].cols, hash);
        gb_text_printf(&hashes, "%s %s\n", weights[i].name, hash);
    }
    char all[GB_HASH_SIZE];
    gb_hash_bytes(hashes.data, hashes.length, all);
    json_object_set_new(json, "weights", json_string(all));
    gb_text_free(&hashes);
    char *text = json_dumps(json, JSON_SORT_KEYS | JSON_COMPACT | JSON_REAL_PRECISION(17));
    cr_assert_not_null(text);
    json_decref(json);
    return text;
}

static void export_case(const char *dir, const parity_case *c, const char *text,
                        const gb_weight *weights, size_t count)
{
    gb_status status = {0};
    char path[512];
    snprintf(path, sizeof path, "%s/%s.json", dir, c->name);
    MUST(gb_write_file(path, text, strlen(text), &status));
    snprintf(path, sizeof path, "%s/%s.safetensors", dir, c->name);
    MUST(gb_safetensors_write(path, weights, count, &status));
}

/* ---- comparing ---- */

typedef struct golden {
    gb_safetensors *gradients; /* "<case>:<parameter>" */
    json_t *json;              /* hashes of the batches, losses */
} golden;

static golden golden_open(void)
{
    gb_status status = {0};
    json_error_t error;
    golden g = {gb_safetensors_open(GB_GOLDEN "/objectives.safetensors", &status),
                json_load_file(GB_GOLDEN "/objectives.json", 0, &error)};
    cr_assert(g.gradients && g.json, "%s %s", status.what, error.text);
    return g;
}

static void compare_gradients(const golden *g, const parity_case *c, const model *m, const pass *p)
{
    gb_status status = {0};
    double *wanted = calloc(gb_params_floats(m->params), sizeof *wanted);
    for (uint32_t i = 0; i < gb_params_count(m->params); i++) {
        const gb_param *param = gb_params_at(m->params, i);
        char name[200], what[160];
        if (!param->trained)
            continue;
        snprintf(name, sizeof name, "%s:%s", c->name, param->name);
        const gb_stored *stored = gb_safetensors_find(g->gradients, name);
        snprintf(what, sizeof what, "no golden gradient of %.120s", param->name);
        cr_assert(stored, "%s", what);
        float *values = calloc((size_t)param->rows * param->cols, sizeof *values);
        MUST(gb_stored_read(stored, param->rows, param->cols, values, &status));
        for (uint32_t r = 0; r < param->rows; r++)
            for (uint32_t k = 0; k < param->cols; k++)
                wanted[param->offset + (size_t)r * param->ld + k] =
                    values[(size_t)r * param->cols + k];
        free(values);
    }
    char what[160];
    snprintf(what, sizeof what, "%s: gradient of every parameter", c->paper);
    trust(what, PEER, worst_gradient(m->params, p->gradients, wanted), 1e-4);
    free(wanted);
}

static void compare(const golden *g, const parity_case *c, const model *m, const pass *p,
                    const char *text)
{
    char hash[GB_HASH_SIZE], what[160];
    const json_t *own = json_object_get(json_object_get(g->json, "cases"), c->name);
    const char *wanted = json_string_value(json_object_get(own, "batch"));
    gb_hash_bytes(text, strlen(text), hash);
    cr_assert(wanted && !strcmp(wanted, hash),
              "%s: the test's batch is no longer the golden one; the numbers must be made again "
              "(tests/peers/peers.sh says how)",
              c->name);
    double worst = 0;
    for (int l = 0; l < GB_MAX_LOSSES && m->task.loss_names[l]; l++) {
        const json_t *loss = json_object_get(json_object_get(own, "losses"), m->task.loss_names[l]);
        cr_assert(json_is_real(loss), "%s has no loss %s", c->name, m->task.loss_names[l]);
        worst = fmax(worst, fabs(p->loss[l] - json_real_value(loss)) / json_real_value(loss));
    }
    snprintf(what, sizeof what, "%s: loss", c->paper);
    trust(what, PEER, worst, 1e-5);
    compare_gradients(g, c, m, p);
}

static void check(const parity_case *c, const tiny *t, gb_device *device, const golden *g,
                  const char *export)
{
    gb_bert_config config = tiny_config(t, 16, 32, 0);
    tiny_params settings = settings_of(c);
    model m;
    model_make(&m, t, &config, c->objective, &settings);
    pass p = compare_pass_make(&m, device, STEP, 0);
    gb_weight *weights = dense_weights(&m);
    char *text = describe(c, &settings, &m, t, &p, weights);
    if (export)
        export_case(export, c, text, weights, gb_params_count(m.params));
    else
        compare(g, c, &m, &p, text);
    free(text);
    for (uint32_t i = 0; i < gb_params_count(m.params); i++)
        free((void *)weights[i].data);
    free(weights);
    compare_pass_free(&p);
    model_free(&m);
}

Test(objectives, parity)
{
    const char *export = getenv("GABBRO_GOLDEN_EXPORT");
    golden g = export ? (golden){0} : golden_open();
    scratch s = scratch_enter();
    tiny t = tiny_make();
    gb_device *device = tiny_device(GB_USER_TRAIN);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        check(&cases[i], &t, device, &g, export);
    tiny_device_close(device);
    tiny_free(&t);
    scratch_leave(&s);
    gb_safetensors_close(g.gradients);
    json_decref(g.json);
}
