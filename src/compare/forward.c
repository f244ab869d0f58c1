#include "forward.h"

#include <gabbro/artifact.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- the model ---- */

bool compare_forward_model_open(forward_model *model, const char *path, gb_status *status)
{
    *model = (forward_model){0};
    char *folder = gb_find_model_folder(path, status);
    model->folder = folder ? gb_folder_open(folder, status) : NULL;
    free(folder);
    bool ok = model->folder && gb_folder_sentence(model->folder, &model->sentence, status) &&
              (model->params = gb_params_create(status));
    if (ok) {
        model->config = *gb_folder_config(model->folder);
        ok = gb_bert_declare(model->params, &model->config, gb_folder_has_head(model->folder),
                             &model->bert, status) &&
             gb_bert_add_projector(model->params, &model->bert, gb_folder_projector(model->folder),
                                   status) &&
             (model->values = gb_model_input_values(model->folder, model->params, status));
    }
    if (!ok)
        compare_forward_model_close(model);
    return ok;
}

void compare_forward_model_close(forward_model *model)
{
    gb_bert_free(&model->bert);
    gb_params_destroy(model->params);
    gb_folder_close(model->folder);
    free(model->values);
    *model = (forward_model){0};
}

gb_state *compare_forward_state(const forward_model *model, gb_device *device, gb_status *status)
{
    gb_state *state = gb_state_create(device, model->params, false, status);
    if (state && gb_state_write(state, GB_ARENA_PARAMS, model->values, status))
        return state;
    gb_state_destroy(state);
    return NULL;
}

/* ---- the program ---- */

/* E LN(GELU(W h + b)) + c at every row. */
static gb_tensor head(const gb_bert *bert, gb_builder *net, gb_tensor h)
{
    gb_tape *tape = net->tape;
    return gb_linear(tape, gb_bert_head_states(net, bert, h), gb_tape_param(tape, bert->word),
                     gb_tape_param(tape, bert->head_bias), false, GB_NO_TENSOR);
}

static gb_tensor pooled(const forward *f, gb_builder *net, gb_pooling kind, gb_tensor x)
{
    const gb_pooling_params how = {
        .kind = kind, .texts = f->texts, .rows = f->rows, .max_length = f->max_length};
    gb_pooling_inputs in = gb_pooling_declare(net, &how, &f->batch);
    return gb_pooling_apply(net, x, &in);
}

static bool build(void *self, gb_tape *tape, gb_status *status)
{
    (void)status;
    forward *f = self;
    const forward_model *m = f->model;
    const gb_bert *bert = &m->bert;
    gb_builder net = gb_builder_forward(tape, &m->config, f->max_length);
    gb_batch_inputs in = gb_batch_declare(&net, &m->config, f->rows, f->texts, &f->batch, 0);
    gb_tensor x = f->hidden[0] = gb_bert_embed(&net, bert, &in);
    for (uint32_t l = 0; l < m->config.layers; l++)
        x = f->hidden[l + 1] = gb_bert_layer(&net, bert, l, &in, x);
    x = gb_bert_end(&net, bert, x);
    f->first = pooled(f, &net, GB_POOLING_CLS, x);
    f->mean = pooled(f, &net, GB_POOLING_MEAN, x);
    f->sentence =
        m->sentence.pooling == GB_POOLING_TERMS
            ? gb_bert_term_weights(&net, bert, x, gb_texts_declare(&net, f->texts, &f->batch))
            : gb_sentence_vectors(&net, bert, m->sentence.normalize,
                                  m->sentence.pooling == GB_POOLING_MEAN ? f->mean
                                  : m->sentence.pooling == GB_POOLING_LAST
                                      ? pooled(f, &net, GB_POOLING_LAST, x)
                                      : f->first);
    f->logits = f->with_logits ? head(bert, &net, x) : GB_NO_TENSOR;
    for (uint32_t l = 0; l <= m->config.layers; l++)
        gb_tape_output(tape, f->hidden[l]);
    gb_tape_output(tape, f->first);
    gb_tape_output(tape, f->mean);
    if (f->sentence != f->first && f->sentence != f->mean)
        gb_tape_output(tape, f->sentence);
    gb_tape_output(tape, f->logits);
    return true;
}

