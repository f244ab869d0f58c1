/* The trainings of scale paper on cards that are not there: BERT-base, batches of the papers'
 * sizes, and texts of 144 tokens. What a training settles before its first step fits each card. */
#include "tiny.h"

#include <gabbro/finetune.h>

#include <stdlib.h>

enum { PASSAGES = 64, LONGEST = 144, QUERY_TOKENS = 32, WORDS = 30522, NEGATIVES = 15 };

/* Texts as long as they may be: the most that a batch can take. */
typedef struct texts {
    gb_vocab *vocab;                            /* of WORDS words */
    gb_tokens tokens;                           /* of passages, queries and generated queries */
    uint32_t documents[PASSAGES];               /* of passages */
    gb_collection collection;                   /* of them */
    gb_training_query queries[PASSAGES];        /* of fine-tuning, one a passage */
    uint32_t passages[PASSAGES][1 + NEGATIVES]; /* theirs */
    gb_own_settings own;                        /* this and what follows: borrowed by a task */
    gb_pretrain_params pretrain;
    gb_pretrain_data pretrain_data;
    gb_training_set set;
    gb_finetune_params finetune;
    gb_finetune_data finetune_data;
} texts;

static gb_row_file *make_rows(const char *path, uint32_t length)
{
    gb_status status = {0};
    uint32_t ids[LONGEST];
    gb_row_writer *writer = gb_row_writer_open(path, 4, &status);
    MUST(writer);
    for (uint32_t r = 0; r < PASSAGES; r++) {
        gb_rng rng = gb_rng_make(1, GB_RNG_TEST, length, r);
        for (uint32_t i = 0; i < length; i++)
            ids[i] = 5 + gb_rng_below(&rng, WORDS - 5);
        MUST(gb_row_writer_add(writer, ids, length, &status));
    }
    MUST(gb_row_writer_end(writer, true, &status));
    gb_row_file *rows = gb_row_file_open(path, 4, &status);
    MUST(rows);
    return rows;
}

static void make_texts(texts *t)
{
    gb_status status = {0};
    gb_text words = {0};
    gb_text_printf(&words, "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n");
    for (uint32_t i = 5; i < WORDS; i++)
        gb_text_printf(&words, "w%u\n", i);
    scratch_write("vocab.txt", words.data);
    gb_text_free(&words);
    MUST(t->vocab = gb_vocab_load("vocab.txt", &status));
    t->tokens = (gb_tokens){.max_passage = LONGEST,
                            .max_query = QUERY_TOKENS,
                            .passages = make_rows("passages", LONGEST - 2),
                            .queries = make_rows("queries", QUERY_TOKENS - 2),
                            .generated = make_rows("generated", LONGEST - 2)};
    static char name[] = "cards";
    t->collection = (gb_collection){.path = name,
                                    .name = name,
                                    .document = t->documents,
                                    .passages = PASSAGES,
                                    .documents = PASSAGES / 4};
    for (uint32_t p = 0; p < PASSAGES; p++) {
        t->documents[p] = p / 4;
        t->queries[p] =
            (gb_training_query){p, p * (1 + NEGATIVES), 1, p * (1 + NEGATIVES) + 1, NEGATIVES};
        for (uint32_t k = 0; k <= NEGATIVES; k++)
            t->passages[p][k] = (p + k) % PASSAGES;
    }
}

static void free_texts(texts *t)
{
    gb_tokens_close(&t->tokens);
    gb_vocab_destroy(t->vocab);
}

/* BERT-base with the task of an objective (of a batch of 2,048 pairs), or of fine-tuning (64
 * queries with 16 passages each). */
