/* Language models being taught: gradients of whole models, a generator that learns to look at its
 * passage, resuming, and what it must never see. */
#include "../parity/trust.h"
#include "prompts.h"
#include "tiny.h"

#include <gabbro/querygen.h>

#include <math.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

/* Float32 against float64, relative to the largest gradient of a parameter. */
#define TOLERANCE 1e-5

/* ---- texts ---- */

/* Passages are fillers and one name; the query for one is a word for all of them, then the name:
 * who does not look at the passage can only guess it. */
enum { FILLERS = 10, NAMES = 20, FIRST = 5, WORD = FIRST + FILLERS + NAMES, VOCABULARY };
enum { LENGTH = 5, PAIRS = 512, FRESH = 16, MAX_LENGTH = LENGTH + 2, LONGEST_QUERY = 4 };

static uint32_t name_of(const gb_row_file *passages, uint32_t row)
{
    size_t length;
    const uint32_t *ids = gb_row_file_row(passages, row, &length);
    for (size_t i = 0; i < length; i++)
        if (ids[i] >= FIRST + FILLERS)
            return ids[i];
    return 0;
}

static void write_texts(void)
{
    gb_status status = {0};
    gb_row_writer *passages = gb_row_writer_open("tokens/passages.ids.gbt", 4, &status);
    gb_row_writer *queries = gb_row_writer_open("tokens/queries.ids.gbt", 4, &status);
    MUST(passages && queries);
    for (uint32_t p = 0; p < PAIRS + FRESH; p++) {
        gb_rng rng = gb_rng_make(9, GB_RNG_TEST, p, 0);
        uint32_t ids[LENGTH], length = LENGTH - gb_rng_below(&rng, 3);
        for (uint32_t i = 0; i < length; i++)
            ids[i] = FIRST + gb_rng_below(&rng, FILLERS);
        uint32_t query[] = {WORD, FIRST + FILLERS + gb_rng_below(&rng, NAMES)};
        ids[gb_rng_below(&rng, length)] = query[1];
        MUST(gb_row_writer_add(passages, ids, length, &status));
        MUST(gb_row_writer_add(queries, query, p % 3 ? 2 : 1, &status));
    }
    MUST(gb_row_writer_commit(passages, &status) && gb_row_writer_commit(queries, &status));
}

