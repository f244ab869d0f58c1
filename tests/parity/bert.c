/* BERT against Hugging Face transformers and torch in float64: states of every layer, pooled
 * vectors, logits, loss, gradients, and ten steps of AdamW. tests/peers/golden_bert.py made the
 * numbers and says what they are. */
#include "../nn/tiny.h"
#include "trust.h"

#include <math.h>

#define PEER        "transformers, torch (float64)"
#define STEPS       10
#define PROJECTIONS 8 /* as in the script */

/* The golden model with its numbers, and the training task on its masked batches. */
typedef struct golden {
    gb_folder *folder;       /* the model */
    gb_safetensors *numbers; /* golden.safetensors */
    model m;                 /* its parameters; the task below */
    gb_special_ids specials; /* of its vocabulary */
    uint32_t texts;          /* of a batch */
    uint32_t max_length;     /* columns of the tables of ids */
    gb_batch batch;          /* batch of the step */
} golden;

/* ---- the numbers ---- */

static const gb_stored *stored(const golden *g, const char *name)
{
    const gb_stored *found = gb_safetensors_find(g->numbers, name);
    cr_assert(found, "no golden %s", name);
    return found;
}

/* [rows, cols], or [rows] with cols 0; free(). */
static float *numbers(const golden *g, const char *name, uint32_t rows, uint32_t cols)
{
    gb_status status = {0};
    float *values = gb_alloc((size_t)rows * (cols ? cols : 1), sizeof *values, &status);
    MUST(values);
    MUST(gb_stored_read(stored(g, name), rows, cols, values, &status));
    return values;
}

static double number(const golden *g, const char *name, uint32_t index)
{
    const gb_stored *s = stored(g, name);
    cr_assert(!strcmp(s->dtype, "F64") && index < s->shape[0]);
    double value;
    memcpy(&value, (const char *)s->data + sizeof value * index, sizeof value);
    return value;
}

static int32_t integer(const gb_stored *s, uint64_t row, uint64_t col)
{
    cr_assert(!strcmp(s->dtype, "I32") && s->rank == 2 && row < s->shape[0]);
    int32_t value;
    memcpy(&value, (const char *)s->data + sizeof value * (row * s->shape[1] + col), sizeof value);
    return value;
}

/* A parameter of the golden model, which is a part of one of ours: query, key and value are stored
 * apart. */
typedef struct part {
    char name[128];      /* theirs, behind "kind." */
    bool vector;         /* one dimension */
    uint32_t rows, cols; /* of it; a vector has one row */
    size_t offset;       /* of its first value in our parameter */
} part;

static uint32_t parts_of(const gb_param *param)
{
    return strstr(param->name, "qkv") ? 3 : 1;
}

static part part_of(const gb_param *param, const char *kind, uint32_t k)
{
    static const char *const names[] = {"query", "key", "value"};
    const char *joined = strstr(param->name, "qkv");
    uint32_t count = parts_of(param);
    part p = {.vector = strstr(param->name, ".bias") || strstr(param->name, "LayerNorm")};
    p.rows = p.vector ? 1 : param->rows / count;
    p.cols = param->cols / (p.vector ? count : 1);
    p.offset = p.vector ? k * p.cols : (size_t)k * p.rows * param->ld;
    if (joined)
        snprintf(p.name, sizeof p.name, "%s.%.*s%s%s", kind, (int)(joined - param->name),
                 param->name, names[k], joined + 3);
    else
        snprintf(p.name, sizeof p.name, "%s.%s", kind, param->name);
    return p;
}

/* A parameter's golden values in our layout, padding zero; free(). */
static void place(const golden *g, const char *kind, const gb_param *param, float *out)
{
    for (uint32_t k = 0; k < parts_of(param); k++) {
        part p = part_of(param, kind, k);
        float *values = numbers(g, p.name, p.vector ? p.cols : p.rows, p.vector ? 0 : p.cols);
        for (uint32_t r = 0; r < p.rows; r++)
            memcpy(out + p.offset + (size_t)r * param->ld, values + (size_t)r * p.cols,
                   p.cols * sizeof *values);
        free(values);
    }
}

