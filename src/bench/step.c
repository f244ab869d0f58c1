/* Whole training steps, by the training loop itself: batches drawn and masked, programs run, AdamW.
 * A step begins when its batch is drawn; with the device busy, the time from one such moment to the
 * next is what a step takes. */
#include "private.h"

#include "gabbro/finetune.h"
#include "gabbro/pretrain.h"

#include <stdlib.h>
#include <string.h>

typedef struct step_case {
    const char *objective; /* of pre-training; NULL: fine-tuning */
    const char *name;      /* for people */
    gb_context context;    /* what texts are paired with */
    double mask_ratio;     /* of the encoder's input; 0: the objective's own */
    bool halved;           /* the batch is computed in two parts */
    uint32_t scoring;      /* of fine-tuning, and the next: places in the tables */
    uint32_t loss;         /* on its scores */
} step_case;

static const step_case cases[] = {
    {"mlm", "masked LM", GB_CONTEXT_NONE, .15, false, 0, 0},
    {"cocondenser", "coCondenser", GB_CONTEXT_QUERY, .15, false, 0, 0},
    {"cotmae", "CoT-MAE", GB_CONTEXT_QUERY, .3, false, 0, 0},
    {"bow", "bag-of-words", GB_CONTEXT_NONE, .3, false, 0, 0},
    {"enhanced", "enhanced decoding", GB_CONTEXT_NONE, .3, false, 0, 0},
    {NULL, "fine-tuning", GB_CONTEXT_NONE, 0, false, 0, 0},
};

/* What a case needs, and the stopwatch around its task. */
typedef struct session {
    const bench *bench;            /* settings */
    const bench_size *size;        /* model and batch */
    const step_case *what;         /* objective */
    uint32_t texts;                /* of a step */
    bench_texts data;              /* texts */
    gb_bert_config config;         /* of the encoder */
    gb_params *params;             /* all */
    gb_bert bert;                  /* encoder */
    const gb_objective *objective; /* or NULL */
    gb_training_set set;           /* of fine-tuning; lists are owned */
    gb_run teacher;                /* scores of its passages; lists are owned */
    gb_own_settings own[2];        /* of the scoring, of the loss */
    gb_folder *generator;          /* that fills masks, if the objective needs one */
    gb_task inner;                 /* the task */
    float *values;                 /* parameters */
    uint32_t steps;                /* begun */
    double begun_s;                /* when the first one was */
    uint32_t starts;               /* of steps behind the warm-up */
    double *starts_s;              /* when each one's batch was asked for */
    bool enough;                   /* stopped by the stopwatch, not by a failure */
    uint32_t most;                 /* steps to time */
    gb_timing_sum *sums;           /* of the kernels before each of these steps, or NULL */
} session;

/* ---- the stopwatch ---- */

static bool timed_sample(void *self, uint32_t step, gb_bucket *shape, gb_status *status)
{
    session *s = self;
    double now_s = gb_now_s();
    if (!s->steps)
        s->begun_s = now_s;
    if (s->steps++ >= BENCH_WARM_UP && now_s - s->begun_s >= bench_warm_up_s(s->bench)) {
        if (s->sums)
            s->sums[s->starts] = gb_timing_total(s->bench->device);
        s->starts_s[s->starts++] = now_s;
        s->enough =
            s->starts > s->most || (s->starts > 1 && now_s - s->starts_s[0] > s->bench->seconds);
    }
    if (s->enough || gb_interrupted())
        return gb_fail(status, GB_INTERRUPTED, "bench", NULL, "stopped");
    return s->inner.sample(s->inner.self, step, shape, status);
}

static void timed_build(void *self, gb_builder *builder, const gb_bucket *shape,
                        gb_tensor losses[GB_MAX_LOSSES])
{
    session *s = self;
    s->inner.build(s->inner.self, builder, shape, losses);
}

/* ---- what is trained ---- */

bool bench_training_set(gb_training_set *set, uint32_t count, uint32_t negatives, gb_status *status)
{
    uint32_t per_query = 1 + negatives;
    set->queries = gb_alloc(count, sizeof *set->queries, status);
    set->passages =
        set->queries ? gb_alloc((size_t)count * per_query, sizeof *set->passages, status) : NULL;
    for (uint32_t q = 0; set->passages && q < count; q++) {
        uint32_t first = q * per_query;
        set->queries[q] = (gb_training_query){q, first, 1, first + 1, negatives};
        for (uint32_t i = 0; i < per_query; i++)
            set->passages[first + i] = (q + i) % count;
    }
    set->count = count;
    return set->passages != NULL;
}

