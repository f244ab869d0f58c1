/* Every allocation, file operation and Vulkan call of a small job fails in turn: each time a clear
 * message of the right kind, nothing half-written, and what stood before still loads. Leaks are for
 * the build with sanitizers. A stride through the calls; GABBRO_FAULTS=all takes every one. */
#include "../parity/trust.h"
#include "tiny.h"

#include <dirent.h>
#include <gabbro/folder.h>
#include <gabbro/retrieve.h>
#include <jansson.h>

#define MANY 100000 /* calls of a job at most */

/* ---- walking ---- */

typedef struct job {
    const char *name;                         /* for messages */
    bool (*run)(void *self, gb_status *);     /* the whole job, from nothing */
    void (*check)(void *self, bool finished); /* what must hold behind it */
    void *self;                               /* data of both */
} job;

/* jansson, were it short of memory, would take that for damaged text. */
static bool check_status(const job *j, int n, const gb_status *status)
{
    gb_code wanted = gb_fault_seen() == GB_FAULT_FILE ? GB_DATA : GB_MEMORY;
    bool right = status->code == wanted || (!gb_memory_check("", NULL) && status->code == GB_DATA);
    cr_expect(status->what[0], "%s, call %d: no message", j->name, n);
    cr_expect(right, "%s, call %d: code %d instead of %d: %s: %s", j->name, n, status->code, wanted,
              status->where, status->what);
    return right && status->what[0];
}

/* calls: about how many to look at; 0: all. */
static void walk(const job *j, int calls)
{
    const char *wish = getenv("GABBRO_FAULTS");
    bool all = wish && strcmp(wish, "all") == 0;
    json_set_alloc_funcs(gb_checked_malloc, free);
    gb_status status = {0};
    gb_fault_arm(MANY);
    MUST(j->run(j->self, &status));
    int whole = MANY - (int)gb_fault_left(), failed = 0, survived = 0, unclear = 0;
    j->check(j->self, true);
    int stride = all || calls == 0 || whole < calls ? 1 : whole / calls;
    for (int n = 1; n <= whole; n += stride) {
        status = (gb_status){0};
        gb_fault_arm((uint64_t)n);
        gb_memory_reset();
        bool ok = j->run(j->self, &status);
        unclear += !ok && !check_status(j, n, &status);
        gb_fault_arm(0);
        gb_memory_reset();
        failed += !ok;
        survived += ok;
        j->check(j->self, ok);
    }
    cr_expect_gt(failed, survived, "%s: only %d of %d failures were noticed", j->name, failed,
                 failed + survived);
    char what[120];
    snprintf(what, sizeof what, "%s: %d of %d calls fail in turn: not told clearly", j->name,
             failed + survived, whole);
    trust(what, "a message and the right code each, whole files", unclear, 0);
}

/* No drafts are left in a folder. */
static void expect_no_drafts(const char *folder)
{
    DIR *dir = opendir(folder);
    cr_assert_not_null(dir);
    for (struct dirent *entry; (entry = readdir(dir));)
        cr_expect(!strstr(entry->d_name, "draft") && !strstr(entry->d_name, "spool"),
                  "%s/%s is left", folder, entry->d_name);
    closedir(dir);
}

/* ---- training, its checkpoints, the model folder ---- */

typedef struct training {
    tiny t;                                       /* data */
    gb_bert_config config;                        /* model */
    char folder[GB_HASH_SIZE];                    /* of the model folder, once known */
    char first[GB_HASH_SIZE], last[GB_HASH_SIZE]; /* checkpoints behind steps 1 and 2 */
    bool resume;                                  /* start from the first */
    uint32_t steps;                               /* of the schedule */
} training;

static bool train(training *x, gb_device *device, gb_params *params, gb_bert *bert,
                  gb_status *status)
{
    tiny_params settings = tiny_settings();
    gb_pretrain_data data = tiny_data(&x->t);
    const gb_objective *objective = gb_objective_find("mlm");
    gb_own_settings own;
    gb_pretrain_params params_of = tiny_pretrain(&settings, objective, &own);
    gb_task task = {0};
    gb_train_result result;
    if (!gb_bert_declare(params, &x->config, true, bert, status))
        return false;
    void *self = objective->create(&params_of, &data, bert, params, &task, status);
    if (!self)
        return false;
    gb_params_freeze(params);
    gb_train_params how = {.params = params,
                           .config = &x->config,
                           .schedule = {GB_SCHEDULE_CONSTANT, .01f, 0, 0, x->steps},
                           .adamw = {.9f, .999f, 1e-8f, .01f},
                           .max_norm = 1,
                           .max_length = TINY_LONGEST,
                           .label = "test",
                           .resume_dir = "resume",
                           .checkpoint_s = 1e-9};
    gb_model_card card = {.title = "tiny", .what = "A test."};
    float *values = gb_alloc(gb_params_floats(params), sizeof *values, status);
    if (values)
        gb_params_init(params, 4, values);
    bool ok = values && gb_train(device, &task, &how, values, NULL, &result, status) &&
              gb_model_save("out/model", &x->config, params, values, x->t.vocab,
                            GB_TOKENIZER_DEFAULTS, TINY_SENTENCE, &card, status);
    free(values);
    objective->destroy(self);
    return ok;
}

