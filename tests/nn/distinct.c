/* Fine-tuning in batches without duplicates: what is drawn, and a training that is killed. */
#include "../../src/finetune/private.h"
#include "../parity/trust.h"
#include "tiny.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { QUERIES = 11, POOL = 4, BATCH = 3, EPOCHS = 4 };

/* What is trained on: query q has one positive, and a pool that others share. */
typedef struct fixture {
    scratch place;                      /* where they lie */
    tiny t;                             /* texts */
    gb_training_query queries[QUERIES]; /* of the set */
    uint32_t passages[QUERIES * POOL];  /* of the set */
    gb_training_set set;                /* both */
    gb_text_hashes texts;               /* by which texts are equal */
    gb_bert bert;                       /* encoder, once there is one */
    gb_finetune_params params;          /* of the task */
    gb_finetune_data data;              /* likewise */
    gb_distinct found;                  /* of all epochs */
} fixture;

static void make(fixture *f)
{
    gb_status status = {0};
    *f = (fixture){.place = scratch_enter()};
    f->t = tiny_make();
    uint32_t rows = (uint32_t)gb_row_file_count(f->t.tokens.queries);
    for (uint32_t q = 0; q < QUERIES; q++) {
        f->queries[q] = (gb_training_query){q % rows, q * POOL, 1, q * POOL + 1, POOL - 1};
        for (uint32_t p = 0; p < POOL; p++)
            f->passages[q * POOL + p] = (q + 3 * p) % f->t.collection->passages;
    }
    f->set = (gb_training_set){.queries = f->queries, .count = QUERIES, .passages = f->passages};
    MUST(gb_text_hashes_make(&f->texts, &f->t.tokens, &status));
    f->params = (gb_finetune_params){.batch = BATCH,
                                     .negatives = 1,
                                     .max_query_length = 12,
                                     .max_passage_length = TINY_LONGEST,
                                     .seed = 5};
    f->data = (gb_finetune_data){.set = &f->set,
                                 .tokens = &f->t.tokens,
                                 .vocab = f->t.vocab,
                                 .bert = &f->bert,
                                 .distinct = &f->texts};
    MUST(gb_finetune_distinct(&f->params, &f->data, EPOCHS, &f->found, &status));
    f->params.steps = f->found.steps;
}

static void free_fixture(fixture *f)
{
    gb_text_hashes_free(&f->texts);
    tiny_free(&f->t);
    scratch_leave(&f->place);
}

/* ---- what is drawn ---- */

static finetune_drawer drawer_of(const fixture *f, const gb_finetune_params *params)
{
    gb_status status = {0};
    finetune_drawer d = {.params = params, .data = f->data, .scoring = gb_scorings[0]};
    MUST(finetune_drawer_make(&d, &status));
    return d;
}

/* Texts of the drawn batch: a query's, then those of its passages, query by query. */
static uint32_t texts_of(const fixture *f, const finetune_drawer *d, uint64_t *texts)
{
    const gb_training_batch *b = &d->batch;
    uint32_t count = 0;
    for (uint32_t q = 0; q < b->queries; q++) {
        texts[count++] = f->texts.queries[b->rows[q]];
        for (uint32_t p = 0; p < b->per_query; p++)
            texts[count++] = f->texts.passages[b->rows[b->queries + q * b->per_query + p]];
    }
    return count;
}

/* Equal texts of different queries. */
static uint32_t copies_of(const fixture *f, const finetune_drawer *d)
{
    uint64_t texts[BATCH * 3];
    uint32_t count = texts_of(f, d, texts), copies = 0;
    for (uint32_t a = 0; a < count; a++)
        for (uint32_t b = 0; b < a; b++)
            copies += a / 3 != b / 3 && texts[a] == texts[b];
    return copies;
}

Test(distinct, no_text_is_twice_in_a_batch)
{
    gb_status status = {0};
    fixture f;
    make(&f);
    finetune_drawer d = drawer_of(&f, &f.params), freely = drawer_of(&f, &f.params);
    freely.data.distinct = NULL;
    uint32_t seen[EPOCHS][QUERIES] = {{0}}, left = 0, copies = 0;
    for (uint32_t step = 0; step < f.found.steps; step++) {
        MUST(finetune_draw(&d, step, &status));
        cr_expect_eq(copies_of(&f, &d), 0, "step %u", step);
        cr_assert_lt(d.distinct.epoch, EPOCHS);
        for (uint32_t q = 0; q < BATCH; q++)
            seen[d.distinct.epoch][d.drawn[q] - f.queries]++;
        MUST(finetune_draw(&freely, step, &status));
        copies += copies_of(&f, &freely);
    }
    for (uint32_t i = 0; i < EPOCHS * QUERIES; i++) {
        uint32_t visits = seen[i / QUERIES][i % QUERIES];
        cr_expect_leq(visits, 1, "epoch %u, query %u", i / QUERIES, i % QUERIES);
        left += !visits;
    }
    cr_expect_gt(copies, 0, "drawn freely, there are none either");
    cr_expect_gt(f.found.put_off, 0);
    cr_expect_eq(left, f.found.left_out);
    cr_expect_geq(left, EPOCHS * (QUERIES % BATCH));
    finetune_drawer_free(&d);
    finetune_drawer_free(&freely);
    free_fixture(&f);
}

