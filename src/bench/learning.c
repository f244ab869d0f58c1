/* Steps that nobody times: of a generator that learns to write queries (T5), and of a
 * cross-encoder. Where nothing runs, their pipelines are made. */
#include "private.h"

#include "gabbro/finetune.h"
#include "gabbro/lm.h"
#include "gabbro/querygen.h"

#include <stdlib.h>

/* What such a step trains, and on what. */
typedef struct session {
    const bench_size *size;    /* model and batch */
    bench_texts data;          /* texts */
    gb_qrels pairs;            /* of the generator; rows are owned */
    gb_training_set set;       /* of the cross-encoder; lists are owned */
    gb_bert_config config;     /* of the cross-encoder, or of nothing */
    gb_bert bert;              /* its encoder */
    gb_pair_head head;         /* its head */
    gb_lm lm;                  /* generator */
    gb_params *params;         /* of either */
    float *values;             /* their values: zeros */
    void *generating, *scores; /* the task's data, of one of the two */
    gb_task task;              /* made of them */
} session;

static bool make_generator(session *s, gb_status *status)
{
    const bench_size *z = s->size;
    const gb_lm_cache none = {0};
    const gb_lm_config config = {.kind = GB_LM_T5,
                                 .vocab_size = z->vocabulary,
                                 .hidden_size = z->hidden,
                                 .head_dim = z->hidden / z->heads,
                                 .heads = z->heads,
                                 .kv_heads = z->heads,
                                 .intermediate_size = z->ffn,
                                 .layers = z->layers,
                                 .decoder_layers = z->layers,
                                 .buckets = 32,
                                 .farthest = 128,
                                 .end_id = gb_vocab_specials(s->data.vocab).sep,
                                 .act = GB_LM_RELU,
                                 .tied = true,
                                 .eps = 1e-6};
    const gb_querygen_task_params how = {z->queries, z->query_tokens, z->max_length, 1};
    uint32_t count = s->data.collection.passages;
    s->pairs.rows = gb_alloc(count, sizeof *s->pairs.rows, status);
    for (uint32_t i = 0; s->pairs.rows && i < count; i++)
        s->pairs.rows[s->pairs.count++] = (gb_qrel){i, i, 1};
    return s->pairs.rows && gb_lm_declare(s->params, &config, &none, &s->lm, status) &&
           (s->generating = gb_querygen_task_create(&how, &s->pairs, &s->data.tokens, &s->lm,
                                                    &s->task, status));
}

static bool make_cross_encoder(session *s, gb_status *status)
{
    const bench_size *z = s->size;
    uint32_t longest = z->max_length + z->query_tokens - 1;
    const gb_cross_params how = {.batch = z->queries,
                                 .negatives = z->negatives,
                                 .max_query_length = z->query_tokens,
                                 .max_passage_length = z->max_length,
                                 .max_length = longest,
                                 .seed = 1};
    s->config = bench_config(z);
    s->config.max_positions = longest;
    return bench_training_set(&s->set, s->data.collection.passages, z->negatives, status) &&
           gb_bert_declare(s->params, &s->config, false, &s->bert, status) &&
           gb_pair_head_declare(s->params, &s->config, &s->head, status) &&
           (s->scores = gb_cross_create(&how, &s->set, &s->data.tokens, s->data.vocab, &s->bert,
                                        &s->head, &s->task, status));
}

static void close_session(session *s)
{
    gb_querygen_task_destroy(s->generating);
    gb_cross_destroy(s->scores);
    gb_lm_free(&s->lm);
    gb_bert_free(&s->bert);
    gb_params_destroy(s->params);
    free(s->values);
    free(s->pairs.rows);
    free(s->set.queries);
    free(s->set.passages);
    bench_texts_free(&s->data);
}

static bool train(bench *b, session *s, gb_status *status)
{
    gb_train_params params = {.params = s->params,
                              .config = &s->config,
                              .schedule = {GB_SCHEDULE_CONSTANT, 1e-5f, 0, 0, 1},
                              .adamw = {.9f, .999f, 1e-8f, .01f},
                              .max_norm = 1,
                              .max_length = s->config.max_positions ? s->config.max_positions
                                                                    : s->size->max_length,
                              .label = "bench"};
    gb_train_result result;
    params.storage = gb_storage_on(GB_STORE_AUTO, gb_device_get_caps(b->device));
    return gb_train(b->device, &s->task, &params, s->values, NULL, &result, status);
}

/* What is made. */
typedef struct learning_case {
    const bench_size *size;                      /* model and batch */
    bool (*make)(session *s, gb_status *status); /* its model and task */
} learning_case;

static bool measure(bench *b, void *context, bench_times *times, gb_status *status)
{
    const learning_case *c = context;
    session s = {.size = c->size};
    (void)times;
    bool ok = bench_texts_make(&s.data, b->config, c->size, 256, status) &&
              (s.params = gb_params_create(status)) && c->make(&s, status);
    if (ok) {
        gb_params_freeze(s.params);
        s.values = gb_alloc(gb_params_floats(s.params), sizeof *s.values, status);
        ok = s.values && train(b, &s, status);
    }
    close_session(&s);
    return ok;
}

bool bench_learning(bench *b, const bench_size *size, gb_status *status)
{
    static const struct {
        const char *name;                            /* for people */
        bool (*make)(session *s, gb_status *status); /* its model and task */
    } kinds[] = {{"generator", make_generator}, {"cross-encoder", make_cross_encoder}};
    for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
        char name[80];
        learning_case what = {size, kinds[k].make};
        snprintf(name, sizeof name, "%s %s", size->name, kinds[k].name);
        const bench_case c = {.name = name, .size = size, .shape = json_object(), .whole = true};
        if (!bench_case_run(b, &c, measure, &what, status))
            return false;
    }
    return true;
}