static gb_config environment; /* read where a test begins */

static gb_device *open_device(gb_status *status)
{
    gb_device_params params = gb_ops_device(&environment, NULL);
    params.quiet = true;
    return gb_device_open(&params, status);
}

static bool training_run(void *self, gb_status *status)
{
    training *x = self;
    gb_device *device = open_device(status);
    gb_params *params = device ? gb_params_create(status) : NULL;
    gb_bert bert = {0};
    bool ok = params && train(x, device, params, &bert, status);
    gb_bert_free(&bert);
    gb_params_destroy(params);
    gb_device_close(device);
    return ok;
}

static void copy(const char *from, const char *to)
{
    size_t length;
    char *bytes = gb_read_file(from, &length, NULL);
    cr_assert(bytes && gb_write_file(to, bytes, length, NULL));
    free(bytes);
}

/* A checkpoint is there whole: that of the first or of the second step, or none yet. The model
 * folder is the former one or the new one, which has the same bytes. */
static void training_check(void *self, bool finished)
{
    training *x = self;
    char hash[GB_HASH_SIZE];
    bool there = gb_file_exists("resume/checkpoint");
    cr_assert(there || !(x->resume || finished), "the checkpoint is gone");
    if (there) {
        cr_assert(gb_hash_file("resume/checkpoint", hash, NULL));
        cr_assert(strcmp(hash, x->last) == 0 || (!finished && strcmp(hash, x->first) == 0),
                  "another checkpoint");
    }
    cr_assert(gb_hash_tree("out/model", hash, NULL));
    cr_assert_str_eq(hash, x->folder, "another model folder");
    expect_no_drafts("out");
    if (gb_dir_exists("resume"))
        expect_no_drafts("resume");
    if (x->resume)
        copy("first", "resume/checkpoint");
    else
        cr_assert(gb_remove_tree("resume", NULL));
}

static void walk_training(bool resume, int calls)
{
    scratch s = scratch_enter();
    environment = gb_config_read();
    environment.cache_home = s.path;
    gb_status status = {0};
    training x = {.t = tiny_make()};
    x.config = tiny_config(&x.t, 16, 32, .1);
    x.config.layers = 1;
    MUST(gb_make_dirs("out", &status));
    for (x.steps = 1;; x.steps++) {
        MUST(training_run(&x, &status));
        if (x.steps == 2)
            break;
        copy("resume/checkpoint", "first");
        MUST(gb_hash_file("first", x.first, &status));
        MUST(gb_remove_tree("resume", &status));
    }
    MUST(gb_hash_file("resume/checkpoint", x.last, &status));
    MUST(gb_hash_tree("out/model", x.folder, &status));
    MUST(gb_remove_tree("resume", &status));
    if (resume) {
        MUST(gb_make_dirs("resume", &status));
        copy("first", "resume/checkpoint");
    }
    x.resume = resume;
    walk(&(job){resume ? "resumed training" : "training", training_run, training_check, &x}, calls);
    tiny_free(&x.t);
    scratch_leave(&s);
}

Test(faults, training)
{
    walk_training(false, 40);
}

Test(faults, resumed_training)
{
    walk_training(true, 20);
}

/* ---- loading a model, encoding, searching ---- */

#define TEXTS 12
#define BEST  3

typedef struct searching {
    tiny t;                        /* data */
    model m;                       /* in the folder "model" */
    uint32_t rows[TEXTS * BEST];   /* found by the last run */
    uint32_t wanted[TEXTS * BEST]; /* found by the first one */
    bool known;                    /* wanted is */
} searching;

