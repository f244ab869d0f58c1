/* An encoder's masked-LM loss on passages. */
#include <gabbro/artifact.h>
#include <gabbro/train.h>

#include <stdlib.h>
#include <string.h>

#define BATCH_ROWS      2048 /* tokens of a batch */
#define BATCH_SEQUENCES 128  /* passages of a batch */

/* A model being measured. */
typedef struct measurement {
    const gb_mlm_loss_params *o;   /* of which model, and how */
    gb_model_input model;          /* encoder with head */
    gb_vocab *vocab;               /* for masking */
    gb_tokens tokens;              /* passages */
    gb_params *params;             /* of the model */
    gb_bert bert;                  /* of the model */
    float *values;                 /* parameters */
    gb_executable *exec;           /* forward pass */
    gb_tensor loss;                /* sum of a batch */
    uint32_t max_length, max_rows; /* tokens of a passage; of a batch */
    gb_batch batch;                /* batch being filled */
    gb_selected_rows read;         /* its masked rows */
    uint32_t *ids, *selected;      /* scratch: a masked passage; masked rows */
    int32_t *id_labels;            /* scratch */
    double sum;                    /* of the losses */
    uint64_t masked;               /* tokens */
} measurement;

/* The masked rows of a batch. */
typedef struct masked_inputs {
    measurement *m;            /* for which */
    uint32_t most;             /* masked rows */
    gb_tensor labels, weights; /* of them */
} masked_inputs;

/* All count alike. */
static bool fill_masked(const void *record, gb_executable *exec, uint32_t step, gb_status *status)
{
    (void)step;
    const masked_inputs *in = record;
    const measurement *m = in->m;
    uint32_t *labels = gb_executable_input(exec, in->labels, status);
    float *weights = labels ? gb_executable_input(exec, in->weights, status) : NULL;
    if (!weights)
        return false;
    for (uint32_t i = 0; i < in->most; i++) {
        bool is_masked = i < m->read.count;
        labels[i] = is_masked ? (uint32_t)m->batch.labels[m->read.rows[i]] : GB_NO_ROW;
        weights[(size_t)i * 4] = is_masked;
    }
    return true;
}

static bool build(void *self, gb_tape *tape, gb_status *status)
{
    measurement *m = self;
    gb_builder builder = gb_builder_forward(tape, &m->bert.config, m->max_length);
    m->max_rows = BATCH_ROWS > m->max_length ? BATCH_ROWS : gb_bucket_rows(m->max_length);
    /* A passage has its share of masks, rounded, and at least one. */
    uint32_t most = gb_bucket_rows((uint32_t)(m->max_rows * m->o->mask_ratio) + BATCH_SEQUENCES);
    gb_batch_inputs in =
        gb_batch_declare(&builder, &m->bert.config, m->max_rows, BATCH_SEQUENCES, &m->batch, 0);
    const masked_inputs masked = {.m = m,
                                  .most = most,
                                  .labels = gb_tape_input(tape, "labels", GB_U32, most, 1),
                                  .weights = gb_tape_input(tape, "label weights", GB_F32, most, 1)};
    gb_tape_fill_by(tape, fill_masked, &masked, sizeof masked);
    gb_selected_rows_declare(&builder, &in, most, &m->batch, &m->read);
    gb_tensor h = gb_bert_encode_rows(&builder, &m->bert, &in);
    m->loss = gb_bert_mlm_loss(&builder, &m->bert, h, masked.labels, masked.weights);
    gb_tape_output(tape, m->loss);
    m->selected = gb_alloc(most, sizeof *m->selected, status);
    return m->selected != NULL;
}

/* Run the batch and add up its losses. */
static bool flush(measurement *m, gb_status *status)
{
    gb_batch *batch = &m->batch;
    uint64_t ticket;
    if (!batch->count)
        return true;
    uint32_t count = 0;
    for (uint32_t r = 0; r < batch->rows; r++)
        if (batch->labels[r] != GB_IGNORE)
            m->selected[count++] = r;
    if (!gb_selected_rows_list(&m->read, m->selected, count, NULL, 0, status) ||
        !gb_executable_submit(m->exec, 0, &ticket, status))
        return false;
    const float *loss = gb_executable_output(m->exec, ticket, m->loss, status);
    if (!loss)
        return false;
    m->sum += *loss;
    m->masked += batch->labelled;
    gb_batch_reset(batch);
    return true;
}

static bool add_passage(measurement *m, uint32_t passage, gb_status *status)
{
    size_t length;
    const uint32_t *ids = gb_row_file_row(m->tokens.passages, passage, &length);
    if (length + 2 > m->max_length)
        length = m->max_length - 2;
    if ((m->batch.rows + length + 2 > m->max_rows || m->batch.count == BATCH_SEQUENCES) &&
        !flush(m, status))
        return false;
    gb_special_ids specials = gb_vocab_specials(m->vocab);
    gb_mask_params params = {.ratio = m->o->mask_ratio};
    gb_rng rng = gb_rng_make(m->o->seed, GB_RNG_MASK, 0, passage);
    gb_mask_words(m->vocab, &params, ids, length, &rng, m->ids, m->id_labels);
    return gb_batch_add(&m->batch, &specials, m->ids, m->id_labels, length, m->max_length, status);
}