static gb_vocab *make_vocab(void)
{
    gb_status status = {0};
    gb_text text = {0};
    gb_text_printf(&text, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    for (uint32_t i = FIRST; i < VOCABULARY; i++)
        gb_text_printf(&text, "w%u\n", i);
    scratch_write("vocab.txt", text.data);
    gb_text_free(&text);
    gb_vocab *vocab = gb_vocab_load("vocab.txt", &status);
    MUST(vocab);
    return vocab;
}

/* ---- a model ---- */

/* A generator being taught; `m` is what the passes of tiny.h take. */
typedef struct writer {
    model m;         /* parameters and task */
    gb_lm lm;        /* the model */
    gb_vocab *vocab; /* words */
    gb_tokens texts; /* of all pairs */
    gb_qrels pairs;  /* the first of them */
} writer;

static gb_lm_config t5_config(void)
{
    return (gb_lm_config){.kind = GB_LM_T5,
                          .vocab_size = VOCABULARY,
                          .hidden_size = 24,
                          .head_dim = 8,
                          .heads = 3,
                          .kv_heads = 3,
                          .intermediate_size = 36,
                          .layers = 2,
                          .decoder_layers = 2,
                          .buckets = 8,
                          .farthest = 20,
                          .start_id = 0,
                          .end_id = 3,
                          .tied = true,
                          .eps = 1e-6};
}

static void writer_make(writer *w, const gb_lm_config *config, uint32_t pairs, uint32_t batch)
{
    gb_status status = {0};
    gb_lm_cache none = {0};
    *w = (writer){.vocab = make_vocab()};
    MUST(gb_make_dirs("tokens", &status));
    write_texts();
    MUST(w->texts.passages = gb_row_file_open("tokens/passages.ids.gbt", 4, &status));
    MUST(w->texts.queries = gb_row_file_open("tokens/queries.ids.gbt", 4, &status));
    MUST(w->pairs.rows = gb_alloc(pairs, sizeof *w->pairs.rows, &status));
    w->pairs.count = pairs;
    for (uint32_t i = 0; i < pairs; i++)
        w->pairs.rows[i] = (gb_qrel){i, i, 1};
    MUST(w->m.params = gb_params_create(&status));
    MUST(gb_lm_declare(w->m.params, config, &none, &w->lm, &status));
    gb_params_freeze(w->m.params);
    MUST(w->m.values = gb_alloc(gb_params_floats(w->m.params), sizeof(float), &status));
    gb_params_init(w->m.params, 3, w->m.values);
    gb_querygen_task_params settings = {batch, LONGEST_QUERY, MAX_LENGTH, 11};
    MUST(w->m.self =
             gb_querygen_task_create(&settings, &w->pairs, &w->texts, &w->lm, &w->m.task, &status));
}

static void writer_free(writer *w)
{
    gb_querygen_task_destroy(w->m.self);
    model_free(&w->m);
    gb_lm_free(&w->lm);
    gb_row_file_close(w->texts.passages);
    gb_row_file_close(w->texts.queries);
    gb_vocab_destroy(w->vocab);
    free(w->pairs.rows);
}

static gb_train_params train_params(const writer *w, uint32_t steps, double rate)
{
    return (gb_train_params){.params = w->m.params,
                             .config = &w->m.config,
                             .schedule = {GB_SCHEDULE_LINEAR, (float)rate, 0, steps / 10, steps},
                             .adamw = {.9f, .999f, 1e-8f, 0},
                             .max_norm = 1,
                             .max_length = MAX_LENGTH,
                             .label = "test"};
}

/* ---- gradients ---- */

/* differences: of the reference too; a ReLU has corners. */
static void check_gradients(const char *name, const gb_lm_config *config, bool differences)
{
    scratch s = scratch_enter();
    writer w;
    writer_make(&w, config, 7, 5);
    gb_device *device = tiny_device(GB_USER_GENERATE | GB_USER_TRAIN_LM);
    pass p = compare_pass_make(&w.m, device, 1, 0),
         larger = compare_pass_make(&w.m, device, 1, 192);
    size_t bytes = gb_params_floats(w.m.params) * sizeof(double);
    double *start = malloc(bytes);
    memcpy(start, gb_reference_arena(p.reference, GB_ARENA_PARAMS), bytes);
    gb_reference_run(p.reference);
    double wanted = *gb_reference_f(p.reference, p.losses[0]);
    cr_expect_float_eq(p.loss[0], wanted, 2e-6 * wanted, "%.9g, not %.9g", p.loss[0], wanted);
    cr_expect_float_eq(larger.loss[0], wanted, 2e-6 * wanted,
                       "with more rows to fill %.9g, not %.9g", larger.loss[0], wanted);
    const double *gradients = gb_reference_arena(p.reference, GB_ARENA_GRADS);
    double worst = fmax(worst_gradient(w.m.params, p.gradients, gradients),
                        worst_gradient(w.m.params, larger.gradients, gradients));
    char what[100];
    snprintf(what, sizeof what, "%s: gradient of every parameter, %s kernels", name,
             gb_kernel_profile_name(gb_device_get_caps(device)->profile));
    trust(what, "float64 reference", worst, TOLERANCE);
    if (differences)
        check_differences(&p, w.m.params, start);
    free(start);
    compare_pass_free(&p);
    compare_pass_free(&larger);
    tiny_device_close(device);
    writer_free(&w);
    scratch_leave(&s);
}

Test(querygen, t5)
{
    gb_lm_config config = t5_config();
    check_gradients("T5 v1.0", &config, false);
}

Test(querygen, t5_gated)
{
    gb_lm_config config = t5_config();
    config.act = GB_LM_GELU_TANH;
    config.gated = true;
    config.tied = false;
    config.decoder_layers = 1;
    check_gradients("T5 v1.1", &config, true);
}

Test(querygen, llama)
{
    gb_lm_config config = t5_config();
    config.kind = GB_LM_LLAMA;
    config.layers = 0;
    config.heads = 4;
    config.kv_heads = 2;
    config.act = GB_LM_SILU;
    config.gated = true;
    config.theta = 1000;
    config.max_positions = 64;
    check_gradients("LLaMA", &config, true);
}

/* ---- learning ---- */

/* Greedy queries of the passages behind those of the pairs: how many have the passage's name. */
static uint32_t names_found(const writer *w, gb_device *device)
{
    enum { NEW = LONGEST_QUERY };
    gb_status status = {0};
    gb_generator *generator = gb_generator_create(device, "model", FRESH, MAX_LENGTH, NEW, &status);
    MUST(generator);
    uint32_t ids[FRESH * MAX_LENGTH], starts[FRESH + 1] = {0}, number[FRESH], rows = 0;
    uint32_t made[FRESH][NEW], counts[FRESH], found = 0;
    for (uint32_t i = 0; i < FRESH; i++) {
        size_t length;
        const uint32_t *text = gb_row_file_row(w->texts.passages, PAIRS + i, &length);
        for (size_t k = 0; k < length; k++)
            ids[rows++] = text[k];
        ids[rows++] = w->lm.config.end_id;
        starts[i + 1] = rows;
        number[i] = i;
    }
    prompts texts = {ids, starts, number, number, FRESH};
    MUST(
        generate_texts(generator, &texts, &(gb_sampling_params){0}, NEW, made[0], counts, &status));
    for (uint32_t i = 0; i < FRESH; i++)
        found += counts[i] >= 2 && made[i][0] == WORD &&
                 made[i][1] == name_of(w->texts.passages, PAIRS + i);
    gb_generator_destroy(generator);
    return found;
}

/* Through the folder that transformers would read. */
Test(querygen, looks_at_the_passage)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    writer w;
    gb_lm_config config = t5_config();
    config.layers = config.decoder_layers = 1;
    writer_make(&w, &config, PAIRS, 16);
    gb_device *device = tiny_device(GB_USER_GENERATE | GB_USER_TRAIN_LM);
    gb_train_params how = train_params(&w, 240, .01);
    gb_train_result result;
    MUST(gb_train(device, &w.m.task, &how, w.m.values, NULL, &result, &status));
    gb_qrel fresh[FRESH];
    for (uint32_t i = 0; i < FRESH; i++)
        fresh[i] = (gb_qrel){PAIRS + i, PAIRS + i, 1};
    gb_qrels held_out = {fresh, FRESH};
    gb_querygen_task_params settings = {5, LONGEST_QUERY, MAX_LENGTH,
                                        11}; /* the last batch is smaller */
    gb_task task;
    void *self = gb_querygen_task_create(&settings, &held_out, &w.texts, &w.lm, &task, &status);
    double loss, unigram;
    MUST(self);
    MUST(gb_querygen_loss(device, self, w.m.params, w.m.values, &loss, &status));
    MUST(gb_querygen_unigram_loss(&w.pairs, &held_out, &w.texts, &config, &unigram, &status));
    cr_expect_lt(loss, .5 * unigram, "held-out loss %g, of frequencies alone %g", loss, unigram);
    MUST(gb_lm_save("model", &config, w.m.params, w.m.values, w.vocab, MAX_LENGTH, &status));
    uint32_t found = names_found(&w, device);
    cr_expect_geq(found, FRESH / 2, "%u of %d names, %d would be chance", found, FRESH,
                  FRESH / NAMES);
    gb_querygen_task_destroy(self);
    tiny_device_close(device);
    writer_free(&w);
    scratch_leave(&s);
}