/* Any scores: those of the first are the best. */
static bool make_teacher(session *s, gb_status *status)
{
    uint32_t count = s->set.count, per_query = 1 + s->size->negatives;
    gb_hit *hits = gb_alloc(per_query, sizeof *hits, status);
    bool ok = hits != NULL;
    for (uint32_t q = 0; ok && q < count; q++) {
        for (uint32_t i = 0; i < per_query; i++)
            hits[i] = (gb_hit){(q + i) % count, -(float)i};
        ok = gb_run_add(&s->teacher, q, hits, per_query, status);
    }
    free(hits);
    return ok;
}

static const gb_scoring *scoring_of(const session *s)
{
    return gb_scorings[s->what->scoring];
}

static bool needs_head(const session *s)
{
    return s->what->objective || scoring_of(s)->needs & GB_SCORING_HEAD;
}

/* The encoder is declared between the two. */
static gb_finetune_params finetune_params(session *s)
{
    const gb_scoring *scoring = scoring_of(s);
    const gb_loss *loss = gb_losses[s->what->loss];
    s->own[0] = gb_own_settings_of(scoring->defaults, scoring->own_bytes);
    s->own[1] = gb_own_settings_of(loss->defaults, loss->own_bytes);
    return (gb_finetune_params){.batch = s->texts,
                                .negatives = s->size->negatives,
                                .max_query_length = s->size->query_tokens,
                                .max_passage_length = s->size->max_length,
                                .seed = 1,
                                .steps = 1000,
                                .scoring = scoring,
                                .loss = loss,
                                .scoring_own = &s->own[0],
                                .loss_own = &s->own[1]};
}

static bool make_finetuning(session *s, gb_status *status)
{
    gb_finetune_params params = finetune_params(s);
    gb_finetune_data data = {.set = &s->set,
                             .tokens = &s->data.tokens,
                             .vocab = s->data.vocab,
                             .bert = &s->bert,
                             .teacher = params.loss->needs & GB_LOSS_TEACHER ? &s->teacher : NULL};
    return bench_training_set(&s->set, s->data.collection.passages, s->size->negatives, status) &&
           (!data.teacher || make_teacher(s, status)) &&
           gb_finetune_prepare(&data, &params, &s->config, status) &&
           gb_bert_declare(s->params, &s->config, needs_head(s), &s->bert, status) &&
           gb_finetune_create(&params, &data, s->params, &s->inner, status);
}

static bool make_task(session *s, gb_status *status)
{
    if (!s->what->objective)
        return make_finetuning(s, status);
    if (!gb_bert_declare(s->params, &s->config, true, &s->bert, status))
        return false;
    char ratio[32];
    double mask_ratio = s->what->mask_ratio;
    snprintf(ratio, sizeof ratio, "%.17g", mask_ratio);
    s->objective = gb_objective_find(s->what->objective);
    gb_own_settings own = gb_objective_defaults(s->objective);
    gb_pretrain_params params = {.context = s->what->context,
                                 .batch = s->texts,
                                 .max_length = s->size->max_length,
                                 .queries = 2,
                                 .seed = 1,
                                 .steps = 1000,
                                 .own = &own};
    if (s->objective->needs & GB_NEEDS_GENERATOR &&
        !(s->generator = bench_generator(s->bench, s->size, s->data.vocab, status)))
        return false;
    gb_pretrain_data data = {&s->data.collection, &s->data.tokens, s->data.vocab, s->generator};
    if (mask_ratio > 0 && !gb_objective_set(s->objective, &own, "mask-ratio", ratio, status))
        return false;
    return s->objective->create(&params, &data, &s->bert, s->params, &s->inner, status) != NULL;
}

static bool open_session(session *s, gb_status *status)
{
    s->config = bench_config(s->size);
    uint32_t passages = 4 * s->texts > 256 ? 4 * s->texts : 256;
    if (!bench_texts_make(&s->data, s->bench->config, s->size, passages, status) ||
        !(s->params = gb_params_create(status)) || !make_task(s, status))
        return false;
    gb_params_freeze(s->params);
    s->values = gb_alloc(gb_params_floats(s->params), sizeof *s->values, status);
    s->starts_s = gb_alloc(s->bench->repeats + 1, sizeof *s->starts_s, status);
    if (s->values && !s->bench->survey)
        gb_params_init(s->params, 1, s->values);
    return s->values && s->starts_s;
}