static double *placed(const golden *g, const char *kind)
{
    double *all = calloc(gb_params_floats(g->m.params), sizeof *all);
    for (uint32_t i = 0; i < gb_params_count(g->m.params); i++) {
        const gb_param *param = gb_params_at(g->m.params, i);
        float *own = calloc((size_t)param->rows * param->ld, sizeof *own);
        place(g, kind, param, own);
        for (size_t k = 0; k < (size_t)param->rows * param->ld; k++)
            all[param->offset + k] = own[k];
        free(own);
    }
    return all;
}

/* Texts of a table of ids from row `first` on; labels may be NULL. */
static void pack(golden *g, const gb_stored *ids, const gb_stored *labels, uint32_t first)
{
    gb_status status = {0};
    gb_batch_reset(&g->batch);
    for (uint32_t t = 0; t < g->texts; t++) {
        uint32_t length = 0, own[64];
        int32_t wanted[64];
        for (uint32_t c = 1; c + 1 < g->max_length && integer(ids, first + t, c + 1) >= 0; c++) {
            own[length] = (uint32_t)integer(ids, first + t, c);
            int32_t label = labels ? integer(labels, first + t, c) : -100;
            wanted[length++] = label < 0 ? GB_IGNORE : label;
        }
        MUST(gb_batch_add(&g->batch, &g->specials, own, labels ? wanted : NULL, length,
                          g->max_length, &status));
    }
}

/* ---- the task: masked LM on the golden batches ---- */

typedef struct labelled {
    const gb_batch *batch; /* batch */
    gb_selection rows;     /* with labels */
    gb_tensor labels;      /* u32 [rows, 1] */
    gb_tensor weights;     /* f32 [rows, 1] */
} labelled;

static bool sample(void *self, uint32_t step, gb_bucket *shape, gb_status *status)
{
    golden *g = self;
    (void)status;
    pack(g, stored(g, "train.ids"), stored(g, "train.labels"), step * g->texts);
    shape->size[0] = gb_bucket_rows(g->batch.rows);
    shape->size[1] = gb_bucket_rows(g->batch.labelled);
    return true;
}

/* Rows with labels. */
static bool fill(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const labelled *to = record;
    const gb_batch *batch = to->batch;
    uint32_t selected[128], count = 0;
    uint32_t *labels = gb_executable_input(exec, to->labels, status);
    float *weights = labels ? gb_executable_input(exec, to->weights, status) : NULL;
    if (!weights)
        return false;
    for (uint32_t i = 0; i < to->rows.count; i++) {
        labels[(size_t)i] = GB_NO_ROW;
        weights[(size_t)i * 4] = 0;
    }
    for (uint32_t r = 0; r < batch->rows; r++)
        if (batch->labels[r] != GB_IGNORE) {
            labels[count] = (uint32_t)batch->labels[r];
            weights[(size_t)count * 4] = 1.0f / (float)batch->labelled;
            selected[count++] = r;
        }
    return gb_selection_fill(exec, &to->rows, selected, count, 0, status);
}

static void build(void *self, gb_builder *builder, const gb_bucket *shape,
                  gb_tensor losses[GB_MAX_LOSSES])
{
    golden *g = self;
    uint32_t rows = shape->size[0], count = shape->size[1];
    gb_batch_inputs in = gb_batch_declare(builder, &g->m.config, rows, g->texts, &g->batch, 0);
    const labelled to = {.batch = &g->batch,
                         .rows = gb_selection_declare(builder, count, rows),
                         .labels = gb_tape_input(builder->tape, "labels", GB_U32, count, 1),
                         .weights = gb_tape_input(builder->tape, "weights", GB_F32, count, 1)};
    gb_tape_fill_by(builder->tape, fill, &to, sizeof to);
    gb_tensor h = gb_bert_encode(builder, &g->m.bert, &in, 0, NULL);
    losses[0] = gb_bert_mlm_loss(builder, &g->m.bert, gb_selection_gather(builder, h, &to.rows),
                                 to.labels, to.weights);
}