/* Whichever steps were drawn before, the first or the last. */
Test(distinct, a_batch_follows_from_seed_and_step)
{
    gb_status status = {0};
    fixture f;
    make(&f);
    gb_finetune_params other = f.params;
    other.seed++;
    finetune_drawer d = drawer_of(&f, &f.params), e = drawer_of(&f, &f.params),
                    o = drawer_of(&f, &other);
    size_t bytes = sizeof *d.batch.rows * BATCH * 3;
    uint32_t last = f.found.steps - 1, different = 0;
    for (uint32_t step = 0; step <= last; step++) {
        MUST(finetune_draw(&d, step, &status));
        MUST(finetune_draw(&e, last - step, &status));
        MUST(finetune_draw(&e, step, &status));
        cr_expect_arr_eq(e.batch.rows, d.batch.rows, bytes, "step %u", step);
        MUST(finetune_draw(&o, step, &status));
        different += memcmp(o.batch.rows, d.batch.rows, bytes) != 0;
    }
    cr_expect_gt(different, 0);
    finetune_drawer_free(&d);
    finetune_drawer_free(&e);
    finetune_drawer_free(&o);
    free_fixture(&f);
}

Test(distinct, says_that_there_is_no_batch)
{
    gb_status status = {0};
    fixture f;
    make(&f);
    f.params.batch = 7; /* of 21 texts, of 13 passages and their queries */
    f.params.negatives = 2;
    cr_expect_not(gb_finetune_distinct(&f.params, &f.data, 1, &f.found, &status));
    cr_expect_eq(status.code, GB_DATA);
    cr_expect_str_eq(status.hint, "give a smaller --batch, or fewer --negatives-per-query");
    free_fixture(&f);
}

/* ---- killed ---- */

typedef struct outcome {
    gb_train_result result;        /* of the training */
    uint64_t floats;               /* of values */
    float *values;                 /* parameters afterwards */
    double log[64][GB_MAX_LOSSES]; /* losses of its steps */
} outcome;

/* Trains a tiny model; a SIGKILL is raised at a step, 0: not. */
static outcome train(const fixture *f, const char *resume_dir, uint32_t kill_at)
{
    gb_status status = {0};
    outcome o = {0};
    gb_bert_config config = tiny_config(&f->t, 16, 32, .1);
    gb_task task;
    gb_finetune_data data = f->data;
    gb_bert bert;
    gb_params *params = gb_params_create(&status);
    data.bert = &bert;
    MUST(params && gb_bert_declare(params, &config, false, &bert, &status));
    void *self = gb_finetune_create(&f->params, &data, params, &task, &status);
    MUST(self);
    gb_params_freeze(params);
    o.floats = gb_params_floats(params);
    MUST(o.values = gb_alloc(o.floats, sizeof *o.values, &status));
    gb_params_init(params, 7, o.values);
    watched w = {.inner = task, .signal = kill_at ? SIGKILL : 0, .at = kill_at};
    gb_task watch = watched_task(&w);
    cr_assert_leq(f->found.steps, 64);
    const gb_train_params how = {.params = params,
                                 .config = &config,
                                 .schedule = {GB_SCHEDULE_LINEAR, .01f, 0, 2, f->found.steps},
                                 .adamw = {.9f, .999f, 1e-8f, .01f},
                                 .max_norm = 1,
                                 .max_length = TINY_LONGEST,
                                 .label = "test",
                                 .resume_dir = resume_dir,
                                 .checkpoint_s = kill_at ? 1e-9 : 0};
    gb_device *device = tiny_device(GB_USER_TRAIN);
    MUST(gb_train(device, &watch, &how, o.values, o.log, &o.result, &status));
    gb_finetune_destroy(self);
    gb_bert_free(&bert);
    gb_params_destroy(params);
    tiny_device_close(device);
    return o;
}

Test(distinct, goes_on_after_a_kill)
{
    fixture f;
    make(&f);
    uint32_t at = f.found.steps / 2 + 1; /* in a later epoch */
    fflush(NULL);
    pid_t child = fork();
    cr_assert_neq(child, -1);
    if (child == 0) {
        train(&f, "resume", at);
        _exit(0);
    }
    int end;
    cr_assert_eq(waitpid(child, &end, 0), child);
    cr_assert(WIFSIGNALED(end) && WTERMSIG(end) == SIGKILL, "ended with %x", (unsigned)end);
    outcome resumed = train(&f, "resume", 0), whole = train(&f, NULL, 0);
    cr_expect_eq(resumed.result.resumed_at, at);
    cr_assert_eq(resumed.floats, whole.floats);
    uint64_t differ = 0;
    for (uint64_t i = 0; i < whole.floats; i++)
        differ += memcmp(&resumed.values[i], &whole.values[i], sizeof *whole.values) != 0;
    for (uint32_t step = 0; step < f.found.steps; step++)
        differ += resumed.log[step][0] != whole.log[step][0];
    char against[100];
    snprintf(against, sizeof against, "the undisturbed one (%llu values)",
             (unsigned long long)(whole.floats + f.found.steps));
    trust("a fine-tuning without duplicates, killed and resumed: values with other bits", against,
          (double)differ, 0);
    free(resumed.values);
    free(whole.values);
    free_fixture(&f);
}