static void close_session(session *s)
{
    if (s->objective)
        s->objective->destroy(s->inner.self);
    else
        gb_finetune_destroy(s->inner.self);
    gb_folder_close(s->generator);
    free(s->set.queries);
    free(s->set.passages);
    gb_run_free(&s->teacher);
    gb_bert_free(&s->bert);
    gb_params_destroy(s->params);
    bench_texts_free(&s->data);
    free(s->values);
    free(s->starts_s);
    free(s->sums);
}

/* ---- measuring ---- */

static gb_train_params train_params(const session *s, uint32_t steps)
{
    return (gb_train_params){.params = s->params,
                             .config = &s->config,
                             .schedule = {GB_SCHEDULE_CONSTANT, 1e-5f, 0, 0, steps},
                             .adamw = {.9f, .999f, 1e-8f, .01f},
                             .max_norm = 1,
                             .max_length = s->size->max_length,
                             .micro_batch = s->what->halved ? (s->texts + 1) / 2 : 0,
                             .label = "bench"};
}

#define MOST_WARM_UP 1000 /* steps */

/* Train until the stopwatch has had enough. */
static bool train(session *s, uint32_t most, gb_status *status)
{
    gb_task task = s->inner;
    gb_status ended = {0};
    gb_train_result result;
    task.self = s;
    task.sample = timed_sample;
    task.build = timed_build;
    gb_train_params params = train_params(s, most + MOST_WARM_UP + 1);
    params.recompute = GB_RECOMPUTE_AUTO;
    params.storage = GB_STORE_AUTO;
    if (!gb_train_fit(s->bench->device, &s->inner, &params, status))
        return false;
    s->steps = s->starts = 0;
    s->most = most;
    s->enough = false;
    bool ok = gb_train(s->bench->device, &task, &params, s->values, NULL, &result, &ended);
    if (!ok && !s->enough)
        *status = ended;
    return ok || s->enough;
}

static bool device_time(session *s, uint32_t most, bench_times *times, gb_status *status)
{
    gb_device *device = s->bench->device;
    s->sums = gb_alloc(most + 1, sizeof *s->sums, status);
    if (!s->sums)
        return false;
    gb_device_set_timing(device, true);
    gb_timing_reset(device);
    bool ok = train(s, most, status);
    gb_device_set_timing(device, false);
    if (!ok || s->starts < 2)
        return ok;
    uint32_t timed = s->starts - 1;
    const gb_timing_sum *a = &s->sums[0], *z = &s->sums[timed];
    times->device_s = (z->ms - a->ms) * 1e-3 / timed;
    times->flops = (z->flops - a->flops) / timed;
    times->bytes = (z->bytes - a->bytes) / timed;
    times->kernels = (uint32_t)((z->calls - a->calls) / timed);
    times->variants = bench_variants(device);
    return true;
}

/* One step that nothing runs. */
static bool survey(session *s, gb_status *status)
{
    gb_train_params params = train_params(s, 1);
    params.storage = gb_storage_on(GB_STORE_AUTO, gb_device_get_caps(s->bench->device));
    gb_train_result result;
    const gb_objective *o = s->objective;
    return (!o || !o->prepare ||
            o->prepare(s->inner.self, s->bench->device, s->params, s->values, status)) &&
           gb_train(s->bench->device, &s->inner, &params, s->values, NULL, &result, status);
}

static bool measure(bench *b, void *context, bench_times *times, gb_status *status)
{
    session *s = context;
    if (b->survey) {
        bool made = open_session(s, status) && survey(s, status);
        close_session(s);
        return made;
    }
    bool ok = open_session(s, status) && train(s, b->repeats, status);
    uint32_t timed = s->starts > 1 ? s->starts - 1 : 0;
    double *seconds = ok ? gb_alloc(timed, sizeof *seconds, status) : NULL;
    for (uint32_t i = 0; seconds && i < timed; i++)
        seconds[i] = s->starts_s[i + 1] - s->starts_s[i];
    if (seconds && timed)
        bench_summarise(seconds, timed, times);
    else if (seconds)
        gb_fail(status, GB_INTERNAL, s->what->name, NULL, "no step was timed");
    free(seconds);
    ok = status->code == GB_OK && (!gb_device_get_caps(b->device)->timestamp_bits ||
                                   device_time(s, b->repeats < 3 ? b->repeats : 3, times, status));
    close_session(s);
    return ok;
}