/* ---- the model ---- */

static void golden_open(golden *g)
{
    gb_status status = {0};
    *g = (golden){0};
    MUST(g->folder = gb_folder_open(GB_GOLDEN "/bert", &status));
    MUST(g->numbers = gb_safetensors_open(GB_GOLDEN "/bert/golden.safetensors", &status));
    model *m = &g->m;
    m->config = *gb_folder_config(g->folder);
    MUST(m->params = gb_params_create(&status));
    MUST(gb_bert_declare(m->params, &m->config, true, &m->bert, &status));
    gb_params_freeze(m->params);
    MUST(m->values = gb_alloc(gb_params_floats(m->params), sizeof *m->values, &status));
    MUST(gb_model_load(g->folder, m->params, m->values, &status));
    gb_vocab *vocab = gb_folder_vocab(g->folder, &status);
    MUST(vocab);
    g->specials = gb_vocab_specials(vocab);
    gb_vocab_destroy(vocab);
    const gb_stored *ids = stored(g, "ids");
    g->texts = (uint32_t)ids->shape[0];
    m->max_length = g->max_length = (uint32_t)ids->shape[1];
    cr_assert_leq(g->max_length, 64);
    m->task = (gb_task){.self = g, .loss_names = {"mlm"}, .sample = sample, .build = build};
}

static void golden_close(golden *g)
{
    gb_batch_free(&g->batch);
    model_free(&g->m);
    gb_safetensors_close(g->numbers);
    gb_folder_close(g->folder);
}

/* Largest difference from wanted [rows, cols], relative to the largest of these. */
static double differs(const float *got, uint32_t ld, const float *wanted, uint32_t rows,
                      uint32_t cols)
{
    double worst = 0, largest = 0;
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < cols; c++) {
            double value = wanted[(size_t)r * cols + c], d = fabs(got[(size_t)r * ld + c] - value);
            largest = fmax(largest, fabs(value));
            worst = d <= worst ? worst : isnan(d) ? INFINITY : d;
        }
    return worst / largest;
}

/* ---- forward ---- */

#define LAYERS 3

/* Everything that the model computes of a batch. */
typedef struct forward {
    gb_tape *tape;                /* program */
    gb_tensor hidden[LAYERS + 1]; /* states */
    gb_tensor first, mean;        /* pooled */
    gb_tensor logits;             /* of the head */
} forward;

static void forward_build(forward *f, const golden *g)
{
    gb_status status = {0};
    const gb_bert *bert = &g->m.bert;
    uint32_t rows = gb_bucket_rows(g->batch.rows);
    MUST(f->tape = gb_tape_create(g->m.params, "golden", &status));
    gb_builder builder = {
        .tape = f->tape, .eps = (float)g->m.config.layer_norm_eps, .max_length = g->max_length};
    const gb_batch *batch = &g->batch;
    gb_pooling_params how = {.texts = g->texts, .rows = rows, .max_length = g->max_length};
    gb_batch_inputs in = gb_batch_declare(&builder, &g->m.config, rows, g->texts, batch, 0);
    gb_pooling_inputs cls = gb_pooling_declare(&builder, &how, batch);
    how.kind = GB_POOLING_MEAN;
    gb_pooling_inputs means = gb_pooling_declare(&builder, &how, batch);
    gb_tensor x = f->hidden[0] = gb_bert_embed(&builder, bert, &in);
    for (uint32_t l = 0; l < LAYERS; l++)
        x = f->hidden[l + 1] = gb_block_apply(&builder, &bert->blocks[l], &in, x);
    f->first = gb_pooling_apply(&builder, x, &cls);
    f->mean = gb_pooling_apply(&builder, x, &means);
    gb_tensor t = gb_linear(f->tape, x, gb_tape_param(f->tape, bert->transform_weight),
                            gb_tape_param(f->tape, bert->transform_bias), true, GB_NO_TENSOR);
    t = gb_layer_norm(f->tape, t, gb_tape_param(f->tape, bert->head_norm_weight),
                      gb_tape_param(f->tape, bert->head_norm_bias), builder.eps);
    f->logits = gb_linear(f->tape, t, gb_tape_param(f->tape, bert->word),
                          gb_tape_param(f->tape, bert->head_bias), false, GB_NO_TENSOR);
    for (uint32_t l = 0; l <= LAYERS; l++)
        gb_tape_output(f->tape, f->hidden[l]);
    gb_tape_output(f->tape, f->first);
    gb_tape_output(f->tape, f->mean);
    gb_tape_output(f->tape, f->logits);
    MUST(gb_tape_ok(f->tape, &status));
}

