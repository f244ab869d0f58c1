/* Weights of the words of a collection's passages by a model that was trained for it (DeepCT). */
#include <gabbro/artifact.h>
#include <gabbro/train.h>
#include <gabbro/os.h>

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define BATCH_ROWS      2048 /* tokens of a batch */
#define BATCH_SEQUENCES 128  /* passages of a batch */

/* A collection being weighed. */
typedef struct weighing {
    const gb_word_weights_params *o; /* by which model, and how */
    gb_collection *collection;       /* ids of the passages */
    gb_tokens tokens;                /* passages */
    gb_model_input model;            /* encoder */
    gb_params *params;               /* of the model */
    gb_bert bert;                    /* of the model */
    uint32_t weight, bias;           /* of the words' weights */
    float *values;                   /* parameters */
    gb_executable *exec;             /* forward pass */
    gb_tensor weights;               /* [rows, 1] of the tokens */
    uint32_t max_length, max_rows;   /* tokens of a passage; of a batch */
    gb_batch batch;                  /* batch being filled */
    uint32_t first, count;           /* passages of this rank */
    uint32_t done;                   /* of them written */
    uint32_t *starts;                /* scratch: [max_length] of words */
    gb_text word, line;              /* scratch */
    FILE *kept;                      /* lines so far, from which a killed command goes on */
    gb_progress progress;            /* in passages */
} weighing;

static bool build(void *self, gb_tape *tape, gb_status *status)
{
    weighing *w = self;
    (void)status;
    gb_builder builder = gb_builder_forward(tape, &w->bert.config, w->max_length);
    w->max_rows = BATCH_ROWS > w->max_length ? BATCH_ROWS : gb_bucket_rows(w->max_length);
    gb_batch_inputs in =
        gb_batch_declare(&builder, &w->bert.config, w->max_rows, BATCH_SEQUENCES, &w->batch, 0);
    gb_tensor h = gb_bert_encode(&builder, &w->bert, &in, 0, NULL);
    w->weights = gb_linear(tape, h, gb_tape_param(tape, w->weight), gb_tape_param(tape, w->bias),
                           false, GB_NO_TENSOR);
    gb_tape_output(tape, w->weights);
    return true;
}

/* ---- a passage ---- */

/* Its words' frequencies: the weight of the first piece times the scale, rounded; of a word that
 * occurs several times the largest. */
static bool weigh_words(weighing *w, const uint32_t *ids, uint32_t length, const float *weights,
                        uint32_t ld, json_t *words, gb_status *status)
{
    uint32_t count = gb_word_starts(w->model.vocab, ids, length, w->starts);
    for (uint32_t i = 0; i < count; i++) {
        uint32_t start = w->starts[i];
        double scaled = (double)weights[(size_t)start * ld] * w->o->scale;
        if (!(scaled >= 1) || gb_vocab_is_special(w->model.vocab, ids[start]))
            continue;
        w->word.length = 0;
        gb_word_text(w->model.vocab, ids, start, w->starts[i + 1], &w->word);
        if (w->word.failed)
            return gb_fail_memory(status, "reading words");
        json_int_t frequency = (json_int_t)fmin(round(scaled), GB_WORD_WEIGHT_MAX),
                   before = json_integer_value(json_object_get(words, w->word.data));
        if (frequency > before &&
            json_object_set_new_nocheck(words, w->word.data, json_integer(frequency)) != 0)
            return gb_fail_memory(status, "weighing words");
    }
    return true;
}

/* A line {"id": "p1", "contents": "", "vector": {"word": 12}}. */
static bool write_passage(weighing *w, const uint32_t *ids, uint32_t length, const float *weights,
                          uint32_t ld, gb_status *status)
{
    size_t id_length;
    const char *id = gb_row_file_row(w->collection->passage_ids, w->first + w->done, &id_length);
    json_t *words = json_object(), *line = json_object();
    bool ok = weigh_words(w, ids, length, weights, ld, words, status);
    json_object_set_new(line, "id", json_stringn(id, id_length));
    json_object_set_new(line, "contents", json_string(""));
    json_object_set(line, "vector", words);
    w->line.length = 0;
    ok = ok && gb_json_print(line, JSON_COMPACT | GB_JSON_NEWLINE, &w->line, status);
    if (ok)
        fwrite(w->line.data, 1, w->line.length, w->kept);
    json_decref(words);
    json_decref(line);
    w->done++;
    return ok;
}

/* ---- all of them ---- */

/* Opens what an earlier command of as many ranks wrote, behind its last whole line: a line a
 * passage. */
static bool resume(weighing *w, const char *path, gb_status *status)
{
    char *line = NULL;
    size_t space = 0;
    int64_t length;
    off_t whole = 0;
    w->kept = gb_os_fopen(path, "a+b");
    while (w->kept && (length = gb_read_line(w->kept, &line, &space)) > 0 &&
           line[length - 1] == '\n') {
        whole += length;
        w->done++;
    }
    free(line);
    return (w->kept && w->done <= w->count && ftruncate(fileno(w->kept), whole) == 0 &&
            fseek(w->kept, 0, SEEK_END) == 0) ||
           gb_fail(status, GB_DATA, path, "check the store, or remove this file",
                   "what was written before cannot be gone on with");
}