/* Arithmetic of a step, about: six operations a weight and token, and the vocabulary's. */
static double foreseen_flops(const session *s)
{
    const bench_size *z = s->size;
    double h = z->hidden, layer = 4 * h * h + 2 * h * z->ffn;
    double tokens = (double)s->texts * z->max_length;
    if (!s->what->objective)
        tokens = (double)s->texts * (z->query_tokens + (1.0 + z->negatives) * z->max_length);
    if (s->what->context == GB_CONTEXT_QUERY)
        tokens *= 2;
    return 6 * tokens * (z->layers * layer + s->what->mask_ratio * h * z->vocabulary);
}

static bool run(bench *b, const bench_size *size, const step_case *what, const char *name,
                gb_status *status)
{
    session s = {.bench = b, .size = size, .what = what};
    s.texts = b->texts ? b->texts : what->objective ? size->texts : size->queries;
    bench_case c = {.name = name,
                    .size = size,
                    .shape = json_pack(
                        "{s:s, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:i, s:f, s:f}", "objective",
                        what->objective ? what->objective : "finetune", "layers", (int)size->layers,
                        "hidden", (int)size->hidden, "heads", (int)size->heads, "ffn",
                        (int)size->ffn, "vocabulary", (int)size->vocabulary, "texts", (int)s.texts,
                        "longest", (int)size->max_length, "query_tokens", (int)size->query_tokens,
                        "negatives", (int)size->negatives, "mask_ratio", what->mask_ratio,
                        "dropout", size->dropout),
                    .expected = foreseen_flops(&s),
                    .whole = true};
    return bench_case_run(b, &c, measure, &s, status);
}

bool bench_masked_lm(bench *b, const bench_size *size, const char *name, gb_status *status)
{
    return run(b, size, &cases[0], name, status);
}

static bool is_case(const char *objective)
{
    for (size_t c = 0; c < sizeof cases / sizeof *cases; c++)
        if (cases[c].objective && !strcmp(cases[c].objective, objective))
            return true;
    return false;
}

static bool other_finetuning(bench *b, const bench_size *size, uint32_t scoring, uint32_t loss,
                             gb_status *status)
{
    const step_case other = {NULL, "fine-tuning", GB_CONTEXT_NONE, 0, false, scoring, loss};
    char name[80];
    snprintf(name, sizeof name, "%s fine-tuning, %s", size->name,
             scoring ? gb_scoring_names[scoring] : gb_loss_names[loss]);
    return run(b, size, &other, name, status);
}

/* Every scoring with the first loss, every loss with the first scoring. */
static bool other_finetunings(bench *b, const bench_size *size, gb_status *status)
{
    bool ok = true;
    for (uint32_t scoring = 1; ok && gb_scorings[scoring]; scoring++)
        ok = other_finetuning(b, size, scoring, 0, status);
    for (uint32_t loss = 1; ok && gb_losses[loss]; loss++)
        ok = other_finetuning(b, size, 0, loss, status);
    return ok;
}

bool bench_other_steps(bench *b, const bench_size *size, gb_status *status)
{
    const step_case halves[] = {{"cocondenser", "coCondenser", GB_CONTEXT_QUERY, .15, true, 0, 0},
                                {NULL, "fine-tuning", GB_CONTEXT_NONE, 0, true, 0, 0}};
    char name[80];
    for (size_t h = 0; h < sizeof halves / sizeof *halves; h++) {
        snprintf(name, sizeof name, "%s %s in two parts", size->name, halves[h].name);
        if (!run(b, size, &halves[h], name, status))
            return false;
    }
    for (const gb_objective *const *o = gb_objectives; *o; o++) {
        step_case other = {(*o)->name,
                           (*o)->name,
                           (*o)->needs & GB_NEEDS_CONTEXT ? GB_CONTEXT_QUERY : GB_CONTEXT_NONE,
                           0,
                           false,
                           0,
                           0};
        snprintf(name, sizeof name, "%s %s", size->name, other.name);
        if (!is_case(other.objective) && !run(b, size, &other, name, status))
            return false;
    }
    return other_finetunings(b, size, status);
}

bool bench_step(bench *b, gb_status *status)
{
    for (size_t i = 0; i < BENCH_SIZES; i++)
        for (size_t c = 0; b->sizes[i] && c < sizeof cases / sizeof *cases; c++) {
            char name[80];
            snprintf(name, sizeof name, "%s %s", bench_sizes[i].name, cases[c].name);
            if (!run(b, &bench_sizes[i], &cases[c], name, status))
                return false;
        }
    return true;
}