/* The loss that is measured is the one that is trained, and the frequencies are counted right. */
Test(querygen, losses_agree)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    writer w;
    gb_lm_config config = t5_config();
    writer_make(&w, &config, 6, 6);
    gb_device *device = tiny_device(GB_USER_GENERATE | GB_USER_TRAIN_LM);
    gb_train_params how = train_params(&w, 1, .01);
    float *gradients = gb_alloc(gb_params_floats(w.m.params), sizeof *gradients, &status);
    double trained[GB_MAX_LOSSES], measured, unigram;
    uint64_t bytes;
    MUST(gb_train_gradient(device, &w.m.task, &how, w.m.values, 0, gradients, trained, &bytes,
                           &status));
    MUST(gb_querygen_loss(device, w.m.self, w.m.params, w.m.values, &measured, &status));
    cr_expect_float_eq(measured, trained[0], 1e-6 * measured, "%g and %g", measured, trained[0]);
    /* Two queries of one word, four with a name: 6 ends, 6 words, the names once or more. */
    MUST(gb_querygen_unigram_loss(&w.pairs, &w.pairs, &w.texts, &config, &unigram, &status));
    double all = 16 + VOCABULARY, sum = 12 * log(all / 7);
    for (uint32_t i = 0; i < 6; i++) {
        uint32_t same = 0;
        for (uint32_t k = 0; k < 6; k++)
            same += k % 3 && name_of(w.texts.passages, k) == name_of(w.texts.passages, i);
        sum += i % 3 ? log(all / (same + 1)) : 0;
    }
    cr_expect_float_eq(unigram, sum / 16, 1e-9);
    free(gradients);
    tiny_device_close(device);
    writer_free(&w);
    scratch_leave(&s);
}

/* ---- stopping and going on ---- */

enum { STEPS = 12 };

/* Parameters after a training, killed at a step in a process of its own, or not at all (STEPS). */
static float *train_writer(uint32_t killed_at, bool resume, uint64_t *floats, uint32_t *resumed_at)
{
    gb_status status = {0};
    writer w;
    gb_lm_config config = t5_config();
    writer_make(&w, &config, 20, 6);
    watched watch = {w.m.task, killed_at < STEPS ? SIGKILL : 0, killed_at};
    gb_task task = watched_task(&watch);
    gb_device *device = tiny_device(GB_USER_GENERATE | GB_USER_TRAIN_LM);
    gb_train_params how = train_params(&w, STEPS, .01);
    how.resume_dir = resume ? "resume" : NULL;
    how.checkpoint_s = killed_at < STEPS ? 1e-9 : 0; /* after every step */
    gb_train_result result;
    MUST(gb_train(device, &task, &how, w.m.values, NULL, &result, &status));
    float *values = w.m.values;
    *floats = gb_params_floats(w.m.params);
    *resumed_at = result.resumed_at;
    w.m.values = NULL;
    tiny_device_close(device);
    writer_free(&w);
    return values;
}