static bool search(searching *x, gb_device *device, gb_params *params, gb_bert *bert,
                   const gb_folder *folder, gb_status *status)
{
    if (!gb_bert_declare(params, gb_folder_config(folder), false, bert, status))
        return false;
    gb_params_freeze(params);
    uint32_t width = bert->config.hidden_size, count = TEXTS;
    float *values = gb_alloc(gb_params_floats(params), sizeof *values, status);
    float *vectors = gb_alloc((size_t)count * width, sizeof *vectors, status);
    float *scores = gb_alloc((size_t)count * BEST, sizeof *scores, status);
    const gb_encoder_params how = {.device = device,
                                   .bert = bert,
                                   .params = params,
                                   .values = values,
                                   .specials = gb_vocab_specials(x->t.vocab),
                                   .max_length = TINY_LONGEST};
    const gb_encode_rows rows = {.tokens = x->t.tokens.passages, .count = count};
    gb_vectors texts = {.rows = count, .width = width, .values = vectors};
    bool ok = values && vectors && scores && gb_model_load(folder, params, values, status) &&
              gb_encode(&how, &rows, vectors, status) &&
              gb_search(device, &texts, &texts, &(gb_search_params){.k = BEST, .quiet = true},
                        &(gb_found){x->rows, scores}, status);
    free(values);
    free(vectors);
    free(scores);
    return ok;
}

static bool searching_run(void *self, gb_status *status)
{
    gb_folder *folder = gb_folder_open("model", status);
    gb_device *device = folder ? open_device(status) : NULL;
    gb_params *params = device ? gb_params_create(status) : NULL;
    gb_bert bert = {0};
    bool ok = params && search(self, device, params, &bert, folder, status);
    gb_bert_free(&bert);
    gb_params_destroy(params);
    gb_device_close(device);
    gb_folder_close(folder);
    return ok;
}

static void searching_check(void *self, bool finished)
{
    searching *x = self;
    if (finished && !x->known)
        memcpy(x->wanted, x->rows, sizeof x->wanted);
    x->known = x->known || finished;
    cr_assert(!finished || memcmp(x->wanted, x->rows, sizeof x->wanted) == 0, "other passages");
}

Test(faults, search)
{
    scratch s = scratch_enter();
    environment = gb_config_read();
    environment.cache_home = s.path;
    gb_status status = {0};
    searching x = {.t = tiny_make()};
    gb_bert_config config = tiny_config(&x.t, 16, 32, 0);
    model_make(&x.m, &x.t, &config, NULL, NULL);
    MUST(gb_model_save("model", &config, x.m.params, x.m.values, x.t.vocab, GB_TOKENIZER_DEFAULTS,
                       TINY_SENTENCE, &(gb_model_card){.title = "tiny"}, &status));
    walk(&(job){"encoding and search", searching_run, searching_check, &x}, 40);
    model_free(&x.m);
    tiny_free(&x.t);
    scratch_leave(&s);
}

/* ---- a collection from file to tokens ---- */

static bool collection_run(void *self, gb_status *status)
{
    tiny *x = self; /* its vocabulary */
    gb_import_params import = GB_IMPORT_DEFAULTS;
    import.path = "documents.jsonl";
    bool ok = gb_collection_import(&import, "out/collection", status);
    gb_collection *collection = ok ? gb_collection_open("out/collection", status) : NULL;
    gb_tokenizer *tokenizer =
        collection ? gb_tokenizer_create(x->vocab, GB_TOKENIZER_DEFAULTS, status) : NULL;
    gb_tokens tokens = {0};
    const gb_tokenize_params lengths = {.max_passage = 40, .max_query = 16};
    ok = tokenizer &&
         gb_collection_tokenize(collection, tokenizer, x->vocab, &lengths, "out/tokens", status);
    if (ok && gb_tokens_open("out/tokens", &tokens, status))
        gb_tokens_close(&tokens);
    else
        ok = false;
    gb_tokenizer_destroy(tokenizer);
    gb_collection_close(collection);
    return ok;
}

static void collection_check(void *self, bool finished)
{
    gb_status status = {0};
    tiny *x = self;
    expect_no_drafts("out");
    cr_assert(!finished || gb_dir_exists("out/tokens"));
    if (gb_dir_exists("out/collection")) {
        gb_collection *collection = gb_collection_open("out/collection", &status);
        MUST(collection);
        cr_assert_eq(collection->passages, x->collection->passages);
        gb_collection_close(collection);
    }
    MUST(gb_remove_tree("out", &status));
    MUST(gb_make_dirs("out", &status));
}

Test(faults, collection)
{
    scratch s = scratch_enter();
    gb_status status = {0};
    tiny t = tiny_make();
    MUST(gb_make_dirs("out", &status));
    walk(&(job){"collection to tokens", collection_run, collection_check, &t}, 200);
    tiny_free(&t);
    scratch_leave(&s);
}