static bool measure(measurement *m, uint32_t *count, gb_status *status)
{
    uint32_t all = (uint32_t)gb_row_file_count(m->tokens.passages);
    *count = m->o->passages && m->o->passages < all ? m->o->passages : all;
    uint32_t *sample = gb_alloc(all, sizeof *sample, status);
    bool ok = sample != NULL;
    gb_rng rng = gb_rng_make(m->o->seed, GB_RNG_SPLIT, 1, 0);
    if (ok)
        gb_rng_order(&rng, sample, all);
    gb_progress progress;
    gb_progress_begin(&progress, "masked-LM loss", "passages", *count, 0);
    for (uint32_t i = 0; ok && i < *count; i++) {
        ok = add_passage(m, sample[i], status);
        if (ok && gb_interrupted())
            ok = gb_fail(status, GB_INTERRUPTED, "mlm-loss", "run the same command again",
                         "stopped");
        gb_progress_update(&progress, i, NULL);
    }
    ok = ok && flush(m, status);
    if (ok)
        gb_progress_end(&progress, *count, NULL);
    free(sample);
    if (ok && !m->masked)
        return gb_fail(status, GB_DATA, m->o->tokens, NULL, "there is no token to mask");
    return ok;
}

/* Vocabulary and tokens, which must belong to the model. */
static bool open_texts(measurement *m, gb_status *status)
{
    const gb_mlm_loss_params *o = m->o;
    char hash[GB_HASH_SIZE];
    bool ok = gb_open_tokens(o->tokens, NULL, &m->tokens, status) &&
              gb_model_input_open(&m->model, o->model, &m->tokens, status) &&
              (m->vocab = gb_vocabulary_read(o->vocabulary, status)) &&
              gb_vocab_hash(m->vocab, hash, status);
    if (ok && strcmp(hash, m->tokens.vocabulary))
        ok = gb_fail(status, GB_DATA, o->vocabulary, "take the vocabulary of the model",
                     "the model has another vocabulary");
    return ok;
}

static bool start(measurement *m, gb_device *device, gb_status *status)
{
    const gb_executable_params program = {.name = "mlm-loss",
                                          .device = device,
                                          .params = m->params,
                                          .values = m->values,
                                          .build = build,
                                          .self = m};
    return (m->exec = gb_executable_build(&program, status)) != NULL;
}

static bool open_model(measurement *m, gb_device *device, gb_status *status)
{
    const gb_bert_config *config = &m->model.config;
    m->max_length = m->tokens.max_passage;
    if (!gb_folder_has_head(m->model.folder))
        return gb_fail(status, GB_DATA, m->o->model, "give an encoder, not a retriever",
                       "the model has no masked-LM head");
    if (!gb_tokens_fit(m->o->model, "model", config->max_positions, "passage", m->max_length,
                       status))
        return false;
    m->params = gb_params_create(status);
    if (!m->params || !gb_bert_declare(m->params, config, true, &m->bert, status))
        return false;
    m->ids = gb_alloc(m->max_length, sizeof *m->ids, status);
    m->id_labels = gb_alloc(m->max_length, sizeof *m->id_labels, status);
    return m->ids && m->id_labels &&
           (m->values = gb_model_input_values(m->model.folder, m->params, status)) &&
           start(m, device, status);
}

static void close_measurement(measurement *m)
{
    gb_executable_destroy(m->exec);
    gb_batch_free(&m->batch);
    gb_bert_free(&m->bert);
    gb_params_destroy(m->params);
    gb_vocab_destroy(m->vocab);
    gb_tokens_close(&m->tokens);
    gb_model_input_close(&m->model);
    free(m->values);
    free(m->ids);
    free(m->id_labels);
    free(m->selected);
    gb_selected_rows_free(&m->read);
}

bool gb_mlm_loss(gb_maker *maker, const gb_mlm_loss_params *params, gb_status *status)
{
    measurement m = {.o = params};
    uint32_t passages;
    gb_device *device = gb_maker_device(maker, status);
    bool ok = device && open_texts(&m, status) && open_model(&m, device, status) &&
              measure(&m, &passages, status);
    if (ok) {
        json_t *metrics = json_pack("{s:{s:f}}", "mlm:loss", "value", m.sum / (double)m.masked);
        json_object_set_new(maker->facts, "passages", json_integer(passages));
        json_object_set_new(maker->facts, "masked_tokens", json_integer((json_int_t)m.masked));
        ok = gb_maker_write_metrics(maker, metrics, status);
        json_decref(metrics);
    }
    close_measurement(&m);
    return ok;
}

/* In the words of gb_print_encoding_cost: the sample is encoded, nothing is asked. The output layer
 * counts as encoding: it runs for few of the tokens. */
bool gb_mlm_loss_cost(const gb_mlm_loss_params *params, gb_status *status)
{
    gb_model_input model = {0};
    gb_tokens tokens = {0};
    bool ok = gb_open_tokens(params->tokens, NULL, &tokens, status) &&
              gb_model_input_open(&model, params->model, &tokens, status);
    if (ok) {
        uint32_t count = (uint32_t)gb_row_file_count(tokens.passages);
        double flops =
            gb_encode_flops(&model.config, tokens.passages, NULL, count, tokens.max_passage);
        printf("sample=%u passages=%u queries=0 passage_flops=%.6g query_flops=0 width=0\n",
               params->passages, count, count ? flops / count : 0);
    }
    gb_tokens_close(&tokens);
    gb_model_input_close(&model);
    return ok;
}