bool compare_forward_make(forward *f, const forward_model *model, gb_state *state, uint32_t rows,
                          uint32_t texts, uint32_t max_length, bool logits, gb_status *status)
{
    *f = (forward){.model = model,
                   .rows = gb_bucket_rows(rows),
                   .texts = texts,
                   .max_length = max_length,
                   .with_logits = logits && model->bert.head};
    const gb_executable_params program = {
        .name = "verify", .state = state, .build = build, .self = f};
    f->hidden = gb_alloc(model->config.layers + 1, sizeof *f->hidden, status);
    bool ok = f->hidden && (f->exec = gb_executable_build(&program, status));
    if (!ok)
        compare_forward_free(f);
    return ok;
}

void compare_forward_free(forward *f)
{
    gb_executable_destroy(f->exec);
    free(f->hidden);
    *f = (forward){0};
}

bool compare_forward_run(forward *f, const gb_batch *batch, uint64_t *ticket, gb_status *status)
{
    f->batch = *batch;
    return gb_executable_submit(f->exec, 0, ticket, status);
}

/* ---- the reference ---- */

void compare_forward_differs(const float *got, uint32_t ld, const float *wanted, uint32_t rows,
                             uint32_t cols, double *difference, double *largest)
{
    for (uint32_t r = 0; r < rows; r++)
        for (uint32_t c = 0; c < cols; c++) {
            double value = (double)wanted[(size_t)r * cols + c];
            double d = fabs((double)got[(size_t)r * ld + c] - value);
            *largest = fmax(*largest, fabs(value));
            *difference = d <= *difference ? *difference : isnan(d) ? INFINITY : d;
        }
}

/* Inputs and parameters as the device has them. */
static bool give_inputs(const forward *f, gb_reference *reference, gb_status *status)
{
    const gb_tape *tape = gb_executable_tape(f->exec);
    for (gb_tensor t = 0; t < (gb_tensor)gb_tape_tensor_count(tape); t++) {
        const gb_tensor_info *info = gb_tape_tensor(tape, t);
        if (info->role != GB_ROLE_INPUT)
            continue;
        size_t count = (size_t)info->rows * info->ld;
        const void *staged = gb_executable_input(f->exec, t, status);
        if (!staged)
            return false;
        if (info->type == GB_U32)
            memcpy(gb_reference_u(reference, t), staged, count * 4);
        for (size_t i = 0; info->type != GB_U32 && i < count; i++)
            gb_reference_f(reference, t)[i] = (double)((const float *)staged)[i];
    }
    for (uint64_t i = 0; i < gb_params_floats(f->model->params); i++)
        gb_reference_arena(reference, GB_ARENA_PARAMS)[i] = (double)f->model->values[i];
    return true;
}

static bool compare_output(const forward *f, gb_reference *reference, uint64_t ticket,
                           gb_tensor tensor, uint32_t rows, double *worst, gb_status *status)
{
    const gb_tensor_info *info = gb_tape_tensor(gb_executable_tape(f->exec), tensor);
    const float *got = gb_executable_output(f->exec, ticket, tensor, status);
    const double *wanted = gb_reference_f(reference, tensor);
    double difference = 0, largest = 0;
    for (uint32_t r = 0; got && r < rows; r++)
        for (uint32_t c = 0; c < info->cols; c++) {
            size_t at = (size_t)r * info->ld + c;
            double d = fabs((double)got[at] - wanted[at]);
            largest = fmax(largest, fabs(wanted[at]));
            difference = d <= difference ? difference : isnan(d) ? INFINITY : d;
        }
    *worst = fmax(*worst, difference > 0 ? difference / largest : 0);
    return got != NULL;
}

bool compare_forward_compare(forward *f, const gb_batch *batch, uint64_t ticket, double *worst,
                             gb_status *status)
{
    uint32_t layers = f->model->config.layers;
    gb_reference *reference = gb_reference_create(gb_executable_tape(f->exec), status);
    /* The inputs of the run lie in one of two slots; the next run's slot is filled alike. */
    bool ok = reference && gb_executable_wait(f->exec, ticket, status) &&
              gb_executable_fill(f->exec, 0, status) && give_inputs(f, reference, status);
    if (ok)
        gb_reference_run(reference);
    for (uint32_t l = 0; ok && l <= layers; l++)
        ok = compare_output(f, reference, ticket, f->hidden[l], batch->rows, worst, status);
    ok = ok && compare_output(f, reference, ticket, f->first, batch->count, worst, status) &&
         compare_output(f, reference, ticket, f->mean, batch->count, worst, status) &&
         compare_output(f, reference, ticket, f->sentence, batch->count, worst, status) &&
         (f->logits == GB_NO_TENSOR ||
          compare_output(f, reference, ticket, f->logits, batch->rows, worst, status));
    gb_reference_destroy(reference);
    return ok;
}