static double output_differs(const golden *g, const forward *f, gb_executable *exec,
                             uint64_t ticket, gb_tensor tensor, const char *name, uint32_t rows)
{
    gb_status status = {0};
    const gb_tensor_info *info = gb_tape_tensor(f->tape, tensor);
    const float *got = gb_executable_output(exec, ticket, tensor, &status);
    MUST(got);
    float *wanted = numbers(g, name, rows, info->cols);
    double worst = differs(got, info->ld, wanted, rows, info->cols);
    free(wanted);
    return worst;
}

Test(bert, forward)
{
    gb_status status = {0};
    golden g;
    golden_open(&g);
    cr_assert_eq(g.m.config.layers, LAYERS);
    pack(&g, stored(&g, "ids"), NULL, 0);
    cr_assert_leq(g.batch.rows, 256);
    gb_device *device = tiny_device(GB_USER_TRAIN);
    gb_state *state = gb_state_create(device, g.m.params, false, &status);
    MUST(state);
    MUST(gb_state_write(state, GB_ARENA_PARAMS, g.m.values, &status));
    forward f = {0};
    forward_build(&f, &g);
    gb_executable *exec = gb_executable_create(state, f.tape, &status);
    MUST(exec);
    uint64_t ticket;
    MUST(gb_executable_submit(exec, 0, &ticket, &status));
    double states = 0;
    for (uint32_t l = 0; l <= LAYERS; l++) {
        char name[32];
        snprintf(name, sizeof name, "hidden.%u", l);
        states =
            fmax(states, output_differs(&g, &f, exec, ticket, f.hidden[l], name, g.batch.rows));
    }
    trust("BERT: states of every layer", PEER, states, 1e-5);
    trust("BERT: [CLS] vectors", PEER,
          output_differs(&g, &f, exec, ticket, f.first, "cls", g.texts), 1e-5);
    trust("BERT: mean vectors", PEER, output_differs(&g, &f, exec, ticket, f.mean, "mean", g.texts),
          1e-5);
    trust("BERT: masked-LM logits", PEER,
          output_differs(&g, &f, exec, ticket, f.logits, "logits", g.batch.rows), 1e-5);
    gb_executable_destroy(exec);
    gb_tape_destroy(f.tape);
    gb_state_destroy(state);
    tiny_device_close(device);
    golden_close(&g);
}

/* ---- backward ---- */

static double gradient_norm(const gb_params *params, const float *gradients)
{
    double sum = 0;
    for (uint32_t i = 0; i < gb_params_count(params); i++) {
        const gb_param *p = gb_params_at(params, i);
        for (uint32_t r = 0; r < p->rows; r++)
            for (uint32_t c = 0; c < p->cols; c++) {
                double v = gradients[p->offset + (size_t)r * p->ld + c];
                sum += v * v;
            }
    }
    return sqrt(sum);
}