Test(querygen, goes_on_after_a_kill)
{
    scratch s = scratch_enter();
    uint64_t floats, differ = 0;
    uint32_t resumed_at;
    fflush(NULL);
    pid_t child = fork();
    cr_assert_neq(child, -1);
    if (child == 0) {
        train_writer(7, true, &floats, &resumed_at);
        _exit(0);
    }
    int result;
    cr_assert_eq(waitpid(child, &result, 0), child);
    cr_assert(WIFSIGNALED(result) && WTERMSIG(result) == SIGKILL, "ended with %x",
              (unsigned)result);
    float *resumed = train_writer(STEPS, true, &floats, &resumed_at);
    cr_expect_eq(resumed_at, 7);
    float *whole = train_writer(STEPS, false, &floats, &resumed_at);
    for (uint64_t i = 0; i < floats; i++)
        differ += memcmp(&whole[i], &resumed[i], sizeof *whole) != 0;
    trust("a generator's training killed and resumed: values with other bits",
          "the undisturbed one", (double)differ, 0);
    free(resumed);
    free(whole);
    scratch_leave(&s);
}

/* ---- what is learned from ---- */

static bool has_query(const gb_qrels *pairs, const gb_collection *c, const char *id)
{
    bool found = false;
    for (size_t i = 0; i < pairs->count; i++) {
        size_t length;
        const char *its = gb_row_file_row(c->query_ids, pairs->rows[i].query, &length);
        found |= length == strlen(id) && !memcmp(its, id, length);
    }
    return found;
}

/* Neither a query of an evaluation split nor another one with its text. */
Test(querygen, never_sees_queries_of_other_splits)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    scratch_write("beir/corpus.jsonl", "{\"_id\": \"p1\", \"title\": \"\", \"text\": \"one\"}\n"
                                       "{\"_id\": \"p2\", \"title\": \"\", \"text\": \"two\"}\n"
                                       "{\"_id\": \"p3\", \"title\": \"\", \"text\": \"three\"}\n"
                                       "{\"_id\": \"p4\", \"title\": \"\", \"text\": \"four\"}\n");
    scratch_write("beir/queries.jsonl", "{\"_id\": \"q1\", \"text\": \"first\"}\n"
                                        "{\"_id\": \"q2\", \"text\": \"asked twice\"}\n"
                                        "{\"_id\": \"q3\", \"text\": \"asked twice\"}\n"
                                        "{\"_id\": \"q4\", \"text\": \"in both\"}\n"
                                        "{\"_id\": \"q5\", \"text\": \"last\"}\n");
    scratch_write("beir/qrels/train.tsv", "query-id\tcorpus-id\tscore\nq1\tp1\t1\nq1\tp2\t1\n"
                                          "q2\tp2\t1\nq4\tp3\t1\nq5\tp4\t1\nq5\tp1\t0\n");
    scratch_write("beir/qrels/dev.tsv", "query-id\tcorpus-id\tscore\nq3\tp3\t1\nq4\tp3\t1\n");
    gb_import_params import = GB_IMPORT_DEFAULTS;
    import.path = "beir";
    gb_log_set_level(GB_LOG_WARN);
    MUST(gb_collection_import(&import, "collection", &status));
    gb_collection *c = gb_collection_open("collection", &status);
    MUST(c);
    gb_querygen_pairs set;
    MUST(gb_querygen_pairs_make(&set, c, 0, 0, 42, &status));
    cr_expect_eq(set.refused, 2);
    cr_expect_eq(set.train.count, 3);
    cr_expect_eq(set.held_out.count, 0);
    cr_expect(has_query(&set.train, c, "q1") && has_query(&set.train, c, "q5"));
    gb_querygen_pairs_free(&set);
    /* Held out: a passage, and all queries that it answers. */
    MUST(gb_querygen_pairs_make(&set, c, .5, 0, 42, &status));
    cr_expect_gt(set.held_out.count, 0);
    for (size_t i = 0; i < set.train.count; i++)
        for (size_t k = 0; k < set.held_out.count; k++) {
            cr_expect_neq(set.train.rows[i].passage, set.held_out.rows[k].passage);
            cr_expect_neq(set.train.rows[i].query, set.held_out.rows[k].query);
        }
    gb_querygen_pairs_free(&set);
    MUST(gb_querygen_pairs_make(&set, c, 0, 1, 42, &status));
    cr_expect(has_query(&set.train, c, "q1") != has_query(&set.train, c, "q5"));
    gb_querygen_pairs_free(&set);
    gb_collection_close(c);
    scratch_leave(&s);
}