static void make_model(model *m, texts *t, const char *objective)
{
    gb_status status = {0};
    *m = (model){.config = GB_BERT_BASE, .max_length = LONGEST};
    m->config.vocab_size = WORDS;
    m->config.hidden_dropout = m->config.attention_dropout = .1;
    MUST(m->params = gb_params_create(&status));
    MUST(gb_bert_declare(m->params, &m->config, objective != NULL, &m->bert, &status));
    if (objective) {
        MUST(m->objective = gb_objective_find(objective));
        t->own = gb_objective_defaults(m->objective);
        t->pretrain = (gb_pretrain_params){.context = GB_CONTEXT_QUERY,
                                           .batch = 2048,
                                           .max_length = LONGEST,
                                           .queries = 1,
                                           .seed = 1,
                                           .steps = 120000,
                                           .own = &t->own};
        t->pretrain_data = (gb_pretrain_data){&t->collection, &t->tokens, t->vocab, NULL};
        m->self = m->objective->create(&t->pretrain, &t->pretrain_data, &m->bert, m->params,
                                       &m->task, &status);
        MUST(m->self);
    } else {
        t->set =
            (gb_training_set){.queries = t->queries, .count = PASSAGES, .passages = t->passages[0]};
        t->finetune = (gb_finetune_params){.batch = 64,
                                           .negatives = NEGATIVES,
                                           .max_query_length = QUERY_TOKENS,
                                           .max_passage_length = LONGEST,
                                           .seed = 1};
        t->finetune_data = (gb_finetune_data){&t->set, &t->tokens, t->vocab, &m->bert, NULL};
        MUST(m->self =
                 gb_finetune_create(&t->finetune, &t->finetune_data, m->params, &m->task, &status));
    }
    gb_params_freeze(m->params);
}

/* Settles the training on a device with these limits. */
static bool fit(const model *m, const char *limits, gb_train_params *params, gb_status *status)
{
    *params = (gb_train_params){.params = m->params,
                                .config = &m->config,
                                .schedule = {GB_SCHEDULE_CONSTANT, .01f, 0, 0, 120000},
                                .adamw = {.9f, .999f, 1e-8f, .01f},
                                .max_length = LONGEST,
                                .recompute = GB_RECOMPUTE_AUTO,
                                .storage = GB_STORE_AUTO,
                                .label = "test"};
    setenv("GABBRO_PROFILE", "scalar", 1);
    setenv("GABBRO_LIMITS", limits, 1);
    gb_device *device = tiny_device(GB_USER_TRAIN);
    bool fits = gb_train_fit(device, &m->task, params, status);
    tiny_device_close(device);
    return fits;
}

/* Buffers as RADV (4 GiB) and NVK (2 GiB) allow them. */
static void check_cards(const char *objective)
{
    static const char *const cards[] = {"memory=8G,buffer=2G", "memory=16G,buffer=4G",
                                        "memory=24G,buffer=4G", "memory=80G,buffer=4G"};
    scratch s = scratch_enter();
    static texts t;
    model m;
    gb_train_params params;
    make_texts(&t);
    make_model(&m, &t, objective);
    uint32_t before = 1;
    for (size_t c = 0; c < sizeof cards / sizeof *cards; c++) {
        gb_status status = {0};
        cr_expect(fit(&m, cards[c], &params, &status), "%s: %s", cards[c], status.what);
        cr_expect_eq(params.storage, GB_STORE_BFLOAT16);
        uint32_t at_once = params.micro_batch ? params.micro_batch : UINT32_MAX;
        cr_expect_geq(at_once, before, "a larger card takes fewer texts at once");
        before = at_once;
        printf("%s, %s: micro-batches of %u, layers computed again: %d\n",
               objective ? objective : "fine-tuning", cards[c], params.micro_batch,
               params.recompute == GB_RECOMPUTE_LAYERS);
    }
    gb_status status = {0};
    cr_expect_not(fit(&m, "memory=1G", &params, &status), "parameters alone take more");
    cr_expect_eq(status.code, GB_MEMORY);
    if (!objective)
        gb_finetune_destroy(m.self);
    model_free(&m);
    free_texts(&t);
    scratch_leave(&s);
}

Test(cards, pre_training)
{
    check_cards("cocondenser");
}

Test(cards, pre_training_with_a_decoder)
{
    check_cards("cotmae");
}

Test(cards, fine_tuning)
{
    check_cards(NULL);
}