Test(bert, gradients)
{
    golden g;
    golden_open(&g);
    gb_device *device = tiny_device(GB_USER_TRAIN);
    pass p = compare_pass_make(&g.m, device, 0, 0);
    double loss = number(&g, "loss", 0), norm = number(&g, "norm", 0);
    trust("BERT: masked-LM loss", PEER, fabs(p.loss[0] - loss) / loss, 1e-5);
    trust("BERT: norm of the gradient", PEER,
          fabs(gradient_norm(g.m.params, p.gradients) - norm) / norm, 1e-5);
    double *wanted = placed(&g, "grad");
    trust("BERT: gradient of every parameter", PEER,
          worst_gradient(g.m.params, p.gradients, wanted), 1e-4);
    free(wanted);
    compare_pass_free(&p);
    tiny_device_close(device);
    golden_close(&g);
}

/* ---- training ---- */

/* Biases of keys add the same to all scores of a query, so no loss depends on them: their gradient
 * is rounding alone, which AdamW blows up to whole steps. */
static bool is_key_bias(const gb_param *param, uint32_t column)
{
    return strstr(param->name, "qkv.bias") && column / (param->cols / 3) == 1;
}

/* Largest difference of a value, relative to how far the values of its parameter moved at most. */
static double trained_differs(const golden *g, const float *values, const double *wanted)
{
    double worst = 0;
    for (uint32_t i = 0; i < gb_params_count(g->m.params); i++) {
        const gb_param *p = gb_params_at(g->m.params, i);
        double moved = 0, difference = 0;
        for (uint32_t r = 0; r < p->rows; r++)
            for (uint32_t c = 0; c < p->cols; c++) {
                size_t at = p->offset + (size_t)r * p->ld + c;
                if (is_key_bias(p, c))
                    continue;
                double d = fabs(values[at] - wanted[at]);
                moved = fmax(moved, fabs(g->m.values[at] - wanted[at]));
                difference = d <= difference ? difference : isnan(d) ? INFINITY : d;
            }
        if (getenv("GABBRO_TEST_SHOW"))
            fprintf(stderr, "%-60s moved %9.3g differs %8.2g\n", p->name, moved, difference);
        worst = fmax(worst, difference / moved);
    }
    return worst;
}

/* The same after one of the steps, by the sums of the differences from the start that are stored:
 * with signs of one generator, relative to the length of the way. */
static double way_differs(const golden *g, const float *values, const gb_param *param,
                          const part *p, uint32_t step)
{
    float *wanted = numbers(g, p->name, STEPS, PROJECTIONS);
    double worst = 0, length = 0;
    uint32_t state = 1;
    for (uint32_t k = 0; k < PROJECTIONS; k++) {
        double sum = 0;
        for (uint32_t r = 0; r < p->rows; r++)
            for (uint32_t c = 0; c < p->cols; c++) {
                size_t at = param->offset + p->offset + (size_t)r * param->ld + c;
                double moved = (double)values[at] - g->m.values[at];
                state = state * 1664525u + 1013904223u;
                sum += state >> 31 ? moved : -moved;
                length += moved * moved / PROJECTIONS;
            }
        double d = fabs(sum - wanted[step * PROJECTIONS + k]);
        worst = d <= worst ? worst : isnan(d) ? INFINITY : d;
    }
    free(wanted);
    return length > 0 ? worst / sqrt(length) : worst; /* the first step has rate 0 */
}

static double step_differs(const golden *g, const float *values, uint32_t step)
{
    double worst = 0;
    for (uint32_t i = 0; i < gb_params_count(g->m.params); i++) {
        const gb_param *param = gb_params_at(g->m.params, i);
        for (uint32_t k = 0; k < parts_of(param); k++) {
            part p = part_of(param, "moved", k);
            if (!strstr(p.name, "key.bias"))
                worst = fmax(worst, way_differs(g, values, param, &p, step));
        }
    }
    return worst;
}

static gb_train_params training_of(const golden *g)
{
    return (gb_train_params){.params = g->m.params,
                             .config = &g->m.config,
                             .schedule = {GB_SCHEDULE_LINEAR, 2e-3f, 0, 3, STEPS},
                             .adamw = {.9f, .999f, 1e-8f, .1f},
                             .max_norm = 1,
                             .max_length = g->max_length,
                             .label = "golden"};
}