static bool flush(weighing *w, gb_status *status)
{
    const gb_batch *batch = &w->batch;
    uint64_t ticket;
    if (!batch->count)
        return true;
    if (!gb_not_interrupted(NULL, status) || !gb_executable_submit(w->exec, 0, &ticket, status))
        return false;
    uint32_t ld = gb_tape_tensor(gb_executable_tape(w->exec), w->weights)->ld;
    const float *weights = gb_executable_output(w->exec, ticket, w->weights, status);
    bool ok = weights != NULL;
    for (uint32_t p = 0; ok && p < batch->count; p++) { /* between [CLS] and [SEP] */
        uint32_t first = batch->starts[p] + 1, length = batch->starts[p + 1] - first - 1;
        ok = write_passage(w, batch->ids + first, length, weights + (size_t)first * ld, ld, status);
    }
    gb_batch_reset(&w->batch);
    if (ok && (fflush(w->kept) != 0 || ferror(w->kept)))
        ok = gb_fail(status, GB_DATA, NULL, "is the disk full?", "cannot write weights of words");
    gb_progress_update(&w->progress, w->done, NULL);
    return ok;
}

static bool weigh(weighing *w, gb_status *status)
{
    gb_special_ids specials = gb_vocab_specials(w->model.vocab);
    gb_progress_begin(&w->progress, "weigh words", "passages", w->count, w->done);
    bool ok = true;
    for (uint32_t p = w->done; ok && p < w->count; p++) {
        size_t length;
        const uint32_t *ids = gb_row_file_row(w->tokens.passages, w->first + p, &length);
        uint32_t rows = length + 2 > w->max_length ? w->max_length : (uint32_t)length + 2;
        if (w->batch.rows + rows > w->max_rows || w->batch.count == BATCH_SEQUENCES)
            ok = flush(w, status);
        ok = ok && gb_batch_add(&w->batch, &specials, ids, NULL, length, w->max_length, status);
    }
    ok = ok && flush(w, status);
    if (ok)
        gb_progress_end(&w->progress, w->done, NULL);
    return ok;
}

/* What a rank writes; caller frees. */
static char *part_of(const gb_maker *maker, uint32_t rank, gb_status *status)
{
    return gb_maker_rank_file(maker, "words.jsonl", rank, status);
}

static bool append_part(const gb_maker *maker, uint32_t rank, FILE *to, gb_status *status)
{
    char *path = part_of(maker, rank, status), buffer[1 << 14];
    FILE *from = path ? gb_os_fopen(path, "rb") : NULL;
    size_t length;
    while (from && (length = fread(buffer, 1, sizeof buffer, from)) > 0)
        fwrite(buffer, 1, length, to);
    bool ok = from && !ferror(from);
    if (from)
        fclose(from);
    if (path && !ok)
        gb_fail(status, GB_DATA, path, "check the disk", "cannot read what a rank wrote");
    free(path);
    return ok;
}

/* The lines of all ranks in their order, once all have written theirs. */
static bool join_parts(gb_maker *maker, gb_status *status)
{
    if (!gb_maker_wait(maker, status))
        return false;
    if (!gb_maker_leads(maker))
        return true;
    char *path = gb_maker_file(maker, "vectors.jsonl", status);
    gb_out *out = path ? gb_out_open(path, status) : NULL;
    bool ok = out != NULL;
    for (uint32_t r = 0; ok && r < gb_ranks_count(maker->ranks); r++)
        ok = append_part(maker, r, gb_out_stream(out), status);
    if (ok)
        ok = gb_out_commit(out, status);
    else
        gb_out_abandon(out);
    free(path);
    return ok;
}

/* ---- the model ---- */

static bool open_inputs(weighing *w, gb_status *status)
{
    const gb_word_weights_params *o = w->o;
    if (!(w->collection = gb_open_collection(o->collection, status)) ||
        !gb_open_tokens(o->tokens, w->collection, &w->tokens, status) ||
        !gb_model_input_open(&w->model, o->model, &w->tokens, status))
        return false;
    return gb_folder_has(w->model.folder, "term_weight.weight") ||
           gb_fail(status, GB_DATA, o->model, "train one: gabbro pretrain deepct",
                   "the model makes no weights of words");
}

static bool open_model(weighing *w, gb_status *status)
{
    w->max_length = w->tokens.max_passage;
    return (w->params = gb_params_create(status)) &&
           gb_bert_declare(w->params, &w->model.config, false, &w->bert, status) &&
           gb_word_weights_declare(w->params, &w->model.config, &w->weight, &w->bias, status) &&
           (w->values = gb_model_input_values(w->model.folder, w->params, status)) &&
           (w->starts = gb_alloc((size_t)w->max_length + 1, sizeof *w->starts, status));
}

static void close_all(weighing *w)
{
    gb_executable_destroy(w->exec);
    gb_batch_free(&w->batch);
    if (w->params)
        gb_bert_free(&w->bert);
    gb_params_destroy(w->params);
    free(w->values);
    free(w->starts);
    gb_text_free(&w->word);
    gb_text_free(&w->line);
    gb_model_input_close(&w->model);
    gb_tokens_close(&w->tokens);
    gb_collection_close(w->collection);
}

bool gb_word_weights(gb_maker *maker, const gb_word_weights_params *params, gb_status *status)
{
    weighing w = {.o = params};
    bool ok = open_inputs(&w, status) && open_model(&w, status);
    if (ok)
        gb_ranks_range(gb_ranks_rank(maker->ranks), gb_ranks_count(maker->ranks),
                       (uint32_t)gb_row_file_count(w.tokens.passages), &w.first, &w.count);
    const gb_executable_params program = {.name = "weigh words",
                                          .device = ok ? gb_maker_device(maker, status) : NULL,
                                          .params = w.params,
                                          .values = w.values,
                                          .build = build,
                                          .self = &w};
    char *kept = part_of(maker, gb_ranks_rank(maker->ranks), status);
    ok = ok && kept && program.device && (w.exec = gb_executable_build(&program, status)) &&
         resume(&w, kept, status) && weigh(&w, status) && join_parts(maker, status);
    if (w.kept)
        fclose(w.kept);
    free(kept);
    close_all(&w);
    return ok;
}