Test(bert, training)
{
    gb_status status = {0};
    gb_log_set_level(GB_LOG_WARN);
    golden g;
    golden_open(&g);
    uint64_t floats = gb_params_floats(g.m.params);
    float *values = gb_alloc(floats, sizeof *values, &status);
    MUST(values);
    memcpy(values, g.m.values, floats * sizeof *values);
    gb_train_params how = training_of(&g);
    double log[STEPS][GB_MAX_LOSSES], losses = 0;
    gb_train_result result;
    gb_device *device = tiny_device(GB_USER_TRAIN);
    MUST(gb_train(device, &g.m.task, &how, values, log, &result, &status));
    for (uint32_t s = 0; s < STEPS; s++) {
        double loss = number(&g, "loss", s);
        losses = fmax(losses, fabs(log[s][0] - loss) / loss);
    }
    trust("BERT: losses of ten AdamW steps", PEER, losses, 1e-5);
    double *wanted = placed(&g, "after");
    trust("BERT: how far parameters moved in ten AdamW steps (without biases of keys)", PEER,
          trained_differs(&g, values, wanted), 1e-3);
    free(wanted);
    free(values);
    tiny_device_close(device);
    golden_close(&g);
}

/* The same steps one by one, with a look at the parameters behind each: the worst difference. The
 * last ones to `values`. */
static double walk(const golden *g, gb_device *device, const gb_train_params *how, float *values)
{
    gb_status status = {0};
    double worst = 0;
    gb_state *state = gb_state_create(device, g->m.params, true, &status);
    MUST(state);
    MUST(gb_state_write(state, GB_ARENA_PARAMS, g->m.values, &status));
    gb_tape *tape = gb_tape_create(g->m.params, "adamw", &status);
    MUST(tape);
    gb_tensor input = gb_adamw_input(tape, false);
    gb_adamw(tape, &how->adamw, input);
    gb_executable *adamw = gb_executable_create(state, tape, &status);
    MUST(adamw);
    model now = g->m;
    now.values = values;
    memcpy(values, g->m.values, gb_params_floats(g->m.params) * sizeof *values);
    for (uint32_t s = 0; s < STEPS; s++) {
        pass p = compare_pass_make(&now, device, s, 0);
        MUST(gb_state_write(state, GB_ARENA_GRADS, p.gradients, &status));
        compare_pass_free(&p);
        float *rates = gb_executable_input(adamw, input, &status);
        MUST(rates);
        gb_adamw_fill(&how->adamw, s + 1, gb_schedule_at(&how->schedule, s), how->max_norm, rates);
        MUST(gb_executable_run(adamw, NULL, &status));
        MUST(gb_state_read(state, GB_ARENA_PARAMS, values, &status));
        double difference = step_differs(g, values, s);
        if (getenv("GABBRO_TEST_SHOW"))
            fprintf(stderr, "step %u differs %8.2g\n", s, difference);
        worst = fmax(worst, difference);
    }
    gb_executable_destroy(adamw);
    gb_tape_destroy(tape);
    gb_state_destroy(state);
    return worst;
}

Test(bert, every_step)
{
    gb_status status = {0};
    gb_log_set_level(GB_LOG_WARN);
    golden g;
    golden_open(&g);
    gb_train_params how = training_of(&g);
    gb_train_result result;
    uint64_t floats = gb_params_floats(g.m.params);
    float *walked = gb_alloc(floats, sizeof *walked, &status);
    float *trained = gb_alloc(floats, sizeof *trained, &status);
    MUST(walked && trained);
    gb_device *device = tiny_device(GB_USER_TRAIN);
    trust("BERT: where parameters are after each of ten AdamW steps (without biases of keys)", PEER,
          walk(&g, device, &how, walked), 1e-3);
    memcpy(trained, g.m.values, floats * sizeof *trained);
    MUST(gb_train(device, &g.m.task, &how, trained, NULL, &result, &status));
    expect_same_values(g.m.params, trained, walked);
    free(walked);
    free(trained);
    tiny_device_close(device);
    golden_close(&g);
}
